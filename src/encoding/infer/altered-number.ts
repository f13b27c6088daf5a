/** Finds texts that a number type would take and not return as they are written: `007`, `+49301234`, `1e5`, `0x1F`. */

import { isDigit, isSpace, MINUS, PLUS } from '../../core/bytes/ascii.ts';

const altered =
  /^\s*(?:[-+]?0[\d_]*\d(?:\.\d*)?|\+\d[\d_]*(?:\.\d*)?|[-+]?\d+(?:\.\d*)?e[-+]?\d+|[-+]?0[xob][\da-f]+)\s*$/i;
/** Longer texts are no codes. */
const maxBytes = 64;

/** Returns whether a number type would change the text, so that the column must not be offered as numbers. */
export function isAlteredNumber(bytes: Buffer, start: number, end: number): boolean {
  let first = start;
  while (first < end && isSpace(bytes[first]!)) first++;
  const byte = bytes[first];
  if (first === end || end - first > maxBytes) return false;
  if (byte !== MINUS && byte !== PLUS && !isDigit(byte!)) return false;
  return altered.test(bytes.toString('latin1', first, end));
}

/** Returns what would happen to such a text as a number. */
export function describeAltered(text: string): string {
  if (/^\s*[-+]?0\d/.test(text)) return 'lose its leading zero';
  return /^\s*\+/.test(text) ? 'lose its plus sign' : 'be written in another way';
}
