import type { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { maxMergedAreas } from '../merged-areas.ts';

export function tooManyMergedAreas(): AppError {
  return limitExceeded('The sheet has too many merged cells', maxMergedAreas, 'areas');
}
