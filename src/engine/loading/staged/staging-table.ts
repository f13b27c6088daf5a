/**
 * The staging table: a temporary table for the rows of an upload before they are moved into the target table. Each row has the
 * number of its data row and of its shape (shapes.ts).
 */
import { randomBytes } from 'node:crypto';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier, quoteLiteral, type Statement } from '../../../postgres/sql.ts';
import { readAsType } from '../../tables/loading/read-as-type.ts';
import { isStagedAsText } from '../copying/target-columns.ts';

const stagingName = '"tablewright rows"';
/** The quoted name. The table is dropped at the end of the transaction. */
export const stagingTable = `pg_temp.${stagingName}`;

// A table may have columns of any name. The random part makes these names different from all of them.
export const unlike = randomBytes(8).toString('hex');
const rowNumberColumn = `tablewright row ${unlike}`;
const shapeNumberColumn = `tablewright shape ${unlike}`;
/** The column for the number of the data row, quoted. Its type is `integer`. */
export const rowNumber = quoteIdentifier(rowNumberColumn);
/** The column for the number of the shape, quoted. Its type is `integer`. */
export const shapeNumber = quoteIdentifier(shapeNumberColumn);
/** The columns that come before the columns of the rows. */
export const leadingColumns = [rowNumberColumn, shapeNumberColumn];

/** The maximum number of columns of the rows in the staging table: PostgreSQL's limit of 1,600 (appendix K), minus the leading columns. */
export const maxStagedColumns = 1600 - leadingColumns.length;

const discardTemporary = 'DISCARD TEMP';

/**
 * Creates the staging table. First it drops all temporary objects: a function of another role may have left objects with these
 * names in the session, which the service could neither use nor drop. `DISCARD TEMP` drops them, whoever owns them.
 */
export function createStagingTable(columns: LoadColumn[]): string {
  return `${discardTemporary};\n${createStagingTableAlone(columns)}`;
}

/** Creates the staging table, or another one for rows, in a session without objects of others. */
export function createStagingTableAlone(columns: LoadColumn[], table = stagingTable): string {
  const definitions = columns.map((column) => {
    // A check of a domain must not stop the staging. The rows that fail it are found afterwards.
    const stored = column.type.base ?? column.type;
    const type = isStagedAsText(column) ? 'pg_catalog.text' : (stored.sqlName ?? stored.name);
    return `${quoteIdentifier(column.name)} ${type}${isStagedAsText(column) ? '' : collation(column)}`;
  });
  const leading = [rowNumber, shapeNumber].map((name) => `${name} integer NOT NULL`);
  return `CREATE TEMPORARY TABLE ${table} (${[...leading, ...definitions].join(', ')}) ON COMMIT DROP`;
}

/** Creates a view with the name of the staging table. */
export function createStagingView(query: string): string {
  return `${discardTemporary}; CREATE TEMPORARY VIEW ${stagingTable} AS ${query}`;
}

/** Drops the view by its name alone, because Citus does not find a view by the name pg_temp. The service's own search path ends with this schema. */
export const dropStagingView = `DROP VIEW ${stagingName}`;

/** Returns the COLLATE clause of a column, because values that are equal in the table must also be equal in the staging table. */
function collation(column: LoadColumn): string {
  return column.collation === undefined ? '' : ` COLLATE ${column.collation}`;
}

/** Returns an SQL condition that is true if the row of the staging table has one of the shapes, for every search path. */
export function hasShape(alias: string, shapes: readonly number[]): string {
  return shapes.length === 0
    ? 'false'
    : `${alias}.${shapeNumber} OPERATOR(pg_catalog.=) ANY (ARRAY[${shapes.join(', ')}])`;
}

/**
 * Returns ANALYZE for the staging table, because autovacuum never processes temporary tables. Without statistics PostgreSQL assumes
 * that a shape has 0.5 % of the rows, and then joins large tables row by row.
 *
 * @param columns the columns that the next statements read
 */
export function analyzeStagingTable(columns: readonly string[], table = stagingTable): string {
  const names = [...new Set(columns)].map((name) => `, ${quoteIdentifier(name)}`).join('');
  return `ANALYZE ${table} (${shapeNumber}, ${rowNumber}${names})`;
}

/** Creates an index that finds the rows of one shape in their order. */
export const indexByShape = qualified`CREATE INDEX ON ${stagingTable} (${shapeNumber}, ${rowNumber})`;

/** Creates an index that finds single rows. */
export const indexByRow = qualified`CREATE INDEX ON ${stagingTable} (${rowNumber})`;

/** Returns a query of the shape of a data row: one row `shape`, or no row. */
export function shapeOfRow(row: number): Statement {
  const text = `SELECT ${shapeNumber} AS shape FROM ${stagingTable} WHERE ${rowNumber} = $1`;
  return { text, values: [row] };
}

/** Returns one row: the first and the last data row number; null: there is no row. @param source see `StagedLoad` */
export function readRange(source = stagingTable): string {
  return `SELECT min(${rowNumber}) AS first, max(${rowNumber}) AS last FROM ${source} s`;
}

/** Counts the rows that have none of the shapes or have NULL in one of the columns, and finds the lowest of their data row numbers. */
export function countRowsWithout(shapes: readonly number[], columns: string[]): string {
  const isWithout = [
    `NOT ${hasShape('s', shapes)}`,
    ...columns.map((name) => `${quoteIdentifier(name)} IS NULL`),
  ];
  return `SELECT count(*)::int AS count, min(${rowNumber}) AS row FROM ${stagingTable} s WHERE ${isWithout.join(' OR ')}`;
}

/**
 * Returns an SQL expression with the value of a column of the staging table, converted to the type that the column has in the
 * target table.
 */
export function stagedValue(alias: string, column: LoadColumn): string {
  const value = `${alias}.${quoteIdentifier(column.name)}`;
  return isStagedAsText(column) ? readAsType(value, column) : value;
}

/** A column of `typedStagingTable`, quoted: all texts of the row are valid. It exists only with `inputCheck` and columns that are staged as text. */
export const isReadable = quoteIdentifier(`tablewright readable ${unlike}`);

/**
 * Returns the staging table as a relation whose columns all have their own types.
 *
 * @param inputCheck the function that finds invalid text, which then becomes NULL; undefined: invalid text fails the query
 */
export function typedStagingTable(
  columns: LoadColumn[],
  inputCheck: string | undefined,
  table = stagingTable,
): string {
  if (!columns.some(isStagedAsText)) return table;
  const list = columns.map((column) => {
    const name = quoteIdentifier(column.name);
    if (!isStagedAsText(column)) return name;
    const type = column.type.sqlName ?? column.type.name;
    const value = `${readAsType(name, column)}${collation(column)}`;
    return inputCheck === undefined
      ? `${value} AS ${name}`
      : `CASE WHEN ${inputCheck}(${name}, ${quoteLiteral(type)}) THEN ${value} END AS ${name}`;
  });
  if (inputCheck !== undefined) {
    const checks = columns.filter(isStagedAsText).map((column) => {
      const { name, sqlName = name } = column.type;
      const text = quoteIdentifier(column.name);
      return `(${text} IS NULL OR ${inputCheck}(${text}, ${quoteLiteral(sqlName)}))`;
    });
    list.push(`${checks.join(' AND ')} AS ${isReadable}`);
  }
  return `(SELECT ${rowNumber}, ${shapeNumber}, ${list.join(', ')} FROM ${table})`;
}
