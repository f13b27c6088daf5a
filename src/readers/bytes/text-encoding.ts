/** Finds the encoding of a plain text file and converts its bytes to UTF-8. */

import { isAscii } from 'node:buffer';
// The decoder of the runtime reads Big5, Shift_JIS, EUC-JP and EUC-KR differently from the Encoding Standard.
import { TextDecoder } from '@exodus/bytes/encoding.js';
import { codePointOfPair, endOfWholeCharacters, writeCodePoint } from '../../core/bytes/utf8.ts';
import { AppError } from '../../core/errors.ts';
import { Utf8Checker } from './utf8-checker.ts';

/** The names of encodings that messages list. A caller may send every label of the WHATWG Encoding Standard, which also defines what the bytes mean. */
export const usualEncodings = (
  'utf-8 utf-16le utf-16be windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 ' +
  'windows-1257 windows-1258 iso-8859-2 iso-8859-5 iso-8859-7 iso-8859-15 koi8-r koi8-u ibm866 macintosh shift_jis ' +
  'euc-jp gb18030 big5 euc-kr'
).split(' ');

/** The name of an encoding in the WHATWG Encoding Standard, in small letters. */
export type TextEncoding = string;

/** Names of Windows and Python for encodings of the standard. */
const otherLabels: Record<string, TextEncoding> = {
  'utf-8-sig': 'utf-8',
  'latin-1': 'windows-1252',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
};

/**
 * Returns the encoding that a label means, in any case: `latin1` is `windows-1252`.
 *
 * @returns undefined if there is no such label
 */
export function encodingOf(label: string): TextEncoding | undefined {
  const lower = label.trim().toLowerCase();
  try {
    return new TextDecoder(otherLabels[lower] ?? lower).encoding;
  } catch {
    return undefined;
  }
}

/** The facts that the first bytes of a file show. */
export interface TextStart {
  /** undefined: the file may be UTF-8 or Windows-1252, which only all of its bytes show. */
  encoding: TextEncoding | undefined;
  /** The length of the byte order mark. */
  markBytes: number;
}

export function readTextStart(head: Buffer): TextStart {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: 'utf-8', markBytes: 3 };
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', markBytes: 2 };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', markBytes: 2 };
  return { encoding: findUnmarkedUtf16(head), markBytes: 0 };
}

/**
 * Recognizes UTF-16 without a byte order mark. In it, the upper byte of delimiters, digits and line ends is NUL, always on the same
 * side. No unit may be a character that texts do not have. At least three in four units must be below U+2000, as the letters of all
 * alphabets are, so that a text in another encoding with a single NUL is not taken for UTF-16.
 */
function findUnmarkedUtf16(head: Buffer): TextEncoding | undefined {
  const end = head.length & ~1;
  let evenNuls = 0;
  let oddNuls = 0;
  for (let at = 0; at < end; at += 2) {
    if (head[at] === 0) evenNuls++;
    if (head[at + 1] === 0) oddNuls++;
  }
  if (evenNuls > 0 === oddNuls > 0) return undefined;
  const isLittleEndian = oddNuls > 0;
  let alphabetic = 0;
  for (let at = 0; at < end; at += 2) {
    const unit = isLittleEndian ? head.readUInt16LE(at) : head.readUInt16BE(at);
    if (unit >= 0xfffe || (unit < 0x20 && (unit < 0x09 || unit > 0x0d))) return undefined;
    if (unit < 0x2000) alphabetic++;
  }
  if (alphabetic * 8 < end * 3) return undefined;
  return isLittleEndian ? 'utf-16le' : 'utf-16be';
}

export interface Utf8Fault {
  /** The position of the first byte that is not UTF-8 (RFC 3629), or the end of a text that ends within a character. */
  position: number;
  /**
   * true: characters of several bytes come before the position, so the text is UTF-8 with a wrong byte. false: all characters
   * before it are ASCII, so the text may have another encoding.
   */
  followsUtf8: boolean;
}

/** Returns the first place that is not UTF-8; undefined: the whole text is UTF-8. */
export async function findNonUtf8(chunks: AsyncIterable<Buffer>): Promise<Utf8Fault | undefined> {
  const checker = new Utf8Checker();
  let position = 0;
  let followsUtf8 = false;
  /** The beginning of a character that the end of the last chunk cut. */
  let cut = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const at = checker.check(chunk, 0);
    const sound = at < 0 ? chunk : chunk.subarray(0, at);
    const bytes = cut.length === 0 ? sound : Buffer.concat([cut, sound]);
    const end = endOfWholeCharacters(bytes, 0, bytes.length);
    followsUtf8 ||= !isAscii(bytes.subarray(0, end));
    cut = Buffer.from(bytes.subarray(end));
    if (at >= 0) return { position: position + at, followsUtf8 };
    position += chunk.length;
  }
  // A character that the end of the text has cut is invalid, too. A line feed after the text shows it.
  return checker.check(Buffer.of(0x0a), 0) < 0 ? undefined : { position, followsUtf8 };
}

/** Converts chunks to UTF-8. Chunks may be cut anywhere. */
export interface ChunkDecoder {
  /** The position of the first byte for which the encoding has no character, although it is decoded; undefined or -1: there is none. */
  readonly unassignedAt?: number;
  /** The returned bytes are valid until the next call. @throws AppError `invalid-file` */
  decode(chunk: Buffer): Buffer;
  /**
   * Checks that the text is complete.
   *
   * @throws AppError `invalid-file` if the text ends within a character
   */
  finish(): void;
}

/**
 * Returns the decoder of an encoding. UTF-8 is passed on unchanged, because `findNonUtf8` has checked it.
 *
 * @param position the position of the first byte, for messages
 */
export function textDecoder(encoding: TextEncoding, position: number): ChunkDecoder {
  if (encoding === 'utf-8') return { decode: (chunk) => chunk, finish: () => {} };
  if (encoding === 'windows-1252') return new Windows1252Decoder(position);
  if (encoding === 'utf-16le' || encoding === 'utf-16be')
    return new Utf16Decoder(encoding === 'utf-16le', position);
  return new StandardDecoder(encoding, position);
}

/** Decodes all encodings of the Encoding Standard. */
class StandardDecoder implements ChunkDecoder {
  readonly #encoding: string;
  readonly #decoder: InstanceType<typeof TextDecoder>;
  /** The position of the next chunk. */
  #position: number;

  constructor(encoding: string, position: number) {
    this.#encoding = encoding;
    this.#decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    this.#position = position;
  }

  decode(chunk: Buffer): Buffer {
    const text = this.#decode(chunk, true);
    this.#position += chunk.length;
    return Buffer.from(text);
  }

  finish(): void {
    this.#decode(Buffer.alloc(0), false);
  }

  #decode(chunk: Buffer, stream: boolean): string {
    try {
      return this.#decoder.decode(chunk, { stream });
    } catch (error) {
      throw new AppError(
        'invalid-file',
        `The file is not in the encoding ${this.#encoding}: bytes after byte ${this.#position} are not characters of it. Send its encoding, or save the file as UTF-8.`,
        { cause: error },
      );
    }
  }
}

/** The characters of the bytes 80 to 9F in the WHATWG Encoding Standard. The five unassigned bytes are C1 controls. */
const upperHalf =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

const windows1252 = Uint16Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 && byte < 0xa0 ? upperHalf.charCodeAt(byte - 0x80) : byte,
);

/**
 * The size of the blocks that are decoded. It is small, so that a few quotation marks or euro signs send only a little text
 * through the slow loop.
 */
const blockBytes = 4096;

/**
 * Decodes Windows-1252. Except for the bytes 80 to 9F it is ISO 8859-1, which the runtime converts ten times as fast as a loop. Only a
 * block with one of these bytes goes through the loop.
 */
class Windows1252Decoder implements ChunkDecoder {
  unassignedAt = -1;
  #out = Buffer.alloc(0);
  /** The position of the next chunk. */
  #position: number;

  constructor(position: number) {
    this.#position = position;
  }

  decode(chunk: Buffer): Buffer {
    if (this.#out.length < chunk.length * 3) this.#out = Buffer.allocUnsafe(chunk.length * 3);
    const out = this.#out;
    let to = 0;
    for (let at = 0; at < chunk.length; at += blockBytes) {
      const block = chunk.subarray(at, at + blockBytes);
      const written = out.write(block.toString('latin1'), to, 'utf8');
      if (!holdsControls(out.subarray(to, to + written))) {
        to += written;
        continue;
      }
      to = writeMapped(out, to, block);
      if (this.unassignedAt < 0) {
        const unassigned = block.findIndex(isUnassigned);
        if (unassigned >= 0) this.unassignedAt = this.#position + at + unassigned;
      }
    }
    this.#position += chunk.length;
    return out.subarray(0, to);
  }

  finish(): void {}
}

/** Returns whether UTF-8 text has U+0080 to U+009F, which are `C2 80` to `C2 9F`. */
function holdsControls(text: Buffer): boolean {
  let at = text.indexOf(0xc2);
  while (at >= 0 && text[at + 1]! >= 0xa0) at = text.indexOf(0xc2, at + 2);
  return at >= 0;
}

/** Returns whether Windows-1252 has no character for the byte. */
function isUnassigned(byte: number): boolean {
  return byte >= 0x80 && byte < 0xa0 && windows1252[byte] === byte;
}

function writeMapped(out: Buffer, from: number, block: Buffer): number {
  const end = block.length;
  let to = from;
  for (let at = 0; at < end; at++) {
    const byte = block[at]!;
    if (byte < 0x80) out[to++] = byte;
    else to = writeCodePoint(out, to, windows1252[byte]!);
  }
  return to;
}

class Utf16Decoder implements ChunkDecoder {
  readonly #isLittleEndian: boolean;
  #out = Buffer.alloc(0);
  /** The position of the next chunk. */
  #position: number;
  /** The first byte of a unit that the end of a chunk cut; -1: none. */
  #cutByte = -1;
  /** The first half of a pair; 0: none. */
  #highSurrogate = 0;

  constructor(isLittleEndian: boolean, position: number) {
    this.#isLittleEndian = isLittleEndian;
    this.#position = position;
  }

  decode(chunk: Buffer): Buffer {
    // A unit takes at most three bytes, and the chunk before may have left one more unit.
    if (this.#out.length < chunk.length * 2 + 4) this.#out = Buffer.allocUnsafe(chunk.length * 2 + 4);
    const out = this.#out;
    const isLittleEndian = this.#isLittleEndian;
    const end = chunk.length;
    let to = 0;
    let at = 0;
    if (this.#cutByte >= 0 && end > 0) {
      const first = this.#cutByte;
      const second = chunk[at++]!;
      to = this.#write(to, isLittleEndian ? first | (second << 8) : (first << 8) | second, at);
      this.#cutByte = -1;
    }
    for (; at + 1 < end; at += 2) {
      const first = chunk[at]!;
      const second = chunk[at + 1]!;
      const unit = isLittleEndian ? first | (second << 8) : (first << 8) | second;
      if (unit < 0x80 && this.#highSurrogate === 0) out[to++] = unit;
      else to = this.#write(to, unit, at + 2);
    }
    if (at < end) this.#cutByte = chunk[at]!;
    this.#position += end;
    return out.subarray(0, to);
  }

  finish(): void {
    if (this.#cutByte >= 0 || this.#highSurrogate !== 0) throw notUtf16(this.#position);
  }

  /**
   * Writes a code unit of UTF-16 as UTF-8.
   *
   * @param end the end of the unit in the chunk
   */
  #write(to: number, unit: number, end: number): number {
    const isLow = unit >= 0xdc00 && unit <= 0xdfff;
    const high = this.#highSurrogate;
    if (isLow !== (high !== 0)) throw notUtf16(this.#position + end - 2);
    if (isLow) {
      this.#highSurrogate = 0;
      return writeCodePoint(this.#out, to, codePointOfPair(high, unit));
    }
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.#highSurrogate = unit;
      return to;
    }
    return writeCodePoint(this.#out, to, unit);
  }
}

function notUtf16(position: number): AppError {
  return new AppError(
    'invalid-file',
    `The file is in UTF-16 up to byte ${position}, and the bytes there are not a character of it.`,
  );
}
