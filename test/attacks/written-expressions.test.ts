/** Short rows of tables whose generated columns and indexes make PostgreSQL write much: the service bounds what is written. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';

const mib = 2 ** 20;
let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const query = (text: string) => service.database.pool.query(text);
const random = (length: number) =>
  randomBytes(2 * length)
    .toString('base64')
    .replace(/[^a-z]/gi, '')
    .slice(0, length);
const list = <Item>(length: number, item: (index: number) => Item) =>
  Array.from({ length }, (_, i) => item(i));
const rowsOf = (count: number, value: string | number) => list(count, () => ({ a: value }));

const generated = (count: number, expression: () => string) =>
  list(count, (index) => ({ name: `g${index}`, type: 'text', generated: expression() }));
const indexes = (count: number, expression: () => string) =>
  list(count, () => ({ columns: [{ expression: expression() }] }));
const columnA = { name: 'a', type: 'text' };

/** Concatenates the values in pairs, so that the expression has few levels. */
function joined(values: string[]): string {
  const half = Math.ceil(values.length / 2);
  if (values.length === 1) return values[0]!;
  return `(${joined(values.slice(0, half))} || ${joined(values.slice(half))})`;
}
const hashes = joined(list(60, (index) => `md5(a || '${index}')`));
const sixteenCopies = joined(list(16, () => 'a'));

const longColumns = { columns: [columnA, ...generated(16, () => `a || '${random(15_000)}'`)] };
const hashColumns = { columns: [columnA, ...generated(30, () => hashes)] };
const longIndexes = { columns: [columnA], indexes: indexes(90, () => `a || '${random(2500)}'`) };
const manyCopies = { columns: [columnA, ...generated(60, () => sixteenCopies)] };
const attacks: [
  name: string,
  table: { columns: unknown[]; indexes?: unknown[] },
  rows: Record<string, unknown>[],
][] = [
  ['16 stored generated columns with 15,000 letters', longColumns, rowsOf(2000, 'x')],
  ['30 stored generated columns with 60 hashes', hashColumns, rowsOf(2000, 'x')],
  ['90 indexes of expressions with 2,500 letters', longIndexes, rowsOf(2000, 'x')],
  [
    '60 stored generated columns with 16 copies of a column',
    manyCopies,
    list(200, () => ({ a: random(1000) })),
  ],
];
const message =
  /^The defaults, generated values, index entries and padding that PostgreSQL adds to the rows take too many bytes: /;

interface Measured {
  answer: TestAnswer;
  /** How many bytes PostgreSQL has written into its log meanwhile. */
  written: number;
  ms: number;
}

/** Sends a request that is refused. Other tests write into the same log, so the request is sent again if more than `most` bytes were written. */
async function measured(send: () => Promise<TestAnswer>, most: number): Promise<Measured> {
  let least = await measuredOnce(send);
  for (let more = 0; more < 4 && least.written >= most; more++) {
    const next = await measuredOnce(send);
    if (next.written < least.written) least = next;
  }
  return least;
}

async function measuredOnce(send: () => Promise<TestAnswer>): Promise<Measured> {
  const place = async () =>
    (await query('SELECT pg_current_wal_insert_lsn()::text AS place')).rows[0].place as string;
  const start = await place();
  const startedAt = performance.now();
  const answer = await send();
  const ms = performance.now() - startedAt;
  const { rows } = await query(`SELECT pg_wal_lsn_diff('${await place()}', '${start}')::float8 AS bytes`);
  return { answer, written: rows[0].bytes, ms };
}

for (const [name, table, data] of attacks) {
  const csv = Buffer.from(`a\n${data.map(({ a }) => a).join('\n')}\n`);
  const ways: [way: string, isMade: boolean, send: () => Promise<TestAnswer>][] = [
    ['as JSON', true, () => service.post('/table/long/upload/json?if_exists=append', { data })],
    ['as CSV', true, () => service.upload('/table/long/upload/excel?if_exists=append', csv)],
    [
      'staged',
      true,
      () => service.post('/table/long/upload/json?if_exists=append&faulty_rows=leave_out', { data }),
    ],
    ['into a new table', false, () => service.post('/table/long/upload/json', { table, data })],
  ];
  for (const [way, isMade, send] of ways) {
    test(`an upload ${way} into ${name} is refused before much is written`, async (context) => {
      if (isMade) assert.equal((await service.post('/table/long', { table })).status, 201);
      const { answer, written, ms } = await measured(send, 200 * mib);
      await query('DROP TABLE IF EXISTS long');
      context.diagnostic(`written ${(written / mib).toFixed(0)} MiB in ${ms.toFixed(0)} ms`);
      assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, message);
      assert.ok(written < 200 * mib, `${written} bytes were written`);
    });
  }

  test(`a table with rows does not get ${name}`, async (context) => {
    await query('CREATE TABLE long (a text)');
    await query(
      `INSERT INTO long SELECT value->>'a' FROM json_array_elements('${JSON.stringify(data)}') AS value`,
    );
    const body = JSON.stringify({ table });
    const headers = { 'content-type': 'application/json' };
    const { answer, written, ms } = await measured(
      () => service.request('PUT', '/table/long', { body, headers }),
      16 * mib,
    );
    await query('DROP TABLE long');
    context.diagnostic(`written ${(written / mib).toFixed(0)} MiB in ${ms.toFixed(0)} ms`);
    assert.match(
      assertProblem(answer, 413, 'limit-exceeded').detail,
      / lengthen the rows of the table too much: /,
    );
    assert.ok(written < 16 * mib, `${written} bytes were written`);
  });
}
