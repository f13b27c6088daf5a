/** Finds the class (text-reading/seen.ts) of a cell. */

import {
  ARRAY,
  BYTES,
  DATE,
  FALSE,
  INTERVAL,
  NUMBER,
  OBJECT,
  ROUNDED_NUMBER,
  STRING,
  TIME,
  TIMESTAMP,
  TRUE,
  UTC_TIMESTAMP,
} from '../../core/cells/cell-kind.ts';
import {
  BOOLEAN,
  DATE_CELL,
  INTERVAL_CELL,
  OTHER,
  TIME_CELL,
  TIMESTAMP_CELL,
  TIMESTAMPTZ_STRING,
} from '../text-reading/seen.ts';
import { classifyString } from '../text-reading/string-class.ts';
import { classifyNested } from './nested-class.ts';
import { classifyNumber } from './number-class.ts';

/** Returns the class of a cell of any kind but `NULL` and `TEXT`. */
export function classify(kind: number, bytes: Buffer, start: number, end: number): number {
  switch (kind) {
    case STRING:
      return classifyString(bytes, start, end);
    case NUMBER:
    case ROUNDED_NUMBER:
      return classifyNumber(bytes, start, end);
    case FALSE:
    case TRUE:
      return BOOLEAN;
    case OBJECT:
    case ARRAY:
      return classifyNested(bytes, start, end);
    case BYTES:
      return OTHER;
    default:
      throw new TypeError(`A cell of the kind ${kind}`);
  }
}

/** Returns the class of a cell that is a moment or a duration. */
export function classifyMoment(kind: number): number {
  switch (kind) {
    case DATE:
      return DATE_CELL;
    case TIMESTAMP:
      return TIMESTAMP_CELL;
    case UTC_TIMESTAMP:
      return TIMESTAMPTZ_STRING;
    case TIME:
      return TIME_CELL;
    case INTERVAL:
      return INTERVAL_CELL;
    default:
      throw new TypeError(`A moment of the kind ${kind}`);
  }
}
