/** The two-byte escapes of JSON strings (RFC 8259 section 7). */

/** Maps the byte after the backslash to the byte that the escape means; 0: there is no such escape. */
const SIMPLE = new Uint8Array(256);
for (const [letter, byte] of Object.entries({
  '"': 0x22,
  '\\': 0x5c,
  '/': 0x2f,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
})) {
  SIMPLE[letter.charCodeAt(0)] = byte;
}

/** Returns the byte that a two-byte escape means, given its second byte; 0: there is no such escape. */
export function simpleEscape(byte: number): number {
  return SIMPLE[byte]!;
}
