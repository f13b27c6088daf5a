/** Pushes the values of cells to the target, each by the type of its cell. */

import * as kinds from '../../../core/cells/cell-kind.ts';
import { CellValues, type SheetTarget } from '../values/cell-values.ts';
import { parseIsoMoment } from '../values/iso-moment.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { parseDuration } from './duration.ts';
import type { OdsStyles } from './ods-styles.ts';

/** The types of cells. */
export const EMPTY = 0;
export const NUMBER = 1;
export const STRING = 2;
export const BOOLEAN = 3;
export const DATE = 4;
export const TIME = 5;
export const ERROR = 6;
export const NO_RESULT = 7;
/** A cell that displays a number, boolean, date or time, but has no attribute with the value. */
export const NO_VALUE = 8;
/** A value that merged cells cover. It is counted but not loaded. */
export const COVERED = 9;

const value = Buffer.from('value');

/** The types that a cell can state, and the attribute that has its value. */
export const valueTypes: [name: Buffer, type: number, attribute: Buffer][] = [
  [Buffer.from('float'), NUMBER, value],
  [Buffer.from('percentage'), NUMBER, value],
  [Buffer.from('currency'), NUMBER, value],
  [Buffer.from('string'), STRING, Buffer.from('string-value')],
  [Buffer.from('boolean'), BOOLEAN, Buffer.from('boolean-value')],
  [Buffer.from('date'), DATE, Buffer.from('date-value')],
  [Buffer.from('time'), TIME, Buffer.from('time-value')],
];

export class OdsValues {
  readonly #target: SheetTarget;
  readonly #styles: OdsStyles;
  readonly #values: CellValues;

  /** @param is1904 dates that are stored as numbers count from 1904-01-01 */
  constructor(target: SheetTarget, styles: OdsStyles, is1904: boolean) {
    this.#target = target;
    this.#styles = styles;
    this.#values = new CellValues(target, styles, new SharedStrings(0), is1904);
  }

  put(column: number, type: number, style: number, bytes: Buffer, length: number): void {
    switch (type) {
      case NUMBER:
        this.#values.number(column, style, bytes, 0, length);
        break;
      case STRING:
        this.#target.cell(column, kinds.STRING, bytes, 0, length);
        break;
      case BOOLEAN:
        this.#values.boolean(column, bytes, 0, length);
        break;
      case DATE:
        this.#date(column, style, bytes, length);
        break;
      case TIME:
        this.#time(column, style, bytes, length);
        break;
      case ERROR:
        this.#target.fault(column, kinds.ERROR_CELL, bytes, 0, length);
        break;
      case COVERED:
        this.#target.coveredValue?.(column);
        break;
      case NO_VALUE:
        this.#target.fault(column, kinds.UNREADABLE_CELL, bytes, 0, length);
        break;
      default:
        this.#target.fault(column, kinds.FORMULA_WITHOUT_VALUE, bytes, 0, 0);
    }
  }

  /**
   * Pushes a date. The format decides whether the value has a time, because some programs omit a time of 0:00, and others write it
   * although only the day is meant.
   */
  #date(column: number, style: number, bytes: Buffer, length: number): void {
    const moment = parseIsoMoment(bytes.toString('latin1', 0, Math.min(length, 64)));
    if (moment === undefined || moment.kind === kinds.TIME) {
      this.#target.fault(column, kinds.UNREADABLE_CELL, bytes, 0, length);
      return;
    }
    const isDate = moment.microseconds === 0 && this.#styles.hasTime[style] !== true;
    this.#target.moment(column, isDate ? kinds.DATE : kinds.TIMESTAMP, moment.days, moment.microseconds);
  }

  #time(column: number, style: number, bytes: Buffer, length: number): void {
    const duration = parseDuration(bytes.toString('latin1', 0, Math.min(length, 65)));
    if (duration === undefined) {
      this.#target.fault(column, kinds.UNREADABLE_CELL, bytes, 0, length);
      return;
    }
    const { days, microseconds } = duration;
    // Negative times are durations, because a time of day is never negative.
    const isTime = days === 0 && microseconds >= 0 && this.#styles.isElapsed[style] !== true;
    this.#target.moment(column, isTime ? kinds.TIME : kinds.INTERVAL, days, microseconds);
  }
}
