import { AppError } from '../errors.ts';
import type { LoadInput } from './load-input.ts';

/** The error for an upload without a definition and without rows: an export that came out empty empties no table. */
export function nothingToLoad(input: LoadInput): AppError {
  const why = input.warnings.find(({ code }) => code === 'no-rows')?.detail ?? '';
  const detail = 'The upload holds neither a definition (`table`) nor a row with a column.';
  return new AppError('nothing-to-load', why === '' ? detail : `${detail} ${why}`);
}
