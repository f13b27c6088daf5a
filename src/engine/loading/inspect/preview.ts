/**
 * Makes the preview of rows for an inspection: the columns that would be inferred from all rows, the first rows as text, and the
 * cells that a load would refuse.
 */

import { BYTES, FALSE, NULL, TRUE } from '../../../core/cells/cell-kind.ts';
import type { CellSink, LocateCell } from '../../../core/cells/cell-sink.ts';
import { formatMoment, momentText } from '../../../core/cells/moment-text.ts';
import { partsOfAddress } from '../../../core/cells/parts-of-address.ts';
import { maxListedProblems, type Problem, type Warning } from '../../../core/errors.ts';
import { headerOfValues } from '../../../encoding/infer/header-of-values.ts';
import {
  type InferenceLimits,
  type TypeChoices,
  TypeInference,
} from '../../../encoding/infer/infer-types.ts';
import {
  impossibleNames,
  mixedColumns,
  naturalColumns,
  otherReadings,
  roundedColumns,
} from '../../../encoding/infer/inferred-columns.ts';
import { describeCellProblem } from '../../../encoding/problems/cell-problems.ts';
import { shortenBytes, shortenValue } from '../../../encoding/problems/problems.ts';

/** The number of rows that a preview shows. */
const shownRows = 20;

/** The bytes that are shown of a byte string. */
const shownBytes = 100;

export interface PreviewedRows {
  header: string[];
  definition: { columns: { name: string; type: string }[] };
  /** The first rows, each with one text for each column; null: a blank cell. */
  rows: (string | null)[][];
  /** For each of these rows: its number in the sheet. Rows of JSON have none. */
  rowNumbers: number[] | undefined;
  /** For each column: how many rows have a value in it and how many have none, and its letters in the sheet. */
  columns: ColumnCounts[];
  /** The cells that a load would refuse. */
  errors: Problem[];
  errorCount: number;
}

export interface ColumnCounts {
  name: string;
  letters?: string;
  values: number;
  empty: number;
}

export interface PreviewSize {
  /** The number of rows that have a value. In a sheet only rows below the header count. */
  rows: number;
  columns: number;
}

/** Infers the types of all rows and keeps the first ones as text. */
export class Preview implements CellSink {
  readonly #inference: TypeInference;
  readonly #locate: LocateCell;
  readonly #rows: (string | null)[][] = [];
  readonly #errors: Problem[] = [];
  readonly #names: string[] = [];
  #errorCount = 0;
  #row: (string | null)[] | undefined;
  readonly #rowNumbers: number[] = [];
  /** For each column: the number of its values, and the last row that has one. A row may have the key of a column twice. */
  #values = new Uint32Array(64);
  #lastRows = new Uint32Array(64);
  /** For each row: the original texts of cells that were read as other values, for example of dates and numbers. */
  readonly #originals: (string | undefined)[][] = [];
  #original: string | undefined;

  constructor(limits: InferenceLimits, locate: LocateCell, choices: TypeChoices) {
    this.#locate = locate;
    this.#inference = new TypeInference(limits, undefined, choices);
  }

  get size(): PreviewSize {
    return { rows: this.#inference.rowCount, columns: this.#inference.columns().length };
  }

  get warnings(): Warning[] {
    const columns = this.#inference.columns();
    const locate = this.#locate;
    return [
      ...mixedColumns(columns, locate),
      ...otherReadings(columns, locate),
      ...naturalColumns(columns, locate),
      ...roundedColumns(columns, locate),
    ];
  }

  /** @param headerRow the row that was read as the header, with its texts; undefined: none */
  headerWarnings(headerRow: number | undefined, headerTexts?: readonly string[]): Warning[] {
    return headerOfValues(this.#inference.columns(), headerRow, headerTexts);
  }

  /**
   * Returns the result.
   *
   * @param ofHeader the problems of header cells
   */
  result(ofHeader: Problem[]): PreviewedRows {
    const inferred = this.#inference.columns();
    const columns = inferred.map(({ name, type }) => ({ name, type }));
    const header = columns.map(({ name }) => name);
    // If the column becomes `text`, the table stores the original text, so the preview shows it.
    const rows = this.#rows.map((row, index) =>
      inferred.map(
        ({ column, type }) =>
          (type === 'text' ? this.#originals[index]?.[column] : undefined) ?? row[column] ?? null,
      ),
    );
    const counts = inferred.map(({ column, name }) => {
      const letters = this.#addressOf(1, column, name)?.letters;
      const values = this.#values[column]!;
      return { name, ...(letters && { letters }), values, empty: this.#inference.rowCount - values };
    });
    const ofNames = impossibleNames(this.#inference, this.#locate);
    const errors = [...ofHeader, ...ofNames, ...this.#errors].slice(0, maxListedProblems);
    return {
      header,
      definition: { columns },
      rows,
      rowNumbers: this.#rowNumbers.length === rows.length ? this.#rowNumbers : undefined,
      columns: counts,
      errors,
      errorCount: ofHeader.length + ofNames.length + this.#errorCount,
    };
  }

  /** Returns the parts of the address of a cell. JSON has no addresses. */
  #addressOf(row: number, column: number, name: string): ReturnType<typeof partsOfAddress> {
    return partsOfAddress(this.#locate(row, column, name).cell);
  }

  column(column: number, name: string, place?: number, type?: string): void {
    this.#inference.column(column, name, place, type);
    this.#names[column] = name;
    if (column < this.#values.length) return;
    const [values, lastRows] = [this.#values, this.#lastRows];
    this.#values = new Uint32Array(column * 2);
    this.#values.set(values);
    this.#lastRows = new Uint32Array(column * 2);
    this.#lastRows.set(lastRows);
  }

  #count(column: number): void {
    const { row } = this.#inference;
    if (this.#lastRows[column] === row) return;
    this.#lastRows[column] = row;
    this.#values[column]!++;
  }

  beginRow(row: number): void {
    this.#inference.beginRow(row);
    this.#row = this.#rows.length < shownRows ? [] : undefined;
    if (!this.#row) return;
    this.#rows.push(this.#row);
    const address = this.#addressOf(row, 0, '');
    if (address) this.#rowNumbers.push(Number(address.row));
  }

  original(rewritten: Buffer, bytes: Buffer, start: number, end: number): void {
    this.#inference.original(rewritten, bytes, start, end);
    if (this.#row) this.#original = shortenBytes(bytes, start, end);
  }

  #takeOriginal(column: number): void {
    if (this.#original === undefined) return;
    this.#originals[this.#rows.length - 1] ??= [];
    this.#originals[this.#rows.length - 1]![column] = this.#original;
    this.#original = undefined;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.cell(column, kind, bytes, start, end);
    this.#take(column, kind, bytes, start, end);
  }

  async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    await this.#inference.longCell(column, kind, bytes, start, end);
    this.#take(column, kind, bytes, start, end);
  }

  #take(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (kind === NULL) return;
    this.#count(column);
    if (!this.#row) return;
    this.#takeOriginal(column);
    if (kind === TRUE || kind === FALSE) this.#row[column] = String(kind === TRUE);
    else if (kind === BYTES)
      this.#row[column] = shortenValue(
        `\\x${bytes.toString('hex', start, Math.min(end, start + shownBytes))}`,
      );
    else this.#row[column] = shortenBytes(bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#inference.moment(column, kind, days, microseconds);
    this.#count(column);
    if (!this.#row) return;
    this.#takeOriginal(column);
    this.#row[column] = shortenValue(
      momentText.toString('latin1', 0, formatMoment(kind, days, microseconds)),
    );
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.fault(column, fault, bytes, start, end);
    this.#addError(column, fault, bytes, start, end);
    if (column >= 0) this.#count(column);
    if (this.#row && column >= 0) this.#row[column] = shortenBytes(bytes, start, end);
  }

  #addError(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#errorCount += 1;
    if (this.#errors.length === maxListedProblems) return;
    const { row } = this.#inference;
    const name = this.#names[column] ?? '';
    this.#errors.push({
      ...this.#locate(row, column, name),
      row,
      ...(column >= 0 && { column: name }),
      ...(end > start && { value: shortenBytes(bytes, start, end) }),
      ...describeCellProblem(fault),
    });
  }

  endRow(): void {
    this.#inference.endRow();
  }

  drain(): undefined {
    return undefined;
  }
}
