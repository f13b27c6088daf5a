/** Checks `missing_rows` against the table: whether its rows can be compared, and whether its column can hold the mark. */
import { type AppError, wrongParameter } from '../../../core/errors.ts';
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { originNames } from '../provenance/provenance.ts';
import type { LoadRequest, MissingRows } from '../request/load-request.ts';
import type { LoadTarget } from '../target/load-target.ts';

const BOOLEAN = 16;
/** `date`, `timestamp` and `timestamptz` */
const moments = [1082, 1114, 1184];

/**
 * Returns the option; undefined: missing rows are neither counted nor changed.
 *
 * @throws AppError `invalid-parameter` if the table cannot be compared, or if the column for the mark does not suit
 */
export function missingOption(
  { missing, provenance }: LoadRequest,
  { columns, isSharded }: LoadTarget,
): MissingRows | undefined {
  if (missing === undefined) return undefined;
  if (isSharded) {
    if (missing.action === 'keep') return undefined;
    const detail = 'missing_rows cannot compare the rows of a distributed table (Citus).';
    throw wrongParameter('missing_rows', detail);
  }
  if (missing.column !== undefined) checkMark(missing.column, columns, originNames(provenance));
  return missing;
}

function checkMark(name: string, columns: LoadColumn[], origins: readonly string[]): void {
  const refusal = (what: string): AppError => {
    const needs = 'Missing rows are marked in a boolean, date or timestamp column of the table';
    return wrongParameter('missing_rows', `${needs}, and "${shortenValue(name)}" ${what}.`);
  };
  const column = columns.find((one) => one.name === name);
  if (column === undefined) {
    const detail = `The table has no column "${shortenValue(name)}" in which missing rows could be marked. Add one of the type boolean, date or timestamp first (Alter Table).`;
    throw wrongParameter('missing_rows', detail);
  }
  if (origins.includes(name)) throw refusal('is a column of provenance');
  if (column.isGenerated) throw refusal('is computed by PostgreSQL');
  if (isBoolean(column.type)) return;
  if (!moments.includes((column.type.base ?? column.type).oid))
    throw refusal(`has the type ${column.type.name}`);
  if (!column.isNullable) throw refusal('is NOT NULL, so a row that returns could not be unmarked');
}

export function isBoolean(type: ColumnType): boolean {
  return (type.base ?? type).oid === BOOLEAN;
}
