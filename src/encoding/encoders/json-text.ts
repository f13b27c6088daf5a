/** Steps over values of JSON text that is known to be valid (RFC 8259), and unescapes its strings. */
import * as ascii from '../../core/bytes/ascii.ts';
import { simpleEscape } from '../../core/bytes/json-escape.ts';
import { codePointOfPair, writeCodePoint } from '../../core/bytes/utf8.ts';
import type { CopyBuffer } from './copy-buffer.ts';

/** Returns the position after the closing quote of the string whose opening quote is at `start`. */
export function stringEnd(bytes: Buffer, start: number, end: number): number {
  let at = start + 1;
  while (at < end && bytes[at] !== ascii.QUOTE) at += bytes[at] === ascii.BACKSLASH ? 2 : 1;
  return Math.min(at + 1, end);
}

/** Returns the end of the number or word that begins at `start`. */
export function scalarEnd(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const byte = bytes[at]!;
    if (
      byte === ascii.COMMA ||
      byte === ascii.CLOSING_BRACKET ||
      byte === ascii.CLOSING_BRACE ||
      ascii.isWhiteSpace(byte)
    )
      break;
    at++;
  }
  return at;
}

/** Returns the end of the object or array that begins at `start`. */
export function nestedEnd(bytes: Buffer, start: number, end: number): number {
  let depth = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at]!;
    if (byte === ascii.QUOTE) {
      at = stringEnd(bytes, at, end);
      continue;
    }
    at++;
    if (byte === ascii.OPENING_BRACKET || byte === ascii.OPENING_BRACE) depth++;
    else if ((byte === ascii.CLOSING_BRACKET || byte === ascii.CLOSING_BRACE) && --depth === 0) return at;
  }
  return end;
}

/** Appends the string between the quotes, bytes[start, end), as UTF-8. */
export function appendUnescaped(out: CopyBuffer, bytes: Buffer, start: number, end: number): void {
  out.ensure(end - start); // an escape is never shorter than its character
  const target = out.bytes;
  let position = out.position;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte !== ascii.BACKSLASH) {
      target[position++] = byte;
      continue;
    }
    const letter = bytes[++at]!;
    if (letter !== 0x75) {
      target[position++] = simpleEscape(letter);
      continue;
    }
    let code = codeUnit(bytes, at + 1);
    at += 4;
    if ((code & 0xfc00) === 0xd800 && at + 6 < end && bytes[at + 1] === ascii.BACKSLASH) {
      code = codePointOfPair(code, codeUnit(bytes, at + 3));
      at += 6;
    }
    position = writeCodePoint(target, position, code);
  }
  out.position = position;
}

/** Returns the number of the four hexadecimal digits at `at`. */
export function codeUnit(bytes: Buffer, at: number): number {
  return (
    (ascii.hexValue[bytes[at]!]! << 12) |
    (ascii.hexValue[bytes[at + 1]!]! << 8) |
    (ascii.hexValue[bytes[at + 2]!]! << 4) |
    ascii.hexValue[bytes[at + 3]!]!
  );
}
