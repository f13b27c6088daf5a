/** `GET /api/v1/loads/{id}/problems`: all stored problems of a load, by pages, as JSON and as CSV. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../src/core/errors.ts';
import { problemList } from '../../src/service/loads/stored-problems.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;
const schema = 'tablewright_service';
const count = 2500;
/** Rows with a number and, in the same row, a text that is none. The text has characters that JSON and SQL write specially. */
const data = Array.from({ length: count }, (_, row) => ({ a: row, b: `x'\\"ä😀${row}` }));
const table = {
  columns: [
    { name: 'a', type: 'integer' },
    { name: 'b', type: 'integer' },
  ],
};

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const idOf = ({ headers }: TestAnswer): string => headers.get('load-id')!;
const problemsOf = (id: string, query = '', accept?: string) =>
  service.get(`/api/v1/loads/${id}/problems${query}`, accept ? { headers: { accept } } : {});

async function assertAllStored(answer: TestAnswer, state: string): Promise<void> {
  const { status, body } = await problemsOf(idOf(answer), '?limit=100000');
  assert.equal(status, 200);
  const { problems, ...facts } = body;
  assert.deepEqual(facts, {
    load: idOf(answer),
    state,
    problems_found: count,
    problems_stored: count,
    next: null,
  });
  assert.deepEqual(
    problems.map(({ row, column, value }: Problem) => [row, column, value]),
    data.map(({ b }, row) => [row + 1, 'b', b]),
  );
}

test('a refused load has all of its problems in the order of their rows, and those of the answer are the first', async () => {
  const answer = await service.post('/table/refused/upload/json', { table, data });
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  await assertAllStored(answer, 'refused');
  const first = await problemsOf(idOf(answer), '?limit=100');
  assert.deepEqual(first.body.problems, errors);
});

test('the problems are shown as soon as the load is answered, also while they are being stored', async () => {
  const client = await service.database.pool.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE ${schema}.loads IN SHARE MODE`);
    const answer = await service.post('/table/refused/upload/json', { table, data });
    assertProblem(answer, 422, 'invalid-data');
    const whole = assertAllStored(answer, 'refused');
    await Promise.race([whole, sleep(500)]);
    await client.query('ROLLBACK');
    await whole;
  } finally {
    client.release(true);
  }
});

test('pages follow each other without a gap, whatever their size is', async () => {
  const answer = await service.post('/table/refused/upload/json', { table, data });
  const rows: number[] = [];
  let next: number | null = 0;
  while (next !== null) {
    const { body, headers } = await problemsOf(idOf(answer), `?limit=700&after=${next}`);
    rows.push(...body.problems.map(({ row }: Problem) => row));
    next = body.next;
    const link = `</api/v1/loads/${idOf(answer)}/problems?after=${next}&limit=700>; rel="next"`;
    assert.equal(headers.get('link'), next === null ? null : link);
  }
  assert.deepEqual(
    rows,
    data.map((_, row) => row + 1),
  );
  assert.deepEqual((await problemsOf(idOf(answer), `?after=${count}`)).body.problems, []);
});

test('as CSV they are the file that the upload answers', async () => {
  const accept = 'text/csv';
  const answer = await service.post('/table/refused/upload/json', { table, data }, { headers: { accept } });
  assert.equal(answer.status, 422);
  const { body, headers } = await problemsOf(idOf(answer), '?limit=100000', accept);
  assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  assert.equal(body, answer.body);
});

test('a load that left out rows has their problems if it is committed, and if it is a dry run', async () => {
  const rows = { table, data: [...data, { a: 1, b: 1 }] };
  const path = `/table/left_out/upload/json?faulty_rows=leave_out&max_faulty_rows=${count}`;
  await assertAllStored(await service.post(`${path}&dry_run=true`, rows), 'checked');
  const answer = await service.post(path, rows);
  assert.equal(answer.status, 201);
  await assertAllStored(answer, 'committed');
});

test('problems of the definition, and those of an asynchronous load, are stored', async () => {
  const wrong = { columns: [{ name: 'a', type: 'nothing' }] };
  const answer = await service.post('/table/wrong/upload/json', { table: wrong, data: [{ a: 1 }] });
  const { errors } = assertProblem(answer, 422, 'invalid-definition');
  assert.deepEqual((await problemsOf(idOf(answer))).body.problems, errors);
  const later = await service.post(
    '/table/later/upload/json',
    { table, data },
    { headers: { prefer: 'respond-async' } },
  );
  assert.equal(later.status, 202);
  await until('the end of the load', async () => (await problemsOf(idOf(later))).body.state === 'refused');
  await assertAllStored(later, 'refused');
});

test('a load without problems, and one that is cancelled, have none', async () => {
  const answer = await service.upload('/table/good/upload/excel', sheetOf([['a'], [1]]));
  const { body } = await problemsOf(idOf(answer));
  assert.deepEqual([body.state, body.problems_stored, body.problems], ['committed', 0, []]);
  assert.equal(
    (await problemsOf(idOf(answer), '', 'text/csv')).body,
    'sheet,cell,row,column,value,code,reason\r\n',
  );
});

test('only tokens that see the load see its problems', async () => {
  const answer = await service.post('/table/refused/upload/json', { table, data });
  const token = await service.token({ subject: 'somebody', scope: 'table:create' });
  const path = `/api/v1/loads/${idOf(answer)}/problems`;
  assertProblem(await service.get(path, { token }), 404, 'load-not-found');
  assertProblem(await service.get(`${path}?limit=100001`), 422, 'invalid-parameter');
  assertProblem(await service.get(path, { headers: { accept: 'text/html' } }), 406, 'not-acceptable');
});

test('a subject keeps the problems of its newest loads only, and they are removed with the load', async () => {
  const token = await service.token({ subject: 'many', scope: 'table:create' });
  const refused = async () =>
    idOf(await service.post('/table/many/upload/json', { table, data: data.slice(0, 1) }, { token }));
  const oldest = await refused();
  await service.rows(
    `INSERT INTO ${schema}.loads (id, state, operation, table_schema, table_name, dry_run, owner, created_at, problem_bytes, problems_stored)
      SELECT ('01000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'refused', 'upload-json', 'public', 't', false, owner, now(), 1, 1
      FROM generate_series(1, $2::int) n, ${schema}.loads WHERE id = $1`,
    [oldest, problemList.kept.loads],
  );
  const newest = await refused();
  const kept = async () =>
    service.rows(
      `SELECT count(*)::int AS loads FROM ${schema}.loads WHERE problem_bytes IS NOT NULL
        AND owner = (SELECT owner FROM ${schema}.loads WHERE id = $1)`,
      [newest],
    );
  await until(
    'older problems to be removed',
    async () => (await kept())[0]!.loads === problemList.kept.loads,
  );
  const stored = async (load: string) =>
    (await service.rows(`SELECT FROM ${schema}.load_problems WHERE load = $1`, [load])).length;
  assert.deepEqual([await stored(newest), await stored(oldest)], [1, 1]);
  await service.rows(`DELETE FROM ${schema}.loads WHERE id = $1`, [newest]);
  assert.equal(await stored(newest), 0);
});
