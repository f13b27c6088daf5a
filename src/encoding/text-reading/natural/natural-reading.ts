/**
 * Reads the texts of columns whose notation `values=natural` has found in all rows. Other columns and other cells are passed on
 * unchanged. A date or number that is not in the notation is a problem. Only columns with a defined type can have such a text.
 */

import { COLON, isDigit, POINT, ZERO } from '../../../core/bytes/ascii.ts';
import { trimmedEnd, trimmedStart } from '../../../core/bytes/white-space.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { type CellSink, READ_AS_MOMENT, TEXT_VALUE } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import { maxDateBytes } from '../date-form.ts';
import { type DateForm, readAnyDate } from '../named-date.ts';
import { type NumberSigns, readNumber } from '../number-form.ts';
import { hasDigit, isIsoDate } from '../text-facts.ts';
import { clock, readClock } from './clock.ts';
import { IS_TRUE, type LanguageWords } from './language-words.ts';
import { naturalNumberBytes, readNaturalNumber } from './natural-number.ts';
import type { Notation } from './notation.ts';

/**
 * Returns the notation of a column of the source; undefined: its texts are passed on unchanged.
 *
 * @param name identifies the column, because passes over the same rows may number it differently
 * @param wanted what the column of the table wants, as in `CellSink.wants`
 */
export type NotationOf = (name: string, wanted: number, column: number) => Notation | undefined;

export class NaturalReadingSink extends ForwardingSink {
  readonly #notationOf: NotationOf;
  readonly #notations: (Notation | undefined)[] = [];
  readonly #words: LanguageWords;
  readonly #dateForm: DateForm;
  #scratch = Buffer.alloc(256);

  constructor(inner: CellSink, notationOf: NotationOf, words: LanguageWords) {
    super(inner);
    this.#notationOf = notationOf;
    this.#words = words;
    this.#dateForm = { order: 0, words };
  }

  override column(column: number, name: string, place?: number, type?: string): void {
    this.inner.column(column, name, place, type);
    this.#notations[column] = this.#notationOf(name, this.wants(column), column);
  }

  wants(column: number): number {
    return this.inner.wants?.(column) ?? TEXT_VALUE;
  }

  original(rewritten: Buffer, bytes: Buffer, start: number, end: number): void {
    this.inner.original?.(rewritten, bytes, start, end);
  }

  plainCell(
    column: number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
    classes: number,
  ): boolean {
    if (this.#notations[column] !== undefined) return false;
    return this.inner.plainCell?.(column, kind, bytes, start, end, classes) === true;
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const notation = this.#notations[column];
    if (notation === undefined || (kind !== kinds.TEXT && kind !== kinds.STRING)) {
      this.inner.cell(column, kind, bytes, start, end);
      return;
    }
    const from = trimmedStart(bytes, start, end);
    const to = trimmedEnd(bytes, from, end);
    // In a text file, white space alone cannot be distinguished from no value.
    if (from === to && kind === kinds.TEXT) this.inner.cell(column, kinds.NULL, bytes, start, end);
    else if (!this.#reads(column, notation, bytes, from, to))
      this.inner.cell(column, kind, bytes, start, end);
  }

  longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    return this.passLong(column, kind, bytes, start, end);
  }

  /** Passes on the value of the text if the text is in the notation. Returns whether it is. */
  #reads(column: number, notation: Notation, bytes: Buffer, start: number, end: number): boolean {
    switch (notation.kind) {
      case 'date':
        return this.#readsDate(column, notation.order, bytes, start, end);
      case 'number':
        return this.#readsNumber(column, notation, bytes, start, end);
      case 'time':
        return readClock(bytes, start, end) && this.#putTime(column, bytes, start, end);
      case 'duration':
        return (
          readClock(bytes, start, end) &&
          this.#putDuration(column, notation.beginsWithMinutes, bytes, start, end)
        );
      case 'words': {
        const word = this.#words.trueFalse.find(bytes, start, end);
        if (word === 0) return false;
        this.inner.cell(column, (word & IS_TRUE) === 0 ? kinds.FALSE : kinds.TRUE, bytes, start, end);
        return true;
      }
    }
  }

  #readsDate(column: number, order: number, bytes: Buffer, start: number, end: number): boolean {
    if (end - start > maxDateBytes) return false;
    this.#dateForm.order = order;
    const length = readAnyDate(bytes, start, end, this.#dateForm, this.#scratch);
    if (length < 0) {
      if (start < end && isDigit(bytes[start]!) && !isIsoDate(bytes, start, end))
        this.inner.fault(column, kinds.NOT_IN_DATE_ORDER, bytes, start, end);
      else this.inner.cell(column, kinds.STRING, bytes, start, end);
      return true;
    }
    this.inner.original?.(this.#scratch, bytes, start, end);
    this.inner.cell(column, kinds.STRING, this.#scratch, 0, length);
    return true;
  }

  #readsNumber(
    column: number,
    { signs, isPercent }: { signs: NumberSigns; isPercent: boolean },
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean {
    const needed = end - start + naturalNumberBytes;
    if (needed > this.#scratch.length) this.#scratch = Buffer.alloc(2 * needed);
    let length = readNaturalNumber(bytes, start, end, signs, this.#scratch, isPercent);
    // In a column that is defined as a number, 007 and +5 are numbers, too. Among percent numbers they are not read, because it is not clear what they mean.
    if (length < 0 && !isPercent) length = readNumber(bytes, start, end, signs, this.#scratch);
    if (length < 0) {
      if (!hasDigit(bytes, start, end)) return false;
      this.inner.fault(column, kinds.NOT_IN_NUMBER_FORM, bytes, start, end);
      return true;
    }
    this.inner.original?.(this.#scratch, bytes, start, end);
    this.inner.cell(column, kinds.TEXT, this.#scratch, 0, length);
    return true;
  }

  #putTime(column: number, bytes: Buffer, start: number, end: number): boolean {
    if (!clock.isTime || clock.isInexact) return false;
    const { first, second, third, microseconds } = clock;
    this.inner.original?.(READ_AS_MOMENT, bytes, start, end);
    this.inner.moment(column, kinds.TIME, 0, ((first * 60 + second) * 60 + third) * 1_000_000 + microseconds);
    return true;
  }

  #putDuration(column: number, isMinutes: boolean, bytes: Buffer, start: number, end: number): boolean {
    if (clock.hasHalf || clock.isInexact) return false;
    if (!isMinutes || clock.hasThird) {
      this.inner.cell(column, kinds.STRING, bytes, start, end);
      return true;
    }
    // The time is written with hours, because PostgreSQL would read 02:30 as hours and minutes.
    const { first, second, microseconds } = clock;
    const out = this.#scratch;
    writeDigits(out, 0, Math.trunc(first / 60), 3);
    out[3] = COLON;
    writeDigits(out, 4, first % 60, 2);
    out[6] = COLON;
    writeDigits(out, 7, second, 2);
    out[9] = POINT;
    writeDigits(out, 10, microseconds, 6);
    this.inner.original?.(out, bytes, start, end);
    this.inner.cell(column, kinds.STRING, out, 0, 16);
    return true;
  }
}

function writeDigits(out: Buffer, at: number, value: number, digits: number): void {
  let rest = value;
  for (let place = at + digits - 1; place >= at; place--) {
    out[place] = ZERO + (rest % 10);
    rest = Math.trunc(rest / 10);
  }
}
