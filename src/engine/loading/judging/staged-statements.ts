/** Returns the statements that take rows out of the staging table and put them back. */
import { quoteIdentifier, randomName, type Statement } from '../../../postgres/sql.ts';
import { hasShape, rowNumber, stagingTable } from '../staged/staging-table.ts';

/** Returns the quoted name of a new temporary table. */
export function temporaryTable(purpose: string): string {
  return `pg_temp.${quoteIdentifier(randomName(purpose))}`;
}

/**
 * Returns a statement that deletes the found rows from the staging table.
 *
 * @param found the quoted name of a table with the column `number`
 */
export function deleteFound(found: string): string {
  return `DELETE FROM ${stagingTable} s USING ${found} f WHERE s.${rowNumber} = f.number`;
}

export function deleteRows(rows: readonly number[]): Statement {
  return { text: `DELETE FROM ${stagingTable} s WHERE s.${rowNumber} = ANY ($1::int[])`, values: [rows] };
}

/** Returns a query in parentheses of the staged rows that have one of the shapes, for every search path. */
export function rowsOfShapes(shapes: readonly number[]): string {
  return `(SELECT * FROM ${stagingTable} staged WHERE ${hasShape('staged', shapes)})`;
}
