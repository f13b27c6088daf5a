/**
 * The files with which the service is deployed name settings that exist and times that fit together. The SQL of docs/operations.md and the
 * script of compose.yaml make a role that is enough.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { settings } from '../src/config.ts';
import { startChildService } from './support/child-service.ts';

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

/** Returns the text with names that no other test uses, for the role and the database. */
function renamed(text: string, name: string): string {
  return text.replaceAll(/\b(tablewright|warehouse)\b/g, name);
}

async function asAdmin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client(process.env.TEST_ADMIN_DATABASE_URL!);
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** Starts the service in a database as a role, and creates a table. */
async function useAs(role: string, password: string): Promise<void> {
  const url = new URL(process.env.TEST_ADMIN_DATABASE_URL!);
  Object.assign(url, { username: role, password, pathname: `/${role}` });
  const service = await startChildService({ serviceUrl: url.href });
  try {
    const created = await service.post('/table/first', {
      table: { columns: [{ name: 'n', type: 'integer' }] },
    });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.doesNotMatch(service.output(), /"level":(40|50)/, 'a warning is in the log');
  } finally {
    await service.end('SIGTERM');
  }
}

async function withoutRole(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await asAdmin(async (admin) => {
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await admin.query(`DROP ROLE IF EXISTS ${name}`);
    });
  }
}

const needsAdmin = !process.env.TEST_ADMIN_DATABASE_URL && 'the test server has no superuser';

test('the rights that docs/operations.md grants are enough for the service', {
  skip: needsAdmin,
}, async () => {
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(read('docs/operations.md'))!;
  const name = `operations_${randomBytes(4).toString('hex')}`;
  await withoutRole(name, async () => {
    await asAdmin((admin) => admin.query(`CREATE DATABASE ${name}`));
    const inDatabase = new URL(process.env.TEST_ADMIN_DATABASE_URL!);
    inDatabase.pathname = `/${name}`;
    const admin = new pg.Client(inDatabase.href);
    await admin.connect();
    await admin.query(renamed(sql, name)).finally(() => admin.end());
    await useAs(name, 'change-me');
  });
});

test('the script of compose.yaml makes a role that is not a superuser and owns its database', {
  skip: needsAdmin || (spawnSync('psql', ['--version']).error && 'this machine has no psql'),
}, async () => {
  const name = `compose_${randomBytes(4).toString('hex')}`;
  const { hostname, port, username, password } = new URL(process.env.TEST_ADMIN_DATABASE_URL!);
  await withoutRole(name, async () => {
    const made = spawnSync('sh', ['-c', renamed(read('ops/create-role.sh'), name)], {
      encoding: 'utf8',
      env: {
        ...{
          PATH: process.env.PATH,
          PGHOST: hostname,
          PGPORT: port,
          PGPASSWORD: decodeURIComponent(password),
        },
        ...{ POSTGRES_USER: decodeURIComponent(username), TABLEWRIGHT_PASSWORD: "it's $secret" },
      },
    });
    assert.equal(made.status, 0, made.stderr);
    await useAs(name, encodeURIComponent("it's $secret"));
    const { rows } = await asAdmin((admin) =>
      admin.query('SELECT rolsuper FROM pg_roles WHERE rolname = $1', [name]),
    );
    assert.deepEqual(rows, [{ rolsuper: false }]);
  });
});
