/**
 * Leaves out the rows that repeat the header (`header_row=auto`). Printed pages and files that were joined have the line of the header
 * again and again, and each of them would make a text of a column of numbers.
 */

import { trimmedEnd, trimmedStart } from '../../core/bytes/white-space.ts';
import { NULL } from '../../core/cells/cell-kind.ts';
import type { CellSink } from '../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../core/cells/forwarding-sink.ts';
import type { Warning } from '../../core/errors.ts';
import { HeldCells } from './held-cells.ts';

/** How many of the rows the warning names. */
const maxListedRows = 10;
/** A longer text is not compared, because only the beginning of a header is kept. */
const maxComparedCharacters = 200;
/** A table with only one column may have its header as a value. */
const minColumns = 2;

export class RepeatedHeaderSink extends ForwardingSink {
  readonly #headerTexts: () => readonly string[] | undefined;
  /** The texts of the header by column; undefined: the column has none. */
  #header: (Buffer | undefined)[] | undefined;
  /** The number of columns with a text; 0: no row is left out. */
  #texts = 0;
  readonly #held = new HeldCells();
  #row = 0;
  /** Whether all cells of the row so far are those of the header. The inner sink has not seen the row then. */
  #isHeld = false;
  #matched = 0;
  #count = 0;
  readonly #listed: number[] = [];

  /** @param headerTexts returns the texts of the header by column, when it is complete */
  constructor(inner: CellSink, headerTexts: () => readonly string[] | undefined) {
    super(inner);
    this.#headerTexts = headerTexts;
  }

  override column(column: number, name: string, place?: number): void {
    this.#release();
    super.column(column, name, place);
  }

  override beginRow(row: number): void {
    if (this.#header === undefined) this.#readHeader();
    this.#row = row;
    this.#matched = 0;
    this.#isHeld = this.#texts > 0;
    if (!this.#isHeld) super.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isHeld) {
      if (this.#isOfHeader(column, kind, bytes, start, end)) {
        this.#held.add(column, kind, bytes, start, end);
        return;
      }
      this.#release();
    }
    super.cell(column, kind, bytes, start, end);
  }

  override moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#release();
    super.moment(column, kind, days, microseconds);
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#release();
    super.fault(column, fault, bytes, start, end);
  }

  override endRow(): void {
    if (this.#isHeld && this.#matched === this.#texts && !this.#held.areTooMany) {
      this.#count++;
      if (this.#listed.length < maxListedRows) this.#listed.push(this.#row);
      this.#held.clear();
      this.#isHeld = false;
      return;
    }
    this.#release();
    super.endRow();
  }

  /** @param headerRow the row of the sheet with the header */
  warnings(headerRow: number): Warning[] {
    if (this.#count === 0) return [];
    const rows = this.#listed.map((row) => row + headerRow).join(', ');
    const rest = this.#count > this.#listed.length ? ', …' : '';
    const what = this.#count === 1 ? `Row ${rows} repeats` : `${this.#count} rows repeat`;
    const which = this.#count === 1 ? '' : `: rows ${rows}${rest}`;
    const detail = `${what} the header and ${this.#count === 1 ? 'was' : 'were'} left out (header_row=auto)${which}. With header_row=${headerRow} they are values.`;
    return [{ code: 'header-rows-left-out', detail }];
  }

  #readHeader(): void {
    const texts = this.#headerTexts() ?? [];
    this.#header = texts.map((text) => (text === '' ? undefined : Buffer.from(text)));
    const count = texts.filter((text) => text !== '').length;
    const areWords = texts.some((text) => /\p{L}/u.test(text));
    const areWhole = texts.every((text) => text.length <= maxComparedCharacters);
    this.#texts = count >= minColumns && areWords && areWhole ? count : 0;
  }

  #isOfHeader(column: number, kind: number, bytes: Buffer, start: number, end: number): boolean {
    if (kind === NULL) return this.#header![column] === undefined;
    const text = this.#header![column];
    if (text === undefined) return false;
    const from = trimmedStart(bytes, start, end);
    if (end - from < text.length || bytes[from] !== text[0]) return false;
    const to = trimmedEnd(bytes, from, end);
    if (to - from !== text.length || text.compare(bytes, from, to) !== 0) return false;
    this.#matched++;
    return true;
  }

  /** Passes the held row on. */
  #release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    super.beginRow(this.#row);
    const { count, places, kinds, ends, bytes } = this.#held;
    for (let cell = 0, start = 0; cell < count; start = ends[cell++]!)
      super.cell(places[cell]!, kinds[cell]!, bytes, start, ends[cell]!);
    this.#held.clear();
  }
}
