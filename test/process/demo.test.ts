/** `npm run demo`, run as a separate process. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { shownJson, shownTable } from '../../scripts/demo/shown.ts';
import { scriptEnvironment } from '../support/child-environment.ts';

const root = join(import.meta.dirname, '..', '..');

let folder: string;
let temporary: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-demo-test-'));
  temporary = join(folder, 'tmp');
  await mkdir(temporary);
  await chmod(folder, 0o711);
  await chmod(temporary, 0o711);
});

after(() => rm(folder, { recursive: true, force: true }));

function runDemo(cwd: string): ChildProcess {
  return spawn(process.execPath, [join(root, 'scripts', 'demo.ts')], {
    cwd,
    env: { ...scriptEnvironment(), TMPDIR: temporary },
    stdio: 'pipe',
  });
}

test('performs the three operations and an asynchronous upload, shows requests, answers, rows, progress and a webhook, and leaves nothing behind', async () => {
  const child = runDemo(root);
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit'),
  ]);
  assert.equal(errors, '');
  assert.equal(code, 0);
  assert.equal(
    output.match(/^\$ curl .*--data-binary @examples\/|^\$ curl .*-F file=@examples\//gm)?.length,
    3,
  );
  assert.equal(output.match(/^201 Created$/gm)?.length, 3);
  assert.match(output, /"name": "customers"/);
  assert.match(output, /"rows": 20\b/);
  assert.match(output, /^ {2}shipment +│ reference +│ city/m);
  assert.match(output, /^ {2}\(5 of 300 rows; \d+ more columns\)$/m);
  assert.match(output, /^202 Accepted\nLocation: \/api\/v1\/loads\//m);
  assert.match(
    output,
    /^event: state +(queued|running) .*\n(?:.*\n)*event: state +committed +200,000 rows read$/m,
  );
  assert.match(
    output,
    /^The webhook has arrived, and its signature is right:\n\n\{\n(?:.*\n)*? {2}"type": "rows\.loaded"/m,
  );
  assert.deepEqual(await readdir(temporary), []);
});

test('an interrupt ends it and leaves nothing behind, also if it comes twice', async () => {
  const child = runDemo(root);
  const exited = once(child, 'exit');
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    if (String(chunk).includes('The service is up')) break;
  }
  child.stdout!.resume();
  child.kill('SIGINT');
  child.kill('SIGINT');
  assert.deepEqual(await exited, [130, null]);
  assert.deepEqual(await readdir(temporary), []);
});

test('a failure is reported, leaves nothing behind and gives an exit code', async () => {
  const child = runDemo(folder);
  const [errors, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit'), text(child.stdout!)]);
  assert.match(errors, /^The demo failed: .*definition\.json/);
  assert.equal(code, 1);
  assert.deepEqual(await readdir(temporary), []);
});

test('JSON is shown on one line if it fits, and says what was left out', () => {
  assert.equal(shownJson({ a: [1, null], b: {} }), '{ "a": [1, null], "b": {} }');
  const long = Array.from({ length: 6 }, () => 'x'.repeat(40));
  assert.equal(shownJson(long), `[\n${`  "${long[0]}",\n`.repeat(4)}  … 2 more\n]`);
});

test('a table shows the columns that fit and says what was left out', () => {
  const rows = [
    ['1', 'Łódź', 'x'],
    ['22', null, 'y'],
  ];
  assert.equal(
    shownTable(['id', 'city', 'remark'], rows, 7, 14),
    ['  id │ city', '  ───┼─────', '  1  │ Łódź', '  22 │', '  (2 of 7 rows; 1 more columns)'].join('\n'),
  );
});
