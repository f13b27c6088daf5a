/**
 * Encodes text, varchar, bpchar, name and "char". Numbers and booleans are stored as they are written, objects and arrays as their JSON
 * text.
 *
 * The server pads bpchar and removes spaces for which varchar(n) has no room. Two types are stricter here than in the server. The server
 * cuts a text that is too long for `name` to 63 bytes without a warning, and keeps only the first byte of a text for `"char"`. Here
 * both are problems.
 */
import { BACKSLASH, SPACE, ZERO } from '../../core/bytes/ascii.ts';
import { FALSE, TRUE } from '../../core/cells/cell-kind.ts';
import { maxIdentifierBytes } from '../../core/identifiers.ts';
import { NUL_CHARACTER, TOO_LONG } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

const TRUE_TEXT = Buffer.from('true');
const FALSE_TEXT = Buffer.from('false');

/**
 * Writes a text, number or boolean (`true`, `false`) as text. Spaces beyond `maxLength` are allowed.
 *
 * @param maxLength the maximum number of characters; -1: no limit
 */
export function encodeText(
  out: CopyBuffer,
  maxLength: number,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind === TRUE) return encodeBytes(out, maxLength, TRUE_TEXT, 0, TRUE_TEXT.length);
  if (kind === FALSE) return encodeBytes(out, maxLength, FALSE_TEXT, 0, FALSE_TEXT.length);
  return encodeBytes(out, maxLength, bytes, start, end);
}

export function encodeName(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind !== TRUE && kind !== FALSE && end - start > maxIdentifierBytes) return TOO_LONG;
  return encodeText(out, -1, kind, bytes, start, end);
}

/** Writes one ASCII character, the byte 0 for an empty text, or `\ooo`, as PostgreSQL writes all other bytes since version 16 (PostgreSQL 8.3). */
export function encodeByteCharacter(
  out: CopyBuffer,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind === TRUE || kind === FALSE) return TOO_LONG;
  const length = end - start;
  let value = length === 0 ? 0 : bytes[start]!;
  if (length > 1) {
    value = length === 4 && value === BACKSLASH ? readOctal(bytes, start + 1) : -1;
    if (value < 0) return TOO_LONG;
  } else if (length === 1 && value === 0) {
    return NUL_CHARACTER;
  }
  out.ensure(5);
  out.int32(1);
  out.int8(value);
  return 0;
}

/** Reads a byte of three octal digits, `377`; -1: there is none. */
function readOctal(bytes: Buffer, at: number): number {
  const high = bytes[at]! - ZERO;
  const middle = bytes[at + 1]! - ZERO;
  const low = bytes[at + 2]! - ZERO;
  const isOctal = high >= 0 && high <= 3 && middle >= 0 && middle <= 7 && low >= 0 && low <= 7;
  return isOctal ? high * 64 + middle * 8 + low : -1;
}

function encodeBytes(out: CopyBuffer, maxLength: number, bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (maxLength >= 0 && length > maxLength && isTooLong(maxLength, bytes, start, end)) return TOO_LONG;
  out.ensure(length + 5);
  out.int32(length);
  return out.appendText(bytes, start, end) ? NUL_CHARACTER : 0;
}

/** Returns whether the text has too many characters. Characters are code points, and spaces beyond the limit are allowed (`varchar_input`). */
function isTooLong(maxLength: number, bytes: Buffer, start: number, end: number): boolean {
  let characters = 0;
  let at = start;
  for (; at < end; at++) {
    if ((bytes[at]! & 0xc0) === 0x80) continue;
    if (characters === maxLength) break;
    characters++;
  }
  for (; at < end; at++) if (bytes[at] !== SPACE) return true;
  return false;
}
