/** The SQL statements that move rows from the staging table into the target table, which belongs to a caller. */

import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier, type Statement } from '../../../postgres/sql.ts';
import { columnsOf } from '../../tables/rules/rule-conditions.ts';
import { measureBefore, measureRow } from './computed-bytes.ts';
import { type ConflictKey, type ConflictRule, sameKey } from './conflict-rule.ts';
import { noteStored, notesNumbers, skipsInOrder } from './skipped-rows.ts';
import type { StagedLoad } from './staged-load.ts';
import { hasShape, rowNumber, shapeNumber, stagedValue, stagingTable } from './staging-table.ts';
import { isSurplus } from './surplus-rows.ts';
import { findsUnchanged, isUnchanged, record } from './unchanged-rows.ts';

/** A sequence that holds the number of the row that is being moved. A sequence is not rolled back, so the number can still be read after PostgreSQL refused the row. */
export const progress = 'pg_temp."tablewright progress"';
export const changedCounter = 'pg_temp."tablewright changed"';
export const unchangedCounter = 'pg_temp."tablewright unchanged"';
/** A sequence that holds the number of the last row that began to change a row of the table. */
const changing = 'pg_temp."tablewright changing"';

/** Creates this sequence, which is dropped with the staging table. */
export const createProgress = `CREATE TEMPORARY SEQUENCE ${progress} OWNED BY ${stagingTable}.${shapeNumber}`;

/** Returns one row `row`: the data row that was being moved when PostgreSQL refused it, or null. */
export const readProgress = `SELECT CASE WHEN is_called THEN last_value::int END AS row FROM ${progress}`;

/**
 * Begins to count the rows of the table that `mergeRows` changes, and those that it finds unchanged. Sequences are used because no column
 * distinguishes an inserted row from an updated one in all supported versions of PostgreSQL and on partitioned tables. They are dropped with the staging table.
 */
export const startCounting = qualified`${createCounter(changedCounter)}; ${createCounter(unchangedCounter)}; ${createCounter(changing)};
SELECT pg_catalog.setval('${changedCounter}', 0), pg_catalog.setval('${unchangedCounter}', 0), pg_catalog.setval('${changing}', 0)`;

function createCounter(name: string): string {
  return `CREATE TEMPORARY SEQUENCE IF NOT EXISTS ${name} MINVALUE 0 OWNED BY ${stagingTable}.${shapeNumber}`;
}

/** Returns one row `MetRows`. */
export const readCounters = `SELECT c.last_value::int AS changed, u.last_value::int AS unchanged FROM ${changedCounter} c, ${unchangedCounter} u`;

/** The rows of the table that the staged rows met while they were moved. */
export interface MetRows {
  changed: number;
  unchanged: number;
}

/**
 * Waits for this transaction's turn to move rows into the table. Only uploads that had a deadlock take turns. The lock lasts until
 * the transaction ends or is rolled back to an earlier savepoint.
 *
 * @param relation quoted
 */
export function takeTurn(relation: string): Statement {
  return { text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7447))', values: [relation] };
}

/**
 * Empties a new table, and lets its own sequences begin again.
 *
 * @param relation quoted
 */
export function restartTable(relation: string): CallersStatement {
  return qualified`TRUNCATE ${relation} RESTART IDENTITY`;
}

/** Checks deferred constraints after each statement from here on, and now those that were deferred before. */
export const checkConstraintsNow = qualified`SET CONSTRAINTS ALL IMMEDIATE`;

/** A range of data row numbers, from `from` (included) to `to` (excluded). They are numbers or SQL expressions. */
export interface RowRange {
  from: number | string;
  to: number | string;
}

/**
 * Moves the rows of one shape. The affected rows are those inserted or updated.
 *
 * @param range moves only these rows, in the order of their numbers
 */
export function mergeRows(load: StagedLoad, shape: number, range?: RowRange): CallersStatement {
  const columns = load.shapes.all[shape]!.map((position) => load.columns[position]!);
  const conflict = load.conflict?.shapes.includes(shape) ? load.conflict : undefined;
  const names = columns.map((column) => quoteIdentifier(column.name));
  const values = columns.map((column) => stagedValue('s', column));
  const isKept = conflict ? ` AND ${isMoved(load)}` : '';
  const isInRange = range
    ? ` AND s.${rowNumber} OPERATOR(pg_catalog.>=) ${range.from} AND s.${rowNumber} OPERATOR(pg_catalog.<) ${range.to}`
    : '';
  const meetsOthers = conflict !== undefined && !load.isBare;
  // With the rows in the order of the key, all uploads lock existing rows in the same order. They may wait for each other, but cannot cause a deadlock.
  const keyValues =
    meetsOthers && (!range || load.isSharded) && !skipsInOrder(load)
      ? keyColumns(conflict.key, columns).map((one) => stagedValue('s', one))
      : [];
  const order = [...keyValues, `s.${rowNumber}`].join(', ');
  const rows = `SELECT * FROM ${load.source ?? stagingTable} s WHERE s.${shapeNumber} OPERATOR(pg_catalog.=) ${shape}${isKept}${isInRange} ORDER BY ${order}`;
  const insert = `INSERT INTO ${load.relation} AS t ${names.length > 0 ? `(${names.join(', ')})` : ''} OVERRIDING SYSTEM VALUE`;
  const clause = meetsOthers ? onConflict(conflict, columns, load) : '';
  // A worker of Citus cannot use the temporary sequence. It also gets the rows only after all of them were read, so the sequence would not show the refused row.
  if (load.isSharded)
    return qualified`${insert} SELECT ${values.join(', ')} FROM (${rows} OFFSET 0) s ${clause}`;
  // OFFSET prevents PostgreSQL from merging the two queries, because the condition must be evaluated for each row in order.
  return qualified`${insert}
SELECT ${values.join(', ')} FROM (
${rows} OFFSET 0) s
WHERE pg_catalog.setval('${progress}', s.${rowNumber}) OPERATOR(pg_catalog.>) 0 ${clause}`;
}

/** Returns the condition that a staged row `s` with a key is neither a surplus row nor unchanged. */
export function isMoved(load: StagedLoad): string {
  return `NOT ${isSurplus('s')}${findsUnchanged(load) ? ` AND NOT ${isUnchanged('s')}` : ''}`;
}

/**
 * Moves the rows of one shape in a block of PL/pgSQL, so that an error has its SQLSTATE. Without RETURNING, Citus copies the rows into the shards, and the
 * error of a failed COPY has no SQLSTATE (`lacksSqlstate`). With RETURNING the statement takes about twice as long.
 *
 * @param into the clause INTO of PL/pgSQL
 */
export function mergeBlock(
  load: StagedLoad,
  shape: number,
  range?: RowRange,
  into?: string,
): CallersStatement {
  const merge = mergeRows(load, shape, range);
  return hasCountInBlock(load) ? mergeAndCount(load, merge, into) : merge;
}

/** Returns whether `mergeBlock` returns a row of the type `MergedCount`. */
export function hasCountInBlock(load: StagedLoad): boolean {
  return load.isSharded || returned(load).length > 0;
}

/** Returns whether `mergeAndCount` is needed: the number of rows that `mergeRows` affects is wrong for the shape, or something is done with each stored row. */
export function mustCountMerged(load: StagedLoad, shape: number): boolean {
  const { isSharded, isBare, conflict } = load;
  if (returned(load).length > 0) return true;
  return isSharded && !isBare && conflict?.shapes.includes(shape) === true;
}

/** Returns the expressions of RETURNING that do something with each stored row. */
function returned(load: StagedLoad): string[] {
  return [
    ...(load.computed ? [measureRow(load.computed)] : []),
    ...(countsStored(load) ? [countIfChanged] : []),
    ...(notesNumbers(load) ? [storedRow] : []),
  ];
}

/** Returns whether changes are counted after they were stored, because a trigger may prevent them. PostgreSQL has no RETURNING for tables with rules. */
function countsStored({ conflict, isBare, isSharded, hasRules, mayPreventUpdates }: StagedLoad): boolean {
  return mayPreventUpdates && !hasRules && conflict?.action === 'update' && !isBare && !isSharded;
}

// PostgreSQL computes RETURNING for a stored row before it reads the next row.
const storedRow = `pg_catalog.currval('${progress}') AS data_row`;
const countIfChanged = `CASE WHEN pg_catalog.currval('${changing}') OPERATOR(pg_catalog.=) pg_catalog.currval('${progress}') THEN pg_catalog.nextval('${changedCounter}') END`;

/**
 * Returns a statement that moves no row, but makes Citus commit the transaction in two phases. Without it, a transaction that has
 * written to one worker only is committed at the worker before it is committed at the coordinator. If the coordinator then fails,
 * the rows are stored, but not the record of the load. (A COPY has the same effect as this statement.)
 */
export function commitInTwoPhases(load: StagedLoad, shape: number): CallersStatement {
  return mergeRows({ ...load, conflict: undefined }, shape, { from: 0, to: 0 });
}

/** The rows that `mergeAndCount` has written. */
export interface MergedCount {
  count: number;
  changed: number;
}

/**
 * Runs a statement of `mergeRows` for a sharded table, or one that does something with each stored row, and returns one row of the type `MergedCount`. Without it
 * the count is wrong, because with ON CONFLICT Citus counts the rows that it reads. `xmax` is 0 in a new row, and not 0 in an updated row, because the statement has
 * locked that row before. Otherwise sequences count the changes, because partitioned tables have no `xmax` here.
 *
 * @param into the clause INTO of PL/pgSQL
 */
export function mergeAndCount(load: StagedLoad, merge: CallersStatement, into = ''): CallersStatement {
  const note = notesNumbers(load) ? `, noted AS (${noteStored('merged')})` : '';
  if (returned(load).length > 0)
    return qualified`WITH merged AS (${merge} RETURNING ${returned(load).join(', ')})${note}
SELECT pg_catalog.count(*)::int AS count, 0 AS changed ${into} FROM merged`;
  return qualified`WITH merged AS (${merge} RETURNING t.xmax)
SELECT pg_catalog.count(*)::int AS count, pg_catalog.count(*) FILTER (WHERE xmax::pg_catalog.text OPERATOR(pg_catalog.<>) '0')::int AS changed ${into} FROM merged`;
}

/** Returns the staged columns of the key, in the key's order, which is the same for every upload. */
function keyColumns({ columns: key }: ConflictKey, columns: LoadColumn[]): LoadColumn[] {
  return key.flatMap((name) => columns.filter((column) => column.name === name));
}

function onConflict({ action, key }: ConflictRule, columns: LoadColumn[], load: StagedLoad): string {
  const { columns: all, compared, isSharded, computed } = load;
  const target = `ON CONFLICT (${key.columns.map(quoteIdentifier).join(', ')})`;
  const others = columns.filter(({ name }) => !key.columns.includes(name));
  const assigned = others.map(({ name }) => `${quoteIdentifier(name)} = excluded.${quoteIdentifier(name)}`);
  if (assigned.length === 0) {
    // If the row has only the key, one column is set to its own value, so that the row is counted.
    const kept = all.find(({ isGenerated, identity }) => !isGenerated && identity !== 'always');
    if (kept) assigned.push(`${quoteIdentifier(kept.name)} = t.${quoteIdentifier(kept.name)}`);
  }
  if (action === 'skip' || assigned.length === 0) return `${target} DO NOTHING`;
  if (isSharded) return `${target} DO UPDATE SET ${assigned.join(', ')}`;
  const isChanging = columns.filter(({ name }) => compared?.some((column) => column.name === name));
  const of = (alias: string) => record(isChanging.map(({ name }) => `${alias}.${quoteIdentifier(name)}`));
  const isChanged =
    isChanging.length > 0
      ? `${of('t')} OPERATOR(pg_catalog.*<>) ${of('excluded')}`
      : `${compared === undefined}`;
  const count = countsStored(load)
    ? `pg_catalog.setval('${changing}', pg_catalog.currval('${progress}'))`
    : `pg_catalog.nextval('${changedCounter}')`;
  return `${target} DO UPDATE SET ${assigned.join(', ')} WHERE CASE WHEN ${isChanged}
THEN ${count} OPERATOR(pg_catalog.>) 0${computed ? ` AND ${measureBefore(computed)}` : ''} ELSE pg_catalog.nextval('${unchangedCounter}') OPERATOR(pg_catalog.<) 0 END`;
}

/**
 * Runs several statements of `mergeRows` as one statement. PostgreSQL checks references only at the end of a statement, so rows
 * of one shape may refer to rows of another. It returns one row `count`: the number of rows inserted or updated.
 */
export function mergeTogether(load: StagedLoad, merges: CallersStatement[]): CallersStatement {
  const expressions = [...returned(load), '1'].join(', ');
  const names = merges.map((_, index) => `merge_${index}`);
  const parts = merges.map((merge, index) => `${names[index]} AS (${merge} RETURNING ${expressions})`);
  if (notesNumbers(load)) parts.push(...names.map((name) => `noted_${name} AS (${noteStored(name)})`));
  // PostgreSQL's planning time for a sum of counts grows with the square of their number, so there is only one count.
  const all = names.map((name) => `SELECT FROM ${name}`).join(' UNION ALL ');
  return qualified`WITH ${parts.join(',\n')} SELECT pg_catalog.count(*)::int AS count FROM (${all}) merged`;
}

/**
 * Locks the rows that the staged rows will update, in the order of the key. Otherwise two uploads that each move several shapes
 * could deadlock. Rows with NULL in the key are left out.
 *
 * @param staged the staging table, or `typedStagingTable`
 */
export function lockExistingRows(
  load: StagedLoad,
  staged: string,
  { key, shapes }: ConflictRule,
): CallersStatement {
  return qualified`SELECT pg_catalog.count(*)::int FROM (
SELECT FROM ${load.stored} t JOIN ${staged} s ON ${sameKey(key)} WHERE ${hasShape('s', shapes)} AND ${isMoved(load)}
ORDER BY ${columnsOf('t', key.columns).join(', ')} FOR NO KEY UPDATE OF t) locked`;
}
