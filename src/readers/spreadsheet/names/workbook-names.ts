/**
 * The names that a workbook gives to its cells: Excel tables (ListObjects), defined names, and the named and database ranges of
 * OpenDocument. A format that has names gives all of them in one list. What they refer to is checked only when a name is used.
 */

import { cutText } from '../../../core/cut-text.ts';
import { maxSheetColumn } from '../cell-address.ts';

export interface WorkbookName {
  name: string;
  kind: 'table' | 'name';
  /** The only sheet in which the name is valid; undefined: it is valid in the whole workbook. */
  localTo?: string;
  /** What the name refers to, in the notation of Excel: `'Sales Data'!$B$4:$F$20`, `0.19`, `#REF!`; empty: a formula. */
  refersTo: string;
  /** undefined: the name is not a table. */
  table?: TableParts;
}

/** The parts of a table's cells, as the file states them. */
export interface TableParts {
  /** The number of rows with column names. It is 0 or 1 in files of Excel. */
  headerRows: number;
  /** The number of rows with totals below the data. */
  totalsRows: number;
  /** The names of the columns, as the table lists them. Empty if it has no header row. */
  header: string[];
}

/** Adds the name of a column to a table that has a header row. A table has at most as many columns as a sheet. */
export function addColumn({ headerRows, header }: TableParts, name: string): void {
  if (headerRows > 0 && header.length < maxSheetColumn) header.push(name);
}

/** The maximum number of names. Further names are left out, and `isComplete` is false. Real workbooks have up to 60,000 of them, most of them copied from other workbooks by accident. */
const maxNames = 100_000;

/**
 * The maximum number of characters of all names together, with what they refer to and the column names of tables. Names beyond it are
 * left out.
 */
const maxCharacters = 8_000_000;

/** The maximum length of the text of a range. The longest such text has about 100 characters. A longer text is a formula. */
export const maxReferenceLength = 300;

export class WorkbookNames {
  readonly list: WorkbookName[] = [];
  /** false: the workbook has more names than are read. */
  isComplete = true;
  #characters = 0;

  add(name: WorkbookName): void {
    const { table } = name;
    const refersTo = cutText(name.refersTo, maxReferenceLength);
    const header = table === undefined ? 0 : table.header.reduce((sum, text) => sum + text.length, 0);
    this.#characters += name.name.length + refersTo.length + header;
    if (this.list.length === maxNames || this.#characters > maxCharacters) this.isComplete = false;
    else this.list.push({ ...name, refersTo });
  }
}

/** The prefix with which Excel stores the names that it defines itself, such as `_xlnm.Print_Area`. */
const builtInPrefix = '_xlnm.';

/** Returns the name as Excel shows it. */
export function shownName(name: string): string {
  return name.startsWith(builtInPrefix) ? name.slice(builtInPrefix.length) : name;
}

/** Returns whether Excel uses the name internally and never shows it. */
export function isInternalName(name: string): boolean {
  return shownName(name).startsWith('_FilterDatabase');
}
