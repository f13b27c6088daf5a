/**
 * Cuts the bytes of a large XML part into tokens. Chunks may end anywhere. It is used for the sheets and the shared strings,
 * because a general parser would take ten times as long. The small parts are read by a general parser (small-part.ts).
 *
 * An incomplete token is kept until the next chunk, up to a limit. Namespace prefixes are ignored, because these parts have one
 * vocabulary. Document type declarations are refused, so no entity of a file is ever expanded.
 */

import {
  AMPERSAND,
  APOSTROPHE,
  BANG,
  COLON,
  CR,
  EQUALS,
  GT,
  isWhiteSpace,
  LT,
  QUESTION,
  QUOTE,
  SEMICOLON,
  SLASH,
  SPACE,
} from '../../../core/bytes/ascii.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { decodeLineEnds, decodeReferences, maxReferenceBytes } from './xml-text.ts';

/** The results of `next`. */
export const NEED_MORE = 0;
export const TEXT = 1;
export const OPEN = 2;
export const CLOSE = 3;

/** How many zero bytes follow the text, so that hot loops need not check for its end. */
const sentinelBytes = 16;

const maxTagBytes = 1024 * 1024;
const nearBytes = 128;

/** The length from which on a text is returned in pieces. So only its reader limits its length. */
const partialTextBytes = 64 * 1024;
const maxAttributes = 64;
const cdataOpen = Buffer.from('<![CDATA[');
const cdataClose = ']]>';
const commentOpen = '<!--';

export class XmlTokens {
  /** The current text is between `position` and `end`. A zero byte follows it. */
  bytes: Buffer = Buffer.alloc(64 * 1024);
  position = 0;
  end = 0;

  /** The range of a `TEXT` token, or of a piece of one. References and line ends are already replaced. */
  textStart = 0;
  textEnd = 0;

  /** The range of the local name of an `OPEN` or `CLOSE`. */
  nameStart = 0;
  nameEnd = 0;
  isSelfClosing = false;

  /** Four numbers for each attribute of an `OPEN`: where its local name and its value start and end. */
  readonly attributes = new Int32Array(4 * maxAttributes);
  attributeCount = 0;

  readonly #partName: string;
  #hasReferences = false;

  constructor(partName: string) {
    this.#partName = partName;
  }

  /** Adds a chunk. The chunk is copied because `next` decodes in place. */
  feed(chunk: Buffer): void {
    const kept = this.end - this.position;
    // Only an unfinished tag can keep so many bytes. Long texts and comments are passed on or dropped in pieces.
    if (kept > maxTagBytes) {
      throw limitExceeded(`A tag is too long (part ${this.#partName})`, maxTagBytes, 'bytes');
    }
    const needed = kept + chunk.length + sentinelBytes;
    const old = this.bytes;
    if (needed > old.length) this.bytes = Buffer.alloc(Math.max(needed, 2 * old.length));
    old.copy(this.bytes, 0, this.position, this.end);
    chunk.copy(this.bytes, kept);
    this.position = 0;
    this.end = kept + chunk.length;
    this.bytes.fill(0, this.end, this.end + sentinelBytes);
  }

  /**
   * Reads the next token. If it returns `NEED_MORE`, the position is unchanged, except that comments and processing
   * instructions may have been skipped.
   */
  next(): number {
    const { bytes } = this;
    while (this.position < this.end) {
      if (bytes[this.position] !== LT) return this.#text();
      const second = bytes[this.position + 1];
      if (second === SLASH) return this.#closeTag();
      if (second !== BANG && second !== QUESTION) return this.#openTag();
      if (second === BANG && bytes[this.position + 2] === 0x5b) return this.#cdata();
      if (!this.#skipComment(second)) return NEED_MORE;
    }
    return NEED_MORE;
  }

  /** Returns whether the local name of the tag is `name`. */
  isNamed(name: Buffer): boolean {
    return equals(this.bytes, this.nameStart, this.nameEnd, name);
  }

  /** Returns the index in `attributes` of the first attribute with this local name, or -1. */
  attribute(name: Buffer): number {
    for (let i = 0; i < this.attributeCount; i++) {
      if (equals(this.bytes, this.attributes[4 * i]!, this.attributes[4 * i + 1]!, name)) return 4 * i;
    }
    return -1;
  }

  /**
   * Returns whether the element has `xml:space="preserve"`. Without the attribute it returns the parent's value (XML 1.0,
   * 2.10).
   */
  preservesSpace(inherited: boolean): boolean {
    if (this.attributeCount === 0) return inherited;
    const at = this.attribute(spaceName);
    if (at < 0) return inherited;
    return equals(this.bytes, this.attributes[at + 2]!, this.attributes[at + 3]!, preserveValue);
  }

  fail(what: string): never {
    throw new AppError('invalid-file', `Part ${this.#partName} is not valid: ${what}.`);
  }

  #text(): number {
    let stop = this.#find(LT, this.position);
    if (stop < 0) {
      if (this.end - this.position < partialTextBytes) return NEED_MORE;
      stop = this.#cutText();
    }
    this.textStart = this.position;
    this.textEnd = decodeReferences(this.bytes, this.position, stop);
    if (this.textEnd < 0) this.fail('an unknown reference (&…;)');
    this.position = stop;
    return TEXT;
  }

  /** Returns where a long text can be cut. A line end or a character reference at the end stays, because the next chunk may complete it. */
  #cutText(): number {
    const { bytes } = this;
    const stop = bytes[this.end - 1] === CR ? this.end - 1 : this.end;
    for (let at = stop - 1; at >= stop - maxReferenceBytes; at--) {
      if (bytes[at] === SEMICOLON) break;
      if (bytes[at] === AMPERSAND) return at;
    }
    return stop;
  }

  /**
   * Finds a byte. The nearest bytes are searched in JavaScript, because most texts are shorter than the cost of a call of
   * `indexOf`. Beyond them `indexOf` is much faster.
   */
  #find(byte: number, from: number): number {
    const { bytes, end } = this;
    const near = Math.min(end, from + nearBytes);
    for (let at = from; at < near; at++) if (bytes[at] === byte) return at;
    if (near === end) return -1;
    const found = bytes.indexOf(byte, near);
    return found < end ? found : -1;
  }

  #cdata(): number {
    if (this.end - this.position < cdataOpen.length) return NEED_MORE;
    const start = this.position + cdataOpen.length;
    if (this.bytes.compare(cdataOpen, 0, cdataOpen.length, this.position, start) !== 0) {
      this.fail('a declaration in an unexpected place');
    }
    const stop = this.bytes.indexOf(cdataClose, start, 'latin1');
    if (stop < 0 || stop + cdataClose.length > this.end) return this.#partialCdata(start);
    this.textStart = start;
    this.textEnd = decodeLineEnds(this.bytes, start, stop);
    this.position = stop + cdataClose.length;
    return TEXT;
  }

  /** Returns the present part of a long CDATA section as a token. Writes a new section start before the rest, so that the rest is read as a section too. */
  #partialCdata(start: number): number {
    const { bytes } = this;
    // The last bytes may be an incomplete `]]>` or line end.
    const stop = this.end - cdataClose.length;
    if (stop - start < partialTextBytes) return NEED_MORE;
    bytes.copyWithin(this.position, start, stop);
    this.textStart = this.position;
    this.position = stop - cdataOpen.length;
    // A CR at the end stays in place, because LF may follow. It is the byte before `stop`, which `copyWithin` does not change.
    if (bytes[this.position - 1] === CR) this.position--;
    this.textEnd = decodeLineEnds(bytes, this.textStart, this.position);
    cdataOpen.copy(bytes, this.position);
    return TEXT;
  }

  #skipComment(second: number): boolean {
    const { bytes, position, end } = this;
    if (second === QUESTION) return this.#skipPast('<?', '?>');
    if (end - position < 4) return false;
    if (bytes[position + 2] === 0x2d && bytes[position + 3] === 0x2d) {
      return this.#skipPast(commentOpen, '-->');
    }
    throw new AppError(
      'invalid-file',
      `Part ${this.#partName} holds a document type declaration. A workbook never has one, so the file is refused.`,
    );
  }

  #skipPast(opening: string, closing: string): boolean {
    const { bytes, end } = this;
    const from = this.position + opening.length;
    const stop = bytes.indexOf(closing, from, 'latin1');
    if (stop >= 0 && stop + closing.length <= end) {
      this.position = stop + closing.length;
      return true;
    }
    // The end is not in the text yet. Keep only the bytes that may be its beginning.
    const kept = end - (closing.length - 1);
    if (kept > from) {
      this.position = kept - opening.length;
      bytes.write(opening, this.position, 'latin1');
    }
    return false;
  }

  #closeTag(): number {
    const { bytes, end } = this;
    let p = this.position + 2;
    this.nameStart = p;
    while (isNameByte(bytes[p]!)) {
      if (bytes[p] === COLON) this.nameStart = p + 1;
      p++;
    }
    this.nameEnd = p;
    while (isWhiteSpace(bytes[p]!)) p++;
    if (p >= end) return NEED_MORE;
    if (bytes[p] !== GT || this.nameEnd === this.nameStart) this.fail('a broken closing tag');
    this.position = p + 1;
    return CLOSE;
  }

  #openTag(): number {
    const { bytes, end } = this;
    let p = this.position + 1;
    this.nameStart = p;
    while (isNameByte(bytes[p]!)) {
      if (bytes[p] === COLON) this.nameStart = p + 1;
      p++;
    }
    this.nameEnd = p;
    this.attributeCount = 0;
    this.#hasReferences = false;
    p = this.#attributesFrom(p);
    if (p >= end) return NEED_MORE;
    this.isSelfClosing = bytes[p] === SLASH;
    if (this.isSelfClosing) p++;
    if (p >= end) return NEED_MORE;
    if (bytes[p] !== GT || this.nameEnd === this.nameStart) this.fail('a broken tag');
    if (this.#hasReferences) this.#resolveAttributes();
    this.position = p + 1;
    return OPEN;
  }

  /**
   * Reads the attributes of a tag.
   *
   * @returns the position after the attributes: at `>`, `/` or an unexpected byte; `end` or more if the tag is incomplete
   */
  #attributesFrom(from: number): number {
    const { bytes, end, attributes } = this;
    let p = from;
    for (;;) {
      while (isWhiteSpace(bytes[p]!)) p++;
      if (!isNameByte(bytes[p]!)) return p;
      let name = p;
      while (isNameByte(bytes[p]!)) {
        if (bytes[p] === COLON) name = p + 1;
        p++;
      }
      const nameEnd = p;
      while (isWhiteSpace(bytes[p]!)) p++;
      if (p >= end) return p;
      if (bytes[p] !== EQUALS) this.fail('an attribute without a value');
      p++;
      while (isWhiteSpace(bytes[p]!)) p++;
      if (p >= end) return p;
      const quote = bytes[p]!;
      if (quote !== QUOTE && quote !== APOSTROPHE) this.fail('an attribute without quotes');
      const value = p + 1;
      p = this.#find(quote, value);
      if (p < 0) return end;
      if (this.attributeCount === maxAttributes)
        this.fail(`a tag with more than ${maxAttributes} attributes`);
      const at = 4 * this.attributeCount++;
      attributes[at] = name;
      attributes[at + 1] = nameEnd;
      attributes[at + 2] = value;
      attributes[at + 3] = p;
      for (let i = value; i < p; i++) if (bytes[i] === AMPERSAND) this.#hasReferences = true;
      p++;
    }
  }

  #resolveAttributes(): void {
    for (let at = 2; at < 4 * this.attributeCount; at += 4) {
      const end = decodeReferences(this.bytes, this.attributes[at]!, this.attributes[at + 1]!);
      if (end < 0) this.fail('an unknown reference (&…;)');
      this.attributes[at + 1] = end;
    }
  }
}

/** The attribute exactly as programs write it, including the space before it. */
export const preserveSpace = Buffer.from(' xml:space="preserve"');

/** Returns whether the bytes at `at` are `expected`. At least as many bytes must exist there. */
export function matches(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
  return true;
}

/** Returns whether bytes[start, end) equal `expected`. */
export function equals(bytes: Buffer, start: number, end: number, expected: Buffer): boolean {
  return end - start === expected.length && matches(bytes, start, expected);
}

const spaceName = Buffer.from('space');
const preserveValue = Buffer.from('preserve');

/**
 * Returns whether the byte can be part of a name. Only names that are compared exactly matter, so all other bytes are allowed.
 */
function isNameByte(byte: number): boolean {
  return byte > SPACE && byte !== GT && byte !== SLASH && byte !== EQUALS && byte !== QUOTE && byte !== LT;
}
