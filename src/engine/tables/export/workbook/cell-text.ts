/** Writes texts into the XML of a sheet. */
import * as ascii from '../../../../core/bytes/ascii.ts';
import { simpleEscape } from '../../../../core/bytes/json-escape.ts';
import { limitExceeded } from '../../../../core/limit-exceeded.ts';
import type { Chunks } from '../chunks.ts';
import { maxCellLength } from './sheet-limits.ts';

/** The most bytes that one byte of a text becomes: `_x0001_`. */
const maxBytesOfByte = 7;
const verticalTab = 0x0b;
/** The first byte of U+FFFE and U+FFFF, which XML cannot have, as UTF-8. */
const lead = 0xef;

const ampersand = Buffer.from('&amp;');
const lessThan = Buffer.from('&lt;');
const greaterThan = Buffer.from('&gt;');
const hexDigits = Buffer.from('0123456789ABCDEF');

/** Whether a byte may need more than to be copied. */
const isSpecial = new Uint8Array(256);
for (let byte = 0; byte < ascii.SPACE; byte++) isSpecial[byte] = 1;
for (const byte of [ascii.AMPERSAND, ascii.LT, ascii.GT, ascii.BACKSLASH, ascii.UNDERSCORE, lead])
  isSpecial[byte] = 1;

/**
 * Appends a field of COPY's text format, whose escapes begin with a backslash, as XML. A character that XML cannot hold, and a text that looks like its
 * escape, are escaped as `_x0001_` (ST_Xstring, ECMA-376 part 1, 22.9.2.19).
 *
 * @throws AppError `limit-exceeded` if the text is too long for a cell
 */
export function appendField(out: Chunks, bytes: Buffer, start: number, end: number): void {
  if (end - start > maxCellLength) refuseLong(bytes, start, end);
  out.reserve((end - start) * maxBytesOfByte);
  const to = out.bytes;
  for (let at = start; at < end; at++) {
    let byte = bytes[at]!;
    if (isSpecial[byte] === 0) {
      to[out.length++] = byte;
      continue;
    }
    if (byte === ascii.BACKSLASH) {
      const letter = bytes[++at]!;
      byte = letter === ascii.LOWER_V ? verticalTab : simpleEscape(letter);
      if (byte === ascii.BACKSLASH) {
        to[out.length++] = ascii.BACKSLASH;
        continue;
      }
    }
    out.length = appendSpecial(out, byte, bytes, at, end);
    if (byte === lead && to[out.length - 1] === ascii.UNDERSCORE) at += 2;
  }
}

/** Writes a byte that may need more than to be copied. Returns the new length. */
function appendSpecial(
  { bytes: to, length }: Chunks,
  byte: number,
  bytes: Buffer,
  at: number,
  end: number,
): number {
  if (byte === ascii.AMPERSAND) return length + ampersand.copy(to, length);
  if (byte === ascii.LT) return length + lessThan.copy(to, length);
  if (byte === ascii.GT) return length + greaterThan.copy(to, length);
  if (byte === lead && bytes[at + 1] === 0xbf && bytes[at + 2]! >= 0xbe)
    return appendEscape(to, length, 0xff00 | (bytes[at + 2]! + 0x40));
  const isRaw = byte === ascii.TAB || byte === ascii.LF || byte >= ascii.SPACE;
  if (!isRaw || (byte === ascii.UNDERSCORE && looksEscaped(bytes, at, end)))
    return appendEscape(to, length, byte);
  to[length] = byte;
  return length + 1;
}

function appendEscape(to: Buffer, length: number, unit: number): number {
  to[length] = ascii.UNDERSCORE;
  to[length + 1] = ascii.LOWER_X;
  for (let digit = 0; digit < 4; digit++)
    to[length + 2 + digit] = hexDigits[(unit >> (12 - 4 * digit)) & 0xf]!;
  to[length + 6] = ascii.UNDERSCORE;
  return length + 7;
}

/** Returns whether an escape seems to begin at an underscore. */
function looksEscaped(bytes: Buffer, at: number, end: number): boolean {
  if (at + 6 >= end || (bytes[at + 1]! | 0x20) !== ascii.LOWER_X || bytes[at + 6] !== ascii.UNDERSCORE)
    return false;
  for (let digit = at + 2; digit < at + 6; digit++) if (!isHexDigit(bytes[digit]!)) return false;
  return true;
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return ascii.isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}

/** Refuses a text of too many UTF-16 code units. */
function refuseLong(bytes: Buffer, start: number, end: number): void {
  let units = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === ascii.BACKSLASH) at++;
    if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  if (units > maxCellLength)
    throw limitExceeded('A value is too long for a cell', maxCellLength, 'characters', 'Export CSV instead.');
}

/** Returns whether the text begins or ends with white space, which programs drop unless the cell says that it counts. */
export function hasOuterSpace(bytes: Buffer, start: number, end: number): boolean {
  return (
    end > start && (isSpace(bytes, start) || bytes[end - 1] === ascii.SPACE || isEscapedSpace(bytes, end))
  );
}

function isSpace(bytes: Buffer, at: number): boolean {
  return bytes[at] === ascii.SPACE || bytes[at] === ascii.BACKSLASH;
}

/** Returns whether the text may end with an escaped tab or line break. */
function isEscapedSpace(bytes: Buffer, end: number): boolean {
  return bytes[end - 2] === ascii.BACKSLASH;
}

/** Returns a text in the form of a field, for `appendField`. */
export function fieldOf(text: string): Buffer {
  const escapes: Record<string, string> = {
    '\\': '\\\\',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\b': '\\b',
    '\f': '\\f',
    '\v': '\\v',
  };
  return Buffer.from(text.replaceAll(/[\\\n\r\t\b\f\v]/g, (character) => escapes[character]!));
}
