/** Tests that values that PostgreSQL must not read are found sooner than PostgreSQL finds their parts with a regular expression. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/database.ts';
import type { ColumnType } from '../../../../encoding/columns/load-column.ts';
import { ownCost } from '../../../../encoding/columns/reading-cost.ts';
import { Problems } from '../../../../encoding/problems/problems.ts';
import { findCostlyValues } from './costly-values.ts';

const jsonb = 3802;

let database: TestDatabase;
let client: pg.Client;
before(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.url);
  await client.connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

test('a text with millions of parts is refused sooner than a regular expression counts them', async () => {
  await client.query('BEGIN');
  await client.query(`CREATE TABLE t AS SELECT '[' || repeat('1,', 3000000) || '1]' AS a`);
  const rows = { schema: 'public', name: 't', keyColumns: ['ctid'], areShown: false };
  const column = { name: 'a', type: { name: 'jsonb' } as ColumnType, cost: ownCost(jsonb) };
  const times = { check: Infinity, count: Infinity };
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    const problems = new Problems();
    await findCostlyValues(client, rows, column, problems);
    const middle = performance.now();
    await client.query("SELECT regexp_count(a, ',') FROM public.t");
    assert.equal(problems.count, 1);
    times.check = Math.min(times.check, middle - start);
    times.count = Math.min(times.count, performance.now() - middle);
  }
  assert.ok(times.check < times.count, JSON.stringify(times));
});
