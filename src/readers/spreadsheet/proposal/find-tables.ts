/**
 * Finds the tables in the outline of a sheet.
 *
 * Columns that are blank in all rows separate tables that are side by side, and blank rows separate tables that are one below the
 * other. But rows after a blank row that continue the columns of a table belong to the table. A blank column may also be only space
 * within a table.
 */

import { BLANK, MOMENT_LIKE, NUMBER_LIKE, NUMBER_TEXT, SIGNS, WORDS } from './cell-class.ts';
import {
  type Block,
  type ColumnProfile,
  classAt,
  type FoundHeader,
  filledIn,
  findHeader,
  isSameRow,
  isTyped,
  profileColumns,
} from './find-header.ts';
import { findStackedHeader, needsAllRows, type StackedHeader } from './find-stacked-header.ts';
import type { OutlineRow, SheetOutline } from './sheet-outline.ts';

export interface FoundTable {
  /** From the header to the last row. */
  rows: OutlineRow[];
  header: FoundHeader;
  /** Columns from 0. */
  firstColumn: number;
  lastColumn: number;
  /** Rows of the sheet. The header begins in `headerRow` and has `headerRows` rows, blank ones included. */
  headerRow: number;
  headerRows: number;
  lastRow: number;
  /**
   * The number of cells with a value, halved if the values do not confirm the header. The table with the highest score is proposed.
   * Rows that the outline does not keep are estimated.
   */
  score: number;
  /** The rows above the header in the same block. */
  above: OutlineRow[];
}

/** Returns the tables of a sheet that have a header. The largest comes first. */
export function findTables(outline: SheetOutline): FoundTable[] {
  const { rows } = outline;
  if (outline.isOutOfOrder || rows.length === 0) return [];
  let first = rows[0]!.firstColumn;
  let last = first;
  for (const row of rows) {
    first = Math.min(first, row.firstColumn);
    last = Math.max(last, row.firstColumn + row.classes.length - 1);
  }
  const tables = tablesIn({ rows, firstColumn: first, lastColumn: last }, 0).toSorted(byScore);
  return withStackedHeader(rows, tables).slice(0, maxTables);
}

function byScore(a: FoundTable, b: FoundTable): number {
  return b.score - a.score;
}

/** How often a block may be divided alternately by blank columns and blank rows. */
const maxDepth = 5;

/** If blank columns divide a block into more groups than this, they are only space within a table. Comparing all groups would take too long. */
const maxGroups = 16;

/** The maximum number of tables of a sheet. Those with the best scores are returned. */
const maxTables = 50;

function tablesIn(block: Block, depth: number): FoundTable[] {
  const groups = columnGroups(block);
  if (groups.length > maxGroups) return zonesOf(block).flatMap(tableOf);
  if (groups.length > 1 && depth < maxDepth) {
    const across = tableAcross(block, groups);
    return across ?? groups.flatMap((group) => tablesIn(within(block.rows, group), depth + 1));
  }
  const only = groups[0];
  if (only === undefined) return [];
  return tablesBelowEachOther(depth < maxDepth ? within(block.rows, only) : block, depth);
}

function tablesBelowEachOther(block: Block, depth: number): FoundTable[] {
  const zones = zonesOf(block);
  if (zones.length === 1 || depth >= maxDepth) return zones.flatMap(tableOf);
  return zones.flatMap(({ rows }) => tablesIn({ ...block, rows }, depth + 1));
}

/** Columns from 0, both included. */
interface ColumnSpan {
  firstColumn: number;
  lastColumn: number;
}

/** Returns the rows that have a cell within the columns. */
function within(rows: OutlineRow[], { firstColumn, lastColumn }: ColumnSpan): Block {
  return {
    rows: rows.filter((row) => filledIn(row, firstColumn, lastColumn) > 0),
    firstColumn,
    lastColumn,
  };
}

/** Returns the groups of columns that blank columns separate. A row of only one cell is a title or a note, and does not connect groups. */
function columnGroups(block: Block): ColumnSpan[] {
  const { rows, firstColumn, lastColumn } = block;
  const several = rows.filter((row) => filledIn(row, firstColumn, lastColumn) > 1);
  const used = new Uint8Array(lastColumn - firstColumn + 1);
  for (const row of several.length > 0 ? several : rows) {
    for (let at = 0; at < row.classes.length; at++) {
      const place = row.firstColumn + at - firstColumn;
      if (row.classes[at] !== BLANK && place >= 0 && place < used.length) used[place] = 1;
    }
  }
  const groups: ColumnSpan[] = [];
  for (let place = 0; place < used.length; place++) {
    if (used[place] === 0) continue;
    const column = firstColumn + place;
    if (place > 0 && used[place - 1] === 1) groups.at(-1)!.lastColumn = column;
    else groups.push({ firstColumn: column, lastColumn: column });
  }
  return groups;
}

/** @returns the tables if the blank columns are only space within one table; undefined: the groups may be several tables */
function tableAcross(block: Block, groups: ColumnSpan[]): FoundTable[] | undefined {
  const span = { firstColumn: groups[0]!.firstColumn, lastColumn: groups.at(-1)!.lastColumn };
  const tables = zonesOf(within(block.rows, span)).flatMap(tableOf);
  const [table] = tables.toSorted(byScore);
  // Numbers in order across all groups, such as years, also show one header if columns beside them have none.
  const isSure = table?.header.isClear || table?.header.isSequence;
  if (!isSure || table.header.contrasts === 0) return undefined;
  const seen = new Set<number>();
  for (const [index, group] of groups.entries()) {
    const part = { ...table, ...group };
    const values = headerValues(part);
    if (values.length === 0 || values.some((value) => seen.has(value))) return undefined;
    if (index > 0 && (!isFilledAsTable(table, group) || namesOtherThings(part))) return undefined;
    for (const value of values) seen.add(value);
  }
  return tables;
}

/** Returns whether the columns have values in rows from the first to the last of a table, and not only in a part of it. */
function isFilledAsTable({ rows }: FoundTable, { firstColumn, lastColumn }: ColumnSpan): boolean {
  const body = rows.slice(1);
  const upper = body.slice(0, Math.ceil(body.length / 2));
  const lower = body.slice(Math.floor(body.length / 2));
  return [upper, lower].every((half) => {
    const filled = half.filter((row) => filledIn(row, firstColumn, lastColumn) > 0).length;
    return filled >= 0.6 * half.length;
  });
}

/** Returns whether the texts in the first of several columns with values are all different. Then the column has labels of its own, so a new table begins with it. */
function namesOtherThings({ rows, firstColumn, lastColumn }: FoundTable): boolean {
  const body = rows.slice(1, 1 + comparedRows);
  if (body.every((row) => filledIn(row, firstColumn + 1, lastColumn) === 0)) return false;
  const { classes } = profileColumns({ rows: body, firstColumn, lastColumn: firstColumn });
  if (classes[0] !== WORDS) return false;
  const named = body.filter((row) => classAt(row, firstColumn) !== BLANK);
  const values = new Set(named.map((row) => row.values?.[firstColumn - row.firstColumn]));
  return 2 * values.size > named.length;
}

function headerValues({ rows, firstColumn, lastColumn }: FoundTable): number[] {
  const [header] = rows;
  const values: number[] = [];
  for (let column = firstColumn; column <= lastColumn; column++) {
    if (classAt(header!, column) !== BLANK) values.push(header!.values?.[column - header!.firstColumn] ?? 0);
  }
  return values;
}

/** Rows that belong together, although blank rows may be among them. */
interface Zone extends Block {
  profile: ColumnProfile;
  header: FoundHeader | undefined;
}

/** Divides the rows of a block at the blank rows that separate tables, titles and notes. */
function zonesOf(block: Block): Zone[] {
  const zones: Zone[] = [];
  for (const rows of rowsBetweenBlanks(block.rows)) {
    const part = zoneOf({ ...block, rows });
    const last = zones.at(-1);
    if (last === undefined) zones.push(part);
    else if (last.header !== undefined) {
      if (continues(last, last.header, part)) last.rows.push(...rows);
      else zones.push(part);
    } else {
      const both = part.header?.isClear ? undefined : withHeaderAbove(last, part);
      if (both === undefined) zones.push(part);
      else zones[zones.length - 1] = both;
    }
  }
  return zones;
}

function zoneOf(block: Block): Zone {
  const profile = profileColumns(block);
  return { ...block, profile, header: findHeader(block, profile) };
}

function rowsBetweenBlanks(rows: OutlineRow[]): OutlineRow[][] {
  const parts: OutlineRow[][] = [];
  let until = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    if (row.row > until + 1) parts.push([row]);
    else parts.at(-1)!.push(row);
    until = row.until;
  }
  return parts;
}

/** Joins both zones if the last row above the blank row is the header of the rows below it. Otherwise returns undefined. */
function withHeaderAbove(above: Zone, below: Zone): Zone | undefined {
  const last = above.rows.at(-1)!;
  if (filledIn(last, above.firstColumn, above.lastColumn) < 2) return undefined;
  const both = zoneOf({ ...above, rows: [...above.rows, ...below.rows] });
  return both.header?.isClear && both.rows[both.header.index] === last ? both : undefined;
}

/** How many rows after a blank row are compared with the table above it. */
const comparedRows = 10;

/** Returns whether the rows after a blank row belong to the table above: they have no header of their own, and their values resemble those of the table. */
function continues(table: Zone, header: FoundHeader, part: Zone): boolean {
  const { firstColumn, lastColumn, profile } = table;
  if (part.rows[0]!.isTotal || isSameRow(table, table.rows[header.index]!, part.rows[0]!)) return false;
  if (part.header !== undefined && part.header.contrasts > 0 && !followsRowsOf(table, part, part.header))
    return false;
  const body = table.rows.slice(header.index + 1, header.index + 1 + comparedRows);
  const usual = body.reduce((sum, row) => sum + filledIn(row, firstColumn, lastColumn), 0) / body.length;
  let filled = 0;
  let alike = 0;
  let typed = 0;
  let compared = 0;
  const rows = part.rows.slice(0, comparedRows);
  for (const row of rows) {
    for (let at = 0; at < row.classes.length; at++) {
      const found = row.classes[at]!;
      const column = row.firstColumn + at;
      if (found === BLANK || column < firstColumn || column > lastColumn) continue;
      filled++;
      if (found === SIGNS) continue;
      compared++;
      const usualClass = profile.classes[column - firstColumn]!;
      if (found === WORDS ? usualClass === WORDS : isTyped(usualClass)) alike++;
      if (found !== WORDS && isTyped(usualClass)) typed++;
    }
  }
  if (alike < 0.7 * compared) return false;
  // If the first column has numbers and each of these rows begins with one, the rows are data. Notes and totals begin with a text.
  if (isTyped(profile.classes[0]!) && rows.every((row) => isTyped(classAt(row, firstColumn)))) return true;
  const average = filled / rows.length;
  // In a narrow table a single number is a data row. A single text is a note.
  if (usual <= 3 && typed > 0) return average >= usual / 2;
  return average >= 0.6 * usual && (firstColumn === lastColumn || average >= 2);
}

/**
 * Returns whether several rows above what looks like a header are data of the table above. A table of its own has at most a title or
 * other rows of the header there, so the header is a row of data, too. Example: codes of digits, one of which ends with a letter.
 */
function followsRowsOf(
  { profile, firstColumn, lastColumn }: Zone,
  part: Zone,
  { index }: FoundHeader,
): boolean {
  const isLike = (row: OutlineRow): boolean =>
    filledIn(row, firstColumn, lastColumn) >= 2 &&
    row.classes.every((found, at) => {
      const usual = profile.classes[row.firstColumn + at - firstColumn];
      return found === BLANK || usual === undefined || (found === WORDS ? usual === WORDS : isTyped(usual));
    });
  return index >= 2 && part.rows.slice(0, index).every(isLike);
}

function tableOf({ rows, header, firstColumn, lastColumn }: Zone): FoundTable[] {
  if (header === undefined) return [];
  const ofTable = rows.slice(header.index);
  let first = lastColumn;
  let last = firstColumn;
  let cells = 0;
  let unkept = 0;
  for (const row of ofTable) {
    const end = row.firstColumn + row.classes.length - 1;
    for (let column = Math.max(firstColumn, row.firstColumn); column < first && column <= end; column++) {
      if (classAt(row, column) !== BLANK) first = column;
    }
    for (let column = Math.min(lastColumn, end); column > last && column >= row.firstColumn; column--) {
      if (classAt(row, column) !== BLANK) last = column;
    }
    cells += filledIn(row, firstColumn, lastColumn);
    unkept += row.until - row.row;
  }
  cells += Math.round((unkept * cells) / ofTable.length);
  return [
    {
      rows: ofTable,
      header,
      firstColumn: first,
      lastColumn: last,
      headerRow: ofTable[0]!.row,
      headerRows: 1,
      lastRow: ofTable.at(-1)!.until,
      score: header.contrasts > 0 ? cells : cells / 2,
      above: rows.slice(0, header.index),
    },
  ];
}

/** Adds the table whose header takes several rows, and removes the tables found within its rows, unless a header of one row is more certain. */
function withStackedHeader(rows: OutlineRow[], tables: FoundTable[]): FoundTable[] {
  const stacked = findStackedHeader(rows);
  if (stacked === undefined) return tables;
  const last = rows[stacked.last]!.row;
  if (stacked.first === stacked.last && tables[0]?.headerRow === last) return tables;
  const below = tables.filter(({ headerRow, header }) => headerRow > last && isConfirmed(header));
  const next = below.reduce((least, { headerRow }) => Math.min(least, headerRow), Number.POSITIVE_INFINITY);
  const end = rows.findLastIndex(({ row }, index) => index <= stacked.end && row < next);
  const table = tableUnder(rows, { ...stacked, end });
  if (end < stacked.last + 2) return tables;
  const rivals = tables.filter(({ headerRow }) => headerRow <= last);
  if (rivals.some((rival) => isConfirmed(rival.header) && !isBetter(stacked, rival, rows))) return tables;
  const others = tables.filter(
    ({ headerRow, lastRow }) => headerRow > table.lastRow || lastRow < table.headerRow,
  );
  return [table, ...others].toSorted(byScore);
}

function isConfirmed({ isClear, contrasts }: FoundHeader): boolean {
  return isClear && contrasts > 0;
}

/** Returns whether the header of several rows is more likely than that of one row. */
function isBetter(stacked: StackedHeader, { headerRow }: FoundTable, rows: OutlineRow[]): boolean {
  const { first, last } = stacked;
  if (headerRow === rows[last]!.row) return first < last && needsAllRows(rows, stacked);
  const below = rows.slice(first, last + 1).filter(({ row }) => row > headerRow);
  if (headerRow < rows[first]!.row || below.length === 0) return false;
  if (stacked.hasUnits && below.length === 1) return true;
  // A row below a complete header is data if it has a label in the first column.
  return below.every((row) => classAt(row, stacked.firstColumn) === BLANK);
}

function tableUnder(rows: OutlineRow[], { first, last, end, ...found }: StackedHeader): FoundTable {
  const ofTable = rows.slice(first, end + 1);
  const cells = ofTable.reduce((sum, row) => sum + row.filled * (row.until - row.row + 1), 0);
  const isClear = found.filled >= found.columns;
  const has = (kind: number): boolean =>
    ofTable.slice(last - first + 1).some(({ classes }) => classes.includes(kind));
  return {
    rows: ofTable,
    header: {
      index: last - first,
      hasNumbers: has(NUMBER_LIKE) || has(NUMBER_TEXT),
      hasMoments: has(MOMENT_LIKE),
      isSequence: false,
      isClear,
      ...found,
    },
    firstColumn: found.firstColumn,
    lastColumn: found.lastColumn,
    headerRow: ofTable[0]!.row,
    headerRows: rows[last]!.row - ofTable[0]!.row + 1,
    lastRow: ofTable.at(-1)!.until,
    score: cells,
    above: rows.slice(0, first),
  };
}
