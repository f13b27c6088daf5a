/**
 * Passes the rows of a file that states the names and types of its columns to a sink. Such a file has no header, no range and no addresses.
 * Every row counts, and every text is a value, also a blank one.
 */

import type { CellSink } from '../../core/cells/cell-sink.ts';
import { rowTooLong } from '../../core/cells/row-limit.ts';
import type { Warning } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { pauseBetweenSlices } from '../share-turns.ts';
import { CountedValues } from './counted-values.ts';
import { nameBlankColumn, nameColumns } from './header-names.ts';
import type { SheetRowsOptions } from './sheet-rows-options.ts';

export interface StatedColumn {
  name: string;
  /** The type in PostgreSQL. */
  type: string;
}

/** The bytes that a moment counts. */
const momentBytes = 8;
/** The bytes that a row and a cell count at least. A file of some hundred bytes can have ten million rows of NULL, and PostgreSQL stores each of them. */
const leastRowBytes = 8;
const leastCellBytes = 1;

export class StatedRows {
  readonly #sink: CellSink;
  readonly #options: SheetRowsOptions;
  readonly #columns: readonly StatedColumn[];
  readonly #counted: CountedValues;
  #warnings: Warning[] = [];
  #row = 0;
  #column = 0;
  #rowBytes = 0;

  constructor(sink: CellSink, columns: readonly StatedColumn[], options: SheetRowsOptions) {
    this.#sink = sink;
    this.#columns = columns;
    this.#options = options;
    this.#counted = new CountedValues(options.expanded);
  }

  /** Passes on the columns. Call it before the rows. */
  nameColumns(): void {
    const { columnNames } = this.#options;
    const texts = this.#columns.map(({ name }) => name);
    const names = nameColumns(texts, columnNames, 1);
    for (const [column, { name, type }] of this.#columns.entries()) {
      const given = names.named[column] ?? nameBlankColumn(names, columnNames, column + 1, name);
      this.#sink.column(column, given, column, type);
    }
    this.#warnings = names.warnings;
  }

  /** Takes the next cell of the row. The first one begins the row, and the last one ends it. */
  cell(kind: number, bytes: Buffer, start: number, end: number): void {
    this.#begin(end - start);
    this.#sink.cell(this.#column, kind, bytes, start, end);
    this.#end();
  }

  /** Takes a long object or array like `cell`, but in turns if the sink can. */
  async longCell(kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    this.#begin(end - start);
    if (this.#sink.longCell === undefined) this.#sink.cell(this.#column, kind, bytes, start, end);
    else await this.#sink.longCell(this.#column, kind, bytes, start, end);
    this.#end();
  }

  moment(kind: number, days: number, microseconds: number): void {
    this.#begin(momentBytes);
    this.#sink.moment(this.#column, kind, days, microseconds);
    this.#end();
  }

  fault(fault: number, bytes: Buffer, start: number, end: number): void {
    this.#begin(end - start);
    this.#sink.fault(this.#column, fault, bytes, start, end);
    this.#end();
  }

  /** Returns whether the last row has all of its cells. */
  get isRowWhole(): boolean {
    return this.#column === 0;
  }

  /** Works as `SheetRows.pause`. */
  pause(): Promise<void> | undefined {
    this.#counted.count(this.#row);
    return pauseBetweenSlices(this.#sink);
  }

  /** Returns the warnings after the last row. */
  get warnings(): Warning[] {
    if (this.#row > 0) return this.#warnings;
    return [...this.#warnings, { code: 'no-rows', detail: 'The file has columns, but no rows.' }];
  }

  #begin(bytes: number): void {
    const { maxRows, maxRowBytes } = this.#options.limits;
    if (this.#column === 0) {
      this.#row++;
      if (this.#row > maxRows)
        throw limitExceeded('The file has too many rows', maxRows, { setting: 'MAX_ROWS' });
      this.#sink.beginRow(this.#row);
    }
    this.#rowBytes += Math.max(bytes, leastCellBytes);
    if (this.#rowBytes > maxRowBytes) throw rowTooLong(`Row ${this.#row}`, maxRowBytes);
  }

  #end(): void {
    this.#column++;
    if (this.#column < this.#columns.length) return;
    this.#column = 0;
    this.#counted.addRow(Math.max(this.#rowBytes, leastRowBytes), this.#columns.length);
    this.#rowBytes = 0;
    this.#sink.endRow();
  }
}
