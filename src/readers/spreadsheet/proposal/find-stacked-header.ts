/**
 * Finds a header that is spread over several rows, as in statistical tables: a group of columns has its name in an upper row, a long name
 * is wrapped into the rows below it, and no row alone has a text in most columns.
 *
 * Such a header is found from the values: it is what is above the first row of values. A row of values has more values than texts in the
 * columns of numbers and dates.
 */

import { spreadHeader } from '../spread-header.ts';
import { BLANK, MOMENT_LIKE, NUMBER_LIKE, NUMBER_TEXT, SIGNS, TRUTH, WORDS } from './cell-class.ts';
import { classAt, isTyped, valueAt } from './find-header.ts';
import type { OutlineRow } from './sheet-outline.ts';

/** `first` and `last` are the indexes of its rows, and `end` is the index of the last row of the table. */
export interface StackedHeader {
  first: number;
  last: number;
  end: number;
  /** The columns of the table, from 0. */
  firstColumn: number;
  lastColumn: number;
  /** The number of columns with values, of those with a text in the header, and of those that also have numbers or dates. */
  columns: number;
  filled: number;
  contrasts: number;
}

/** No header has more rows of the sheet than this, blank ones included. */
const maxHeaderRows = 15;

/** More blank rows than this are not within a header, unless the row above them names columns that have no name yet. */
const maxBlankRows = 3;

/** The smallest share of the columns that have a text in the header. */
const leastFilled = 0.8;

/** @returns undefined if there are no values, or too few of their columns have a text above them */
export function findStackedHeader(rows: OutlineRow[]): StackedHeader | undefined {
  const body = findBody(rows);
  const last = body && lowestHeaderRow(rows, body);
  if (last === undefined) return undefined;
  const { firstColumn, lastColumn } = body!;
  const first = highestHeaderRow(rows, body!, last);
  const found = { columns: 0, filled: 0, contrasts: 0 };
  for (let column = firstColumn; column <= lastColumn; column++) {
    const place = column - firstColumn;
    if (body!.used[place] === 0) continue;
    found.columns++;
    if (!isNamed(rows, first, last, column)) continue;
    found.filled++;
    if (body!.typed[place] === 1) found.contrasts++;
  }
  // The labels of the rows need no name.
  const corner = body!.typed[0] === 0 && !isNamed(rows, first, last, firstColumn) ? 1 : 0;
  if (found.contrasts === 0 || found.filled + corner < leastFilled * found.columns) return undefined;
  return { first, last, end: body!.last, firstColumn, lastColumn, ...found };
}

/**
 * Returns whether the lowest row of the header is not enough: it names a column twice that the rows above distinguish, or does not name a
 * column that they name.
 */
export function needsAllRows(
  rows: OutlineRow[],
  { first, last, firstColumn, lastColumn }: StackedHeader,
): boolean {
  const header = rows.slice(first, last + 1);
  const columns = lastColumn - firstColumn + 1;
  const hasText = (row: number, column: number): boolean =>
    classAt(header[row]!, firstColumn + column) !== BLANK;
  const spread = spreadHeader({ rows: header.length, columns, hasText });
  const lower = new Set<string>();
  const joined = new Set<string>();
  for (let column = 0; column < columns; column++) {
    const texts = spread.map((from, row) =>
      from[column]! < 0 ? '' : valueAt(header[row]!, firstColumn + from[column]!),
    );
    const all = texts.join(' ');
    if (all.trim() === '') continue;
    if (texts.at(-1) === '') return true;
    lower.add(String(texts.at(-1)));
    joined.add(all);
  }
  return joined.size > lower.size;
}

/** Returns the first column that has a value in a row of several cells. */
export function firstColumnOf(rows: OutlineRow[]): number {
  return rows.reduce(
    (least, row) => (row.filled > 1 ? Math.min(least, row.firstColumn) : least),
    Number.POSITIVE_INFINITY,
  );
}

/** The rows of values. `first` and `last` are indexes of rows. */
interface Body {
  first: number;
  last: number;
  firstColumn: number;
  lastColumn: number;
  /** By column from `firstColumn` on. 1: it has at least as many numbers and dates as texts. */
  typed: Uint8Array;
  /** By column from `firstColumn` on. 1: it has a cell in a row of several cells. */
  used: Uint8Array;
}

function findBody(rows: OutlineRow[]): Body | undefined {
  const several = rows.filter(({ filled }) => filled > 1);
  const firstColumn = firstColumnOf(several);
  const lastColumn = several.reduce(
    (most, row) => Math.max(most, row.firstColumn + row.classes.length - 1),
    0,
  );
  if (several.length < 3 || firstColumn === lastColumn) return undefined;
  // The texts of the header are left out of the second count.
  let columns = { ...countColumns(several, firstColumn, lastColumn), firstColumn };
  let first = rows.findIndex((row) => isValueRow(row, columns));
  if (first < 1) return undefined;
  const below = rows.slice(first).filter(({ filled }) => filled > 1);
  columns = { ...countColumns(below, firstColumn, lastColumn), firstColumn };
  first = rows.findIndex((row) => isValueRow(row, columns));
  while (first > 1 && hasOnlySigns(rows[first - 1]!, columns)) first--;
  const last = rows.findLastIndex((row) => isValueRow(row, columns) || hasOnlySigns(row, columns));
  return first < 1 || last <= first ? undefined : { first, last, lastColumn, ...columns };
}

type Columns = Pick<Body, 'firstColumn' | 'typed' | 'used'>;

function countColumns(
  rows: OutlineRow[],
  firstColumn: number,
  lastColumn: number,
): Pick<Columns, 'typed' | 'used'> {
  const width = lastColumn - firstColumn + 1;
  const values = new Int32Array(width);
  const words = new Int32Array(width);
  const used = new Uint8Array(width);
  for (const row of rows) {
    for (let at = 0; at < row.classes.length; at++) {
      const found = row.classes[at]!;
      const place = row.firstColumn + at - firstColumn;
      if (found !== BLANK) used[place] = 1;
      if (isTyped(found)) values[place]!++;
      else if (found === WORDS) words[place]!++;
    }
  }
  const typed = used.map((_, place) => (values[place]! > 0 && values[place]! >= words[place]! ? 1 : 0));
  return { typed, used };
}

/** Returns whether a row has values, other than the years and the numbers with signs (`5-9`) that a header has, in columns of values. */
function isValueRow(row: OutlineRow, { firstColumn, typed }: Columns): boolean {
  let values = 0;
  let words = 0;
  let hasOthers = false;
  for (let at = 0; at < row.classes.length; at++) {
    if (typed[row.firstColumn + at - firstColumn] !== 1) continue;
    const found = row.classes[at]!;
    if (found === WORDS) words++;
    if (!isTyped(found)) continue;
    values++;
    const isOfHeader = found === NUMBER_TEXT || (found === NUMBER_LIKE && isYear(row.values?.[at]));
    if (!isOfHeader) hasOthers = true;
  }
  return hasOthers && values >= words && row.filled > 1;
}

function isYear(value: number | undefined): boolean {
  return value !== undefined && value >= 1900 && value <= 2100;
}

/** Returns whether a row has a label, and only signs such as `(NA)` where other rows have values. */
function hasOnlySigns(row: OutlineRow, { firstColumn, typed }: Columns): boolean {
  if (classAt(row, firstColumn) === BLANK) return false;
  let signs = 0;
  for (let at = 0; at < row.classes.length; at++) {
    const place = row.firstColumn + at - firstColumn;
    if (place <= 0 || typed[place] !== 1 || row.classes[at] === BLANK) continue;
    if (row.classes[at] !== SIGNS) return false;
    signs++;
  }
  return signs > 0;
}

/** Returns the index of the last row above the values that has a text above a column of values. */
function lowestHeaderRow(rows: OutlineRow[], body: Body): number | undefined {
  for (let index = body.first - 1; index >= 0; index--) {
    if (rows[body.first]!.row - rows[index]!.row > maxHeaderRows) return undefined;
    if (!isAboveValues(rows[index]!, body)) continue;
    let last = index;
    // The name of a column of texts may be wrapped further than the others.
    while (
      last + 1 < body.first &&
      rows[last + 1]!.row === rows[last]!.row + 1 &&
      !isLabel(rows[last + 1]!, body)
    ) {
      last++;
    }
    return last;
  }
  return undefined;
}

function isAboveValues(row: OutlineRow, { firstColumn, typed }: Body): boolean {
  return row.classes.some((found, at) => {
    const place = row.firstColumn + at - firstColumn;
    return found !== BLANK && place > 0 && typed[place] === 1;
  });
}

/** Returns whether the row has only one cell, in the first column: a title, a note, or the name of a group of rows. */
function isLabel(row: OutlineRow, { firstColumn }: Body): boolean {
  return row.filled === 1 && row.firstColumn <= firstColumn;
}

function highestHeaderRow(rows: OutlineRow[], body: Body, last: number): number {
  let first = last;
  for (let index = last - 1; index >= 0; index--) {
    const row = rows[index]!;
    if (rows[last]!.row - row.row >= maxHeaderRows) break;
    if (isLabel(row, body)) continue;
    if (hasOwnValue(row)) break;
    if (rows[first]!.row - row.row - 1 > maxBlankRows && !namesMore(rows, body, index, first, last)) break;
    first = index;
  }
  return first;
}

/** Returns whether a row above a header has a value of its own, such as the date of a report. */
function hasOwnValue({ classes, values }: OutlineRow): boolean {
  if (classes.filter((found) => found === MOMENT_LIKE).length === 1) return true;
  return classes.some((found, at) => found === TRUTH || (found === NUMBER_LIKE && !isYear(values?.[at])));
}

/** Returns whether a row above a header names a column that has no text in it. */
function namesMore(rows: OutlineRow[], body: Body, index: number, first: number, last: number): boolean {
  for (let column = body.firstColumn; column <= body.lastColumn; column++) {
    if (body.used[column - body.firstColumn] === 0 || isNamed(rows, first, last, column)) continue;
    if (classAt(rows[index]!, column) !== BLANK) return true;
  }
  return false;
}

function isNamed(rows: OutlineRow[], first: number, last: number, column: number): boolean {
  for (let index = first; index <= last; index++) if (classAt(rows[index]!, column) !== BLANK) return true;
  return false;
}
