/**
 * Cuts the bytes of a large XML part into tokens, chunk borders anywhere: the sheets and the shared strings, which
 * a general parser would take ten times as long for. The small parts go through a real parser (small-part.ts).
 *
 * What the tokenizer cannot see whole yet it keeps, up to a limit. Namespace prefixes are dropped: these parts
 * hold one vocabulary. Document type declarations are refused: no entity of a stranger is ever expanded.
 */

import { AppError } from '../../../errors.ts';
import { limitExceeded } from '../../../limit-exceeded.ts';
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
} from '../../bytes/ascii.ts';
import { decodeLineEnds, decodeReferences, maxReferenceBytes } from './xml-text.ts';

/** What `next` found. */
export const NEED_MORE = 0;
export const TEXT = 1;
export const OPEN = 2;
export const CLOSE = 3;

/** Bytes kept zero behind the text, so that hot loops may run on without asking where it ends. */
const sentinelBytes = 16;

const maxTagBytes = 1024 * 1024;
const nearBytes = 128;

/** A text longer than this is given out in pieces, so that nothing but its reader bounds it. */
const partialTextBytes = 64 * 1024;
const maxAttributes = 64;
const cdataOpen = Buffer.from('<![CDATA[');
const cdataClose = ']]>';
const commentOpen = '<!--';

export class XmlTokens {
  /** The text at hand, from `position` to `end`; behind it a zero. */
  bytes: Buffer = Buffer.alloc(64 * 1024);
  position = 0;
  end = 0;

  /** The range of a `TEXT`, or of a piece of it. References and line ends are resolved. */
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

  /** Adds a chunk; it is copied, since `next` decodes in place. */
  feed(chunk: Buffer): void {
    const kept = this.end - this.position;
    // All else is given out, or dropped, in pieces.
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

  /** Moves on by one token; on `NEED_MORE` nothing has moved. Comments and processing instructions are left out. */
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

  /** Whether the local name of the tag is this one. */
  isNamed(name: Buffer): boolean {
    return equals(this.bytes, this.nameStart, this.nameEnd, name);
  }

  /** The attribute's place in `attributes`, its first match by local name; -1: none. */
  attribute(name: Buffer): number {
    for (let i = 0; i < this.attributeCount; i++) {
      if (equals(this.bytes, this.attributes[4 * i]!, this.attributes[4 * i + 1]!, name)) return 4 * i;
    }
    return -1;
  }

  /** Whether the tag says `xml:space="preserve"`; what its parent says otherwise (XML 1.0, 2.10). */
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
    if (this.textEnd < 0) this.fail('a reference (&…;) that XML does not know');
    this.position = stop;
    return TEXT;
  }

  /** The end of what is here of a long text, but for a line end or a reference that may go on. */
  #cutText(): number {
    const { bytes } = this;
    const stop = bytes[this.end - 1] === CR ? this.end - 1 : this.end;
    for (let at = stop - 1; at >= stop - maxReferenceBytes; at--) {
      if (bytes[at] === SEMICOLON) break;
      if (bytes[at] === AMPERSAND) return at;
    }
    return stop;
  }

  /** A call out of JavaScript costs more than most texts are long, and long ones much more without it. */
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
      this.fail('a declaration in the wrong place');
    }
    const stop = this.bytes.indexOf(cdataClose, start, 'latin1');
    if (stop < 0 || stop + cdataClose.length > this.end) return this.#partialCdata(start);
    this.textStart = start;
    this.textEnd = decodeLineEnds(this.bytes, start, stop);
    this.position = stop + cdataClose.length;
    return TEXT;
  }

  /** Gives out what is here of a long section, which then begins anew right behind it. */
  #partialCdata(start: number): number {
    const { bytes } = this;
    // What is kept may be the beginning of `]]>`, or of a line end of two bytes.
    const stop = this.end - cdataClose.length;
    if (stop - start < partialTextBytes) return NEED_MORE;
    bytes.copyWithin(this.position, start, stop);
    this.textStart = this.position;
    this.position = stop - cdataOpen.length;
    // A line end that may go on stays where it is: it is the byte before `stop`, which the move leaves alone.
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
      `Part ${this.#partName} holds a document type declaration, which a workbook never does. It is refused.`,
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
    // The end is not here yet: keep only the bytes that may be the beginning of it.
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
    if (bytes[p] !== GT || this.nameEnd === this.nameStart) this.fail('a closing tag that is broken');
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
    if (bytes[p] !== GT || this.nameEnd === this.nameStart) this.fail('a tag that is broken');
    if (this.#hasReferences) this.#resolveAttributes();
    this.position = p + 1;
    return OPEN;
  }

  /** @returns where the attributes end: at `>`, `/` or a byte that is out of place; `end` or more: not all here */
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
      if (end < 0) this.fail('a reference (&…;) that XML does not know');
      this.attributes[at + 1] = end;
    }
  }
}

/** As programs write it behind the name of a tag. */
export const preserveSpace = Buffer.from(' xml:space="preserve"');

/** Whether these bytes stand at `at`; there must be as many, of whatever kind. */
export function matches(bytes: Buffer, at: number, expected: Buffer): boolean {
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
  return true;
}

/** Whether bytes[start, end) are these. */
export function equals(bytes: Buffer, start: number, end: number, expected: Buffer): boolean {
  return end - start === expected.length && matches(bytes, start, expected);
}

const spaceName = Buffer.from('space');
const preserveValue = Buffer.from('preserve');

/** Any byte that does not end a name: the names that matter are compared to the letter. */
function isNameByte(byte: number): boolean {
  return byte > SPACE && byte !== GT && byte !== SLASH && byte !== EQUALS && byte !== QUOTE && byte !== LT;
}
