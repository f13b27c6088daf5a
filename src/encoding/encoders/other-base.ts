import { hexValue } from '../../core/bytes/ascii.ts';

/** The maximum number of bytes with which a number in any base is an exact double: 13 hexadecimal digits have 52 bits. */
const EXACT_BYTES = 2 + 13;

/**
 * Reads a short number such as 0x1F, 0o17 or 0b101. A string and a `bigint` would take ten times as long.
 *
 * @returns -1: the text is another one, for which `readOtherBase` is called
 */
export function readShortOtherBase(bytes: Buffer, start: number, end: number): number {
  if (end - start > EXACT_BYTES || end - start < 3 || bytes[start] !== 0x30) return -1;
  const letter = bytes[start + 1]! | 0x20;
  const base = letter === 0x78 ? 16 : letter === 0x6f ? 8 : letter === 0x62 ? 2 : 0;
  let value = 0;
  for (let at = start + 2; at < end; at++) {
    const digit = hexValue[bytes[at]!]!;
    if (digit < 0 || digit >= base) return -1;
    value = value * base + digit;
  }
  return value;
}

/**
 * Reads 0x1F, 0o17 and 0b101, with an underscore allowed before any digit, as PostgreSQL 16 and newer do (4.1.2.6). Such
 * numbers are rare enough to go through a string.
 *
 * @returns undefined if the text is not such a number
 */
export function readOtherBase(bytes: Buffer, start: number, end: number): bigint | undefined {
  const text = bytes.toString('latin1', start, end);
  if (!/^0(?:x(?:_?[0-9a-f])+|o(?:_?[0-7])+|b(?:_?[01])+)$/i.test(text)) return undefined;
  return BigInt(text.replaceAll('_', ''));
}
