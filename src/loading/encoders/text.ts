/**
 * text, varchar, bpchar and name. Numbers and booleans go in as they are written, objects and arrays as their JSON text.
 *
 * The server pads bpchar and cuts off the spaces that varchar(n) has no room for. `name` is stricter than the
 * server: it cuts a longer text to 63 bytes in silence, here that is a problem.
 */
import { FALSE, TRUE } from '../../sources/cell-kind.ts';
import { NUL_CHARACTER, TOO_LONG } from '../cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

const TRUE_TEXT = Buffer.from('true');
const FALSE_TEXT = Buffer.from('false');
const MOST_NAME_BYTES = 63;
const SPACE = 0x20;

/** Writes a text. @param maxLength in characters, -1: no limit */
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
  if (kind !== TRUE && kind !== FALSE && end - start > MOST_NAME_BYTES) return TOO_LONG;
  return encodeText(out, -1, kind, bytes, start, end);
}

function encodeBytes(out: CopyBuffer, maxLength: number, bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (maxLength >= 0 && length > maxLength && isTooLong(maxLength, bytes, start, end)) return TOO_LONG;
  out.ensure(length + 5);
  out.int32(length);
  return out.appendText(bytes, start, end) ? NUL_CHARACTER : 0;
}

/** Characters are code points; what is over the limit may be spaces (`varchar_input`). */
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
