/**
 * Finds the cells that `table_range` names: an Excel table, a defined name or a range such as `'Sales Data'!B4:F20`. As in Excel's
 * Name Box, case does not matter.
 */

import { type AppError, type Warning, wrongParameter } from '../../../core/errors.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { type CellRange, maxSheetRow, rangeText } from '../cell-address.ts';
import { chooseSheet, listNames, quote } from '../choose-sheet.ts';
import { type SheetWindow, windowOfRange, withHeaderRow } from '../sheet-window.ts';
import type { SheetSummary, SpreadsheetOptions } from '../spreadsheet-options.ts';
import { describeTarget, parseReference, splitSheet } from './parse-reference.ts';
import type { TableParts, WorkbookName, WorkbookNames } from './workbook-names.ts';

/** The cells that `table_range` names, and the warnings about them. */
export interface TableRange {
  /** The index of the sheet. */
  sheet: number;
  window: SheetWindow;
  warnings: Warning[];
}

/** A name of the workbook that can be loaded, as an inspection lists it. */
export interface NamedCells {
  name: string;
  kind: 'table' | 'name';
  /** The only sheet in which the name is valid; undefined: it is valid in the whole workbook. */
  scope?: string;
  sheet: string;
  /** The cells that are loaded, with the header and without the totals of a table: `A3:F200`. */
  range: string;
  /** The names of the columns; undefined: not known. */
  header?: string[];
}

/** The maximum number of names that an inspection lists. */
const maxListed = 1000;

/** The maximum number of names that an error lists. */
const maxNamed = 50;

/**
 * Finds the cells that the caller named.
 *
 * @param names undefined: the format has no names
 * @throws AppError `invalid-parameter` if there is no such name, or it does not name cells
 */
export async function findTableRange(
  wanted: string,
  sheets: SheetSummary[],
  names: WorkbookNames | undefined,
  options: Pick<SpreadsheetOptions, 'sheet' | 'headerRow' | 'hasHeader'>,
): Promise<TableRange> {
  if (names === undefined) {
    throw refuse(
      wanted,
      'The format of the file has no names for cells. For some of the cells send `range`.',
    );
  }
  const chosen = options.sheet === undefined ? undefined : chooseSheet(sheets, options.sheet);
  const chosenName = chosen === undefined ? undefined : sheets[chosen]!.name;
  const name = chooseName(wanted, names.list, chosenName);
  if (name !== undefined) return rangeOfName(name, wanted, sheets, chosen, options);
  const reference = parseReference(wanted);
  if (reference === undefined) throw await unknownName(wanted, sheets, names);
  const sheet =
    reference.sheet === undefined
      ? (chosen ?? chooseSheet(sheets, undefined))
      : sheetFinder(sheets)(reference.sheet);
  if (sheet === undefined) {
    throw refuse(
      wanted,
      `There is no sheet ${quote(reference.sheet!)}. The sheets are: ${listNames(sheets)}.`,
    );
  }
  refuseOtherSheet(wanted, sheets, sheet, chosen);
  const window = withHeaderRow(windowOfRange(reference.range, options.hasHeader), options.headerRow);
  return { sheet, window, warnings: [] };
}

/** Returns the names that can be loaded, at most 1,000 of them, and the number of all. */
export async function listNamedCells(
  sheets: SheetSummary[],
  names: WorkbookNames,
): Promise<{ listed: NamedCells[]; count: number }> {
  const listed: NamedCells[] = [];
  let count = 0;
  const findSheet = sheetFinder(sheets);
  for (const [index, name] of names.list.entries()) {
    const cells = cellsOf(name, findSheet);
    if (cells !== undefined && count++ < maxListed) listed.push(describeCells(name, cells, sheets));
    const pause = index % namesPerTurn === 0 ? pauseForOthers() : undefined;
    if (pause !== undefined) await pause;
  }
  return { listed, count };
}

const namesPerTurn = 500;

function describeCells(
  { name, kind, localTo, table }: WorkbookName,
  { sheet, range }: Cells,
  sheets: SheetSummary[],
): NamedCells {
  const loaded = table === undefined ? range : (partOf(table, range) ?? range);
  return {
    name,
    kind,
    ...(localTo !== undefined && { scope: localTo }),
    sheet: sheets[sheet]!.name,
    range: rangeText(loaded),
    ...(table !== undefined && { header: table.header }),
  };
}

/** Returns the name that is meant. As in Excel, a name that is valid only in the chosen sheet comes first. */
function chooseName(
  wanted: string,
  names: WorkbookName[],
  chosenSheet: string | undefined,
): WorkbookName | undefined {
  const { sheet: prefix, rest } = splitSheet(wanted);
  const whole = namesLike(wanted, names);
  const candidates = whole.length > 0 ? whole : prefix === undefined ? [] : namesLike(rest, names);
  const scope = (whole.length > 0 ? undefined : prefix) ?? chosenSheet;
  const local = candidates.filter(({ localTo }) => localTo !== undefined && isSame(localTo, scope ?? ''));
  if (local.length > 0) return local[0];
  const global = candidates.find(({ localTo }) => localTo === undefined);
  if (global !== undefined || candidates.length <= 1) return global ?? candidates[0];
  const scopes = candidates.map(({ localTo }) => ({ name: localTo! }));
  throw refuse(
    wanted,
    `${candidates.length} sheets have a name ${quote(wanted)} of their own: ${listNames(scopes)}. Choose one with \`sheet\`.`,
  );
}

function namesLike(wanted: string, names: WorkbookName[]): WorkbookName[] {
  const lower = wanted.trim().toLowerCase();
  return names.filter(({ name }) => name.length === lower.length && name.toLowerCase() === lower);
}

function isSame(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

interface Cells {
  /** The index of the sheet. */
  sheet: number;
  range: CellRange;
}

/** Returns the cells that a name refers to; undefined if it does not refer to one range of a sheet that the workbook has. */
function cellsOf({ refersTo }: WorkbookName, findSheet: FindSheet): Cells | undefined {
  const reference = parseReference(refersTo);
  if (reference?.sheet === undefined) return undefined;
  const sheet = findSheet(reference.sheet);
  if (sheet === undefined) return undefined;
  const { range } = reference;
  // Some programs write whole columns as all of their rows. The first row is then not certainly the header.
  const isOfColumns = range.firstRow === 1 && range.lastRow === maxSheetRow;
  return { sheet, range: isOfColumns ? { ...range, hasFirstRow: false } : range };
}

/** Returns the index of a sheet; undefined if there is no such sheet, or it has no cells. */
type FindSheet = (name: string) => number | undefined;

/** Returns a function that needs no search, because a workbook may have 100,000 names and 10,000 sheets. No two sheets differ only in case. */
function sheetFinder(sheets: SheetSummary[]): FindSheet {
  const found = new Map(sheets.map(({ name }, index) => [name.toLowerCase(), index]));
  return (name) => {
    const index = found.get(name.toLowerCase());
    return index !== undefined && sheets[index]!.hasCells ? index : undefined;
  };
}

function rangeOfName(
  name: WorkbookName,
  wanted: string,
  sheets: SheetSummary[],
  chosen: number | undefined,
  { headerRow, hasHeader = true }: Pick<SpreadsheetOptions, 'headerRow' | 'hasHeader'>,
): TableRange {
  const cells = cellsOf(name, sheetFinder(sheets));
  if (cells === undefined) throw refuse(wanted, describeOther(name));
  const { sheet, range } = cells;
  refuseOtherSheet(wanted, sheets, sheet, chosen);
  const { table } = name;
  if (table === undefined) {
    return { sheet, window: withHeaderRow(windowOfRange(range, hasHeader), headerRow), warnings: [] };
  }
  const part = partOf(table, range);
  if (part === undefined) {
    throw refuse(
      wanted,
      `The table ${quote(name.name)} cannot be loaded: it states more header and totals rows than its range ${rangeText(range)} has.`,
    );
  }
  if (table.headerRows === 0 && headerRow !== undefined) {
    const detail = `The table ${quote(name.name)} has no header row: leave \`header_row\` out.`;
    throw wrongParameter('header_row', detail, { value: String(headerRow) });
  }
  const window = withHeaderRow(windowOfRange(part, hasHeader && table.headerRows > 0), headerRow);
  return { sheet, window, warnings: totalsLeftOut(name, table, range) };
}

/** Returns the rows of a table from the last row of its header to its last data row; undefined: the stated numbers of rows do not fit its range. */
function partOf({ headerRows, totalsRows }: TableParts, range: CellRange): CellRange | undefined {
  const firstRow = range.firstRow + Math.max(0, headerRows - 1);
  const lastRow = range.lastRow - totalsRows;
  return lastRow < firstRow ? undefined : { ...range, firstRow, lastRow };
}

function totalsLeftOut(
  { name }: WorkbookName,
  { totalsRows }: TableParts,
  { lastRow }: CellRange,
): Warning[] {
  if (totalsRows === 0) return [];
  const reason =
    totalsRows === 1
      ? `Row ${lastRow} was left out, because it is the totals row`
      : `The rows ${lastRow - totalsRows + 1} to ${lastRow} were left out, because they are the totals rows`;
  return [{ code: 'totals-row', detail: `${reason} of the table ${quote(name)}.` }];
}

function describeOther({ name, refersTo }: WorkbookName): string {
  const reference = parseReference(refersTo);
  const target =
    reference?.sheet === undefined
      ? describeTarget(refersTo)
      : `cells of the sheet ${quote(reference.sheet)}, which the workbook does not have`;
  return `The name ${quote(name)} cannot be loaded: it refers to ${target}. Only a name of one range of cells can be loaded.`;
}

function refuseOtherSheet(
  wanted: string,
  sheets: SheetSummary[],
  sheet: number,
  chosen: number | undefined,
): void {
  if (chosen === undefined || chosen === sheet) return;
  const [its, other] = [sheets[sheet]!.name, sheets[chosen]!.name];
  const detail = `${quote(wanted)} is in the sheet ${quote(its)}, not in ${quote(other)}: leave \`sheet\` out.`;
  throw wrongParameter('sheet', detail, { value: other });
}

async function unknownName(wanted: string, sheets: SheetSummary[], names: WorkbookNames): Promise<AppError> {
  const { listed, count } = await listNamedCells(sheets, names);
  if (count === 0) {
    const detail = `The workbook has no tables and no names, so ${quote(wanted)} does not exist. For a range of cells send \`range\`.`;
    return refuse(wanted, detail);
  }
  const shown = listed
    .slice(0, maxNamed)
    .map(({ name, sheet, range }) => `${quote(name)} (${quote(sheet)}, ${range})`)
    .join(', ');
  const more = count > maxNamed ? `, and ${count - maxNamed} more` : '';
  const unread = names.isComplete ? '' : ' The workbook has more names than are read.';
  const detail = `The workbook has no table or name ${quote(wanted)}. It has: ${shown}${more}.${unread}`;
  return refuse(wanted, detail);
}

function refuse(wanted: string, detail: string): AppError {
  return wrongParameter('table_range', detail, { value: wanted });
}
