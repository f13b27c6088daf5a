/**
 * Finds a header that is spread over several rows, as in statistical tables: a group of columns has its name in an upper row, a long name
 * is wrapped into the rows below it, and no row alone has a text in most columns.
 *
 * Such a header is found from the values: it is what is above the first row of values. A row of values has more values than texts in the
 * columns of numbers and dates.
 */

import { spreadHeader } from '../spread-header.ts';
import { BLANK, MOMENT_LIKE, NUMBER_LIKE, SIGNS, TRUTH, WORDS } from './cell-class.ts';
import { classAt, valueAt } from './find-header.ts';
import { findValues, isLabel, isYear, type Values } from './find-values.ts';
import type { OutlineRow } from './sheet-outline.ts';
import { isLabelOfUnits, isUnit } from './unit-words.ts';

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
  /** 1: the column has values. */
  used: Uint8Array;
  /** The lowest row of the header has units. */
  hasUnits: boolean;
}

/** The largest number of sheet rows of a header, including blank ones. */
const maxHeaderRows = 15;

/** The smallest share of the columns that have a text in the header. */
const leastFilled = 0.8;

/** @returns undefined if there are no values, or too few of their columns have a text above them */
export function findStackedHeader(rows: OutlineRow[]): StackedHeader | undefined {
  const body = findValues(rows);
  const last = body && lowestHeaderRow(rows, body);
  if (last === undefined || body!.firstColumn === body!.lastColumn) return undefined;
  const { firstColumn, lastColumn } = body!;
  const first = highestHeaderRow(rows, body!, last);
  const found = { columns: 0, filled: 0, contrasts: 0 };
  for (let column = firstColumn; column <= lastColumn; column++) {
    const place = column - firstColumn;
    if (body!.used[place] === 0) continue;
    found.columns++;
    if (!isNamed(rows, first, last, column)) continue;
    found.filled++;
    if (body!.typed[place]! > 0) found.contrasts++;
  }
  // The first column may have no header if it contains only labels of the rows.
  const corner = body!.typed[0] === 0 && !isNamed(rows, first, last, firstColumn) ? 1 : 0;
  if (found.contrasts === 0 || found.filled + corner < leastFilled * found.columns) return undefined;
  const { last: end, used } = body!;
  const hasUnits = first < last && areUnits(rows, body!, last);
  return { first, last, end, firstColumn, lastColumn, ...found, used, hasUnits };
}

/**
 * Returns whether a row has only units, signs and a word such as `Unit`, and each unit is above values without a text among them. The row above it must have
 * names of columns, and not the parts of a title.
 */
function areUnits(
  rows: OutlineRow[],
  { firstColumn, typed, used, last: end }: Values,
  index: number,
): boolean {
  const row = rows[index]!;
  const above = rows[index - 1]!;
  if (above.row !== row.row - 1 || row.values === undefined) return false;
  const isAboveBlank = (found: number, at: number): boolean =>
    found !== BLANK && used[above.firstColumn + at - firstColumn] === 0;
  if (above.classes.some(isAboveBlank)) return false;
  let units = 0;
  for (let at = 0; at < row.classes.length; at++) {
    if (row.classes[at] === BLANK) continue;
    const column = row.firstColumn + at;
    if (isLabelOfUnits(row.values[at]!)) continue;
    if (!isUnit(row.values[at]!)) {
      if (row.classes[at] !== SIGNS) return false;
    } else if (!typed[column - firstColumn] || hasText(rows, column, index + 1, end)) return false;
    else units++;
  }
  return units > 0;
}

function hasText(rows: OutlineRow[], column: number, from: number, to: number): boolean {
  for (let index = from; index <= to; index++) if (classAt(rows[index]!, column) === WORDS) return true;
  return false;
}

/**
 * Returns whether the lowest row of the header is not sufficient: it has units, the same name for two columns that the rows above
 * distinguish, or no name for a column of values that they name.
 */
export function needsAllRows(
  rows: OutlineRow[],
  { first, last, firstColumn, lastColumn, used, hasUnits }: StackedHeader,
): boolean {
  if (hasUnits) return true;
  const header = rows.slice(first, last + 1);
  const columns = lastColumn - firstColumn + 1;
  const hasText = (row: number, column: number): boolean =>
    classAt(header[row]!, firstColumn + column) !== BLANK;
  const spread = spreadHeader({ rows: header.length, columns, hasText });
  const lower = new Set<string>();
  const joined = new Set<string>();
  for (let column = 0; column < columns; column++) {
    if (used[column] === 0) continue;
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

/** Returns the index of the last row above the values that has a text above a column of values. */
function lowestHeaderRow(rows: OutlineRow[], body: Values): number | undefined {
  for (let index = body.first - 1; index >= 0; index--) {
    if (rows[body.first]!.row - rows[index]!.row > maxHeaderRows) return undefined;
    if (!isAboveValues(rows[index]!, body)) continue;
    let last = index;
    // The name of a column of texts may continue in rows below the names of the other columns.
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

function isAboveValues(row: OutlineRow, { firstColumn, typed }: Values): boolean {
  return row.classes.some((found, at) => {
    const place = row.firstColumn + at - firstColumn;
    return found !== BLANK && place > 0 && typed[place]! > 0;
  });
}

function highestHeaderRow(rows: OutlineRow[], body: Values, last: number): number {
  let first = last;
  for (let index = last - 1; index >= 0; index--) {
    const row = rows[index]!;
    if (rows[last]!.row - row.row >= maxHeaderRows) break;
    if (isLabel(row, body)) continue;
    if (hasOwnValue(row) || isProperty(row, rows.slice(first, last + 1), body)) break;
    first = index;
  }
  return first;
}

/** Returns whether a row above a header contains information of its own, such as the date of a report. */
function hasOwnValue({ classes, values }: OutlineRow): boolean {
  if (classes.filter((found) => found === MOMENT_LIKE).length === 1) return true;
  return classes.some((found, at) => found === TRUTH || (found === NUMBER_LIKE && !isYear(values?.[at])));
}

/** Returns whether a row contains only a property, as in `Author | Ann`, and the header below names both of its columns. */
function isProperty(row: OutlineRow, header: OutlineRow[], { firstColumn, lastColumn }: Values): boolean {
  const isPair = row.filled === 2 && row.firstColumn === firstColumn && row.classes.length === 2;
  if (!isPair || lastColumn - firstColumn < 2) return false;
  return header.some(
    (lower) => classAt(lower, firstColumn) !== BLANK && classAt(lower, firstColumn + 1) !== BLANK,
  );
}

function isNamed(rows: OutlineRow[], first: number, last: number, column: number): boolean {
  for (let index = first; index <= last; index++) if (classAt(rows[index]!, column) !== BLANK) return true;
  return false;
}
