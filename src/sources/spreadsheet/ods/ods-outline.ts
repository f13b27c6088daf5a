/** Reads the sheets and styles of an OpenDocument spreadsheet. */

import { WorkbookNames } from '../names/workbook-names.ts';
import { CLOSE, NEED_MORE, OPEN, TEXT, XmlTokens } from '../package/xml-tokens.ts';
import { maxSheets } from '../sheet-names.ts';
import type { SheetSummary } from '../spreadsheet-options.ts';
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
const valueTypeName = Buffer.from('value-type');
const namedExpressionsName = Buffer.from('named-expressions');
const databaseRangesName = Buffer.from('database-ranges');
const dateValueName = Buffer.from('date-value');

export class OdsOutline {
  /** Dates that are stored as numbers count from 1904-01-01. */
  is1904 = false;
  readonly names = new WorkbookNames();

  readonly #xml: XmlTokens;
  readonly #styles: OdsStylesReader;
  /** `rows` counts the rows that have a value, up to 2: a header and one row below it. */
  readonly #sheets: { name: string; style: string; rows: number }[] = [];
  /** The current row has a value. */
  #hasValue = false;
  #isRepeated = false;
  #depth = 0;
  #isInSpreadsheet = false;
  /** The depth of a list of names; 0: none is open. */
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
    return this.#sheets.map(({ name, style, rows }) => ({
      name,
      visibility: this.#styles.hiddenTables.has(style) ? 'hidden' : 'visible',
      hasCells: true,
      hasRows: rows === 2,
    }));
  }

  #open(): void {
    const xml = this.#xml;
    this.#sawRoot = true;
    if (!this.#isInSpreadsheet) {
      this.#styles.open(xml);
      this.#isInSpreadsheet = this.#depth === 3 && xml.isNamed(spreadsheetName);
    } else if (this.#depth === 4 && xml.isNamed(tableName)) {
      if (this.#sheets.length === maxSheets) xml.fail(`more than ${maxSheets} sheets`);
      this.#sheets.push({
        name: attributeText(xml, nameName),
        style: attributeText(xml, styleName),
        rows: 0,
      });
    } else if (xml.isNamed(nullDateName)) {
      this.is1904 = attributeText(xml, dateValueName) === '1904-01-01';
    } else if (this.#namesDepth !== 0) {
      // The names of one sheet are in its table.
      const localTo = this.#namesDepth === 4 ? undefined : this.#sheets.at(-1)?.name;
      if (this.#depth === this.#namesDepth + 1) takeName(xml, localTo, this.names);
    } else if (this.#depth <= 5 && (xml.isNamed(namedExpressionsName) || xml.isNamed(databaseRangesName))) {
      this.#namesDepth = this.#depth;
    } else if (this.#depth > 4) {
      const sheet = this.#sheets.at(-1);
      // Elements before the first table are settings of the document.
      if (sheet !== undefined && sheet.rows < 2) this.#countRow(sheet);
    }
  }

  /** Counts the current row. A row that is repeated counts as two. */
  #countRow(sheet: { rows: number }): void {
    const xml = this.#xml;
    if (xml.isNamed(rowName)) {
      this.#hasValue = false;
      this.#isRepeated = Number(attributeText(xml, repeatedName)) > 1;
    } else if (!this.#hasValue && xml.isNamed(cellName) && xml.attribute(valueTypeName) >= 0) {
      this.#hasValue = true;
      sheet.rows = Math.min(2, sheet.rows + (this.#isRepeated ? 2 : 1));
    }
  }

  #close(): void {
    if (this.#depth === this.#namesDepth) this.#namesDepth = 0;
    if (this.#depth-- === 3) this.#isInSpreadsheet = false;
  }
}
