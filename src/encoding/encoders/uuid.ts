import { CLOSING_BRACE, hexValue, MINUS, OPENING_BRACE } from '../../core/bytes/ascii.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import { NOT_A_UUID } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

/** The positions of the digits of the sixteen bytes in the common form, 8-4-4-4-12. */
const commonPlaces = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);

/** Writes a uuid. It may be in any case and in braces, and a hyphen may follow each group of four digits (PostgreSQL 8.12). */
export function encodeUuid(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind !== STRING || end - start < 32) return NOT_A_UUID;
  out.ensure(20);
  out.int32(16);
  const isRead = isCommonForm(bytes, start, end)
    ? readCommon(out, hexValue, bytes, start)
    : readAnyForm(out, bytes, start, end);
  if (!isRead) return NOT_A_UUID;
  out.position += 16;
  return 0;
}

/** Writes a uuid if its text is the one that PostgreSQL would return. Otherwise returns false and writes nothing. */
export function encodePlainUuid(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  if (!isCommonForm(bytes, start, end)) return false;
  out.ensure(20);
  out.int32(16);
  if (!readCommon(out, smallHexValue, bytes, start)) {
    out.position -= 4;
    return false;
  }
  out.position += 16;
  return true;
}

/** Like `hexValue`, without capitals. */
const smallHexValue = Int8Array.from(hexValue, (value, byte) => (value > 9 && byte < 0x61 ? -1 : value));

function isCommonForm(bytes: Buffer, start: number, end: number): boolean {
  return (
    end - start === 36 &&
    bytes[start + 8] === MINUS &&
    bytes[start + 13] === MINUS &&
    bytes[start + 18] === MINUS &&
    bytes[start + 23] === MINUS
  );
}

function readCommon(out: CopyBuffer, values: Int8Array, bytes: Buffer, start: number): boolean {
  const target = out.bytes;
  const position = out.position;
  let all = 0; // negative if one of the bytes is not a digit
  for (let byte = 0; byte < 16; byte++) {
    const at = start + commonPlaces[byte]!;
    const value = (values[bytes[at]!]! << 4) | values[bytes[at + 1]!]!;
    all |= value;
    target[position + byte] = value;
  }
  return all >= 0;
}

function readAnyForm(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  let stop = end;
  if (bytes[at] === OPENING_BRACE) {
    if (bytes[stop - 1] !== CLOSING_BRACE) return false;
    at++;
    stop--;
  }
  for (let byte = 0; byte < 16; byte++) {
    if (stop - at < 2) return false;
    const value = (hexValue[bytes[at]!]! << 4) | hexValue[bytes[at + 1]!]!;
    if (value < 0) return false;
    out.bytes[out.position + byte] = value;
    at += 2;
    if ((byte & 1) === 1 && byte < 15 && bytes[at] === MINUS) at++;
  }
  return at === stop;
}
