import { STRING } from '../../sources/cell-kind.ts';
import { NOT_A_UUID } from '../cell-problems.ts';
import { hexValue } from './characters.ts';
import type { CopyBuffer } from './copy-buffer.ts';

const HYPHEN = 0x2d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Writes a uuid. Any case, in braces or not, a hyphen or none after every four digits (8.12). */
export function encodeUuid(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind !== STRING || end - start < 32) return NOT_A_UUID;
  let at = start;
  let stop = end;
  if (bytes[at] === OPENING_BRACE) {
    if (bytes[stop - 1] !== CLOSING_BRACE) return NOT_A_UUID;
    at++;
    stop--;
  }
  out.ensure(20);
  out.int32(16);
  const target = out.bytes;
  const position = out.position;
  for (let byte = 0; byte < 16; byte++) {
    if (stop - at < 2) return NOT_A_UUID;
    const value = (hexValue[bytes[at]!]! << 4) | hexValue[bytes[at + 1]!]!;
    if (value < 0) return NOT_A_UUID;
    target[position + byte] = value;
    at += 2;
    if ((byte & 1) === 1 && byte < 15 && bytes[at] === HYPHEN) at++;
  }
  if (at !== stop) return NOT_A_UUID;
  out.position = position + 16;
  return 0;
}
