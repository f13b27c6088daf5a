/**
 * Finds the kind of a text in a format whose cells have no types.
 *
 * A text is more than a string only if every column type returns the same text. So nothing is lost if the column becomes `text`.
 * `007`, `+49 30`, `1.234,56`, `.5`, ` 1 ` and `TRUE` are strings. `1e5` is a string, too, because it is more often an article number
 * than 100000. Quotes make no difference, because programs may also quote numbers.
 */

import { LOWER_E, LOWER_F, LOWER_T, MINUS, NINE, PLUS, POINT, ZERO } from '../bytes/ascii.ts';
import { FALSE, NUMBER, STRING, TRUE } from './cell-kind.ts';

/** Returns the kind of a text: `NUMBER`, `TRUE`, `FALSE` or `STRING` of cell-kind.ts. The text is not empty. */
export function textKind(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start]!;
  if (first <= NINE) {
    return first >= MINUS && first !== POINT && isPlainNumber(bytes, start, end) ? NUMBER : STRING;
  }
  if (first === LOWER_T) return isRestOfTrue(bytes, start, end) ? TRUE : STRING;
  if (first === LOWER_F) return isRestOfFalse(bytes, start, end) ? FALSE : STRING;
  return STRING;
}

/** Returns whether the text is a JSON number with an exponent, which only a column of JSON stores as it is written. */
export function isNumberWithExponent(bytes: Buffer, start: number, end: number): boolean {
  let at = end - 1;
  while (at > start && bytes[at]! >= ZERO && bytes[at]! <= NINE) at--;
  if (at === end - 1) return false;
  if (bytes[at] === PLUS || bytes[at] === MINUS) at--;
  return at > start && (bytes[at]! | 0x20) === LOWER_E && isPlainNumber(bytes, start, at);
}

/** Returns whether the text is a JSON number (RFC 8259 section 6) without an exponent. */
function isPlainNumber(bytes: Buffer, start: number, end: number): boolean {
  let at = bytes[start] === MINUS ? start + 1 : start;
  const firstDigit = at;
  while (at < end && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  const digits = at - firstDigit;
  if (digits === 0 || (digits > 1 && bytes[firstDigit] === ZERO)) return false;
  if (at === end) return true;
  if (bytes[at] !== POINT || at + 1 === end) return false;
  at++;
  while (at < end && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at === end;
}

function isRestOfTrue(bytes: Buffer, start: number, end: number): boolean {
  return (
    end - start === 4 && bytes[start + 1] === 0x72 && bytes[start + 2] === 0x75 && bytes[start + 3] === 0x65
  );
}

function isRestOfFalse(bytes: Buffer, start: number, end: number): boolean {
  return (
    end - start === 5 &&
    bytes[start + 1] === 0x61 &&
    bytes[start + 2] === 0x6c &&
    bytes[start + 3] === 0x73 &&
    bytes[start + 4] === 0x65
  );
}
