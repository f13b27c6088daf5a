import type { AppError } from '../../../errors.ts';
import { maxMergedAreas } from '../merged-areas.ts';
import { limitExceeded } from '../spreadsheet-limits.ts';

export function tooManyMergedAreas(): AppError {
  return limitExceeded('The sheet has too many merged cells', maxMergedAreas, 'areas');
}
