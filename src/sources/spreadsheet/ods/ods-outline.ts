/** What stands in the parts of an OpenDocument spreadsheet beside cells: its sheets and its styles. */

import type { SheetSummary } from '../spreadsheet-options.ts';
import { CLOSE, NEED_MORE, OPEN, TEXT, XmlTokens } from '../xlsx/xml-tokens.ts';
import { attributeText, type OdsStylesReader } from './ods-styles.ts';

const spreadsheetName = Buffer.from('spreadsheet');
const tableName = Buffer.from('table');
const nameName = Buffer.from('name');
const styleName = Buffer.from('style-name');
const nullDateName = Buffer.from('null-date');
const dateValueName = Buffer.from('date-value');

/** More than any workbook of a person has. */
const maxSheets = 10_000;

export class OdsOutline {
  /** Numbers that are dates count from 1904-01-01. */
  is1904 = false;

  readonly #xml: XmlTokens;
  readonly #styles: OdsStylesReader;
  readonly #sheets: { name: string; style: string }[] = [];
  #depth = 0;
  #isInSpreadsheet = false;
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

  /** @throws AppError `invalid-file` where the part ends before its end */
  finish(): SheetSummary[] {
    if (this.#depth !== 0 || !this.#sawRoot) this.#xml.fail('it ends too early');
    return this.#sheets.map(({ name, style }) => ({
      name,
      visibility: this.#styles.hiddenTables.has(style) ? 'hidden' : 'visible',
      hasCells: true,
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
      this.#sheets.push({ name: attributeText(xml, nameName), style: attributeText(xml, styleName) });
    } else if (xml.isNamed(nullDateName)) {
      this.is1904 = attributeText(xml, dateValueName) === '1904-01-01';
    }
  }

  #close(): void {
    if (this.#depth-- === 3) this.#isInSpreadsheet = false;
  }
}
