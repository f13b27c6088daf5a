/**
 * Finds out whether the row that was taken for the header is a title above the real header.
 *
 * A title has few cells and the rows below it have many. The real header has texts only, and no text twice. If the row below
 * it has texts only and more of them, the header has several rows, and none of them is suggested: a wrong hint is worse than none.
 */
import type { Warning } from '../../errors.ts';

/** The number of first rows with a value that are checked. No title is further above its header. */
const watchedRows = 20;

interface WatchedRow {
  row: number;
  cells: number;
  /** true: every cell of the row is a text. */
  isText: boolean;
  /** The number of different texts in the row. */
  texts: number;
}

export class TitleWatch {
  /** Rows are still checked: `value` and `endRow` are called for them. */
  isOn: boolean;
  readonly #rows: WatchedRow[] = [];
  #cells = 0;
  #textCells = 0;
  readonly #texts = new Set<string>();

  /** @param isOn false: the caller said which row is the header */
  constructor(isOn: boolean) {
    this.isOn = isOn;
  }

  /** Takes a cell of the current data row. @param text undefined: the cell has another value */
  value(text: string | undefined): void {
    this.#cells++;
    if (text === undefined) return;
    this.#textCells++;
    this.#texts.add(text);
  }

  endRow(row: number): void {
    this.#rows.push({
      row,
      cells: this.#cells,
      isText: this.#textCells === this.#cells,
      texts: this.#texts.size,
    });
    this.#cells = 0;
    this.#textCells = 0;
    this.#texts.clear();
    if (this.#rows.length === watchedRows) this.isOn = false;
  }

  /**
   * Returns the warning that the header is probably a title.
   *
   * @param headerCells the number of texts in the row that was read as the header
   */
  warning(headerRow: number, headerCells: number): Warning | undefined {
    const width = Math.max(0, ...this.#rows.map(({ cells }) => cells));
    if (headerCells * 2 > width) return undefined;
    const header = this.#rows.find(
      ({ cells, texts }, index) =>
        cells === texts &&
        cells > headerCells &&
        cells >= 2 &&
        cells * 3 >= width * 2 &&
        !hasMoreTexts(this.#rows[index + 1], cells),
    );
    if (header === undefined) return undefined;
    const has = headerCells === 1 ? 'only one cell with a value' : `only ${headerCells} cells with a value`;
    return {
      code: 'header-row',
      detail: `Row ${headerRow} was read as the header, and it has ${has}. Row ${header.row} looks like the header: send header_row=${header.row}.`,
    };
  }
}

function hasMoreTexts(row: WatchedRow | undefined, cells: number): boolean {
  return row?.isText === true && row.cells > cells;
}
