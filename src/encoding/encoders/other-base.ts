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
