/** Names of ASCII bytes, and classes of bytes. They are single constants, because the engine compiles constants into the machine code that handles cells. */

export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const CTRL_Z = 0x1a;
export const SPACE = 0x20;
export const BANG = 0x21;
export const QUOTE = 0x22;
export const HASH = 0x23;
export const AMPERSAND = 0x26;
export const APOSTROPHE = 0x27;
export const CLOSING_PARENTHESIS = 0x29;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const SLASH = 0x2f;
export const ZERO = 0x30;
export const FIVE = 0x35;
export const EIGHT = 0x38;
export const NINE = 0x39;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
export const LT = 0x3c;
export const EQUALS = 0x3d;
export const GT = 0x3e;
export const QUESTION = 0x3f;
export const AT_SIGN = 0x40;
export const UPPER_E = 0x45;
export const UPPER_P = 0x50;
export const UPPER_T = 0x54;
export const UPPER_Z = 0x5a;
export const OPENING_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSING_BRACKET = 0x5d;
export const UNDERSCORE = 0x5f;
export const LOWER_B = 0x62;
export const LOWER_C = 0x63;
export const LOWER_E = 0x65;
export const LOWER_F = 0x66;
export const LOWER_I = 0x69;
export const LOWER_N = 0x6e;
export const LOWER_R = 0x72;
export const LOWER_S = 0x73;
export const LOWER_T = 0x74;
export const LOWER_U = 0x75;
export const LOWER_V = 0x76;
export const LOWER_X = 0x78;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;

/** Returns what `isspace` returns in the C locale. PostgreSQL's input functions skip these bytes around a value. */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

/** Returns whether the byte is white space in XML (XML 1.0, 2.3) and JSON (RFC 8259, section 2). */
export function isWhiteSpace(byte: number): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Returns whether bytes[start, end) is the word, ignoring case. The word has only small letters. */
export function isWord(word: string, bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) {
    if ((bytes[start + at]! | 0x20) !== word.charCodeAt(at)) return false;
  }
  return true;
}

/** The value of each hexadecimal digit, indexed by the byte; -1: any other byte. */
export const hexValue: Int8Array = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  hexValue[digit.charCodeAt(0)] = value;
  hexValue[digit.toUpperCase().charCodeAt(0)] = value;
}
