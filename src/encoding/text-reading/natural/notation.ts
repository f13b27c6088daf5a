/** The notation in which all values of a column are written, as `values=natural` has found it. */

import type { NumberSigns } from '../number-form.ts';

export type Notation =
  /** `order` is one of date-form.ts. Dates in ISO 8601 are read, too. */
  | { kind: 'date'; order: number }
  /** `isPercent`: each number has a percent sign. */
  | { kind: 'number'; signs: NumberSigns; isPercent: boolean }
  /** Times of day. */
  | { kind: 'time' }
  /** Durations of hours, minutes and seconds, or of minutes and seconds (`02:30.5`). */
  | { kind: 'duration'; beginsWithMinutes: boolean }
  /** Words for true and false. */
  | { kind: 'words' };
