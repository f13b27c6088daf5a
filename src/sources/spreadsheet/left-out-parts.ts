/**
 * Counts the rows and columns of a sheet that are hidden, and the rows after the first empty row, if they have values. It also
 * writes the warnings about them.
 */

import type { Warning } from '../../errors.ts';
import { columnLetters, maxSheetColumn } from './cell-address.ts';

/** The hidden columns of a sheet, counted from 0. */
export class HiddenColumns {
  readonly #isHidden = new Uint8Array(maxSheetColumn);
  readonly #hasValue = new Uint8Array(maxSheetColumn);
  #ranges = 0;

  /** Adds the columns from `first` to `last`, both included. */
  add(first: number, last: number): void {
    // More ranges than columns overlap. Filling each of them would take long.
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

export function hiddenRows({ count, first }: CountedRows, isLeftOut: boolean): Warning[] {
  if (count === 0) return [];
  const rows = count === 1 ? `Row ${first} is hidden and was` : `${count} rows are hidden and were`;
  const which = count === 1 ? '' : ` The first is row ${first}.`;
  return [
    { code: 'hidden-rows', detail: `${rows} ${isLeftOut ? leftOut : readToo}${which}${remedy(isLeftOut)}` },
  ];
}

/**
 * Returns the warning about hidden columns.
 *
 * @param columns the 1-based columns of the sheet that are hidden and have a value or a name
 */
export function hiddenColumns(columns: number[], isLeftOut: boolean): Warning[] {
  if (columns.length === 0) return [];
  const letters = columns.slice(0, maxListed).map(columnLetters).join(', ');
  const more = columns.length > maxListed ? ` and ${columns.length - maxListed} more` : '';
  const subject =
    columns.length === 1
      ? `Column ${letters} is hidden and was`
      : `${columns.length} columns are hidden (${letters}${more}) and were`;
  return [
    { code: 'hidden-columns', detail: `${subject} ${isLeftOut ? leftOut : readToo}${remedy(isLeftOut)}` },
  ];
}

const maxListed = 20;
const leftOut = 'left out (hidden=skip).';
const readToo = 'read like all others.';

function remedy(isLeftOut: boolean): string {
  return isLeftOut ? '' : ' To leave out hidden rows and columns, send hidden=skip.';
}

export function footerRows({ count, first }: CountedRows): Warning[] {
  if (count === 0) return [];
  const rows =
    count === 1
      ? `Row ${first} follows an empty row and was left out (footer=skip).`
      : `${count} rows follow an empty row and were left out (footer=skip). The first is row ${first}.`;
  return [{ code: 'footer-rows', detail: rows }];
}
