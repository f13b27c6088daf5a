/**
 * Decides which rows and columns of a sheet are left out: hidden ones, and those after the first empty row (the footer). It counts
 * left-out rows and columns that have values, and returns the warnings about them.
 */

import type { Warning } from '../../core/errors.ts';
import { columnLetters, maxSheetColumn } from './cell-address.ts';

export interface LeftOutOptions {
  /** `skip`: hidden rows and columns are left out. The row that the caller chose as the header is read in any case. */
  hidden: 'read' | 'skip';
  /** `skip`: the rows after the first empty row below a data row are left out. */
  footer: 'read' | 'skip';
}

export class LeftOutParts {
  readonly #skipsHidden: boolean;
  readonly #skipsFooter: boolean;
  /** Undefined: no column is hidden. */
  #hiddenColumns: HiddenColumns | undefined;
  #isRowHidden = false;
  #isRowInFooter = false;
  /** The current row is left out and has a value. */
  #hasValue = false;
  /** Counts the hidden rows that have a value, whether they are read or left out. */
  readonly #hiddenRows = new CountedRows();
  readonly #footerRows = new CountedRows();
  /** The last row before the footer that is not empty: a data row, a hidden row with a value, or a comment directly below one of these. */
  #lastRowBeforeFooter = 0;

  constructor({ hidden, footer }: LeftOutOptions) {
    this.#skipsHidden = hidden === 'skip';
    this.#skipsFooter = footer === 'skip';
  }

  /** Hides the columns from `first` to `last`, both included. Columns count from 0. */
  hideColumns(first: number, last: number): void {
    this.#hiddenColumns ??= new HiddenColumns();
    this.#hiddenColumns.add(first, last);
  }

  hasColumn(column: number): boolean {
    return this.#skipsHidden && this.#hiddenColumns?.has(column) === true;
  }

  /** Returns whether a row is left out because it is hidden. */
  hasRow(isHidden: boolean): boolean {
    return isHidden && this.#skipsHidden;
  }

  /**
   * Begins a row within the window.
   *
   * @param isChosen the caller chose the row as the header
   * @param isBelowData a data row is above it
   * @returns whether the row is left out
   */
  beginRow(row: number, isHidden: boolean, isChosen: boolean, isBelowData: boolean): boolean {
    this.#isRowHidden = isHidden;
    this.#isRowInFooter = this.#skipsFooter && isBelowData && row > this.#lastRowBeforeFooter + 1;
    return (this.hasRow(isHidden) && !isChosen) || this.#isRowInFooter;
  }

  /** Records a data row that is read. */
  dataRow(row: number): void {
    this.#lastRowBeforeFooter = row;
    if (this.#isRowHidden) this.#hiddenRows.add(row);
  }

  /** Records a comment in a text file. It has no value, but the footer does not begin after it. */
  commentRow(row: number): void {
    if (row === this.#lastRowBeforeFooter + 1) this.#lastRowBeforeFooter = row;
  }

  /** Records a value in a row or column that is left out. */
  value(column: number): void {
    if (this.hasColumn(column)) this.#hiddenColumns!.value(column);
    else this.#hasValue = true;
  }

  /** Ends a row that is left out, or one without values. */
  endRow(row: number): void {
    if (!this.#hasValue) return;
    this.#hasValue = false;
    if (this.#isRowInFooter) {
      this.#footerRows.add(row);
    } else {
      this.#hiddenRows.add(row);
      this.#lastRowBeforeFooter = row;
    }
  }

  /** @param sheetColumns the columns of the sheet that were read, from 1 */
  warnings(sheetColumns: number[]): Warning[] {
    return [
      ...hiddenRows(this.#hiddenRows, this.#skipsHidden),
      ...hiddenColumns(this.#listHiddenColumns(sheetColumns), this.#skipsHidden),
      ...footerRows(this.#footerRows),
    ];
  }

  /** Returns the hidden columns, from 1: all that were read, or those with values that were left out. */
  #listHiddenColumns(sheetColumns: number[]): number[] {
    const hidden = this.#hiddenColumns;
    if (hidden === undefined) return [];
    if (this.#skipsHidden) return hidden.withValues.map((column) => column + 1);
    return sheetColumns.filter((column) => hidden.has(column - 1)).sort((a, b) => a - b);
  }
}

/** The hidden columns of a sheet, counted from 0. */
class HiddenColumns {
  readonly #isHidden = new Uint8Array(maxSheetColumn);
  readonly #hasValue = new Uint8Array(maxSheetColumn);
  #ranges = 0;

  /** Adds the columns from `first` to `last`, both included. */
  add(first: number, last: number): void {
    // If there are more ranges than columns, they overlap. Further ones are ignored, because filling each of them would take long.
    if (++this.#ranges <= maxSheetColumn) this.#isHidden.fill(1, first, last + 1);
  }

  has(column: number): boolean {
    return this.#isHidden[column] === 1;
  }

  /** Records that the column has a value. */
  value(column: number): void {
    this.#hasValue[column] = 1;
  }

  /** Returns the columns with a value. */
  get withValues(): number[] {
    return [...this.#hasValue.keys()].filter((column) => this.#hasValue[column] === 1);
  }
}

/** Counts rows that have a value. */
export class CountedRows {
  count = 0;
  /** The first of the rows; 0: none. */
  first = 0;

  add(row: number): void {
    if (this.count === 0) this.first = row;
    this.count++;
  }
}

function hiddenRows({ count, first }: CountedRows, isLeftOut: boolean): Warning[] {
  if (count === 0) return [];
  const rows = count === 1 ? `Row ${first} is hidden and was` : `${count} rows are hidden and were`;
  const which = count === 1 ? '' : ` The first is row ${first}.`;
  return [withRemedy('hidden-rows', `${rows} ${isLeftOut ? leftOut : readToo}${which}`, isLeftOut)];
}

/**
 * Returns the warning about hidden columns.
 *
 * @param columns the 1-based columns of the sheet that are hidden and have a value or a name
 */
function hiddenColumns(columns: number[], isLeftOut: boolean): Warning[] {
  if (columns.length === 0) return [];
  const letters = columns.slice(0, maxListed).map(columnLetters).join(', ');
  const more = columns.length > maxListed ? ` and ${columns.length - maxListed} more` : '';
  const subject =
    columns.length === 1
      ? `Column ${letters} is hidden and was`
      : `${columns.length} columns are hidden (${letters}${more}) and were`;
  return [withRemedy('hidden-columns', `${subject} ${isLeftOut ? leftOut : readToo}`, isLeftOut)];
}

const maxListed = 20;
const leftOut = 'left out (hidden=skip).';
const readToo = 'read like all others.';

function withRemedy(code: 'hidden-rows' | 'hidden-columns', found: string, isLeftOut: boolean): Warning {
  if (isLeftOut) return { code, detail: found };
  return {
    code,
    detail: `${found} To leave out hidden rows and columns, send hidden=skip.`,
    choices: [{ parameters: { hidden: 'skip' } }],
  };
}

function footerRows({ count, first }: CountedRows): Warning[] {
  if (count === 0) return [];
  const rows =
    count === 1
      ? `Row ${first} follows an empty row and was left out (footer=skip).`
      : `${count} rows follow an empty row and were left out (footer=skip). The first is row ${first}.`;
  return [{ code: 'footer-rows', detail: rows }];
}
