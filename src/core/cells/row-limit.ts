/**
 * The limit on one row. A sink and PostgreSQL both keep a row in memory until it is complete. So a row has its own limit in addition to the limit
 * on one value.
 */
import type { AppError } from '../errors.ts';
import { limitExceeded } from '../limit-exceeded.ts';

/**
 * Returns the error for a row with too many bytes.
 *
 * @param row the row in the caller's own terms: `Row 7`, `Row Orders!7:7`
 * @param more the end of the message: why the row is so long
 */
export function rowTooLong(row: string, maxRowBytes: number, more = ''): AppError {
  return limitExceeded(`${row} is too long${more}`, maxRowBytes, { setting: 'MAX_ROW_BYTES' });
}
