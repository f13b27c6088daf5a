/**
 * The limit on one row. A sink holds a row until it is whole, and so does PostgreSQL, so a row has a limit of its own beside
 * the limit on one value.
 */
import type { AppError } from '../errors.ts';
import { limitExceeded } from '../limit-exceeded.ts';

/**
 * @param row as the caller knows it: `Row 7`, `Row Orders!7:7`
 * @param more what makes it so long
 */
export function rowTooLong(row: string, maxRowBytes: number, more = ''): AppError {
  return limitExceeded(`${row} is too long${more}`, maxRowBytes, { setting: 'MAX_ROW_BYTES' });
}
