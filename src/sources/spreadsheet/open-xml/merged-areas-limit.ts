import type { AppError } from '../../../errors.ts';
import { limitExceeded } from '../../../limit-exceeded.ts';
import { maxMergedAreas } from '../merged-areas.ts';

export function tooManyMergedAreas(): AppError {
  return limitExceeded('The sheet has too many merged cells', maxMergedAreas, 'areas');
}
