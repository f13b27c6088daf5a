/**
 * Finds the header in the rows of one block of cells.
 *
 * A header has different texts in most columns of the block, and values beneath. If columns have numbers or dates, the header is the row above
 * them. If all columns have texts, it is the first row that fills most columns.
 */

import { BLANK, MOMENT_LIKE, NO_VALUE, NUMBER_LIKE, NUMBER_TEXT, SIGNS, TRUTH, WORDS } from './cell-class.ts';
import type { OutlineRow } from './sheet-outline.ts';

/** Some rows of an outline, within some columns. Columns count from 0. */
export interface Block {
  rows: OutlineRow[];
  firstColumn: number;
  lastColumn: number;
}

export interface FoundHeader {
  /** The index of the header row in `Block.rows`. */
  index: number;
  /** The number of columns that have a header, and the number of columns that have values. */
  filled: number;
  columns: number;
  /** The number of columns with a header above values that are not texts. */
  contrasts: number;
  hasNumbers: boolean;
  hasMoments: boolean;
  /** The header has numbers, such as years. */
  isSequence: boolean;
  /** The header meets the strict rules. One that meets only the loose rules is proposed too, but no warning is based on it. */
  isClear: boolean;
}

/** Describes the columns of a block. The index of a column is the column minus `firstColumn`. */
export interface ColumnProfile {
  /** The class of most values in the lower half of the block, where no header is; `BLANK`: no value. */
  classes: Uint8Array;
  /** 1: the column has values in some rows. */
  used: Uint8Array;
  usedCount: number;
  /** The number of columns whose values are not texts. */
  typedCount: number;
}

export function classAt(row: OutlineRow, column: number): number {
  const at = column - row.firstColumn;
  return at < 0 || at >= row.classes.length ? BLANK : row.classes[at]!;
}

export function valueAt(row: OutlineRow, column: number): number {
  return row.values?.[column - row.firstColumn] ?? NO_VALUE;
}

/** Returns whether two rows have the same values in the columns of the block. */
export function isSameRow(
  { firstColumn, lastColumn }: Pick<Block, 'firstColumn' | 'lastColumn'>,
  one: OutlineRow,
  other: OutlineRow,
): boolean {
  if (one.values === undefined || other.values === undefined) return false;
  for (let column = firstColumn; column <= lastColumn; column++) {
    const found = classAt(one, column);
    if (found !== classAt(other, column)) return false;
    if (found !== BLANK && valueAt(one, column) !== valueAt(other, column)) return false;
  }
  return true;
}

/** Returns the number of cells of a row between two columns, both included. */
export function filledIn(row: OutlineRow, firstColumn: number, lastColumn: number): number {
  const end = row.firstColumn + row.classes.length - 1;
  if (row.firstColumn >= firstColumn && end <= lastColumn) return row.filled;
  let filled = 0;
  const last = Math.min(lastColumn, end);
  for (let column = Math.max(firstColumn, row.firstColumn); column <= last; column++) {
    if (classAt(row, column) !== BLANK) filled++;
  }
  return filled;
}

export function isTyped(found: number): boolean {
  return found === NUMBER_LIKE || found === MOMENT_LIKE || found === TRUTH || found === NUMBER_TEXT;
}

export function profileColumns({ rows, firstColumn, lastColumn }: Block): ColumnProfile {
  const width = lastColumn - firstColumn + 1;
  const filled = new Int32Array(width);
  const words = new Int32Array(width);
  const moments = new Int32Array(width);
  const texts = new Int32Array(width);
  const others = new Int32Array(width);
  const lower = Math.floor(rows.length / 2);
  for (const [index, row] of rows.entries()) {
    for (let at = 0; at < row.classes.length; at++) {
      const found = row.classes[at]!;
      const place = row.firstColumn + at - firstColumn;
      if (found === BLANK || place < 0 || place >= width) continue;
      filled[place]!++;
      if (index < lower) continue;
      if (found === WORDS) words[place]!++;
      else if (found === MOMENT_LIKE) moments[place]!++;
      else if (found === NUMBER_TEXT) texts[place]!++;
      else if (isTyped(found)) others[place]!++;
    }
  }
  const least = rows.length <= 20 ? 1 : Math.ceil(rows.length / 20);
  const profile: ColumnProfile = {
    classes: new Uint8Array(width),
    used: new Uint8Array(width),
    usedCount: 0,
    typedCount: 0,
  };
  for (let place = 0; place < width; place++) {
    const typed = moments[place]! + texts[place]! + others[place]!;
    if (typed > 0 && typed >= words[place]!) {
      profile.classes[place] =
        2 * moments[place]! > typed ? MOMENT_LIKE : 2 * texts[place]! > typed ? NUMBER_TEXT : NUMBER_LIKE;
    } else if (words[place]! > 0) profile.classes[place] = WORDS;
    if (isTyped(profile.classes[place]!)) profile.typedCount++;
    if (filled[place]! < least) continue;
    profile.used[place] = 1;
    profile.usedCount++;
  }
  return profile;
}

/** The rules for a header. `filled` and `distinct`: the smallest shares of the used columns. `isClear`: a header that meets these rules is certain. */
interface Rules {
  filled: number;
  distinct: number;
  isClear: boolean;
}

const strict: Rules = { filled: 0.8, distinct: 0.8, isClear: true };
const loose: Rules = { filled: 0.5, distinct: 0.4, isClear: false };

/** A header is searched for only in this many rows at the top of the block. */
const maxSearchedRows = 60;

/** @returns undefined if no row looks like a header with values below it */
export function findHeader(block: Block, profile: ColumnProfile): FoundHeader | undefined {
  return search(block, profile, strict) ?? search(block, profile, loose);
}

function search(block: Block, profile: ColumnProfile, rules: Rules): FoundHeader | undefined {
  const last = Math.min(maxSearchedRows, block.rows.length - 1);
  for (let index = 0; index < last; index++) {
    const header = headerAt(block, profile, index, rules);
    if (header !== undefined) return lowerHeader(block, profile, header, rules);
    // The rows below the first data row are not searched, even if one of them looks like a header.
    if (looksLikeData(block, profile, index)) return undefined;
  }
  return undefined;
}

/**
 * If several header rows follow each other, returns the last one: the last row in which all columns of numbers have texts. A header with a
 * gap may also be a line of a title, whose words are in several cells. Then the header is below it, and has no gap.
 */
function lowerHeader(block: Block, profile: ColumnProfile, upper: FoundHeader, rules: Rules): FoundHeader {
  const { typedCount, usedCount } = profile;
  // If few columns have numbers, the next row is more likely a data row with a word in place of a number.
  if (upper.isSequence || typedCount < 2 || 2 * typedCount < usedCount) return upper;
  let header = upper;
  for (let index = upper.index + 1; index < block.rows.length - 1; index++) {
    const lower = headerAt(block, profile, index, rules);
    if (lower === undefined) {
      if (header.filled < usedCount && typedCells(block, profile, block.rows[index]!).typed === 0) continue;
      break;
    }
    // A text above a column without values may be a part of a title.
    const isLower = lower.index === header.index + 1 || lower.filled > header.filled;
    if (!isLower || lower.isSequence || lower.filled < Math.min(header.filled, usedCount)) break;
    header = lower;
  }
  return header;
}

function headerAt(
  block: Block,
  profile: ColumnProfile,
  index: number,
  rules: Rules,
): FoundHeader | undefined {
  const { rows, firstColumn, lastColumn } = block;
  const row = rows[index]!;
  const { usedCount, typedCount } = profile;
  if (row.values === undefined || row.isTotal) return undefined;
  if (filledIn(row, firstColumn, lastColumn) < rules.filled * usedCount) return undefined;
  const texts = headerTexts(block, profile, row);
  if (texts === undefined || texts.filled < rules.filled * usedCount) return undefined;
  if (texts.distinct < rules.distinct * usedCount) return undefined;
  const beneath = valuesBeneath(block, profile, index);
  if (typedCount > 0) {
    if (texts.contrasts === 0 || 2 * beneath.typed < beneath.filled) return undefined;
    // Only some texts above numbers are not enough: a data row may also contain a word among its numbers.
    if ((!rules.isClear || index > 0) && 2 * texts.contrasts < typedCount) return undefined;
    if (texts.isSequence && !isAboveValues(block, index)) return undefined;
  } else {
    if (texts.isSequence || (!rules.isClear && (index > 0 || texts.filled < 2))) return undefined;
    if (!isAboveTexts(block, index, texts.filled)) return undefined;
    // Values may repeat in the next row, but a header does not.
    if (isSameRow(block, row, rows[index + 1]!)) return undefined;
  }
  return {
    index,
    filled: texts.filled,
    columns: Math.max(usedCount, texts.filled),
    contrasts: texts.contrasts,
    hasNumbers: texts.hasNumbers,
    hasMoments: texts.hasMoments,
    isSequence: texts.isSequence,
    isClear: rules.isClear,
  };
}

interface HeaderTexts {
  filled: number;
  distinct: number;
  contrasts: number;
  hasNumbers: boolean;
  hasMoments: boolean;
  isSequence: boolean;
}

/** @returns undefined if a cell of the row cannot be a header */
function headerTexts(
  { firstColumn, lastColumn }: Block,
  profile: ColumnProfile,
  row: OutlineRow,
): HeaderTexts | undefined {
  const texts: HeaderTexts = {
    filled: 0,
    distinct: 0,
    contrasts: 0,
    hasNumbers: false,
    hasMoments: false,
    isSequence: false,
  };
  const seen = new Set<number>();
  const numbers: number[] = [];
  const moments: number[] = [];
  const numberTexts = new Set<number>();
  let words = 0;
  for (let column = firstColumn; column <= lastColumn; column++) {
    const found = classAt(row, column);
    if (found === BLANK) continue;
    if (found === TRUTH) return undefined;
    const value = valueAt(row, column);
    const below = profile.classes[column - firstColumn]!;
    texts.filled++;
    seen.add(value);
    if (found === WORDS) words++;
    if (found === NUMBER_LIKE) numbers.push(value);
    if (found === MOMENT_LIKE) moments.push(value);
    if (found === NUMBER_TEXT) {
      if (below === NUMBER_TEXT || numberTexts.has(value)) return undefined;
      numberTexts.add(value);
    }
    if (!isTyped(below) || (found === MOMENT_LIKE && below === MOMENT_LIKE)) continue;
    if (found !== SIGNS) texts.contrasts++;
    if (below === MOMENT_LIKE) texts.hasMoments = true;
    else texts.hasNumbers = true;
  }
  if (!isSequence(numbers, words) || (moments.length > 0 && !isRising(moments))) return undefined;
  const inOrder = numbers.length + moments.length + numberTexts.size;
  const isCrossTable = inOrder > 2 && classAt(row, firstColumn) === BLANK && profile.classes[0] === WORDS;
  if (words === 0 && !isCrossTable) return undefined;
  texts.distinct = seen.size;
  texts.isSequence = inOrder > 0;
  return texts;
}

/** Returns whether numbers can be headers: years, or a sequence such as 1, 2, 3 for months. One year among texts also can. */
function isSequence(numbers: number[], words: number): boolean {
  if (numbers.length === 0) return true;
  const areYears = numbers.every((number) => number >= 1900 && number <= 2100);
  if (numbers.length === 1) return areYears && words > 0;
  const step = numbers[1]! - numbers[0]!;
  if (areYears && (isRising(numbers) || isRising(numbers.toReversed()))) return true;
  return (
    Math.abs(step) === 1 &&
    numbers.every((number, index) => index === 0 || number - numbers[index - 1]! === step)
  );
}

function isRising(numbers: number[]): boolean {
  return (
    numbers.length > 1 &&
    numbers.every((number, index) => number !== NO_VALUE && (index === 0 || number > numbers[index - 1]!))
  );
}

/** How many rows below a possible header are examined. */
const checkedRows = 10;

/** Counts the cells below a row that are in columns of numbers and dates, and how many of them are numbers or dates. */
function valuesBeneath(
  block: Block,
  profile: ColumnProfile,
  index: number,
): { filled: number; typed: number } {
  let filled = 0;
  let typed = 0;
  for (const row of block.rows.slice(index + 1, index + 1 + checkedRows)) {
    const cells = typedCells(block, profile, row);
    filled += cells.filled;
    typed += cells.typed;
  }
  return { filled, typed };
}

function typedCells(
  { firstColumn, lastColumn }: Block,
  profile: ColumnProfile,
  row: OutlineRow,
): { filled: number; typed: number } {
  let filled = 0;
  let typed = 0;
  for (let at = 0; at < row.classes.length; at++) {
    const column = row.firstColumn + at;
    const found = row.classes[at]!;
    if (found === BLANK || found === SIGNS || column < firstColumn || column > lastColumn) continue;
    if (!isTyped(profile.classes[column - firstColumn]!)) continue;
    filled++;
    if (isTyped(found)) typed++;
  }
  return { filled, typed };
}

/** Returns whether the numbers of a header have values below them: the next row with such values is not itself a sequence. */
function isAboveValues({ rows, firstColumn, lastColumn }: Block, index: number): boolean {
  const header = rows[index]!;
  for (const row of rows.slice(index + 1, index + 1 + checkedRows)) {
    const numbers: number[] = [];
    let filled = 0;
    for (let column = firstColumn; column <= lastColumn; column++) {
      const found = classAt(header, column);
      if (!isTyped(found) || classAt(row, column) === BLANK) continue;
      if (classAt(row, column) === WORDS) return false;
      filled++;
      numbers.push(valueAt(row, column));
    }
    if (filled > 0) return !isSequence(numbers, 1);
  }
  return false;
}

/**
 * Returns whether a row of texts is the header of a block of texts. The next row must fill at least half as many columns, unless
 * the row is the first one and fills all columns.
 */
function isAboveTexts(block: Block, index: number, headerCells: number): boolean {
  const { rows, firstColumn, lastColumn } = block;
  const columns = lastColumn - firstColumn + 1;
  // A column of two or three texts is more often a title than a list with a header.
  if (columns === 1) return rowsFrom(rows, index) > 3;
  if (index === 0 && headerCells === columns && rowsFrom(rows, index) > 3) return true;
  return 2 * filledIn(rows[index + 1]!, firstColumn, lastColumn) >= headerCells;
}

/** Returns the number of rows from this index on, including those that the outline does not keep. */
function rowsFrom(rows: OutlineRow[], index: number): number {
  let count = 0;
  for (let at = index; at < rows.length; at++) count += rows[at]!.until - rows[at]!.row + 1;
  return count;
}

/** Returns whether a row looks like data: it fills most columns and has numbers or dates where the block has them. */
function looksLikeData(block: Block, profile: ColumnProfile, index: number): boolean {
  const row = block.rows[index]!;
  if (filledIn(row, block.firstColumn, block.lastColumn) < 0.7 * profile.usedCount) return false;
  if (profile.typedCount === 0) return false;
  const { filled, typed } = typedCells(block, profile, row);
  return typed > 0 && 2 * typed >= filled;
}
