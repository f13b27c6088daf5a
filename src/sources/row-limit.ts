/**
 * The limit on one row. A sink holds a row until it is whole, and so does PostgreSQL, so a row has a limit of its own beside
 * the limit on one value.
 */
import { bytesInWords } from '../bytes-in-words.ts';
import { AppError } from '../errors.ts';

/** @param row as the caller knows it: `Row 7`, `Row Orders!7:7` */
export function rowTooLong(row: string, maxRowBytes: number): AppError {
  const limit = bytesInWords(maxRowBytes);
  return new AppError(
    'limit-exceeded',
    `${row} is too long: the limit for one row is ${limit} (MAX_ROW_BYTES).`,
  );
}
