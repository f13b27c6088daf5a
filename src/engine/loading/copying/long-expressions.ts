/**
 * Decides how rows are stored whose expressions may make long numbers of short values: the generated columns and the expressions of indexes. PostgreSQL
 * gathers up to 1,000 rows with what it has computed of them, unless it must store each row before it reads the next one.
 */
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { maxHeldBytes } from './copy-session.ts';

/** A row whose expressions may add no more digits than this to those of its values is stored like any other. Such expressions are prices and rounded shares. */
const fewDigits = 2000;

/** Returns whether the stored values of generated columns may be so much longer than the row that they must be measured. */
export function areComputedLong(columns: readonly LoadColumn[]): boolean {
  return computedDigits(columns) > fewDigits;
}

/**
 * Returns whether PostgreSQL must store each row before it reads the next one, because generated columns may be long or the expressions of indexes may make
 * long numbers.
 */
export function isStoredRowByRow(columns: readonly LoadColumn[]): boolean {
  return columns.some(({ isLongGenerated }) => isLongGenerated) || digitsOf(columns) > fewDigits;
}

/** Returns how many rows may be stored without being measured, and may be held in memory. */
export function mostUnmeasuredRows(columns: readonly LoadColumn[]): number {
  const digits = digitsOf(columns);
  return digits <= fewDigits
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor(maxHeldBytes / (digits / 2)));
}

function digitsOf(columns: readonly LoadColumn[]): number {
  return columns.reduce((sum, { indexDigits = 0 }) => sum + indexDigits, computedDigits(columns));
}

function computedDigits(columns: readonly LoadColumn[]): number {
  return columns.reduce((sum, column) => sum + (column.computedDigits ?? 0), 0);
}
