/** The files with which the service is deployed name settings that exist, and times that fit together. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settings } from '../src/config.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Returns the first number that the pattern finds. */
function numberIn(text: string, pattern: RegExp): number {
  const [, digits] = pattern.exec(text) ?? [];
  assert.ok(digits !== undefined, `${pattern} is not in the file`);
  return Number(digits);
}

test('compose.yaml and the Kubernetes manifest set only settings that exist', () => {
  const known = new Set<string>(settings.map(({ name }) => name));
  const [service = ''] = read('compose.yaml').split(/^ {2}postgres:$/m);
  const inCompose = [...service.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name!);
  const inKubernetes = [...read('ops/kubernetes.yaml').matchAll(/- name: ([A-Z_]+)$/gm)].map(
    ([, name]) => name!,
  );
  assert.ok(inCompose.length > 2 && inKubernetes.length > 2);
  assert.deepEqual(
    [...inCompose, ...inKubernetes].filter((name) => !known.has(name)),
    [],
  );
});

test('no process manager ends the service before SHUTDOWN_GRACE_MS has passed', () => {
  const compose = read('compose.yaml');
  const graceInCompose = numberIn(compose, /SHUTDOWN_GRACE_MS: (\d+)/) / 1000;
  assert.ok(numberIn(compose, /stop_grace_period: (\d+)s/) > graceInCompose);

  const kubernetes = read('ops/kubernetes.yaml');
  const graceInKubernetes = numberIn(kubernetes, /SHUTDOWN_GRACE_MS\n\s+value: "(\d+)"/) / 1000;
  const pause = numberIn(kubernetes, /preStop:\s+sleep: \{ seconds: (\d+) \}/);
  assert.ok(numberIn(kubernetes, /terminationGracePeriodSeconds: (\d+)/) > graceInKubernetes + pause);
});

test('systemd finds no error in the unit and calls its exposure at most 2 of 10', {
  skip: spawnSync('systemd-analyze', ['--version']).error && 'this machine has no systemd',
}, () => {
  const unit = join(root, 'ops', 'tablewright.service');
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  // The program of ExecStart may be at another place on this machine.
  const complaints = verified.stderr
    .split('\n')
    .filter((line) => line.includes('tablewright.service:') && !line.includes('/usr/bin/node'));
  assert.deepEqual(complaints, []);
  const exposure = spawnSync('systemd-analyze', ['security', '--offline=true', unit], { encoding: 'utf8' });
  assert.ok(
    numberIn(exposure.stdout, /Overall exposure level for tablewright\.service: ([\d.]+)/) <= 2,
    exposure.stdout,
  );
});
