/** Reads the parameters that say what happens to rows with problems. */
import { wrongParameter } from '../../../core/errors.ts';
import type { RowLimit } from '../../../engine/loading/request/row-limit.ts';
import { parameters, type UploadQuery } from './parameters.ts';
import { rowLimitOf } from './row-limit-parameter.ts';

/**
 * Reads `faulty_rows` and `max_faulty_rows`.
 *
 * @returns the maximum number of rows that may be left out; undefined: no row may be left out
 * @throws AppError `invalid-parameter`
 */
export function maxFaultyRowsOf(
  query: Pick<UploadQuery, 'faulty_rows' | 'max_faulty_rows'>,
): RowLimit | undefined {
  const { faulty_rows, max_faulty_rows } = query;
  if (faulty_rows === 'leave_out') return rowLimitOf(max_faulty_rows ?? parameters.max_faulty_rows.byDefault);
  if (max_faulty_rows === undefined) return undefined;
  throw wrongParameter('max_faulty_rows', 'max_faulty_rows needs faulty_rows=leave_out.');
}
