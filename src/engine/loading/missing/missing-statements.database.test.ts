import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { shapeNumber } from '../staged/staging-table.ts';
import { findMissingRows } from './missing-statements.ts';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

test('missing rows are found with hashed comparisons, also if keys with NULL are equal', async () => {
  await database.pool.query(`
    CREATE TABLE t AS SELECT a, NULL::text AS b, a::text AS region FROM generate_series(1, 20000) a;
    CREATE TABLE s AS SELECT *, 0 AS ${shapeNumber} FROM t;
    ANALYZE t; ANALYZE s`);
  const compared = (...columns: string[]) => ({
    columns,
    equals: undefined,
    areNullsEqual: true,
    shapes: [0],
  });
  const search = { from: 't', sent: 's', key: compared('a', 'b'), keyColumns: [], mark: undefined };
  for (const within of [undefined, compared('b', 'region')]) {
    const statement = findMissingRows({ ...search, within });
    const { rows } = await database.pool.query(`EXPLAIN ${statement}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    assert.match(plan, /hashed SubPlan/);
    assert.doesNotMatch(plan, /EXISTS\(SubPlan/);
  }
});
