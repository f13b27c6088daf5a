/**
 * The error of a column's default, as a problem that names the column. PostgreSQL's error names the row at best.
 */
import type { ClientBase } from 'pg';
import { DatabaseError } from 'pg';
import type { Problem } from '../errors.ts';
import { findFailingDefault } from '../tables/default-values.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { RowPlaces } from './find-violations.ts';

export interface FailedLoad {
  /** Quoted; the table that the rows go into. */
  relation: string;
  columns: LoadColumn[];
  /** The columns that every row brings, as indexes. */
  brought: readonly number[];
  error: Error;
}

/**
 * Returns the problem if a default raises the same error on its own; undefined: no default does.
 *
 * @param findRow finds the data row that needed the default of the column with this index
 */
export async function failingDefault(
  client: ClientBase,
  { relation, columns, brought, error }: FailedLoad,
  places: RowPlaces,
  findRow: (column: number) => Promise<number | undefined> | number | undefined,
): Promise<Problem | undefined> {
  if (!(error instanceof DatabaseError)) return undefined;
  const candidates = columns.filter((column, index) => column.default !== 'none' && !brought.includes(index));
  if (candidates.length === 0) return undefined;
  const failing = await findFailingDefault(client, relation, candidates, error);
  if (failing === undefined) return undefined;
  const { name } = failing;
  const row = await findRow(columns.indexOf(failing));
  const place = row === undefined ? {} : { ...places.locate(row, places.sourceColumn(name), name), row };
  const detail = `the column's default cannot be evaluated: ${error.message}; send a value`;
  return { ...place, column: name, code: 'failing-default', detail };
}
