/** Tests how the work of reading the facts of a table grows with its expressions and indexes, by the rows that PostgreSQL reads for it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { readUse } from './use-facts.ts';

let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  // As in the service (transaction-settings.ts), because JIT would take seconds.
  await client.query('SET jit TO off');
});
after(async () => {
  await client.end();
  await database.drop();
});

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: Plan[];
}

const kinds: [name: string, parts: (number: number) => string[], index: (number: number) => string][] = [
  [
    'generated columns',
    (n) => [`a${n} text`, `b${n} text GENERATED ALWAYS AS (lower(a${n}) || 'x') STORED`],
    () => '',
  ],
  ['CHECK constraints', (n) => [`a${n} text`, `CHECK (lower(a${n}) <> 'x')`], () => ''],
  [
    'indexes',
    (n) => [`a${n} text`, `b${n} text GENERATED ALWAYS AS (lower(a${n})) STORED`],
    (n) => `CREATE INDEX ON t (a${n}, b${n})`,
  ],
];

for (const [name, parts, index] of kinds) {
  test(`reading the facts of four times as many ${name} takes less than 16 times the work`, async () => {
    const small = await rowsRead(20, parts, index);
    const large = await rowsRead(80, parts, index);
    assert.ok(large < small * 16, `${small} rows, then ${large}`);
  });
}

async function rowsRead(
  count: number,
  parts: (number: number) => string[],
  index: (number: number) => string,
): Promise<number> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  await client.query(
    `DROP TABLE IF EXISTS t; CREATE TABLE t (${numbers.flatMap(parts)}); ${numbers.map(index).join(';')}`,
  );
  const found = await client.query<{ oid: number }>("SELECT 't'::regclass::oid::int AS oid");
  const { text, values } = readUse(found.rows[0]!.oid);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    text: `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`,
    values: values!,
  });
  return rowsOf(rows[0]!['QUERY PLAN'][0].Plan);
}

function rowsOf(plan: Plan): number {
  const rows =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Join Filter'] ?? 0);
  return (plan.Plans ?? []).reduce((sum, part) => sum + rowsOf(part), rows * plan['Actual Loops']);
}
