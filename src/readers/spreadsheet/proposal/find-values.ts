/**
 * Finds the rows of values in an outline, without a header. A row of values has more values than texts in the columns of numbers and
 * dates.
 */

import { BLANK, NUMBER_LIKE, NUMBER_TEXT, SIGNS, WORDS } from './cell-class.ts';
import { classAt, isTyped } from './find-header.ts';
import type { OutlineRow } from './sheet-outline.ts';

/** The rows of values. `first` and `last` are indexes in the outline. */
export interface Values extends Columns {
  first: number;
  last: number;
  lastColumn: number;
}

/** The columns of the rows of values, from `firstColumn` on. */
interface Columns {
  firstColumn: number;
  /** For each column `TYPED` or `LIKE_HEADER` if it has at least as many numbers and dates as texts; 0: more texts. */
  typed: Uint8Array;
  /** 1: the column has a cell in a row of several cells. */
  used: Uint8Array;
}

const TYPED = 1;
/** Most values of the column look like numbers in a header: years or numbers with signs (`2026`, `5-9`). */
const LIKE_HEADER = 2;

/** @returns undefined if fewer than two rows have values */
export function findValues(rows: OutlineRow[]): Values | undefined {
  const isOneColumn = rows.every(({ filled }) => filled === 1);
  const several = isOneColumn ? rows : rows.filter(({ filled }) => filled > 1);
  if (several.length < 2) return undefined;
  const firstColumn = several.reduce(
    (least, row) => Math.min(least, row.firstColumn),
    several[0]!.firstColumn,
  );
  const lastColumn = several.reduce(
    (most, row) => Math.max(most, row.firstColumn + row.classes.length - 1),
    0,
  );
  let columns = { ...countColumns(several, firstColumn, lastColumn), firstColumn };
  const least = isOneColumn ? 1 : 2;
  // First columns of years do not count as values, because the years may be the header. They count only if no other columns have values.
  const sure = { ...columns, typed: columns.typed.map((kind) => Math.min(kind, TYPED)) };
  let first = rows.findIndex((row) => isValueRow(row, sure, least));
  if (first < 0) first = rows.findIndex((row) => isValueRow(row, columns, least));
  if (first < 0) return undefined;
  // The columns are counted again without the texts of the header.
  const below = rows.slice(first).filter(({ filled }) => filled >= least);
  columns = { ...countColumns(below, firstColumn, lastColumn), firstColumn };
  first = rows.findIndex((row) => isValueRow(row, columns, least));
  while (
    first > 1 &&
    (hasOnlySigns(rows[first - 1]!, columns) || isGappedRow(rows, first - 1, first, columns))
  )
    first--;
  let last = rows.findLastIndex((row) => isValueRow(row, columns, least) || hasOnlySigns(row, columns));
  while (last > 0 && last + 1 < rows.length && isGappedRow(rows, last + 1, last, columns)) last++;
  return first < 0 || last <= first ? undefined : { first, last, lastColumn, ...columns };
}

function countColumns(
  rows: OutlineRow[],
  firstColumn: number,
  lastColumn: number,
): Omit<Columns, 'firstColumn'> {
  const width = lastColumn - firstColumn + 1;
  const values = new Int32Array(width);
  const likeHeader = new Int32Array(width);
  const words = new Int32Array(width);
  const used = new Uint8Array(width);
  for (const row of rows) {
    for (let at = 0; at < row.classes.length; at++) {
      const found = row.classes[at]!;
      const place = row.firstColumn + at - firstColumn;
      if (found !== BLANK) used[place] = 1;
      if (found === WORDS) words[place]!++;
      if (!isTyped(found)) continue;
      values[place]!++;
      if (isLikeHeader(row, at)) likeHeader[place]!++;
    }
  }
  const typed = used.map((_, place) => {
    if (values[place] === 0 || values[place]! < words[place]!) return 0;
    return 2 * likeHeader[place]! > values[place]! ? LIKE_HEADER : TYPED;
  });
  return { typed, used };
}

/** Returns whether a row has more values than texts in the columns of values, and its numbers are not the header of other numbers. */
function isValueRow(row: OutlineRow, { firstColumn, typed }: Columns, least: number): boolean {
  let values = 0;
  let words = 0;
  let hasOthers = false;
  for (let at = 0; at < row.classes.length; at++) {
    const kind = typed[row.firstColumn + at - firstColumn] ?? 0;
    if (kind === 0) continue;
    const found = row.classes[at]!;
    if (found === WORDS) words++;
    if (!isTyped(found)) continue;
    values++;
    if (kind === LIKE_HEADER || !isLikeHeader(row, at)) hasOthers = true;
  }
  return hasOthers && values >= words && row.filled >= least;
}

/** Returns whether a row directly above or below a row of values is one, too, although half of its cells are empty. */
function isGappedRow(rows: OutlineRow[], index: number, beside: number, columns: Columns): boolean {
  const row = rows[index]!;
  const isBeside = index < beside ? row.until + 1 === rows[beside]!.row : rows[beside]!.until + 1 === row.row;
  const used = columns.used.reduce((sum, one) => sum + one, 0);
  return isBeside && 2 * row.filled >= used && isValueRow(row, columns, 1);
}

function isLikeHeader({ classes, values }: OutlineRow, at: number): boolean {
  return classes[at] === NUMBER_TEXT || (classes[at] === NUMBER_LIKE && isYear(values?.[at]));
}

export function isYear(value: number | undefined): boolean {
  return value !== undefined && value >= 1900 && value <= 2100;
}

/** Returns whether a row has a label and, in the columns of values, only signs for missing values such as `(NA)`. */
function hasOnlySigns(row: OutlineRow, { firstColumn, typed }: Columns): boolean {
  if (classAt(row, firstColumn) === BLANK) return false;
  let signs = 0;
  for (let at = 0; at < row.classes.length; at++) {
    const place = row.firstColumn + at - firstColumn;
    if (place <= 0 || !typed[place] || row.classes[at] === BLANK) continue;
    if (row.classes[at] !== SIGNS) return false;
    signs++;
  }
  return signs > 0;
}

/** Returns whether the only cell of the row is in the first column: a title, a note, or the name of a group of rows. */
export function isLabel(row: OutlineRow, { firstColumn }: Pick<Values, 'firstColumn'>): boolean {
  return row.filled === 1 && row.firstColumn <= firstColumn;
}

/** The rows and columns of a table; columns count from 0. */
export interface RowsOfValues {
  firstRow: number;
  lastRow: number;
  firstColumn: number;
  lastColumn: number;
}

/** The header may be up to this many rows below the first row with values. Such rows above it are, for example, the date of a report. */
const maxRowsAbove = 10;

/** @returns the rows of values if there are only titles above them, so that the table has no header */
export function findValuesWithoutHeader(rows: OutlineRow[]): RowsOfValues | undefined {
  const found = findValues(rows);
  if (found === undefined) return undefined;
  const { first, last, firstColumn, lastColumn } = found;
  if (rows.slice(0, first).some(({ filled }) => filled > 1)) return undefined;
  // One of these rows is a header after all.
  if (rows.slice(first, first + maxRowsAbove).some((row) => hasOnlyWords(row, found))) return undefined;
  return { firstRow: rows[first]!.row, lastRow: rows[last]!.until, firstColumn, lastColumn };
}

/** Returns whether a row has a text in each column of values. */
function hasOnlyWords(row: OutlineRow, { firstColumn, typed }: Columns): boolean {
  return typed.every((kind, place) => kind === 0 || classAt(row, firstColumn + place) === WORDS);
}
