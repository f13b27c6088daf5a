/** The rows of a new table are frozen, so that its first readers need not write its pages again. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const rows = Array.from({ length: 3000 }, (_, index) => ({
  id: index + 1,
  name: `name ${index}`.padEnd(400, '.'),
}));
const table = {
  columns: [
    { name: 'id', type: 'integer' },
    { name: 'name', type: 'text' },
  ],
  constraints: { primary_key: { name: '', columns: ['id'] } },
};

/** Returns how many rows PostgreSQL must still check in the table for an index-only scan. */
async function heapFetches(name: string): Promise<number> {
  const client = await service.database.pool.connect();
  try {
    await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off');
    const explained = await client.query(
      `EXPLAIN (ANALYZE, FORMAT JSON) SELECT id FROM public.${name} ORDER BY id`,
    );
    return explained.rows[0]['QUERY PLAN'][0].Plan['Heap Fetches'];
  } finally {
    client.release(true);
  }
}

const cases: [string, string, object][] = [
  ['inferred', '?primary_key=id', { data: rows }],
  ['defined', '', { table, data: rows }],
  ['defined', '?primary_key=id&if_exists=replace', { data: rows }],
  // The last row contradicts the types of the first ones, so everything is loaded twice.
  ['contradicted', '?primary_key=id', { data: [...rows, { id: 3001, name: 1.5 }] }],
];
for (const [name, query, body] of cases) {
  test(`the rows of ${name}${query} are frozen`, async () => {
    const answer = await service.post(`/table/${name}/upload/json${query}`, body);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [counted] = await service.rows(
      `SELECT count(*)::int AS rows, sum(id)::int AS sum FROM public.${name}`,
    );
    const { length } = (body as { data: unknown[] }).data;
    assert.deepEqual(counted, { rows: length, sum: (length * (length + 1)) / 2 });
    assert.equal(await heapFetches(name), 0);
  });
}

test('rows with different columns are all there', async () => {
  const data = rows.map((row, index) => (index % 1000 === 0 ? { id: row.id } : index % 999 === 0 ? {} : row));
  const answer = await service.post('/table/mixed/upload/json', { data });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const [counted] = await service.rows(
    'SELECT count(*)::int AS rows, count(id)::int AS ids, count(name)::int AS names FROM public.mixed',
  );
  assert.deepEqual(counted, { rows: 3000, ids: 2997, names: 2994 });
});

test('rows that are added to an existing table are not', async () => {
  const more = rows.map((row) => ({ ...row, id: row.id + 10_000 }));
  const answer = await service.post('/table/defined/upload/json?if_exists=append', { data: more });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.notEqual(await heapFetches('defined'), 0);
});
