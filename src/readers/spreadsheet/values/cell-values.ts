/** Finds the value of a cell from its text, its type and the number format of its style. */

import { isDigit, MINUS, POINT, ZERO } from '../../../core/bytes/ascii.ts';
import {
  DATE,
  FALSE,
  INTERVAL,
  NUMBER,
  ROUNDED_NUMBER,
  SERIAL_OUT_OF_RANGE,
  STRING,
  TIME,
  TIMESTAMP,
  TRUE,
  UNREADABLE_CELL,
} from '../../../core/cells/cell-kind.ts';
import type { MergedAreas } from '../merged-areas.ts';
import { parseIsoMoment } from './iso-moment.ts';
import * as formats from './number-formats.ts';
import {
  checkNumber,
  endOfWhole,
  NOT_A_NUMBER,
  normalizeNumber,
  padNumber,
  roundNumber,
  TOO_PRECISE,
  UNCHANGED,
  UNUSUAL,
} from './number-text.ts';
import { lastSerial, parseSerial, serialToDays } from './serial-date.ts';
import type { SharedStrings } from './shared-strings.ts';
import type { Styles } from './styles.ts';

/** Receives the cells of a sheet. Rows count from 1 as in the sheet, columns from 0 (`A`). */
export interface SheetTarget {
  /**
   * true: the source must pause before it passes more cells. It may be needed after a few bytes of the file: cells can refer to
   * long shared strings or repeat a cell. A target without this property never needs a pause.
   */
  readonly isPauseDue?: boolean;
  /** Hides columns, both ends included. Called before the rows. */
  hideColumns?(first: number, last: number): void;
  /**
   * Called only for rows that have a value or a problem.
   *
   * @param isHidden a person or a filter has hidden the row
   */
  beginRow(row: number, isHidden?: boolean): void;
  /** Receives a cell, like `CellSink.cell`. */
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void;
  /** The merged areas. Set only by sources that find the covered cells themselves. They add areas before their first row ends. */
  merged?: MergedAreas | undefined;
  /** Reports a value in a cell that merged cells cover. Called only by sources that find these cells themselves. */
  coveredValue?(column: number): void;
  /** Receives a moment or a duration, like `CellSink.moment`. */
  moment(column: number, kind: number, days: number, microseconds: number): void;
  /** Receives a cell with a problem, or a row with one, like `CellSink.fault`. */
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void;
  endRow(): void;
}

/** The texts of Excel for true and false. */
export const trueText: Buffer = Buffer.from('TRUE');
export const falseText: Buffer = Buffer.from('FALSE');

/** The days that programs write before a time of day without a date: 1899-12-30, 1899-12-31 and 1904-01-01, as days since 2000-01-01. */
const timeOnlyDays = [-36_526, -36_525, -35_064];

export class CellValues {
  readonly #target: SheetTarget;
  readonly #meanings: Uint8Array;
  readonly #masks: (Buffer | undefined)[];
  readonly #sections: Styles['sections'];
  readonly #strings: SharedStrings;
  readonly #is1904: boolean;
  readonly #serial = { days: 0, microseconds: 0 };
  #scratch: Buffer = Buffer.alloc(1024);

  constructor(target: SheetTarget, styles: Styles, strings: SharedStrings, is1904: boolean) {
    this.#target = target;
    this.#meanings = styles.meanings;
    this.#masks = styles.masks;
    this.#sections = styles.sections;
    this.#strings = strings;
    this.#is1904 = is1904;
  }

  /** Returns the index of the shared string that the cell refers to; -1: there is no such string. */
  stringIndex(bytes: Buffer, start: number, end: number): number {
    if (end - start > 9) return -1;
    let index = 0;
    for (let at = start; at < end; at++) {
      const digit = bytes[at]! - 0x30;
      if (digit < 0 || digit > 9) return -1;
      index = index * 10 + digit;
    }
    return this.existingString(index);
  }

  /** Returns the index, or -1 if the workbook has no such string. */
  existingString(index: number): number {
    return index < this.#strings.count ? index : -1;
  }

  /** Looks up the string for `sharedString`. Returns false if it is empty. */
  hasText(index: number): boolean {
    if (index < 0) return true;
    const strings = this.#strings;
    strings.find(index);
    return strings.end > strings.start;
  }

  /**
   * Passes on the string that `hasText` has looked up.
   *
   * @param index the result of `stringIndex`; `bytes` contains the text from which it was read
   */
  sharedString(column: number, index: number, bytes: Buffer, start: number, end: number): void {
    if (index < 0) {
      this.#target.fault(column, UNREADABLE_CELL, bytes, start, end);
      return;
    }
    const strings = this.#strings;
    this.#target.cell(column, STRING, strings.bytes, strings.start, strings.end);
  }

  boolean(column: number, bytes: Buffer, start: number, end: number): void {
    const text = end - start === 1 ? bytes[start] : 0;
    if (text === 0x31) this.#target.cell(column, TRUE, trueText, 0, trueText.length);
    else if (text === ZERO) this.#target.cell(column, FALSE, falseText, 0, falseText.length);
    else this.#spelledBoolean(column, bytes, start, end);
  }

  #spelledBoolean(column: number, bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('latin1', start, Math.min(end, start + 6)).toLowerCase();
    if (text === 'true') this.#target.cell(column, TRUE, bytes, start, end);
    else if (text === 'false') this.#target.cell(column, FALSE, bytes, start, end);
    else this.#target.fault(column, UNREADABLE_CELL, bytes, start, end);
  }

  /** Pushes a number. A number whose style does not exist is a problem, because it may be a date. */
  number(column: number, style: number, bytes: Buffer, start: number, end: number): void {
    const check = checkNumber(bytes, start, end);
    if (check === NOT_A_NUMBER) {
      this.#target.fault(column, UNREADABLE_CELL, bytes, start, end);
    } else if (check === UNUSUAL) {
      const text = Buffer.from(normalizeNumber(bytes.toString('latin1', start, end)), 'latin1');
      this.number(column, style, text, 0, text.length);
    } else {
      this.checkedNumber(column, style, check, bytes, start, end);
    }
  }

  /**
   * Passes on a number that was already checked.
   *
   * @param check `UNCHANGED` or `TOO_PRECISE`, the result of `checkNumber`
   */
  checkedNumber(
    column: number,
    style: number,
    check: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    if (style < 0 || style >= this.#meanings.length) {
      this.#target.fault(column, UNREADABLE_CELL, bytes, start, end);
      return;
    }
    const meaning = this.#meanings[style]!;
    if (meaning === formats.BY_VALUE) this.#byValue(column, style, check, bytes, start, end);
    else this.#put(column, meaning, this.#masks[style], check, bytes, start, end);
  }

  #byValue(column: number, style: number, check: number, bytes: Buffer, start: number, end: number): void {
    const value = Number(bytes.toString('latin1', start, end));
    for (const section of this.#sections[style]!) {
      if (!formats.meetsCondition(section, value)) continue;
      this.#put(column, section.meaning, section.mask, check, bytes, start, end);
      return;
    }
    this.#put(column, formats.PLAIN, undefined, check, bytes, start, end);
  }

  #put(
    column: number,
    meaning: number,
    mask: Buffer | undefined,
    check: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    const stop = bytes[end - 1] === ZERO ? endOfWhole(bytes, start, end) : end;
    if (meaning === formats.PLAIN) this.#plainNumber(column, check, bytes, start, stop);
    else if (meaning === formats.ZERO_PADDED) this.#padded(column, check, mask, bytes, start, stop);
    else this.#date(column, meaning, bytes, start, stop);
  }

  #plainNumber(column: number, check: number, bytes: Buffer, start: number, end: number): void {
    if (check !== TOO_PRECISE) {
      this.#target.cell(column, NUMBER, bytes, start, end);
      return;
    }
    this.#reserve(2 * (end - start + 1));
    const scratch = this.#scratch;
    const length = roundNumber(bytes, start, end, scratch);
    scratch[length + bytes.copy(scratch, length, start, end)] = 0;
    this.#target.cell(column, ROUNDED_NUMBER, scratch, 0, length);
  }

  /** Adds leading zeros to whole numbers only: in the format `00000` the value 12.5 is shown as `00013`, which is not its value. */
  #padded(
    column: number,
    check: number,
    mask: Buffer | undefined,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    if (mask === undefined || check !== UNCHANGED || !isWhole(bytes, start, end)) {
      this.#plainNumber(column, check, bytes, start, end);
      return;
    }
    this.#reserve(mask.length + end - start);
    const length = padNumber(bytes, start, end, mask, this.#scratch);
    this.#target.cell(column, STRING, this.#scratch, 0, length);
  }

  #date(column: number, format: number, bytes: Buffer, start: number, end: number): void {
    const serial = this.#serial;
    if (bytes[start] === MINUS && (format === formats.ELAPSED_TIME || format === formats.TIME_ONLY)) {
      this.#negativeTime(column, bytes, start, end);
      return;
    }
    if (!parseSerial(bytes, start, end, serial)) {
      this.#target.fault(column, SERIAL_OUT_OF_RANGE, bytes, start, end);
      return;
    }
    const isFirstDay = bytes[start] === ZERO && (end - start === 1 || bytes[start + 1] === POINT);
    let meaning = format;
    if (meaning === formats.DATE_OR_TIME) meaning = isFirstDay ? formats.TIME_ONLY : formats.DATE_ONLY;
    if (meaning === formats.TIME_ONLY && (isFirstDay || serial.days === 0)) {
      // A time of 23:59:59.9999999 is rounded up to 24:00. Without a date it becomes 0:00, because there is no next day.
      this.#target.moment(column, TIME, 0, serial.microseconds);
      return;
    }
    if (meaning === formats.ELAPSED_TIME && serial.days <= lastSerial) {
      this.#target.moment(column, INTERVAL, serial.days, serial.microseconds);
      return;
    }
    const days = serialToDays(serial.days, this.#is1904);
    if (Number.isNaN(days)) this.#target.fault(column, SERIAL_OUT_OF_RANGE, bytes, start, end);
    else if (meaning === formats.DATE_ONLY && serial.microseconds === 0) {
      this.#target.moment(column, DATE, days, 0);
    } else this.#target.moment(column, TIMESTAMP, days, serial.microseconds);
  }

  /** Passes on a negative time as a duration, whatever its format, because a time of day is never negative. */
  #negativeTime(column: number, bytes: Buffer, start: number, end: number): void {
    const serial = this.#serial;
    if (!parseSerial(bytes, start + 1, end, serial) || serial.days > lastSerial) {
      this.#target.fault(column, SERIAL_OUT_OF_RANGE, bytes, start, end);
      return;
    }
    // `-0` would be a negative zero. `0 - 0` is 0.
    this.#target.moment(column, INTERVAL, 0 - serial.days, 0 - serial.microseconds);
  }

  isoDate(column: number, style: number, bytes: Buffer, start: number, end: number): void {
    const moment = parseIsoMoment(bytes.toString('latin1', start, Math.min(end, start + 64)));
    if (moment === undefined) {
      this.#target.fault(column, UNREADABLE_CELL, bytes, start, end);
      return;
    }
    const meaning = this.#meanings[style] ?? formats.PLAIN;
    const { kind, days, microseconds } = moment;
    if (kind !== TIMESTAMP) this.#target.moment(column, kind, days, microseconds);
    else if (meaning === formats.DATE_ONLY && microseconds === 0) this.#target.moment(column, DATE, days, 0);
    else if (meaning === formats.TIME_ONLY && timeOnlyDays.includes(days)) {
      this.#target.moment(column, TIME, 0, microseconds);
    } else this.#target.moment(column, TIMESTAMP, days, microseconds);
  }

  #reserve(length: number): void {
    if (length > this.#scratch.length) this.#scratch = Buffer.alloc(2 * length);
  }
}

function isWhole(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (!isDigit(byte) && !(at === start && byte === MINUS)) return false;
  }
  return true;
}
