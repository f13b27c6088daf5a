import { isSpace, ZERO } from '../../core/bytes/ascii.ts';
import { FALSE, NUMBER, STRING, TRUE } from '../../core/cells/cell-kind.ts';
import { NOT_A_BOOLEAN } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

/** Writes a bool. Text and numbers may be anything that `boolin` accepts (PostgreSQL 8.6): a prefix of true, false, yes, no, on or off, and 1 or 0. */
export function encodeBool(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  let value: number;
  if (kind === TRUE) value = 1;
  else if (kind === FALSE) value = 0;
  else if (kind === STRING || kind === NUMBER) value = booleanOf(bytes, start, end);
  else return NOT_A_BOOLEAN;
  if (value === NEITHER) return NOT_A_BOOLEAN;
  out.ensure(5);
  out.int32(1);
  out.int8(value);
  return 0;
}

const NEITHER = 2;

function booleanOf(bytes: Buffer, start: number, end: number): number {
  while (start < end && isSpace(bytes[start]!)) start++;
  while (end > start && isSpace(bytes[end - 1]!)) end--;
  const length = end - start;
  if (length === 0) return NEITHER;
  switch (bytes[start]! | 0x20) {
    case 0x74:
      return begins('true', bytes, start, length) ? 1 : NEITHER;
    case 0x66:
      return begins('false', bytes, start, length) ? 0 : NEITHER;
    case 0x79:
      return begins('yes', bytes, start, length) ? 1 : NEITHER;
    case 0x6e:
      return begins('no', bytes, start, length) ? 0 : NEITHER;
    case 0x6f:
      // A single `o` is refused, because it could mean on or off.
      if (length < 2) return NEITHER;
      if (begins('on', bytes, start, length)) return 1;
      return begins('off', bytes, start, length) ? 0 : NEITHER;
    case 0x31:
      return length === 1 && bytes[start] === 0x31 ? 1 : NEITHER;
    case ZERO:
      return length === 1 && bytes[start] === ZERO ? 0 : NEITHER;
    default:
      return NEITHER;
  }
}

function begins(word: string, bytes: Buffer, start: number, length: number): boolean {
  if (length > word.length) return false;
  for (let at = 0; at < length; at++) if ((bytes[start + at]! | 0x20) !== word.charCodeAt(at)) return false;
  return true;
}
