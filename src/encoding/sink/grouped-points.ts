/** Finds the number columns of a text file in which the points of every number may separate thousands: `1.234`. */
import { POINT } from '../../core/bytes/ascii.ts';
import { isGroupedByPoint } from '../infer/text-forms.ts';

/** The column is not a number column, or it had a number whose point is a decimal sign. */
export const NO_POINTS = 0;
/** No number with a point has occurred yet. */
const MAY_BE_GROUPED = 1;
/** The points of every number with a point may separate thousands: `1.234`. */
const GROUPED_POINTS = 2;

export class GroupedPoints {
  /** The state of each column: `NO_POINTS`, `MAY_BE_GROUPED` or `GROUPED_POINTS`. */
  readonly states: Uint8Array;

  /** @param isNumber whether each column is a number column */
  constructor(isNumber: boolean[]) {
    this.states = Uint8Array.from(isNumber, (is) => (is ? MAY_BE_GROUPED : NO_POINTS));
  }

  /** Notes the text of a number. Do not call it for columns with `NO_POINTS`. */
  note(column: number, bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end && bytes[at] !== POINT) at += 1;
    if (at === end) return;
    this.states[column] = isGroupedByPoint(bytes, start, end) ? GROUPED_POINTS : NO_POINTS;
  }

  /** Returns the columns whose numbers may be a thousand times as large as they were read. */
  grouped(): number[] {
    return [...this.states.keys()].filter((column) => this.states[column] === GROUPED_POINTS);
  }
}
