/** Proposes the header row and the range that look most like a table, and explains the proposal in words. */

import { type CellRange, columnLetters, maxSheetColumn } from '../cell-address.ts';
import { BLANK } from './cell-class.ts';
import { isSameRow } from './find-header.ts';
import { type FoundTable, findTables } from './find-tables.ts';
import { findValuesWithoutHeader } from './find-values.ts';
import type { OutlineRow, SheetOutline } from './sheet-outline.ts';

export interface ProposedTable {
  /** The 1-based row of the sheet in which the header begins, and the number of its rows. */
  headerRow: number;
  headerRows: number;
  /** `A4:F40`. */
  range: string;
}

export interface LargestTable extends ProposedTable {
  /** The larger it is, the more likely this is the table to read. It is compared with those of other sheets. */
  score: number;
  /** The range to read. A side has no limit if nothing is left out there. */
  opened: CellRange;
  /** Descriptions of the parts of the sheet outside the range. */
  leftOut: string[];
  /** The rows below the table that may belong to it, if they are more than a few notes. */
  maybeMore?: { count: number; first: number } | undefined;
}

export interface SheetProposal {
  /** Undefined: no row looks like a header with values below it. */
  table: LargestTable | undefined;
  /** The range to read if there is no header row. Undefined: there is a header, or there are no rows of values. */
  withoutHeader?: Pick<LargestTable, 'range' | 'opened' | 'leftOut'> | undefined;
  /** Why this table is proposed, or why none is. */
  reasons: string[];
  otherTables: ProposedTable[];
}

type Cells = Pick<FoundTable, 'headerRow' | 'lastRow' | 'firstColumn' | 'lastColumn'>;

/** At most this many other tables are listed. */
const maxOtherTables = 20;

export function proposeTable(outline: SheetOutline): SheetProposal {
  const found = findTables(outline);
  const rest = cellsOutside(outline, found);
  const [table, ...others] = found.filter((one) => !isSmallBeside(one, rest));
  if (table === undefined) {
    const reason = found.length === 0 ? reasonForNone(outline) : reasonForRest(rest);
    return {
      table: undefined,
      withoutHeader: tableWithoutHeader(outline),
      reasons: [reason],
      otherTables: [],
    };
  }
  const around = rowsOutside(outline.rows, table, others);
  return {
    table: {
      ...placeOf(table),
      score: table.score,
      opened: openedRange(table, around, others),
      leftOut: [
        ...describeLeftOut(
          around,
          others.filter((one) => !hasSameHeader(table, one)),
        ),
        ...describeParts(others.filter((one) => hasSameHeader(table, one))),
      ],
      maybeMore: rowsThatMayBelong(outline.rows, table, others),
    },
    reasons: [
      headerReason(table),
      ...aboveReasons(outline.rows, table),
      ...belowReasons(outline, table, around),
    ],
    otherTables: others.slice(0, maxOtherTables).map(placeOf),
  };
}

function tableWithoutHeader({ rows, isOutOfOrder }: SheetOutline): SheetProposal['withoutHeader'] {
  const found = isOutOfOrder ? undefined : findValuesWithoutHeader(rows);
  if (found === undefined) return undefined;
  const cells = { ...found, headerRow: found.firstRow };
  const around = rowsOutside(rows, cells, []);
  return {
    range: rangeOf(cells),
    opened: openedRange(cells, around, []),
    leftOut: describeLeftOut(around, []),
  };
}

function reasonForNone(outline: SheetOutline): string {
  if (outline.isOutOfOrder) return 'The rows of the sheet are not in order.';
  if (outline.rows.length === 0) return 'The sheet has no cell with a value.';
  return 'No row has different texts in most columns and values beneath it.';
}

/** The cells outside of all tables, without rows of a single cell, which are titles or notes. */
interface CellsOutside {
  count: number;
  firstRow: number;
  lastRow: number;
  firstColumn: number;
  lastColumn: number;
}

function cellsOutside({ rows }: SheetOutline, tables: FoundTable[]): CellsOutside {
  const rest: CellsOutside = {
    count: 0,
    firstRow: 0,
    lastRow: 0,
    firstColumn: Number.POSITIVE_INFINITY,
    lastColumn: 0,
  };
  for (const row of rows) {
    if (row.filled < 2) continue;
    const near = tables.filter(({ headerRow, lastRow }) => row.row >= headerRow && row.row <= lastRow);
    let cells = 0;
    for (let at = 0; at < row.classes.length; at++) {
      const column = row.firstColumn + at;
      if (row.classes[at] === BLANK) continue;
      if (near.some((table) => column >= table.firstColumn && column <= table.lastColumn)) continue;
      cells++;
      rest.firstColumn = Math.min(rest.firstColumn, column);
      rest.lastColumn = Math.max(rest.lastColumn, column);
    }
    if (cells === 0) continue;
    rest.count += cells * (row.until - row.row + 1);
    if (rest.firstRow === 0) rest.firstRow = row.row;
    rest.lastRow = row.until;
  }
  return rest;
}

/**
 * Returns whether a table without numbers or dates below its header is so small that the cells outside of all tables are more
 * likely the table. Example: notes below a table whose header was not found.
 */
function isSmallBeside({ header, score }: FoundTable, rest: CellsOutside): boolean {
  // Without contrasts the score is half the number of cells, so twice the score is the number of cells.
  return header.contrasts === 0 && rest.count > 2 * (2 * score);
}

function reasonForRest({ firstRow, lastRow, firstColumn, lastColumn }: CellsOutside): string {
  const range = `${columnLetters(firstColumn + 1)}${firstRow}:${columnLetters(lastColumn + 1)}${lastRow}`;
  return `Most cells are in ${range}, and no row there has different texts in most columns and values beneath it.`;
}

export function placeOf(table: FoundTable): ProposedTable {
  const { headerRow, headerRows } = table;
  return { headerRow, headerRows, range: rangeOf(table) };
}

/** Returns the rows of a header, as in `Rows 5 and 6` or `Rows 5 to 8`. */
export function rowsOf({ headerRow, headerRows }: Pick<ProposedTable, 'headerRow' | 'headerRows'>): string {
  return inWords([{ first: headerRow, last: headerRow + headerRows - 1 }], true);
}

function rangeOf({ firstColumn, lastColumn, headerRow, lastRow }: Cells): string {
  return `${columnLetters(firstColumn + 1)}${headerRow}:${columnLetters(lastColumn + 1)}${lastRow}`;
}

/** Where cells with a value are outside of a table. `above`, `below` and `beside` leave out the cells of other tables; the two flags include them. */
export interface Surroundings {
  above: RowSpan[];
  below: RowSpan[];
  /** The columns beside the table, from 0, that belong to no other table. */
  beside: number[];
  hasCellsOnLeft: boolean;
  hasCellsOnRight: boolean;
}

/** Rows of the sheet, both included. */
export interface RowSpan {
  first: number;
  last: number;
}

/** Finds the cells with a value that are neither in the table nor in another one. */
export function rowsOutside(rows: OutlineRow[], table: Cells, others: Cells[]): Surroundings {
  const around: Surroundings = {
    above: [],
    below: [],
    beside: [],
    hasCellsOnLeft: false,
    hasCellsOnRight: false,
  };
  const beside = new Set<number>();
  for (const row of rows) {
    const near = others.filter(({ headerRow, lastRow }) => row.row >= headerRow && row.row <= lastRow);
    const isInRows = row.row >= table.headerRow && row.row <= table.lastRow;
    let isElsewhere = false;
    for (let at = 0; at < row.classes.length; at++) {
      if (row.classes[at] === BLANK) continue;
      const column = row.firstColumn + at;
      if (isInRows && column >= table.firstColumn && column <= table.lastColumn) continue;
      if (column < table.firstColumn) around.hasCellsOnLeft = true;
      if (column > table.lastColumn) around.hasCellsOnRight = true;
      if (near.some((other) => column >= other.firstColumn && column <= other.lastColumn)) continue;
      if (isInRows) beside.add(column);
      else isElsewhere = true;
    }
    if (!isElsewhere) continue;
    addRow(row.row < table.headerRow ? around.above : around.below, row.row, row.until);
  }
  around.beside = [...beside].toSorted((a, b) => a - b);
  return around;
}

/** Returns whether the row above is blank. */
export function isAfterBlankRow(rows: OutlineRow[], row: number): boolean {
  const index = rows.findIndex((other) => other.row === row);
  return index > 0 && rows[index - 1]!.until < row - 1;
}

function addRow(spans: RowSpan[], first: number, last: number): void {
  const before = spans.at(-1);
  if (before !== undefined && before.last + 1 === first) before.last = last;
  else spans.push({ first, last });
}

/** Returns the range without a limit on each side where nothing is left out. Reading it gives the same as reading the whole sheet. */
function openedRange(table: Cells, around: Surroundings, others: Cells[]): CellRange {
  const isLast = around.below.length === 0 && !others.some(({ lastRow }) => lastRow > table.lastRow);
  return {
    firstRow: table.headerRow,
    lastRow: isLast ? Number.MAX_SAFE_INTEGER : table.lastRow,
    firstColumn: around.hasCellsOnLeft ? table.firstColumn + 1 : 1,
    lastColumn: around.hasCellsOnRight ? table.lastColumn + 1 : maxSheetColumn,
    hasFirstRow: true,
  };
}

function headerReason(table: FoundTable): string {
  const { headerRow, headerRows, header, firstColumn, lastColumn } = table;
  const texts = header.isSequence ? 'texts and numbers in order, such as years,' : 'texts';
  const isOneColumn = firstColumn === lastColumn;
  const columns =
    header.filled >= header.columns
      ? `all ${header.columns} columns`
      : `${header.filled} of ${header.columns} columns`;
  if (headerRows > 1) {
    return `${rowsOf(table)} together have texts in ${columns}, and numbers or dates are beneath them.`;
  }
  const has = isOneColumn ? `Row ${headerRow} has a text` : `Row ${headerRow} has ${texts} in ${columns}`;
  if (header.contrasts === 0) {
    return `${has} and is the first row that fills them; the rows beneath it have texts too, so their values do not confirm the header.`;
  }
  const other = header.isSequence ? 'other ' : '';
  const values = [
    ...(header.hasNumbers ? [`${other}numbers`] : []),
    ...(header.hasMoments ? ['dates'] : []),
  ].join(' and ');
  return `${has}, and ${values} are beneath it.`;
}

function aboveReasons(rows: OutlineRow[], table: FoundTable): string[] {
  const above = rows.filter(({ row }) => row < table.headerRow);
  if (above.length === 0) return [];
  const most = above.reduce((max, { filled }) => Math.max(max, filled), 0);
  const each = above.length === 1 ? '' : ' each';
  const cells = most === 1 ? `one cell with a value${each}` : `at most ${most} cells with a value${each}`;
  const have = above.length === 1 ? 'has' : 'have';
  const reason = `${inWords(spansOf(above), true)} above it ${have} ${cells}.`;
  const upper = table.above.at(-1);
  const isPart =
    upper !== undefined && upper.row === table.headerRow - 1 && upper.filled > 1 && !upper.isTotal;
  if (!isPart || table.headerRows > 1) return [reason];
  return [
    reason,
    `Row ${upper.row} may be a part of the header; only row ${table.headerRow}, next to the values, gives the names.`,
  ];
}

function spansOf(rows: OutlineRow[]): RowSpan[] {
  const spans: RowSpan[] = [];
  for (const { row, until } of rows) addRow(spans, row, until);
  return spans;
}

function belowReasons(outline: SheetOutline, table: FoundTable, { below }: Surroundings): string[] {
  const reasons: string[] = [];
  const total = totalOf(outline, table.lastRow);
  if (total !== undefined) {
    reasons.push(
      `Row ${total.row} begins with ${JSON.stringify(total.label)} and looks like a total. It is in the range.`,
    );
  }
  if (below.length > 0) {
    const are = isOneRow(below) ? 'is' : 'are';
    const where = isAfterBlankRow(outline.rows, below[0]!.first) ? ' below a blank row' : '';
    reasons.push(
      `${inWords(below, true)}${where} ${are} not like the rows of the table, and ${are} not in the range.`,
    );
  }
  return reasons;
}

/** Returns the row of totals if it is the last row of the table. undefined: it is none, or too many rows begin with such a word. */
export function totalOf(
  { lastTotal, totals, rows }: SheetOutline,
  lastRow: number,
): { row: number; label: string } | undefined {
  if (lastTotal?.row !== lastRow) return undefined;
  const count = rows.reduce((sum, { row, until }) => sum + until - row + 1, 0);
  return totals === 1 || totals * 4 <= count ? lastTotal : undefined;
}

function describeLeftOut({ above, below, beside }: Surroundings, others: Cells[]): string[] {
  const parts: string[] = [];
  if (above.length > 0) parts.push(inWords(above, false));
  if (below.length > 0) parts.push(inWords(below, false));
  if (beside.length > 0) parts.push(columnsInWords(beside));
  const tables = others.slice(0, maxOtherTables).map(rangeOf);
  if (tables.length === 1) parts.push(`${tables[0]}, which looks like another table`);
  if (tables.length > 1) parts.push(`${tables.join(', ')}, which look like other tables`);
  return parts;
}

/** Returns whether the other table is likely a further part of the table, such as the next page of a printed report. */
function hasSameHeader(table: FoundTable, other: FoundTable): boolean {
  if (table.headerRows > 1 || other.headerRows > 1) return false;
  if (other.firstColumn !== table.firstColumn || other.lastColumn !== table.lastColumn) return false;
  return isSameRow(table, table.rows[0]!, other.rows[0]!);
}

function describeParts(parts: Cells[]): string[] {
  if (parts.length === 0) return [];
  const ranges = parts.slice(0, maxOtherTables).map(rangeOf);
  const what = parts.length === 1 ? 'a table' : 'tables';
  return [
    `${ranges.join(', ')}, ${what} with the same header (to load ${parts.length === 1 ? 'it' : 'each'}, too, send range=${ranges[0]} and if_exists=append)`,
  ];
}

/** Fewer rows below a table are rather notes. */
const leastRows = 10;

/** Counts the rows below the table that fill no other columns than its own. Rows of one cell are titles or notes. */
function rowsThatMayBelong(
  rows: OutlineRow[],
  table: FoundTable,
  others: FoundTable[],
): LargestTable['maybeMore'] {
  const parts = others.filter((one) => hasSameHeader(table, one));
  const below = rows.filter(
    ({ row, filled, firstColumn, classes }) =>
      row > table.lastRow &&
      filled > 1 &&
      firstColumn >= table.firstColumn &&
      firstColumn + classes.length - 1 <= table.lastColumn &&
      !parts.some(({ headerRow, lastRow }) => row >= headerRow && row <= lastRow),
  );
  const count = below.reduce((sum, { row, until }) => sum + until - row + 1, 0);
  return count < leastRows ? undefined : { count, first: below[0]!.row };
}

function columnsInWords(columns: number[]): string {
  const first = columnLetters(columns[0]! + 1);
  if (columns.length === 1) return `column ${first}`;
  const shown = columns.slice(0, maxSpans).map((column) => columnLetters(column + 1));
  return `columns ${shown.join(', ')}${columns.length > maxSpans ? ' and more' : ''}`;
}

const maxSpans = 10;

export function isOneRow(spans: RowSpan[]): boolean {
  return spans.length === 1 && spans[0]!.first === spans[0]!.last;
}

/** Returns `row 41`, `rows 1 and 2`, or `rows 1 to 3 and 5`. */
export function inWords(spans: RowSpan[], isCapital: boolean): string {
  const shown = spans
    .slice(0, maxSpans)
    .flatMap(({ first, last }) => (last - first < 2 ? numbersOf(first, last) : [`${first} to ${last}`]));
  if (spans.length > maxSpans) shown.push('more');
  const list = shown.length === 1 ? shown[0]! : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
  const word = isOneRow(spans) ? 'row' : 'rows';
  return `${isCapital ? word.replace('r', 'R') : word} ${list}`;
}

function numbersOf(first: number, last: number): string[] {
  return first === last ? [`${first}`] : [`${first}`, `${last}`];
}
