/** Reads and writes characters of UTF-8 (RFC 3629) in bytes that may be cut anywhere. */

/** Returns where the last whole character of bytes[start, end) ends. The beginning of another character may follow it. */
export function endOfWholeCharacters(bytes: Buffer, start: number, end: number): number {
  for (let at = end - 1; at >= start && at >= end - 3; at--) {
    const byte = bytes[at]!;
    if (byte < 0x80) return end;
    if (byte < 0xc0) continue;
    return at + lengthOf(byte) > end ? at : end;
  }
  return end;
}

/** Returns the length of a character, given its first byte. */
function lengthOf(firstByte: number): number {
  if (firstByte < 0xe0) return 2;
  return firstByte < 0xf0 ? 3 : 4;
}

/**
 * Writes a code point, which must not be a surrogate.
 *
 * @returns where it ends: at most 4 bytes after `at`
 */
export function writeCodePoint(bytes: Buffer, at: number, point: number): number {
  if (point < 0x80) {
    bytes[at] = point;
    return at + 1;
  }
  if (point < 0x800) {
    bytes[at] = 0xc0 | (point >> 6);
    bytes[at + 1] = 0x80 | (point & 0x3f);
    return at + 2;
  }
  if (point < 0x10000) {
    bytes[at] = 0xe0 | (point >> 12);
    bytes[at + 1] = 0x80 | ((point >> 6) & 0x3f);
    bytes[at + 2] = 0x80 | (point & 0x3f);
    return at + 3;
  }
  bytes[at] = 0xf0 | (point >> 18);
  bytes[at + 1] = 0x80 | ((point >> 12) & 0x3f);
  bytes[at + 2] = 0x80 | ((point >> 6) & 0x3f);
  bytes[at + 3] = 0x80 | (point & 0x3f);
  return at + 4;
}

/** Returns the code point of a surrogate pair. */
export function codePointOfPair(high: number, low: number): number {
  return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}
