/** Reads the sheets and styles of an OpenDocument spreadsheet. */

import { WorkbookNames } from '../names/workbook-names.ts';
import { CLOSE, NEED_MORE, OPEN, TEXT, XmlTokens } from '../package/xml-tokens.ts';
import { maxSheets, refuseRepeatedNames, tooManySheets } from '../sheet-names.ts';
import { maxCountedRows, type SheetSummary } from '../spreadsheet-options.ts';
import { takeName } from './ods-names.ts';
import { attributeText, type OdsStylesReader } from './ods-styles.ts';

const spreadsheetName = Buffer.from('spreadsheet');
const tableName = Buffer.from('table');
const nameName = Buffer.from('name');
const styleName = Buffer.from('style-name');
const nullDateName = Buffer.from('null-date');
const rowName = Buffer.from('table-row');
const repeatedName = Buffer.from('number-rows-repeated');
const cellName = Buffer.from('table-cell');
const coveredName = Buffer.from('covered-table-cell');
const columnsRepeatedName = Buffer.from('number-columns-repeated');
const valueTypeName = Buffer.from('value-type');
const namedExpressionsName = Buffer.from('named-expressions');
const databaseRangesName = Buffer.from('database-ranges');
const dateValueName = Buffer.from('date-value');

interface OutlinedSheet {
  name: string;
  style: string;
  /** The number of rows with a value, counted up to `maxRows`. */
  rows: number;
  /** The columns that have a value in these rows. */
  columns: Set<number>;
}

/** The number of rows that are counted: the header and the rows below it. */
const maxRows = 1 + maxCountedRows;

/** The maximum number of columns that a sheet has in LibreOffice. */
const maxColumns = 16_384;

/** How many columns of one repeated cell are counted at most, because a cell of 60 bytes may be repeated over all columns. */
const maxCountedRepetitions = 1024;

export class OdsOutline {
  /** Dates that are stored as numbers count from 1904-01-01. */
  is1904 = false;
  readonly names = new WorkbookNames();

  readonly #xml: XmlTokens;
  readonly #styles: OdsStylesReader;
  readonly #sheets: OutlinedSheet[] = [];
  /** Whether the current row has a value. */
  #hasValue = false;
  /** How many times the current row is repeated. */
  #repeated = 1;
  /** The number of columns before the next cell of the current row. */
  #column = 0;
  #depth = 0;
  #isInSpreadsheet = false;
  /** The depth of the open list of names; 0: none is open. */
  #namesDepth = 0;
  #sawRoot = false;

  constructor(partName: string, styles: OdsStylesReader) {
    this.#xml = new XmlTokens(partName);
    this.#styles = styles;
  }

  push(chunk: Buffer): void {
    const xml = this.#xml;
    xml.feed(chunk);
    for (;;) {
      switch (xml.next()) {
        case NEED_MORE:
          return;
        case OPEN:
          this.#depth++;
          this.#open();
          if (xml.isSelfClosing) this.#close();
          break;
        case CLOSE:
          if (this.#depth === 0) xml.fail('a closing tag without an opening one');
          if (!this.#isInSpreadsheet) this.#styles.close(xml);
          this.#close();
          break;
        case TEXT:
          if (!this.#isInSpreadsheet) this.#styles.text(xml.bytes, xml.textStart, xml.textEnd);
      }
    }
  }

  /**
   * Ends the part and returns its sheets.
   *
   * @throws AppError `invalid-file` if the part is incomplete
   */
  finish(): SheetSummary[] {
    if (this.#depth !== 0 || !this.#sawRoot) this.#xml.fail('it ends too early');
    refuseRepeatedNames(this.#sheets);
    return this.#sheets.map(({ name, style, rows, columns }) => ({
      name,
      visibility: this.#styles.hiddenTables.has(style) ? 'hidden' : 'visible',
      hasCells: true,
      size: { rows: Math.max(0, rows - 1), columns: columns.size, isWhole: rows < maxRows },
    }));
  }

  #open(): void {
    const xml = this.#xml;
    this.#sawRoot = true;
    if (!this.#isInSpreadsheet) {
      this.#styles.open(xml);
      this.#isInSpreadsheet = this.#depth === 3 && xml.isNamed(spreadsheetName);
    } else if (this.#depth === 4 && xml.isNamed(tableName)) {
      if (this.#sheets.length === maxSheets) throw tooManySheets();
      this.#sheets.push({
        name: attributeText(xml, nameName),
        style: attributeText(xml, styleName),
        rows: 0,
        columns: new Set(),
      });
    } else if (xml.isNamed(nullDateName)) {
      this.is1904 = attributeText(xml, dateValueName) === '1904-01-01';
    } else if (this.#namesDepth !== 0) {
      // A list of names inside a table has the names of one sheet.
      const localTo = this.#namesDepth === 4 ? undefined : this.#sheets.at(-1)?.name;
      if (this.#depth === this.#namesDepth + 1) takeName(xml, localTo, this.names);
    } else if (this.#depth <= 5 && (xml.isNamed(namedExpressionsName) || xml.isNamed(databaseRangesName))) {
      this.#namesDepth = this.#depth;
    } else if (this.#depth > 4) {
      const sheet = this.#sheets.at(-1);
      // Elements before the first table are settings of the document, so there may be no sheet yet.
      if (sheet !== undefined && sheet.rows < maxRows) this.#countRow(sheet);
    }
  }

  /** Counts the current row, as often as it is repeated, and the columns of its cells. */
  #countRow(sheet: OutlinedSheet): void {
    const xml = this.#xml;
    if (xml.isNamed(rowName)) {
      this.#hasValue = false;
      this.#column = 0;
      this.#repeated = repetitions(xml, repeatedName, maxRows);
    } else if (xml.isNamed(cellName)) {
      const end = Math.min(maxColumns, this.#column + repetitions(xml, columnsRepeatedName, maxColumns));
      if (xml.attribute(valueTypeName) >= 0) {
        if (!this.#hasValue) sheet.rows = Math.min(maxRows, sheet.rows + this.#repeated);
        this.#hasValue = true;
        const countedEnd = Math.min(end, this.#column + maxCountedRepetitions);
        for (let column = this.#column; column < countedEnd; column++) sheet.columns.add(column);
      }
      this.#column = end;
    } else if (xml.isNamed(coveredName)) {
      this.#column += repetitions(xml, columnsRepeatedName, maxColumns);
    }
  }

  #close(): void {
    if (this.#depth === this.#namesDepth) this.#namesDepth = 0;
    if (this.#depth-- === 3) this.#isInSpreadsheet = false;
  }
}

/** Returns how many times a row or a cell is repeated, at most `most`. */
function repetitions(xml: XmlTokens, name: Buffer, most: number): number {
  const count = xml.attribute(name) < 0 ? 1 : Number(attributeText(xml, name));
  return Math.min(count > 0 ? count : 1, most);
}
