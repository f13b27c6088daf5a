/** Problems that PostgreSQL finds have the right data row, however many pages are between the rows (docs/decisions/0005). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

const rowCount = 20_000;
const table = {
  columns: [
    { name: 'id', type: 'integer' },
    { name: 'filler', type: 'text' },
  ],
  constraints: { primary_key: { name: '', columns: ['id'] } },
};

let service: TestService;

before(async () => {
  service = await startTestService();
});

after(() => service.stop());

/** Rows 101, 10,001 and 19,999 repeat keys of earlier rows. Row 50 has a wrong cell and is never sent. */
function rowsWithProblems(): object[] {
  const rows: Record<string, unknown>[] = Array.from({ length: rowCount }, (_, index) => ({
    id: index + 1,
    filler: 'x'.repeat(index % 400),
  }));
  rows[49]!.id = 'fifty';
  rows[100]!.id = 7;
  rows[10_000]!.id = 9_000;
  rows[19_998]!.id = 101 + 1;
  return rows;
}

const expected = [
  [50, 'not a whole number, as integer needs it'],
  [101, 'must be unique: also in row 7'],
  [10_001, 'must be unique: also in row 9000'],
  [19_999, 'must be unique: also in row 102'],
];

function named(body: { errors: { row: number; detail: string }[] }): unknown[] {
  return body.errors.map(({ row, detail }) => [row, detail]);
}

test('row numbers are right in a new table', async () => {
  const { status, body } = await service.post('/table/made/upload/json', { table, data: rowsWithProblems() });
  assert.equal(status, 422);
  assert.deepEqual(named(body), expected);
});

test('row numbers are right in a new table with staged rows, short ones among long ones', async () => {
  const count = 3000;
  const data: Record<string, unknown>[] = Array.from({ length: count }, (_, index) => {
    const noise = createHash('sha512').update(`${index}`).digest('hex').repeat(16);
    return {
      id: index + 1,
      filler: noise.slice(0, [1900, 300, 20][Number(`0x${noise[0]}`) % 3]),
      words: 'a',
    };
  });
  for (let row = 2000; row < count; row += 100) data[row]!.id = row - 999;
  const columns = [...table.columns, { name: 'words', type: 'tsvector' }];
  const staged = { ...table, columns };
  const { body } = await service.post('/table/staged/upload/json', { table: staged, data });
  assert.deepEqual(
    named(body),
    Array.from({ length: 10 }, (_, index) => [
      2001 + 100 * index,
      `must be unique: also in row ${1001 + 100 * index}`,
    ]),
  );
});

test('row numbers are right in a table with free space between rows', async () => {
  await service.rows('CREATE TABLE standing (id integer PRIMARY KEY, filler text)');
  await service.rows("INSERT INTO standing SELECT -n, repeat('y', 300) FROM generate_series(1, 20000) n");
  await service.rows('DELETE FROM standing WHERE id % 3 = 0');
  await service.rows('VACUUM standing');
  const { status, body } = await service.post('/table/standing/upload/json?if_exists=append', {
    data: [...rowsWithProblems(), { id: -1 }],
  });
  assert.equal(status, 422);
  assert.deepEqual(named(body), [...expected, [20_001, 'must be unique: the table already has it']]);
});
