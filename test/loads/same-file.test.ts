/** The warning `same-file`: a file that was loaded into the same table before. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { maxSmallBytes } from '../../src/engine/loading/load-known.ts';
import { planForm } from '../support/plan-form.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const csv = Buffer.from('a,b\n1,x\n2,y\n');
const append = '?if_exists=append';

function upload(table: string, file: Buffer, query = append, token?: string, more = {}): Promise<TestAnswer> {
  const body = new FormData();
  body.set('file', new Blob([new Uint8Array(file)]), 'file');
  for (const [name, value] of Object.entries(more)) body.set(name, String(value));
  return service.request('POST', `/table/${table}/upload/excel${query}`, { body, ...(token && { token }) });
}

const sendJson = (table: string, body: string, headers = {}): Promise<TestAnswer> =>
  service.request('POST', `/table/${table}/upload/json${append}`, {
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });

function warningOf({ body }: TestAnswer): string | undefined {
  assert.ok(body.load, JSON.stringify(body));
  return body.load.warnings.find(({ code }: { code: string }) => code === 'same-file')?.detail;
}

const idOf = ({ headers }: TestAnswer): string => headers.get('load-id')!;

/** Asserts that the warning names this load with the time of its end. */
async function assertNames(answer: TestAnswer, earlier: TestAnswer): Promise<void> {
  const { body } = await service.get(`/api/v1/loads/${idOf(earlier)}`);
  assert.match(warningOf(answer) ?? '', new RegExp(` at ${body.ended_at} by the load ${idOf(earlier)}\\.`));
}

const files = {
  a_text_file: csv,
  a_workbook: sheetOf([
    ['a', 'b'],
    [1, 'x'],
    [2, 'y'],
  ]),
};
for (const [table, file] of Object.entries(files)) {
  test(`${table} that was loaded before is named, whatever the upload does with the table`, async () => {
    const first = await upload(table, file, '');
    assert.deepEqual([first.status, warningOf(first)], [201, undefined]);
    await assertNames(await upload(table, file, `${append}&dry_run=true`), first);
    // The dry run is no earlier load.
    const second = await upload(table, file);
    await assertNames(second, first);
    const third = await upload(table, file, '?if_exists=truncate');
    await assertNames(third, second);
    await assertNames(await upload(table, file, '?if_exists=replace'), third);
    const { body } = await service.get(`/api/v1/loads/${idOf(third)}`);
    assert.deepEqual(body.answer.body.load.warnings, third.body.load.warnings);
  });
}

test('another file, another table and a new table are not warned of', async () => {
  await upload('one', csv, '');
  assert.equal(warningOf(await upload('one', Buffer.from('a,b\n1,x\n2,z\n'))), undefined);
  assert.equal(warningOf(await upload('two', csv)), undefined);
  await service.rows('DROP TABLE one');
  const again = await upload('one', csv);
  assert.equal(warningOf(again), undefined);
  await assertNames(await upload('one', csv), again);
  // The file was loaded into the table that was replaced.
  await upload('one', Buffer.from('a,b\n9,y\n'), '?if_exists=replace');
  assert.equal(warningOf(await upload('one', csv)), undefined);
});

/** Sends a plan that loads files of one line into tables. */
const plan = (tables: object[]) =>
  service.request('POST', '/api/v1/loads', { body: planForm({ tables }, { o: 'a,b\n7,z\n' }) });

test('a plan that also creates a table hides no earlier load, and one that replaces or empties the table does', async () => {
  const first = await upload('planned', csv);
  const into = { table: 'planned', file: 'o', if_exists: 'append' };
  assert.equal((await plan([into, { table: 'planned_too', file: 'o' }])).status, 201);
  await assertNames(await upload('planned', csv, `${append}&dry_run=true`), first);
  for (const if_exists of ['truncate', 'replace']) {
    assert.ok(
      (
        await plan([
          { ...into, if_exists },
          { ...into, table: 'planned_too' },
        ])
      ).status < 300,
    );
    const again = await upload('planned', csv);
    assert.equal(warningOf(again), undefined);
    await assertNames(await upload('planned', csv, `${append}&dry_run=true`), again);
  }
});

test('a file is also warned of after the table got another name, and not after it was emptied or made anew', async () => {
  const first = await upload('named', csv);
  await plan([
    { table: 'named', file: 'o', if_exists: 'append' },
    { table: 'named_too', file: 'o' },
  ]);
  const rename = (from: string, name: string) =>
    service.request('PATCH', `/table/${from}`, {
      body: JSON.stringify({ name }),
      headers: { 'content-type': 'application/json' },
    });
  assert.equal((await rename('named', 'renamed')).status, 200);
  const second = await upload('renamed', csv);
  await assertNames(second, first);
  const columns = [
    { name: 'a', type: 'bigint' },
    { name: 'b', type: 'text' },
  ];
  assert.equal((await service.post('/table/named', { table: { columns } })).status, 201);
  assert.equal(warningOf(await upload('named', csv)), undefined);
  const other = Buffer.from('a,b\n9,y\n');
  await assertNames(await upload('renamed', csv, `${append}&dry_run=true`), second);
  await upload('renamed', other, '?if_exists=truncate&dry_run=true');
  await assertNames(await upload('renamed', csv, `${append}&dry_run=true`), second);
  await upload('renamed', other, '?if_exists=truncate');
  assert.equal(warningOf(await upload('renamed', csv)), undefined);
});

test('a load into the table in another schema is named only to tokens that allow this schema', async () => {
  await service.rows('CREATE SCHEMA hidden');
  const owner = { subject: 'mover' };
  const first = await upload('moved', csv, `${append}&schema=hidden`, await service.token(owner));
  await service.rows('ALTER TABLE hidden.moved SET SCHEMA public');
  const dry = `${append}&dry_run=true`;
  await assertNames(await upload('moved', csv, dry, await service.token(owner)), first);
  const limited = await service.token({ ...owner, schemas: ['public'] });
  assert.match(warningOf(await upload('moved', csv, dry, limited)) ?? '', /before\. Check/);
});

test('a file without rows is not warned of, because an export may be empty each day', async () => {
  await upload('empty', csv);
  const header = Buffer.from('a,b\n');
  for (let times = 0; times < 3; times++) {
    const answer = await upload('empty', header);
    assert.deepEqual([answer.status, answer.body.load.rows, warningOf(answer)], [200, 0, undefined]);
  }
});

test('a file with another definition or password is the same file, and one that was refused is none', async () => {
  const wrong = JSON.stringify({ table: { columns: [{ name: 'b', type: 'integer' }] } });
  const refused = await upload('parts', csv, append, undefined, { body: wrong });
  assert.equal(refused.status, 422);
  const first = await upload('parts', csv);
  assert.equal(warningOf(first), undefined);
  await assertNames(await upload('parts', csv, append, undefined, { password: 'x', body: '{}' }), first);
});

test('the earlier load is named only to tokens that may see it, and an own load before others', async () => {
  const token = (subject: string, more = '') =>
    service.token({ subject, scope: `table:create table:load${more}` });
  const ofAnn = await upload('shared', csv, append, await token('ann'));
  const ofBen = await upload('shared', csv, append, await token('ben'));
  const hidden =
    'The same file was loaded into this table before. Check that it is the file you mean, and that its rows are not added twice.';
  assert.equal(warningOf(ofBen), hidden);
  await assertNames(await upload('shared', csv, `${append}&dry_run=true`, await token('ann')), ofAnn);
  await assertNames(await upload('shared', csv, append, await token('cem', ' load:read-all')), ofBen);
});

test('a JSON body is a file if it is long, also if its length is not stated or it is loaded later', async () => {
  const filler = 'x'.repeat(maxSmallBytes);
  const long = JSON.stringify({ data: [{ a: filler }] });
  const first = await sendJson('json', long);
  const key = { 'idempotency-key': 'json' };
  const second = await sendJson('json', long, key);
  await assertNames(second, first);
  assert.equal(warningOf(await sendJson('json', long, key)), warningOf(second));
  const later = await sendJson('json', long, { prefer: 'respond-async' });
  assert.equal(later.status, 202);
  const path = `/api/v1/loads/${idOf(later)}`;
  await until('the end of the load', async () => (await service.get(path)).body.state === 'committed');
  await assertNames({ ...later, body: (await service.get(path)).body.answer.body }, second);
  const headers = { 'content-type': 'application/json' };
  const body = new Blob([long]).stream();
  const stream = await service.request('POST', `/table/json/upload/json${append}`, { body, headers });
  await assertNames(stream, later);
});

test('equal short JSON bodies are not warned of, because programs send them on purpose', async () => {
  const body = JSON.stringify({ data: [{ state: 'ok' }] });
  for (const headers of [{}, {}, { 'idempotency-key': 'short' }])
    assert.equal(warningOf(await sendJson('short', body, headers)), undefined);
  const rows = await service.rows(
    `SELECT count(digest)::int AS digests FROM tablewright_service.loads WHERE table_name = 'short'`,
  );
  assert.deepEqual(rows, [{ digests: 0 }]);
});

test('a service without records loads a file twice without the warning', async () => {
  const other = await startTestService({ SERVICE_SCHEMA: 'none' });
  try {
    for (const status of [201, 200]) {
      const answer = await other.upload(`/table/t/upload/excel${append}`, csv);
      assert.deepEqual([answer.status, warningOf(answer)], [status, undefined]);
    }
  } finally {
    await other.stop();
  }
});
