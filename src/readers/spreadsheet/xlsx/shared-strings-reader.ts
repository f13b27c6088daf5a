/** Reads the shared strings of an .xlsx workbook (ECMA-376 part 1, 18.4.8). */

import { GT, isWhiteSpace } from '../../../core/bytes/ascii.ts';
import { TextCollector } from '../package/text-collector.ts';
import { endOfPlainText } from '../package/xml-text.ts';
import { CLOSE, matches, NEED_MORE, OPEN, preserveSpace, TEXT, XmlTokens } from '../package/xml-tokens.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { SharedStrings } from '../values/shared-strings.ts';

const siName = Buffer.from('si');
const tName = Buffer.from('t');
const phoneticName = Buffer.from('rPh');

/** What most strings begin and end with. `#fastString` reads only such strings. */
const stringStart = Buffer.from('<si><t');
const stringEnd = Buffer.from('</t></si>');

/**
 * Reads the part of the shared strings in chunks. The text of a rich string is the text of its runs. Phonetic hints (`rPh`, how
 * a Japanese text is pronounced) are left out.
 */
export class SharedStringsReader {
  readonly strings: SharedStrings;
  readonly #xml: XmlTokens;
  readonly #text: TextCollector;
  readonly #maxCellBytes: number;
  #depth = 0;
  /** The depth of the open `si` or `rPh` element; 0: none is open. */
  #stringDepth = 0;
  #phoneticDepth = 0;
  #textDepth = 0;
  #textMark = 0;
  #isPreserving = false;
  #stringPreserves = false;
  #rootPreserves = false;
  #sawRoot = false;

  constructor(partName: string, limits: SpreadsheetLimits) {
    this.strings = new SharedStrings(limits.maxSharedStringBytes);
    this.#xml = new XmlTokens(partName);
    this.#text = new TextCollector(limits.maxCellBytes);
    this.#maxCellBytes = limits.maxCellBytes;
  }

  push(chunk: Buffer): void {
    const xml = this.#xml;
    xml.feed(chunk);
    for (;;) {
      if (this.#depth === 1 && this.#fastString()) continue;
      switch (xml.next()) {
        case NEED_MORE:
          return;
        case OPEN:
          this.#open();
          break;
        case CLOSE:
          this.#close();
          break;
        case TEXT:
          if (this.#textDepth !== 0) this.#text.append(xml.bytes, xml.textStart, xml.textEnd);
      }
    }
  }

  finish(): SharedStrings {
    if (this.#depth !== 0 || !this.#sawRoot) this.#xml.fail('it ends too early');
    return this.strings;
  }

  /**
   * Reads a string of the form `<si><t>text</t></si>` in one step. The loop ends at the zero bytes after the text. If the last
   * byte matches, the string is complete.
   *
   * @returns false, with an unchanged position, if the string is incomplete or has another form
   */
  #fastString(): boolean {
    const { bytes, position } = this.#xml;
    if (!matches(bytes, position, stringStart)) return false;
    let start = position + stringStart.length;
    const isPreserving = bytes[start] !== GT;
    if (isPreserving) {
      if (!matches(bytes, start, preserveSpace)) return false;
      start += preserveSpace.length;
      if (bytes[start] !== GT) return false;
    }
    start++;
    const end = endOfPlainText(bytes, start);
    if (!matches(bytes, end, stringEnd) || end - start > this.#maxCellBytes) return false;
    if (!isPreserving && end > start && (isWhiteSpace(bytes[start]!) || isWhiteSpace(bytes[end - 1]!)))
      return false;
    this.#xml.position = end + stringEnd.length;
    this.strings.add(bytes, start, end);
    return true;
  }

  #open(): void {
    const xml = this.#xml;
    const depth = ++this.#depth;
    if (depth === 1) {
      this.#sawRoot = true;
      this.#rootPreserves = xml.preservesSpace(false);
    } else if (depth === 2 && xml.isNamed(siName)) {
      this.#stringDepth = depth;
      this.#stringPreserves = xml.preservesSpace(this.#rootPreserves);
      this.#text.clear();
    } else if (this.#stringDepth !== 0 && this.#phoneticDepth === 0 && this.#textDepth === 0) {
      if (xml.isNamed(phoneticName)) {
        this.#phoneticDepth = depth;
      } else if (xml.isNamed(tName)) {
        this.#textDepth = depth;
        this.#textMark = this.#text.length;
        this.#isPreserving = xml.preservesSpace(this.#stringPreserves);
      }
    }
    if (xml.isSelfClosing) this.#closed();
  }

  #close(): void {
    if (this.#depth === 0) this.#xml.fail('a closing tag without an opening one');
    this.#closed();
  }

  #closed(): void {
    const depth = this.#depth--;
    if (depth === this.#textDepth) {
      this.#textDepth = 0;
      this.#text.endRun(this.#textMark, this.#isPreserving);
    } else if (depth === this.#phoneticDepth) {
      this.#phoneticDepth = 0;
    } else if (depth === this.#stringDepth) {
      this.#stringDepth = 0;
      this.strings.add(this.#text.bytes, 0, this.#text.length);
    }
  }
}
