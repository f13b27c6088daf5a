/** The part `password` of the form: it opens encrypted workbooks, and nothing of it remains anywhere. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import * as library from '@e965/xlsx';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { encryptAgile, encryptStandard, encryptXls } from '../support/encrypt-workbook.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

const password = 'Zebra Größe 77';
const rows = [
  ['id', 'name'],
  [1, 'a'],
  [2, 'b'],
];
const plain = sheetOf(rows);
const legacy = library.write(
  { SheetNames: ['A'], Sheets: { A: library.utils.aoa_to_sheet(rows) } },
  { type: 'buffer', bookType: 'biff8' },
) as Buffer;
const locked = encryptAgile(plain, password, 1000);

let service: ChildWithDatabase;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-spool-'));
  service = await startChildWithDatabase({ SPOOL_DIR: folder, LOG_LEVEL: 'trace' });
});

after(async () => {
  await service.stop('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

const nextTable = tableNames('encrypted');

function formOf(...parts: [name: string, value: string | Buffer][]): FormData {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)]), 'a.xlsx');
  }
  return form;
}

const send = (body: FormData, query = '', headers = {}, table = nextTable()): Promise<TestAnswer> =>
  service.request('POST', `/table/${table}/upload/excel${query}`, { body, headers });
const inspect = (body: FormData, query = ''): Promise<TestAnswer> =>
  service.request('POST', `/api/v1/inspect/excel${query}`, { body });

async function endOf({ body: { id } }: TestAnswer) {
  let load: { state: string; answer: { status: number; body: { code?: string; load: { rows: number } } } };
  await until('the end of the load', async () => {
    load = (await service.get(`/api/v1/loads/${id}`)).body;
    return ['committed', 'refused', 'failed'].includes(load.state);
  });
  return load!;
}

async function storedBodies(): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.body')).map((name) => join(folder, name));
}

suite('the part password', () => {
  const files: [string, Buffer][] = [
    ['agile', locked],
    ['standard', encryptStandard(plain, password)],
    ['.xls', encryptXls(legacy, password, 'crypto-api')],
  ];
  for (const [name, file] of files) {
    test(`a workbook (${name}) is loaded and inspected with its password, and not without it`, async () => {
      const form = () => formOf(['password', password], ['file', file]);
      const answer = await send(form());
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 2);
      const inspected = await inspect(form());
      assert.equal(inspected.status, 200, JSON.stringify(inspected.body));
      assert.equal(inspected.body.sheet.rows.length, 2);
      for (const without of [formOf(['file', file]), formOf(['password', ''], ['file', file])]) {
        const { detail } = assertProblem(await send(without), 422, 'password-required');
        assert.match(detail, /Send its password as the part password of the form/);
      }
      assertProblem(await inspect(formOf(['file', file])), 422, 'password-required');
      const wrong = () => formOf(['password', 'another'], ['file', file]);
      const { detail } = assertProblem(await send(wrong()), 422, 'wrong-password');
      assert.match(detail, /does not open the workbook/);
      assertProblem(await inspect(wrong()), 422, 'wrong-password');
    });
  }

  test('it may come after the file, from a file with a line break, and beside a file without a password', async () => {
    const bodies = [
      formOf(['file', locked], ['password', password]),
      formOf(['password', `${password}\n`], ['file', locked]),
      formOf(['password', Buffer.from(`${password}\r\n`)], ['file', locked]),
      formOf(['password', password], ['file', plain]),
    ];
    for (const body of bodies) assert.equal((await send(body)).status, 201);
  });

  test('a password that is too long, sent twice or sent in the URL is refused without its value', async () => {
    const secret = 'q8Zx'.repeat(64);
    for (const value of [secret, Buffer.from(secret), Buffer.from(secret.repeat(100))]) {
      const form = formOf(['password', value], ['file', locked]);
      const { detail } = assertProblem(await send(form), 413, 'limit-exceeded');
      assert.match(detail, /The part password is too long: the limit is 255 characters/);
    }
    const twice = formOf(['password', secret], ['password', secret], ['file', locked]);
    assertProblem(await send(twice), 422, 'invalid-parameter');
    const inUrl = await send(formOf(['file', locked]), `?password=${secret}`);
    assert.match(
      assertProblem(inUrl, 422, 'invalid-parameter').detail,
      /must not be in a URL.*the part password/,
    );
    assert.ok(!JSON.stringify(inUrl.body).includes(secret));
  });

  test('a repeated request with a key and the right password is done, after a wrong one and once', async () => {
    const table = nextTable();
    const headers = { 'idempotency-key': 'encrypted-1' };
    const attempt = (...sent: [string, string][]) =>
      send(formOf(...sent, ['file', locked]), '?if_exists=append', headers, table);
    assertProblem(await attempt(), 422, 'password-required');
    assertProblem(await attempt(['password', 'wrong']), 422, 'wrong-password');
    assert.equal((await attempt(['password', password])).status, 201);
    // The password is not a part of the stored digest.
    for (const sent of [password, 'another']) {
      const again = await attempt(['password', sent]);
      assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [201, 'true']);
    }
    const { rows } = await service.database.pool.query(`SELECT count(*)::int AS n FROM public.${table}`);
    assert.equal(rows[0].n, 2);
  });
});

test('an asynchronous load opens the workbook with the password in the file of its body', async () => {
  const later = { prefer: 'respond-async' };
  const wrong = await send(formOf(['password', 'wrong'], ['file', locked]), '', later);
  assert.equal(wrong.status, 202);
  const refused = await endOf(wrong);
  assert.deepEqual([refused.state, refused.answer.body.code], ['refused', 'wrong-password']);

  const table = nextTable();
  await service.database.pool.query(`CREATE TABLE public.${table} (id bigint, name text)`);
  const lock = await service.database.pool.connect();
  await lock.query(`BEGIN; LOCK TABLE public.${table}`);
  const form = formOf(['password', password], ['file', locked]);
  const accepted = await send(form, '?if_exists=append', later, table);
  assert.equal(accepted.status, 202);
  const [stored] = await storedBodies();
  assert.ok(readFileSync(stored!).includes(password));
  assert.equal(statSync(stored!).mode & 0o777, 0o600);
  await lock.query('ROLLBACK');
  lock.release();
  const { state, answer } = await endOf(accepted);
  assert.deepEqual([state, answer.body.load.rows], ['committed', 2]);
  await until('the bodies to be removed', async () => (await storedBodies()).length === 0);
});

const isLinux = process.platform === 'linux';

test('the process that reads an .xls file has the password in no argument', { skip: !isLinux }, async () => {
  const sending = send(formOf(['password', password], ['file', encryptXls(legacy, password, 'rc4')]));
  const commands = new Set<string>();
  await Promise.all([
    sending,
    until('the reader to run', () => {
      for (const command of runningCommands()) if (command.includes('reader-process')) commands.add(command);
      return commands.size > 0;
    }),
  ]);
  assert.equal((await sending).status, 201);
  for (const command of commands) assert.ok(!command.includes(password.slice(0, 5)), command);
});

/** Returns the arguments of all processes, which every user of the machine can read. */
function runningCommands(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    });
}

test('no log line, record, event, stored answer or digest has the password', async () => {
  const { pool } = service.database;
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'tablewright_service'::regnamespace`,
  );
  let stored = '';
  for (const { name } of tables) {
    const { rows } = await pool.query(`SELECT r::text AS row FROM tablewright_service.${name} r`);
    for (const { row } of rows) {
      stored += `${row}\n`;
      // A bytea is shown as hexadecimal digits.
      for (const [, digits] of row.matchAll(/\\x([0-9a-f]+)/g)) stored += `${Buffer.from(digits, 'hex')}\n`;
    }
  }
  // The tests above have left records of these kinds.
  for (const kind of ['wrong-password', 'password-required', 'encrypted-1', 'load.refused', 'rows.loaded'])
    assert.ok(stored.includes(kind), kind);
  const output = service.output();
  assert.match(output, /"code":"wrong-password"/);
  const forms = [password, 'Zebra', encodeURIComponent(password), Buffer.from(password).toString('base64')];
  for (const text of [stored, output, JSON.stringify((await service.get('/api/v1/loads?limit=100')).body)])
    for (const form of forms) assert.ok(!text.includes(form), form);
});
