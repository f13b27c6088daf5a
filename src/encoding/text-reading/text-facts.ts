/** Facts about a text that is not in the notation of its column. */

import { isDigit, MINUS } from '../../core/bytes/ascii.ts';

/** Returns whether the text begins with four digits and a hyphen, because `2026-11-21` means the same in every order. */
export function isIsoDate(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 8 || bytes[start + 4] !== MINUS) return false;
  for (let at = start; at < start + 4; at += 1) if (!isDigit(bytes[at]!)) return false;
  return true;
}

export function hasDigit(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (isDigit(bytes[at]!)) return true;
  return false;
}
