import type { TextEncoding } from '../bytes/text-encoding.ts';

export interface SpreadsheetOptions {
  /**
   * A sheet's name, or its number from 1 if no sheet has that name. `auto`: the sheet with the largest table, unless a sheet has this name.
   * Default: the first visible worksheet.
   */
  sheet?: string;
  /**
   * The 1-based row of the sheet with the header. `auto`: the row that looks most like a header; its table is read and nothing else. Default: the first row of
   * the range that has a value.
   */
  headerRow?: number | 'auto';
  /** The number of rows of the header, whose texts are joined. Default: 1. */
  headerRows?: number;
  /** The cells to read: `B3:F200`, `B:F` or `B3:F`. Default: the whole sheet. */
  range?: string;
  /** The name of a table or of a range of cells, or the range itself with its sheet: `Orders`, `'Sales Data'!B4:F20`. Not with `range`. */
  tableRange?: string;
  /** false: the first row has values, and columns are named by their letters. Default: true. */
  hasHeader?: boolean;
  /** How a text file is read. Undefined fields are detected. Refused for workbooks. */
  text?: TextDialect;
  /** true: white space around texts is removed. In a text file white space may then also stand before an opening quote. Default: false. */
  trim?: boolean;
  columnNames: 'exact' | 'snake_case';
  /** The password of an encrypted workbook. It has no effect on other files. */
  password?: string;
  /** true: all sheets will be read. A format that reads the whole file at once then keeps them, as far as memory allows. */
  allSheets?: boolean;
  /** true: the outlines of the sheets are recorded while they are read, so that tables can be proposed. */
  isOutlined?: boolean;
  /** Whether error cells and formulas without a value are problems or NULL. */
  cellErrors: 'problem' | 'null';
  /** What to do with hidden rows and columns. Default: `read`. */
  hidden?: 'read' | 'skip';
  /** What to do with the rows after the first empty row below the data. Default: `read`. */
  footer?: 'read' | 'skip';
  /** The columns whose empty cells take the value above them. Default: none. */
  fillDown?: readonly string[];
}

export interface TextDialect {
  /** An ASCII byte. */
  delimiter?: number;
  /** An ASCII byte; 0: there are no quotes. */
  quote?: number;
  /** `strict`: wrong quotes are problems. Default: they are repaired if possible. */
  quotes?: 'strict';
  /** The ASCII byte that makes the next quote or escape within quotes a normal character; 0: there is none. */
  escape?: number;
  encoding?: TextEncoding;
  /** A line that begins with this ASCII byte is left out. */
  comment?: number;
  /** `text`: fields in quotes are always strings, as in JSON. */
  quoted?: 'text' | 'exact';
}

export interface SheetSummary {
  name: string;
  visibility: 'visible' | 'hidden' | 'veryHidden';
  /** A chart or dialog sheet has no cells. */
  hasCells: boolean;
  /** The size of its table. Undefined: not known without reading the sheet. */
  size?: TableSize;
}

export interface TableSize {
  /** The number of rows below the header. */
  rows: number;
  columns: number;
  /** false: the sheet may be larger, because only its beginning was counted. */
  isWhole: boolean;
}

/** The maximum number of rows below the header that are counted in a sheet that is not read for another reason. */
export const maxCountedRows = 1000;

/** Another sheet that has rows below a header. */
export interface OtherSheet {
  name: string;
  size: TableSize;
}
