/** Data with a problem in every row: all problems are counted, a hundred are listed, and the service needs little memory. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';
import { sized } from '../support/sized.ts';

/** A time limit that only a hanging test reaches. `staged-plans.test.ts` tests how plans grow with the rows. */
const timeout = 900_000;

let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGKILL');
});

const columns = [
  { name: 'a', type: 'integer' },
  { name: 'b', type: 'text' },
];

/** Sends `count` rows, which are generated while they are sent. */
function upload(
  path: string,
  definition: object | undefined,
  count: number,
  row: (n: number) => string,
): Promise<TestAnswer> {
  async function* body() {
    yield Buffer.from(definition ? `{"table":${JSON.stringify(definition)},"data":[` : '{"data":[');
    for (let n = 0; n < count; n += 1000) {
      const rows = Array.from({ length: Math.min(1000, count - n) }, (_, index) => row(n + index));
      yield Buffer.from(`${n > 0 ? ',' : ''}${rows.join(',')}`);
    }
    yield Buffer.from(']}');
  }
  return service.request('POST', path, {
    headers: { 'content-type': 'application/json' },
    body: ReadableStream.from(body()),
  });
}

async function assertCounted(
  answer: Promise<TestAnswer>,
  count: number,
  first: Record<string, unknown>,
): Promise<void> {
  const body = (await answer).body;
  const { errors, error_count: found } = assertProblem(await answer, 422, 'invalid-data');
  assert.equal(found, count);
  if (count > 100) {
    const counts = body.error_groups.map((group: { count: number }) => group.count);
    assert.equal(
      counts.reduce((sum: number, each: number) => sum + each, 0),
      count,
    );
  }
  assert.equal(errors.length, Math.min(100, count));
  for (const [key, value] of Object.entries(first)) assert.equal(errors[0]![key as 'row'], value, key);
  assert.ok(errors.every((error, index) => index === 0 || error.row! >= errors[index - 1]!.row!));
}

const faultyCells = sized(60_000, 1_000_000);

test(`${faultyCells} cells with problems are all counted`, { timeout }, async (context) => {
  const row = (n: number) => `{"a":"${n}x","b":"${n}"}`;
  await assertCounted(upload('/table/faulty/upload/json', { columns }, faultyCells, row), faultyCells, {
    row: 1,
    value: '0x',
    code: 'not-a-whole-number',
  });
  const alternating = (n: number) => `{"a":${n % 2 ? n : '[]'},"b":"${n}"}`;
  await assertCounted(
    upload('/table/faulty/upload/json', { columns }, faultyCells, alternating),
    faultyCells / 2,
    {
      row: 1,
      value: '[]',
      code: 'nested-value',
    },
  );
  const peak = service.peakMemoryBytes();
  if (peak !== undefined) {
    context.diagnostic(`peak memory of the service: ${Math.round(peak / 2 ** 20)} MiB`);
    assert.ok(peak < 300 * 2 ** 20, `${peak} bytes`);
  }
});

/** The number of rows, half of which have a problem. */
const rowCount = sized(16_000, 200_000);

test(`one repeated key among ${rowCount} rows, and ${rowCount / 2} of them, are found`, {
  timeout,
}, async () => {
  const table = { columns, constraints: { primary_key: { name: '', columns: ['a'] } } };
  const once = (n: number) => `{"a":${n === rowCount - 1 ? 77 : n}}`;
  await assertCounted(upload('/table/keyed/upload/json', table, rowCount, once), 1, {
    row: rowCount,
    value: '77',
    detail: 'must be unique: also in row 78',
  });
  const twice = (n: number) => `{"a":${n % (rowCount / 2)}}`;
  await assertCounted(upload('/table/keyed/upload/json', table, rowCount, twice), rowCount / 2, {
    row: rowCount / 2 + 1,
    value: '0',
    detail: 'must be unique: also in row 1',
  });
});

test('rows without a match in a large table are found', { timeout }, async () => {
  await service.database.pool.query(`CREATE TABLE numbers (a int PRIMARY KEY);
    INSERT INTO numbers SELECT generate_series(1, ${(rowCount / 2) * 5});
    CREATE TABLE standing (a int REFERENCES numbers, b text)`);
  const row = (n: number) => `{"a":${n * 5 + 1},"b":"${n}"}`;
  const expected = {
    row: rowCount / 2 + 1,
    column: 'a',
    value: String((rowCount / 2) * 5 + 1),
    code: 'no-such-reference',
    detail: 'has no match in public.numbers (a)',
  };
  const foreignKeys = [{ name: '', column: 'a', reference_table: 'numbers', reference_column: 'a' }];
  const table = { columns, constraints: { foreign_keys: foreignKeys } };
  await assertCounted(upload('/table/new/upload/json', table, rowCount, row), rowCount / 2, expected);
  const path = '/table/standing/upload/json?if_exists=append';
  await assertCounted(upload(path, undefined, rowCount, row), rowCount / 2, expected);
  const matching = await upload(path, undefined, rowCount, (n) => `{"a":${n + 1}}`);
  assert.equal(matching.body.load?.rows, rowCount, JSON.stringify(matching.body));
});

test('problems of cells, keys and references of one upload are all found', { timeout }, async () => {
  await service.database.pool.query('CREATE TABLE mixed (a int PRIMARY KEY, b int REFERENCES mixed)');
  const row = (n: number) => {
    if (n % 4 === 0) return `{"a":"${n}"}`;
    if (n % 4 === 1) return `{"a":"?"}`;
    if (n % 4 === 2) return `{"a":${n - 2}}`;
    return `{"a":${n},"b":${-n}}`;
  };
  await assertCounted(upload('/table/mixed/upload/json?if_exists=append', undefined, 20_000, row), 15_000, {
    row: 2,
    code: 'not-a-whole-number',
  });
});
