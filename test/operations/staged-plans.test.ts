/** PostgreSQL's plans for statements over staged rows: no plan compares every row with every other row. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type pg from 'pg';
import type { LoadColumn } from '../../src/encoding/columns/load-column.ts';
import { violationQueries } from '../../src/engine/loading/judging/violation-queries.ts';
import type { ConflictRule } from '../../src/engine/loading/staged/conflict-rule.ts';
import {
  createProgress,
  lockExistingRows,
  mergeRows,
  startCounting,
} from '../../src/engine/loading/staged/merge-statements.ts';
import { Shapes } from '../../src/engine/loading/staged/shapes.ts';
import { countWithKey, createStoredRows } from '../../src/engine/loading/staged/skipped-rows.ts';
import type { StagedLoad } from '../../src/engine/loading/staged/staged-load.ts';
import {
  analyzeStagingTable,
  createStagingTable,
  stagingTable,
} from '../../src/engine/loading/staged/staging-table.ts';
import { analyzeSurplusTable, findSurplusRows } from '../../src/engine/loading/staged/surplus-rows.ts';
import { findUnchangedRows } from '../../src/engine/loading/staged/unchanged-rows.ts';
import type { ForeignKeyRule, RowRule, UniqueRule } from '../../src/engine/tables/rules/row-rules.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const rowCount = 100_000;
const integer = { oid: 23, name: 'integer', kind: 'base' } as LoadColumn['type'];
const column = (name: string) => ({ name, type: integer, default: 'none' }) as unknown as LoadColumn;
const columns = [column('a'), column('b')];

const unique: UniqueRule = {
  kind: 'unique',
  name: 'key',
  columns: ['a'],
  isPrimary: true,
  nullsNotDistinct: false,
  isDeferrable: false,
};
const reference: ForeignKeyRule = {
  kind: 'foreign key',
  name: 'reference',
  columns: ['b'],
  isSelf: false,
  isFull: false,
  isHidden: false,
  referencedSchema: 'public',
  referencedTable: 'numbers',
  referencedColumns: ['a'],
};
const selfReference: ForeignKeyRule = { ...reference, isSelf: true, referencedTable: 'rows' };

let database: TestDatabase;
let client: pg.PoolClient;

before(async () => {
  database = await createTestDatabase();
  client = await database.pool.connect();
  await client.query(`CREATE TABLE numbers (a int PRIMARY KEY); CREATE TABLE rows (a int PRIMARY KEY, b int);
    INSERT INTO numbers SELECT generate_series(1, ${rowCount});
    INSERT INTO rows SELECT g, g FROM generate_series(1, ${rowCount}) g; BEGIN`);
  await client.query(createStagingTable(columns));
  await client.query(createProgress);
  // There are two rows for each key, so half of the rows are surplus.
  await client.query(
    `INSERT INTO ${stagingTable} SELECT g, g % 2, g % ${rowCount / 2}, g * 2 FROM generate_series(1, ${rowCount}) g`,
  );
});
after(async () => {
  client?.release(true);
  await database?.drop();
});

interface Plan {
  'Node Type': string;
  'Plan Rows': number;
  Plans?: Plan[];
}

/**
 * Returns the nested loops that read a whole table or query for each row. If there are none, the statement is not quadratic.
 */
async function quadraticParts(text: string): Promise<string[]> {
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`);
  const found: string[] = [];
  const visit = (plan: Plan): void => {
    const [, inner] = plan.Plans ?? [];
    const isLookUp = /Index/.test(inner?.['Node Type'] ?? '') || inner?.['Node Type'] === 'Memoize';
    if (plan['Node Type'] === 'Nested Loop' && inner && !isLookUp) found.push(JSON.stringify(plan, null, 1));
    plan.Plans?.forEach(visit);
  };
  visit(rows[0]['QUERY PLAN'][0].Plan);
  return found;
}

test('no statement over staged rows joins two tables row by row', async () => {
  await client.query(analyzeStagingTable(['a', 'b']));
  const conflict: ConflictRule = {
    action: 'update',
    key: { columns: ['a'], nullsNotDistinct: false },
    shapes: [0, 1],
    isKeySent: true,
  };
  const shapes = new Shapes(2);
  for (const set of [[0, 1], [0]]) shapes.numberOf(set);
  const table = { relation: 'rows', stored: 'rows', columns, compared: columns.slice(1) };
  const load = { ...table, isBare: false, shapes, conflict } as unknown as StagedLoad;
  await client.query(findSurplusRows(stagingTable, conflict));
  await client.query(analyzeSurplusTable);
  await client.query(createStoredRows);
  await client.query(startCounting);
  const findUnchanged = findUnchangedRows(load, undefined);
  assert.deepEqual(await quadraticParts(findUnchanged), [], findUnchanged);
  await client.query(findUnchanged);
  const existing = 'public.rows';
  const rules: RowRule[] = [unique, reference, selfReference];
  const skip: ConflictRule = { ...conflict, action: 'skip' };
  const statements = [
    mergeRows(load, 0),
    lockExistingRows(load, stagingTable, conflict),
    countWithKey(load, conflict),
    ...[undefined, conflict, skip].flatMap((rule) =>
      violationQueries({ relation: stagingTable, existing, conflict: rule }, rules).map(({ statement }) =>
        statement(),
      ),
    ),
  ];
  for (const statement of statements) {
    const text = typeof statement === 'string' ? statement : statement.text;
    assert.deepEqual(await quadraticParts(text), [], text);
  }
});

test('the staging table has statistics for its shapes and for the columns that are read', async () => {
  await client.query(analyzeStagingTable(['a']));
  const { rows } = await client.query(
    "SELECT attname FROM pg_stats WHERE tablename = 'tablewright rows' AND n_distinct <> 0",
  );
  assert.ok(rows.some(({ attname }) => attname === 'a'));
  assert.ok(rows.some(({ attname }) => /^tablewright shape/.test(attname)));
});
