/** `tablewright load --together`, in processes of their own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { scriptEnvironment } from '../support/child-environment.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { bookOf } from '../support/workbook.ts';

const program = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');

let service: TestService;
let folder: string;

before(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'tablewright-together-'));
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function run(...parameters: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const environment = { TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: await service.token() };
  const child = spawn(process.execPath, [program, 'load', '--together', ...parameters], {
    cwd: folder,
    env: { ...scriptEnvironment(), HOME: folder, ...environment },
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

test('files with a foreign key between them are loaded together, or none of them', async () => {
  const reference = { name: '', column: 'customer', reference_table: 'customers', reference_column: 'id' };
  const definitions = {
    orders: {
      columns: [
        { name: 'no', type: 'bigint' },
        { name: 'customer', type: 'bigint' },
      ],
      constraints: { foreign_keys: [reference] },
    },
    customers: {
      columns: [{ name: 'id', type: 'bigint' }],
      constraints: { primary_key: { name: '', columns: ['id'] } },
    },
  };
  await writeFile(join(folder, 'definitions.json'), JSON.stringify(definitions));
  await writeFile(join(folder, 'orders.csv'), 'no,customer\n1,8\n');
  await writeFile(join(folder, 'customers.csv'), 'id\n7\n');
  const both = ['orders.csv', 'customers.csv', '--definition', 'definitions.json'];
  const refused = await run(...both);
  assert.equal(refused.code, 1, refused.err);
  assert.match(refused.err, /Table 1 of the plan, "public"\."orders"/);
  assert.match(refused.err, /table 1 B2 +customer +8 +has no match/);
  assert.deepEqual(await service.rows("SELECT FROM pg_tables WHERE schemaname = 'public'"), []);
  await writeFile(join(folder, 'orders.csv'), 'no,customer\n1,7\n');
  const dry = await run(...both, '--dry-run');
  assert.match(dry.out, /orders\.csv → public\.orders: 1 row loaded, .*dry run/);
  const loaded = await run(...both, '--json');
  assert.equal(loaded.code, 0, loaded.err);
  assert.equal(JSON.parse(loaded.out).load.rows, 2);
});

test('the visible sheets of a workbook become tables of their names', async () => {
  await writeFile(join(folder, 'book.xlsx'), bookOf({ one: [['a'], [1]], two: [['b'], [2], [3]] }));
  const { code, out, err } = await run('book.xlsx');
  assert.equal(code, 0, err);
  assert.match(
    out,
    /book\.xlsx \(one\) → public\.one: 1 row loaded.*\nbook\.xlsx \(two\) → public\.two: 2 rows loaded/,
  );
  const one = await run('book.xlsx', '--sheet', 'two');
  assert.match(one.out, /book\.xlsx \(two\) → public\.book: 2 rows/, one.err);
});

test('options that are for one table, and JSON, are refused', async () => {
  await writeFile(join(folder, 'a.json'), '[{"a":1}]');
  assert.match((await run('a.json')).err, /"a\.json" is JSON/);
  assert.match((await run('a.csv', '--table', 'x')).err, /no file "a\.csv"|contradicts --table/);
});
