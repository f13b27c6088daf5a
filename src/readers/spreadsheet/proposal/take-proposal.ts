/** Applies the proposals that the caller asked for: the sheet (`sheet=auto`) and the table in it (`header_row=auto`), each with a warning. */

import { AppError, type Warning, wrongParameter } from '../../../core/errors.ts';
import type { CellRange } from '../cell-address.ts';
import { listNames, quote } from '../choose-sheet.ts';
import type { SheetSource } from '../sheet-source.ts';
import { type SheetWindow, windowOfRange, withHeaderRow } from '../sheet-window.ts';
import type { SheetSummary, SpreadsheetOptions } from '../spreadsheet-options.ts';
import { type OutlinedSheet, proposeSheet, sheetsToCompare } from './propose-sheet.ts';
import { type LargestTable, rowsOf, type SheetProposal } from './propose-table.ts';

const AUTO = 'auto';

/** Returns the options for opening the file before the proposal is made; undefined: the caller asked for no proposal. */
export function withoutProposals(options: SpreadsheetOptions): SpreadsheetOptions | undefined {
  const { sheet, headerRow, ...others } = options;
  if (sheet?.toLowerCase() !== AUTO && headerRow !== AUTO) return undefined;
  if (options.tableRange !== undefined) {
    if (headerRow === AUTO) throw namedTwice();
    return undefined;
  }
  if (headerRow === AUTO && options.hasHeader === false) {
    throw wrongParameter('header_row', 'With `header=false` there is no header row: leave `header_row` out.');
  }
  if (headerRow === AUTO && (options.headerRows ?? 1) > 1) {
    throw wrongParameter(
      'header_rows',
      '`header_row=auto` finds the rows of the header: leave `header_rows` out.',
    );
  }
  return {
    ...others,
    ...(sheet?.toLowerCase() === AUTO ? { allSheets: true } : sheet !== undefined && { sheet }),
    ...(headerRow !== undefined && headerRow !== AUTO && { headerRow }),
  };
}

/**
 * @param source the sheet that is read without a proposal
 * @param openSheet opens another sheet of the file
 * @throws AppError `invalid-parameter` if nothing looks like a table; the errors of `SheetSource.read`
 */
export async function takeProposals(
  source: SheetSource,
  openSheet: (name: string) => Promise<SheetSource>,
  { sheet, headerRow }: SpreadsheetOptions,
  signal: AbortSignal,
): Promise<SheetSource> {
  const isNamedAuto = source.sheets.some(({ name }) => name.toLowerCase() === AUTO);
  let chosen = source;
  const warnings: Warning[] = [];
  if (sheet?.toLowerCase() === AUTO && source.sheet !== '') {
    if (isNamedAuto) chosen = await openSheet(AUTO);
    else chosen = await takeSheet(source, openSheet, warnings, signal);
  }
  if (headerRow !== AUTO) return chosen.within(chosen.window, warnings);
  const { table, withoutHeader, reasons } = await chosen.propose(signal);
  if (table === undefined) {
    if (withoutHeader === undefined) throw noHeader(chosen.sheet, reasons);
    const range = intersection(chosen.window.range, withoutHeader.opened);
    warnings.push(valuesTaken(withoutHeader, reasons));
    return chosen.within(windowOfRange(range, false), warnings);
  }
  const range = intersection(chosen.window.range, table.opened);
  const { headerRow: row, headerRows } = table;
  // The lines of a header of several rows are not compared one by one.
  const leavesOutHeaders = headerRows === 1;
  const window: SheetWindow = withHeaderRow({ ...chosen.window, range, headerRows, leavesOutHeaders }, row);
  return chosen.within(window, [...warnings, tableTaken(table, reasons), ...notReadBelow(table)]);
}

/** Chooses the visible sheet with the largest table. A sheet that cannot be read is not chosen. */
async function takeSheet(
  source: SheetSource,
  openSheet: (name: string) => Promise<SheetSource>,
  warnings: Warning[],
  signal: AbortSignal,
): Promise<SheetSource> {
  const outlined: OutlinedSheet[] = [];
  let largest: SheetSource | undefined;
  let fault: AppError | undefined;
  for (const summary of sheetsToCompare(source.sheets)) {
    try {
      const sheet = summary.name === source.sheet ? source : await openSheet(summary.name);
      const proposal = await sheet.propose(signal);
      outlined.push({ ...summary, proposal });
      // Only one sheet is kept open, because a file may have thousands.
      if (scoreOf(proposal) > scoreOf(largest?.proposal)) largest = sheet;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      fault ??= error;
    }
  }
  if (largest === undefined) throw fault ?? noSheet(source.sheets);
  const { reasons } = proposeSheet(outlined);
  const detail = `Sheet ${quote(largest.sheet)} was read (sheet=auto). ${reasons[0]}`;
  warnings.push({ code: 'proposal-taken', detail });
  return largest;
}

function scoreOf(proposal: SheetProposal | undefined): number {
  return proposal?.table?.score ?? 0;
}

function tableTaken(table: LargestTable, reasons: string[]): Warning {
  return {
    code: 'proposal-taken',
    detail: `${headerInWords(table)} read as the header of the table in ${table.range} (header_row=auto). ${reasons.join(' ')}${notRead(table.leftOut)}`,
  };
}

/** Warns of many rows that were left out and may belong to the table, because the user would lose them. */
function notReadBelow({ headerRow, headerRows, maybeMore }: LargestTable): Warning[] {
  if (maybeMore === undefined) return [];
  const parameters = {
    header_row: String(headerRow),
    ...(headerRows > 1 && { header_rows: String(headerRows) }),
  };
  const { count, first } = maybeMore;
  const sent = Object.entries(parameters).map((pair) => pair.join('='));
  const detail = `${count} rows below the table, from row ${first} on, look like another table or notes, and were not read (header_row=auto). To read all rows below the header, send ${sent.join(' and ')}.`;
  return [{ code: 'rows-not-read', detail, choices: [{ parameters }] }];
}

function valuesTaken(
  { range, opened, leftOut }: NonNullable<SheetProposal['withoutHeader']>,
  reasons: string[],
): Warning {
  return {
    code: 'proposal-taken',
    detail: `The values in ${range} were read without a header (header_row=auto). ${reasons.join(' ')}${notRead(leftOut)} If row ${opened.firstRow} is the header, send header_row=${opened.firstRow}.`,
    choices: [{ parameters: { header_row: String(opened.firstRow) } }],
  };
}

function notRead(leftOut: string[]): string {
  return leftOut.length === 0 ? '' : ` Not read: ${leftOut.join('; ')}.`;
}

function headerInWords({ headerRow, headerRows }: LargestTable): string {
  if (headerRows === 1) return `Row ${headerRow} was`;
  return `${rowsOf({ headerRow, headerRows })} were joined for each column, and`;
}

function namedTwice(): AppError {
  const detail = '`table_range` names the cells that are read: leave `header_row=auto` out.';
  return wrongParameter('header_row', detail, { value: AUTO });
}

function noHeader(sheet: string, reasons: string[]): AppError {
  const subject = sheet === '' ? 'The file' : `Sheet ${quote(sheet)}`;
  const detail = `${subject} has no row that looks like a header (header_row=auto). ${reasons.join(' ')} Send the number of the row, as in header_row=4, or header=false if there is no header.`;
  return wrongParameter('header_row', detail, { value: AUTO });
}

function noSheet(sheets: SheetSummary[]): AppError {
  const names = listNames(sheets.filter(({ hasCells }) => hasCells));
  const detail = `No visible sheet has something that looks like a table (sheet=auto). Send the name of a sheet: ${names}.`;
  return wrongParameter('sheet', detail, { value: AUTO });
}

function intersection(one: CellRange, other: CellRange): CellRange {
  return {
    firstRow: Math.max(one.firstRow, other.firstRow),
    lastRow: Math.min(one.lastRow, other.lastRow),
    firstColumn: Math.max(one.firstColumn, other.firstColumn),
    lastColumn: Math.min(one.lastColumn, other.lastColumn),
    hasFirstRow: true,
  };
}
