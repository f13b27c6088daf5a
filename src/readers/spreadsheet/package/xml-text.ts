/**
 * Decodes the text of XML parts: the encoding, entities, line ends, and the escapes that spreadsheets use in addition.
 *
 * All decoding is done in place. This is possible because a reference or an escape is never shorter than its character in
 * UTF-8.
 */

import { isUtf8 } from 'node:buffer';
import { TextDecoder } from '@exodus/bytes/encoding.js';
import {
  AMPERSAND,
  CR,
  HASH,
  hexValue,
  LF,
  LOWER_X,
  LT,
  SEMICOLON,
  UNDERSCORE,
} from '../../../core/bytes/ascii.ts';
import { codePointOfPair, endOfWholeCharacters, writeCodePoint } from '../../../core/bytes/utf8.ts';
import { AppError } from '../../../core/errors.ts';

/** The maximum length of a reference: `&#x10FFFF;` with some leading zeros. */
export const maxReferenceBytes = 32;

/** The length of an escape: `_xHHHH_`. */
const escapeBytes = 7;

/**
 * Returns the bytes of an XML part as UTF-8 without a byte order mark, whatever its encoding (XML 1.0, 4.3.3 and appendix F).
 * The chunks together are valid UTF-8. A character may be split between two chunks.
 *
 * @throws AppError `invalid-file` if the bytes do not match the encoding
 */
export async function* decodeXml(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  partName: string,
): AsyncGenerator<Buffer, void, undefined> {
  let head: Buffer = Buffer.alloc(0);
  let decode: ((chunk: Buffer, last: boolean) => Buffer) | undefined;
  for await (const chunk of chunks) {
    if (decode !== undefined) {
      yield decode(chunk, false);
      continue;
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    if (head.length < declarationBytes) continue;
    decode = decoderFor(head, partName);
    yield decode(head, false);
  }
  if (decode === undefined) yield decoderFor(head, partName)(head, true);
  else yield decode(Buffer.alloc(0), true);
}

/** How many bytes are searched for the encoding. A declaration that names an encoding is always shorter. */
const declarationBytes = 256;

function decoderFor(head: Buffer, partName: string): (chunk: Buffer, last: boolean) => Buffer {
  const label = encodingOf(head);
  if (label === 'utf-8') return utf8Decoder(head, partName);
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(label, { fatal: true });
  } catch (cause) {
    throw new AppError('invalid-file', `Part ${partName} is in an unknown encoding.`, { cause });
  }
  return (chunk, last) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: !last }), 'utf8');
    } catch (cause) {
      throw new AppError('invalid-file', `Part ${partName} is not valid ${label}.`, { cause });
    }
  };
}

/** Returns a decoder that checks whole chunks with one call of `isUtf8` and copies nothing. A check of each cell would take longer. */
function utf8Decoder(head: Buffer, partName: string): (chunk: Buffer, last: boolean) => Buffer {
  let bomBytes = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  let split: Buffer = Buffer.alloc(0);
  return (chunk, last) => {
    const bytes = chunk.subarray(bomBytes);
    bomBytes = 0;
    const joined = split.length === 0 ? bytes : Buffer.concat([split, bytes]);
    const whole = last ? joined.length : endOfWholeCharacters(joined, 0, joined.length);
    const text = joined.subarray(0, whole);
    if (!isUtf8(text)) throw new AppError('invalid-file', `Part ${partName} is not valid UTF-8.`);
    split = joined.subarray(whole);
    return text;
  };
}

function encodingOf(head: Buffer): string {
  const mark = head.length >= 2 ? head.readUInt16BE(0) : 0;
  if (mark === 0xfffe || mark === 0x3c00) return 'utf-16le';
  if (mark === 0xfeff || mark === 0x003c) return 'utf-16be';
  const start = head.toString('latin1', 0, declarationBytes);
  const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']/.exec(start)?.[1];
  const label = declared?.toLowerCase() ?? 'utf-8';
  // If a part declares UTF-16 but begins with `<?xml` in single bytes, the declaration is wrong. The bytes decide.
  return label === 'us-ascii' || label.startsWith('utf-16') || label === 'utf8' ? 'utf-8' : label;
}

/**
 * Replaces references and line ends (XML 1.0, 2.11 and 4.6) of `bytes` in place.
 *
 * @returns the new end of the text; -1 if XML does not define a reference
 */
export function decodeReferences(bytes: Buffer, start: number, end: number): number {
  let from = start;
  while (from < end && bytes[from] !== AMPERSAND && bytes[from] !== CR) from++;
  let to = from;
  while (from < end) {
    const byte = bytes[from]!;
    if (byte === CR) {
      bytes[to++] = LF;
      from += bytes[from + 1] === LF && from + 1 < end ? 2 : 1;
    } else if (byte === AMPERSAND) {
      const semicolon = bytes.subarray(from, Math.min(end, from + maxReferenceBytes)).indexOf(SEMICOLON);
      const point = semicolon < 0 ? -1 : codePointOf(bytes, from + 1, from + semicolon);
      if (point < 0) return -1;
      to = writeCodePoint(bytes, to, point);
      from += semicolon + 1;
    } else {
      bytes[to++] = byte;
      from++;
    }
  }
  return to;
}

/**
 * Replaces only line ends, in place. A CDATA section has no references.
 *
 * @returns the new end of the text
 */
export function decodeLineEnds(bytes: Buffer, start: number, end: number): number {
  let from = start;
  while (from < end && bytes[from] !== CR) from++;
  let to = from;
  while (from < end) {
    const byte = bytes[from++]!;
    if (byte === CR && from < end && bytes[from] === LF) from++;
    bytes[to++] = byte === CR ? LF : byte;
  }
  return to;
}

function codePointOf(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] === HASH) {
    const isHex = bytes[start + 1] === LOWER_X;
    const digits = bytes.toString('latin1', start + (isHex ? 2 : 1), end);
    if (!(isHex ? /^[0-9a-f]+$/i : /^[0-9]+$/).test(digits)) return -1;
    const point = Number.parseInt(digits, isHex ? 16 : 10);
    const isCharacter = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return isCharacter ? point : -1;
  }
  switch (bytes.toString('latin1', start, end)) {
    case 'amp':
      return AMPERSAND;
    case 'lt':
      return 0x3c;
    case 'gt':
      return 0x3e;
    case 'quot':
      return 0x22;
    case 'apos':
      return 0x27;
    default:
      return -1;
  }
}

/**
 * Finds the end of text that needs no decoding: it has no references, escapes or line ends to replace.
 *
 * @returns the position of the first `<`, reference, escape or line end; the text must be followed by a zero byte
 */
export function endOfPlainText(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at]!;
    if (byte === LT || byte === AMPERSAND || byte === CR || byte === 0) return at;
    if (byte === UNDERSCORE && bytes[at + 1] === LOWER_X) return at;
    at++;
  }
}

/**
 * Replaces `_x000D_` escapes in place (ST_Xstring, ECMA-376 part 1, 22.9.2.19). They stand for UTF-16 code units that XML
 * cannot contain. `_x005F_` is an escaped underscore before a text that only looks like an escape. Half a surrogate pair remains
 * as written.
 *
 * @returns the new end of the text
 */
export function decodeEscapes(bytes: Buffer, start: number, end: number): number {
  let from = start;
  while (from < end && (bytes[from] !== UNDERSCORE || bytes[from + 1] !== LOWER_X)) from++;
  let to = from;
  while (from < end) {
    const unit = bytes[from] === UNDERSCORE ? escapedUnit(bytes, from, end) : -1;
    if (unit < 0) {
      bytes[to++] = bytes[from++]!;
    } else if (unit < 0xd800 || unit > 0xdfff) {
      to = writeCodePoint(bytes, to, unit);
      from += escapeBytes;
    } else {
      const low = unit < 0xdc00 ? escapedUnit(bytes, from + escapeBytes, end) : -1;
      if (low >= 0xdc00 && low <= 0xdfff) {
        to = writeCodePoint(bytes, to, codePointOfPair(unit, low));
        from += 2 * escapeBytes;
      } else {
        bytes[to++] = bytes[from++]!;
      }
    }
  }
  return to;
}

function escapedUnit(bytes: Buffer, at: number, end: number): number {
  if (at + escapeBytes > end || bytes[at] !== UNDERSCORE) return -1;
  if (bytes[at + 1] !== LOWER_X || bytes[at + 6] !== UNDERSCORE) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexValue[bytes[i]!]!;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}
