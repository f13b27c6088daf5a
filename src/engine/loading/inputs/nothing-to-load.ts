import { AppError } from '../../../core/errors.ts';
import type { LoadInput } from './load-input.ts';

/**
 * Returns the error for an upload with neither a definition nor rows. Such an upload is refused so that an export that is empty by
 * accident does not empty a table.
 */
export function nothingToLoad(input: LoadInput): AppError {
  const why = input.warnings.find(({ code }) => code === 'no-rows')?.detail ?? '';
  const detail = 'The upload has neither a definition (`table`) nor a row with a column.';
  return new AppError('nothing-to-load', why === '' ? detail : `${detail} ${why}`);
}
