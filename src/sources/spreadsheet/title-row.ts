/**
 * Tells whether the row that was taken for the header is a title above the real one: it has few cells, the rows below it
 * have many, and one of these is all text.
 */

import type { SourceWarning } from '../row-source.ts';

/** The first rows with a value tell enough: no title stands so far above its header. */
const watchedRows = 20;

interface WatchedRow {
  row: number;
  cells: number;
  texts: number;
}

export class TitleWatch {
  /** Rows are still looked at: `value` and `endRow` are called for them. */
  isOn: boolean;
  readonly #rows: WatchedRow[] = [];
  #cells = 0;
  #texts = 0;

  /** @param isOn false: the caller said which row is the header */
  constructor(isOn: boolean) {
    this.isOn = isOn;
  }

  /** A cell of the data row at hand. */
  value(isText: boolean): void {
    this.#cells++;
    if (isText) this.#texts++;
  }

  endRow(row: number): void {
    this.#rows.push({ row, cells: this.#cells, texts: this.#texts });
    this.#cells = 0;
    this.#texts = 0;
    if (this.#rows.length === watchedRows) this.isOn = false;
  }

  /** @param headerCells how many cells of the row that was taken for the header have a text */
  warning(headerRow: number, headerCells: number): SourceWarning | undefined {
    const width = Math.max(0, ...this.#rows.map(({ cells }) => cells));
    if (headerCells * 2 > width) return undefined;
    const header = this.#rows.find(
      ({ cells, texts }) => cells === texts && cells > headerCells && cells >= 2 && cells * 3 >= width * 2,
    );
    if (header === undefined) return undefined;
    const has = headerCells === 1 ? 'only one cell with a value' : `only ${headerCells} cells with a value`;
    return {
      code: 'header-row',
      detail: `Row ${headerRow} was read as the header, and it has ${has}. Row ${header.row} looks like the header: send header_row=${header.row}.`,
    };
  }
}
