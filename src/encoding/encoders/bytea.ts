import { BACKSLASH, hexValue, isWhiteSpace, LOWER_X } from '../../core/bytes/ascii.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import { NOT_BYTES, NUL_CHARACTER } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

/** Writes a bytea from either of its text forms (PostgreSQL 8.4): `\x` and pairs of hexadecimal digits, or the escape form. */
export function encodeBytea(
  out: CopyBuffer,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== STRING) return NOT_BYTES;
  out.ensure(4 + end - start);
  const fieldStart = out.position;
  out.position += 4;
  const isHex = end - start >= 2 && bytes[start] === BACKSLASH && bytes[start + 1] === LOWER_X;
  const problem = isHex ? appendHex(out, bytes, start + 2, end) : appendEscaped(out, bytes, start, end);
  if (problem !== 0) return problem;
  const fieldEnd = out.position;
  out.position = fieldStart;
  out.int32(fieldEnd - fieldStart - 4);
  out.position = fieldEnd;
  return 0;
}

/** Writes a bytea from its bytes. */
export function writeBytea(out: CopyBuffer, bytes: Buffer, start: number, end: number): number {
  out.ensure(4 + end - start);
  out.int32(end - start);
  bytes.copy(out.bytes, out.position, start, end);
  out.position += end - start;
  return 0;
}

/** Appends pairs of hexadecimal digits. White space between the pairs is allowed. */
function appendHex(out: CopyBuffer, bytes: Buffer, start: number, end: number): number {
  const target = out.bytes;
  let position = out.position;
  for (let at = start; at < end; ) {
    const byte = bytes[at]!;
    if (isWhiteSpace(byte)) {
      at++;
      continue;
    }
    if (at + 1 === end) return NOT_BYTES;
    const value = (hexValue[byte]! << 4) | hexValue[bytes[at + 1]!]!;
    if (value < 0) return NOT_BYTES;
    target[position++] = value;
    at += 2;
  }
  out.position = position;
  return 0;
}

/** Appends the escape form: `\\` is a backslash, `\ooo` is a byte in octal, and every other byte is itself. */
function appendEscaped(out: CopyBuffer, bytes: Buffer, start: number, end: number): number {
  const target = out.bytes;
  let position = out.position;
  for (let at = start; at < end; at++) {
    let byte = bytes[at]!;
    if (byte === 0) return NUL_CHARACTER;
    if (byte === BACKSLASH) {
      if (at + 1 < end && bytes[at + 1] === BACKSLASH) {
        at++;
      } else {
        if (end - at < 4) return NOT_BYTES;
        const high = bytes[at + 1]! - 0x30;
        const middle = bytes[at + 2]! - 0x30;
        const low = bytes[at + 3]! - 0x30;
        if (high < 0 || high > 3 || middle < 0 || middle > 7 || low < 0 || low > 7) return NOT_BYTES;
        byte = (high << 6) | (middle << 3) | low;
        at += 3;
      }
    }
    target[position++] = byte;
  }
  out.position = position;
  return 0;
}
