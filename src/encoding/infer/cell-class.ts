/** Finds the class (text-reading/seen.ts) of a cell. */

import * as kinds from '../../core/cells/cell-kind.ts';
import * as seen from '../text-reading/seen.ts';
import { classifyString } from '../text-reading/string-class.ts';
import { classifyNested } from './nested-class.ts';
import { classifyNumber } from './number-class.ts';

/** Returns the class of a cell of any kind but `NULL` and `TEXT`. */
export function classify(kind: number, bytes: Buffer, start: number, end: number): number {
  switch (kind) {
    case kinds.STRING:
      return classifyString(bytes, start, end);
    case kinds.NUMBER:
    case kinds.ROUNDED_NUMBER:
      return classifyNumber(bytes, start, end);
    case kinds.FALSE:
    case kinds.TRUE:
      return seen.BOOLEAN;
    case kinds.OBJECT:
    case kinds.ARRAY:
      return classifyNested(bytes, start, end);
    case kinds.BYTES:
      return seen.OTHER;
    default:
      throw new TypeError(`A cell of the kind ${kind}`);
  }
}

/** Returns the class of a cell that is a moment or a duration. */
export function classifyMoment(kind: number): number {
  switch (kind) {
    case kinds.DATE:
      return seen.DATE_CELL;
    case kinds.TIMESTAMP:
      return seen.TIMESTAMP_CELL;
    case kinds.UTC_TIMESTAMP:
      return seen.TIMESTAMPTZ_STRING;
    case kinds.TIME:
      return seen.TIME_CELL;
    case kinds.INTERVAL:
      return seen.INTERVAL_CELL;
    default:
      throw new TypeError(`A moment of the kind ${kind}`);
  }
}
