/**
 * The shared strings of a workbook (ECMA-376 part 1, 18.4.8) as one arena of bytes: millions of them without a
 * JavaScript string each. The counts that the part states are not read at all.
 */

import { decodeEscapes, endOfPlainText } from '../package/xml-text.ts';
import { CLOSE, matches, NEED_MORE, OPEN, preserveSpace, TEXT, XmlTokens } from '../package/xml-tokens.ts';
import { limitExceeded, type SpreadsheetLimits } from '../spreadsheet-limits.ts';

const GT = 0x3e;

const firstSlabBytes = 16 * 1024;
const maxSlabBytes = 4 * 1024 * 1024;

/** Entries lie in pages, so that more of them never have to be copied: 2^16 of them. */
const pageShift = 16;
const pageEntries = 1 << pageShift;
const pageMask = pageEntries - 1;

const firstPageEntries = 256;

/** What one string costs beside its text: slab, start and length. */
const entryWords = 3;
const entryBytes = 4 * entryWords;

export class SharedStrings {
  /** The slab, and the range in it, of each string: grown by what is really there. */
  slabs: Buffer[] = [Buffer.allocUnsafeSlow(firstSlabBytes)];
  count = 0;

  /** Of the string that `find` found last. */
  bytes: Buffer = this.slabs[0]!;
  start = 0;
  end = 0;

  /** Slab, start and length of each string, one after the other; the first page is short. */
  #pages: Uint32Array<ArrayBuffer>[] = [new Uint32Array(entryWords * firstPageEntries)];

  #slab: Buffer = this.slabs[0]!;
  #used = 0;
  #totalBytes = 0;
  readonly #maxBytes: number;

  /** @param maxBytes of memory for all strings */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#totalBytes += length + entryBytes;
    if (this.#totalBytes > this.#maxBytes) {
      throw limitExceeded(
        'The shared strings of the workbook are too large',
        this.#maxBytes,
        'bytes (MAX_SHARED_STRING_BYTES)',
      );
    }
    if (this.#used + length > this.#slab.length) this.#addSlab(length);
    const page = this.#lastPage();
    const at = entryWords * (this.count & pageMask);
    copyBytes(bytes, start, end, this.#slab, this.#used);
    page[at] = this.slabs.length - 1;
    page[at + 1] = this.#used;
    page[at + 2] = length;
    this.count++;
    this.#used += length;
  }

  /** Sets `bytes`, `start` and `end` to the string of this index, which must be below `count`. */
  find(index: number): void {
    const page = this.#pages[index >>> pageShift]!;
    const at = entryWords * (index & pageMask);
    this.bytes = this.slabs[page[at]!]!;
    this.start = page[at + 1]!;
    this.end = this.start + page[at + 2]!;
  }

  #lastPage(): Uint32Array {
    if (this.count === firstPageEntries) {
      const whole = new Uint32Array(entryWords * pageEntries);
      whole.set(this.#pages[0]!);
      this.#pages[0] = whole;
    } else if ((this.count & pageMask) === 0 && this.count > 0) {
      this.#pages.push(new Uint32Array(entryWords * pageEntries));
    }
    return this.#pages.at(-1)!;
  }

  #addSlab(length: number): void {
    const size = Math.max(length, Math.min(2 * this.#slab.length, maxSlabBytes));
    this.#slab = Buffer.allocUnsafeSlow(size);
    this.slabs.push(this.#slab);
    this.#used = 0;
  }
}

/** A call out of JavaScript costs more than most strings are long. */
const nearBytes = 48;

function copyBytes(bytes: Buffer, start: number, end: number, target: Buffer, at: number): void {
  if (end - start > nearBytes) bytes.copy(target, at, start, end);
  else for (let from = start, to = at; from < end; ) target[to++] = bytes[from++]!;
}

const siName = Buffer.from('si');
const tName = Buffer.from('t');
const phoneticName = Buffer.from('rPh');

/** Around most strings, as the fast way compares it. */
const stringStart = Buffer.from('<si><t');
const stringEnd = Buffer.from('</t></si>');

/**
 * Reads the part of the shared strings, chunk by chunk. A rich string is the text of its runs; phonetic hints
 * (`rPh`, how a Japanese text is pronounced) are not part of it.
 */
export class SharedStringsReader {
  readonly strings: SharedStrings;
  readonly #xml: XmlTokens;
  readonly #text: TextCollector;
  readonly #maxCellBytes: number;
  #depth = 0;
  /** The depth at which a `si` or `rPh` is open; 0: none. */
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
   * Reads `<si><t>text</t></si>` at once. The zeros behind the text end its loop; a match of the last byte says that all
   * of it is here.
   *
   * @returns false, with nothing moved, where it is not all here or not of this form
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
    if (!isPreserving && end > start && (isSpace(bytes[start]!) || isSpace(bytes[end - 1]!))) return false;
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

/** Joins the pieces of one text: runs, and what comments or CDATA sections have torn apart. */
export class TextCollector {
  bytes: Buffer = Buffer.alloc(1024);
  length = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  clear(): void {
    this.length = 0;
  }

  append(bytes: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.#maxBytes)
      throw limitExceeded('The text of a cell is too long', this.#maxBytes, 'bytes (MAX_CELL_BYTES)');
    if (length > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.bytes.length));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    bytes.copy(this.bytes, this.length, start, end);
    this.length = length;
  }

  /**
   * Ends a `t` that began at `mark`. Excel drops white space around a text that does not say
   * `xml:space="preserve"`, so programs that mean it say so.
   */
  endRun(mark: number, isPreserving: boolean): void {
    if (!isPreserving) this.#trim(mark);
    this.length = decodeEscapes(this.bytes, mark, this.length);
  }

  #trim(mark: number): void {
    let end = this.length;
    while (end > mark && isSpace(this.bytes[end - 1]!)) end--;
    let start = mark;
    while (start < end && isSpace(this.bytes[start]!)) start++;
    this.bytes.copyWithin(mark, start, end);
    this.length = mark + end - start;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
