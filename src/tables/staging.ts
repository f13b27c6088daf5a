/**
 * A temporary table that holds an upload's rows on their way into a table, or after they were refused there.
 *
 * The order of its `ctid` is the order in which the rows came through COPY. Rows that name the same columns have the
 * same *shape*, a number, and come through one COPY: so each has the number of its data row, too.
 */
import { quoteIdentifier, type Statement } from '../postgres/sql.ts';
import type { LoadColumn } from './load-column.ts';

/** Quoted. It lives in the transaction and is dropped with its end. */
export const stagingTable = 'pg_temp."tablewright rows"';
const surplusTable = 'pg_temp."tablewright surplus rows"';
// Names that no column of the caller is likely to have; one that has it is refused by PostgreSQL as a duplicate.
const shapeColumn = quoteIdentifier('tablewright shape');
/** The data row's number: an `integer`, for every COPY to bring first. */
export const rowNumberColumn = 'tablewright row';
const rowNumber = quoteIdentifier(rowNumberColumn);

/** What happens to a row whose key another row has already. */
export interface ConflictRule {
  action: 'skip' | 'update';
  /** The columns of the primary key, else of the first unique constraint. */
  key: string[];
}

/** @param isText the columns that are staged as text, for their type has no binary encoder */
export function createStagingTable(
  columns: LoadColumn[],
  isText: (column: LoadColumn) => boolean,
): Statement {
  const definitions = columns.map((column) => {
    // A domain's checks must not stop the staging: which rows fail them is found out afterwards.
    const type = isText(column) ? 'text' : (column.type.base ?? column.type).name;
    return `${quoteIdentifier(column.name)} ${type}`;
  });
  return {
    text: `CREATE TEMPORARY TABLE ${stagingTable} (${rowNumber} integer, ${shapeColumn} integer, ${definitions.join(', ')}) ON COMMIT DROP`,
  };
}

/** The rows that the next COPY brings get this shape. */
export function beginShape(shape: number): Statement {
  return { text: `ALTER TABLE ${stagingTable} ALTER COLUMN ${shapeColumn} SET DEFAULT ${shape}` };
}

/**
 * Sets the rows apart that another row of the same upload goes before: the first of a key stays with `skip`, the last
 * with `update`. Rows without a whole key are in nobody's way.
 */
export function findSurplusRows({ action, key }: ConflictRule): Statement {
  const columns = key.map(quoteIdentifier);
  const present = columns.map((column) => `${column} IS NOT NULL`).join(' AND ');
  const order = action === 'skip' ? 'ASC' : 'DESC';
  return {
    text: `CREATE TEMPORARY TABLE ${surplusTable} ON COMMIT DROP AS SELECT row_id FROM (
SELECT ctid AS row_id, row_number() OVER (PARTITION BY ${columns.join(', ')} ORDER BY ${rowNumber} ${order}) AS place
FROM ${stagingTable} WHERE ${present}) placed WHERE place > 1`,
  };
}

/**
 * Moves the rows of one shape from the staging table into a table; answers `inserted` and `updated`.
 *
 * @param relation quoted
 * @param columns those that the rows of the shape have
 * @param hasKey false: the table is empty and its key comes later
 */
export function mergeShape(
  relation: string,
  columns: LoadColumn[],
  shape: number,
  conflict: ConflictRule | undefined,
  hasKey: boolean,
  isText: (column: LoadColumn) => boolean,
): Statement {
  const names = columns.map((column) => quoteIdentifier(column.name));
  const values = columns.map(
    (column, index) => `s.${names[index]}${isText(column) ? `::${column.type.name}` : ''}`,
  );
  const isKept = conflict ? ` AND NOT EXISTS (SELECT FROM ${surplusTable} p WHERE p.row_id = s.ctid)` : '';
  // xmax is set on a row version that replaced another one.
  return {
    text: `WITH merged AS (
INSERT INTO ${relation} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
SELECT ${values.join(', ')} FROM ${stagingTable} s WHERE s.${shapeColumn} = ${shape}${isKept} ORDER BY s.${rowNumber}
${conflict && hasKey ? onConflict(conflict, columns) : ''} RETURNING ${conflict?.action === 'update' && hasKey ? '(xmax = 0)' : 'true'} AS is_new)
SELECT count(*) FILTER (WHERE is_new)::int AS inserted, count(*) FILTER (WHERE NOT is_new)::int AS updated FROM merged`,
  };
}

function onConflict({ action, key }: ConflictRule, columns: LoadColumn[]): string {
  const target = `ON CONFLICT (${key.map(quoteIdentifier).join(', ')})`;
  if (action === 'skip') return `${target} DO NOTHING`;
  const others = columns.filter(({ name }) => !key.includes(name));
  // Even a row of nothing but a key is updated: it counts, and its triggers run.
  const assigned = (others.length > 0 ? others : columns).map(({ name }) => {
    return `${quoteIdentifier(name)} = excluded.${quoteIdentifier(name)}`;
  });
  return `${target} DO UPDATE SET ${assigned.join(', ')}`;
}
