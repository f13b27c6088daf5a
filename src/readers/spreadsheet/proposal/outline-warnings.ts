/**
 * Warns if the wrong row was read as the header, or if rows and columns were read that do not seem to belong to the table. A wrong
 * warning is worse than none, so only tables that meet the strict rules cause one.
 */

import type { Choice, Warning } from '../../../core/errors.ts';
import { columnLetters, maxSheetRow } from '../cell-address.ts';
import { type FoundTable, findTables } from './find-tables.ts';
import {
  inWords,
  isAfterBlankRow,
  isOneRow,
  placeOf,
  rowsOf,
  rowsOutside,
  totalOf,
} from './propose-table.ts';
import type { OutlineRow, SheetOutline } from './sheet-outline.ts';

/** What was read of the sheet. Rows and columns count from 1. */
export interface ReadPart {
  headerRow: number;
  headerRows: number;
  /** The number of cells with a text in the header. */
  headerCells: number;
  /** The header row is fixed, by `header_row` or by the first row of a range. false: it is the first row with a value. */
  isHeaderChosen: boolean;
  firstColumn: number;
  lastColumn: number;
  /** The last row with a value. */
  lastRow: number;
}

export function outlineWarnings(outline: SheetOutline, read: ReadPart): Warning[] {
  const tables = findTables(outline);
  const below = read.isHeaderChosen ? undefined : tableBelowTitle(tables, read);
  if (below !== undefined) {
    const { headerRow, firstColumn, lastColumn, lastRow } = below;
    const own = { ...read, headerRow, firstColumn: firstColumn + 1, lastColumn: lastColumn + 1 };
    return [titleWarning(read, below), ...totalWarning(outline, own, lastRow)];
  }
  const table = tables.find(({ headerRow }) => headerRow === read.headerRow);
  if (table === undefined) return totalWarning(outline, read, read.lastRow);
  const others = tables.filter((other) => other !== table);
  return [
    ...(table.headerRows > read.headerRows ? [moreRowsWarning(read, table)] : []),
    ...totalWarning(outline, read, table.lastRow),
    ...(table.header.isClear && table === tables[0] ? rowsBelow(outline, table, others, read) : []),
    ...otherTables(table, others),
  ];
}

/** Returns the table below the row that was read as the header, if that row has so few cells that it is rather a title. */
function tableBelowTitle(tables: FoundTable[], { headerRow, headerCells }: ReadPart): FoundTable | undefined {
  const largest = tables.find(({ header }) => header.isClear);
  if (largest === undefined || largest.headerRow <= headerRow) return undefined;
  return 2 * headerCells > largest.header.columns ? undefined : largest;
}

/** Warns that the row that was read as the header is a title, and names the row that looks like the header. */
function titleWarning({ headerRow, headerCells }: ReadPart, table: FoundTable): Warning {
  const { headerRow: row, headerRows } = table;
  const has = headerCells === 1 ? 'only one cell with a value' : `only ${headerCells} cells with a value`;
  if (headerRows > 1) {
    return {
      code: 'header-row',
      detail: `Row ${headerRow} was read as the header, and it has ${has}. ${rowsOf(table)} together look like the header: send header_row=${row} and header_rows=${headerRows}, or header_row=auto.`,
      choices: [{ parameters: { header_row: String(row), header_rows: String(headerRows) } }],
    };
  }
  return {
    code: 'header-row',
    detail: `Row ${headerRow} was read as the header, and it has ${has}. Row ${row} looks like the header: send header_row=${row} or header_row=auto.`,
    choices: [{ parameters: { header_row: String(row) } }],
  };
}

/** Warns that the rows below the header are a part of it. */
function moreRowsWarning({ headerRow, headerRows }: ReadPart, table: FoundTable): Warning {
  const was =
    headerRows === 1 ? `Row ${headerRow} was` : `Rows ${headerRow} to ${headerRow + headerRows - 1} were`;
  return {
    code: 'header-row',
    detail: `${was} read as the header. ${rowsOf(table)} together look like the header: send header_rows=${table.headerRows}.`,
    choices: [{ parameters: { header_rows: String(table.headerRows) } }],
  };
}

function totalWarning(outline: SheetOutline, read: ReadPart, lastRow: number): Warning[] {
  const total = totalOf(outline, lastRow);
  if (total === undefined || total.row <= read.headerRow) return [];
  const detail = `Row ${total.row} begins with ${JSON.stringify(total.label)} and looks like a total; it was read as a row.`;
  if (total.row - 1 <= read.headerRow) return [{ code: 'total-row', detail }];
  const { remedy, ...choices } = leaveOut('it', read, total.row - 1);
  return [{ code: 'total-row', detail: `${detail}${remedy}`, ...choices }];
}

function rowsBelow(
  outline: SheetOutline,
  table: FoundTable,
  others: FoundTable[],
  read: ReadPart,
): Warning[] {
  const { below } = rowsOutside(outline.rows, table, others);
  if (below.length === 0) return [];
  const { first } = below[0]!;
  const followBlankRow = isAfterBlankRow(outline.rows, first);
  const subject = inWords(below, true);
  const one = followBlankRow
    ? 'follows a blank row, is not like the rows of the table,'
    : 'is below the table, is not like its rows,';
  const several = followBlankRow
    ? 'follow a blank row, are not like the rows of the table,'
    : 'are below the table, are not like its rows,';
  const isFooter = firstAfterData(outline.rows, table) === first;
  const isOne = isOneRow(below);
  const { remedy, ...choices } = leaveOut(isOne ? 'it' : 'them', read, table.lastRow, isFooter);
  const detail = isOne
    ? `${subject} ${one} and was read as a row.${remedy}`
    : `${subject} ${several} and were read as rows.${remedy}`;
  return [{ code: 'rows-below', detail, ...choices }];
}

/** Returns the row that follows the first blank row below a data row, where footer=skip ends; undefined: there is no such row. */
function firstAfterData(rows: OutlineRow[], { headerRow }: FoundTable): number | undefined {
  const next = rows.find(({ row }, index) => {
    const above = rows[index - 1]?.until ?? row;
    return above > headerRow && above < row - 1;
  });
  return next?.row;
}

/** Warns of other tables in the sheet that were read as a part of this one. */
function otherTables(table: FoundTable, tables: FoundTable[]): Warning[] {
  const others = tables
    .filter(({ header }) => header.isClear && header.contrasts > 0)
    .filter((other) => other.headerRow > table.lastRow || other.firstColumn > table.lastColumn)
    .map(openRangeOf);
  if (others.length === 0) return [];
  const shown = others.length > maxNamed ? [...others.slice(0, maxNamed), 'and more'] : others;
  const were = others.length === 1 ? 'looks like another table; it was' : 'look like other tables; they were';
  const own = openRangeOf(table);
  return [
    {
      code: 'other-table',
      detail: `${shown.join(', ')} ${were} read together with the table in ${own}. To load only one table, send its range, as in range=${own}.`,
      choices: [own, ...others.slice(0, maxNamed)].map((range) => ({ parameters: { range } })),
    },
  ];
}

const maxNamed = 5;

/** Returns the range of the table. It has no last row if the outline does not know where the table ends. */
function openRangeOf(table: FoundTable): string {
  const last = table.rows.at(-1)!;
  const { range } = placeOf(table);
  return last.until > last.row ? range.replace(/\d+$/, '') : range;
}

/** Returns how to leave the part out, as text and as choices. @param isFooter true: `footer=skip` would leave the rows out, too */
function leaveOut(
  what: string,
  { headerRow, firstColumn, lastColumn }: ReadPart,
  lastRow: number,
  isFooter = false,
): { remedy: string; choices?: Choice[] } {
  const range = `${columnLetters(firstColumn)}${headerRow}:${columnLetters(lastColumn)}${lastRow}`;
  const choices: Choice[] = isFooter ? [{ parameters: { footer: 'skip' } }] : [];
  // A text file may have more rows than a range can name.
  if (lastRow <= maxSheetRow) choices.push({ parameters: { range } });
  if (choices.length === 0) return { remedy: '' };
  const ways = choices.map(({ parameters }) => Object.entries(parameters).map((pair) => pair.join('=')));
  return { remedy: ` To leave ${what} out, send ${ways.join(', or ')}.`, choices };
}
