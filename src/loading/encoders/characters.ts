/** ASCII as the encoders ask for it. Everything works on bytes and takes no string apart. */

/** `isspace` of the C locale: what PostgreSQL's input functions skip around a value. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** bytes[start, end) is the word, ignoring case; the word is given in small letters (and only letters). */
export function isWord(word: string, bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    if ((bytes[start + at]! | 0x20) !== word.charCodeAt(at)) return false;
  }
  return true;
}

/** The value of a hexadecimal digit, -1 for any other byte. */
export const hexValue: Int8Array = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  hexValue[digit.charCodeAt(0)] = value;
  hexValue[digit.toUpperCase().charCodeAt(0)] = value;
}
