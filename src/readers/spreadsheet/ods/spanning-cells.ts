/** Finds the merged areas of a sheet from its cells that span others (OpenDocument 1.3 part 3, 19.679 and 19.682). */

import { maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import { tooManyMergedAreas } from '../file-errors.ts';
import { MergedAreas } from '../merged-areas.ts';
import type { XmlTokens } from '../package/xml-tokens.ts';
import { attributeText } from './ods-styles.ts';

const columnsSpanned = Buffer.from('number-columns-spanned');
const rowsSpanned = Buffer.from('number-rows-spanned');

export class SpanningCells {
  readonly areas = new MergedAreas();
  /** The cells of the current row. Each cell of a repeated one spans as many others. Columns count from 0. */
  #cells: { column: number; count: number; columns: number; rows: number }[] = [];

  beginRow(): void {
    if (this.#cells.length > 0) this.#cells = [];
  }

  /** Takes the current element of the part, which is a cell. */
  take(xml: XmlTokens, column: number, count: number): void {
    const columns = spanOf(xml, columnsSpanned);
    const rows = spanOf(xml, rowsSpanned);
    if (columns > 1 || rows > 1) this.#cells.push({ column, count, columns, rows });
  }

  /**
   * Adds the areas that begin in this row, as far as they are in a sheet. The cells of the row are known, and it may be repeated.
   *
   * @throws AppError `limit-exceeded`
   */
  addAreas(row: number): void {
    if (row > maxSheetRow) return;
    for (const { column, count, columns, rows } of this.#cells) {
      const lastRow = Math.min(row + rows - 1, maxSheetRow);
      const end = Math.min(column + count, maxSheetColumn);
      for (let first = column; first < end; first++) {
        const lastColumn = Math.min(first + columns, maxSheetColumn);
        if (!this.areas.add(row, first + 1, lastRow, lastColumn)) throw tooManyMergedAreas();
      }
    }
  }
}

/** A span that is not a number has no effect. */
function spanOf(xml: XmlTokens, name: Buffer): number {
  if (xml.attribute(name) < 0) return 1;
  return Math.max(1, Number.parseInt(attributeText(xml, name), 10) || 1);
}
