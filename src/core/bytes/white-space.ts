/**
 * The one meaning of white space in cells and headers: every character with Unicode's property White_Space, the invisible characters
 * U+FEFF and U+200B, and the control characters U+0001 to U+001F. Programs often leave these in texts, and nobody sees them. NUL does not
 * count, because PostgreSQL cannot store it and it must be reported.
 */

import { CR, LF } from './ascii.ts';

/** Returns whether a text has only white space. */
export function isBlank(bytes: Buffer, start: number, end: number): boolean {
  return trimmedStart(bytes, start, end) === end;
}

export function hasLineEnd(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === LF || bytes[at] === CR) return true;
  return false;
}

/** Returns the text without the white space at both ends. */
export function trimText(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start]!)) start++;
  while (end > start && isSpace(text[end - 1]!)) end--;
  return text.slice(start, end);
}

function isSpace(character: string): boolean {
  // `\s` is White_Space without U+0085 and with U+FEFF (ECMA-262, 22.2.2.9).
  return character <= ' ' ? character !== '\0' : /[\s\x85\u200b]/.test(character);
}

/** Returns where the text begins after its leading white space; `end`: there is only white space. */
export function trimmedStart(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const first = bytes[at]!;
    if (first <= 0x20 && first !== 0) {
      at++;
      if (((at - start) & runMask) === 0) at = endOfRun(bytes, at, end);
      continue;
    }
    const length = spaceLength(bytes, at, end);
    if (length === 0) break;
    at += length;
  }
  return at;
}

/** After each 4,096 bytes of white space, the end of equal bytes is searched in larger steps, 20 times as fast. An .ods file can mean millions of spaces with one number. */
const runMask = 4095;
const runBytes = 64 * 1024;

/** Skips forward over bytes that equal the byte before `at`, in steps of 64 KiB. The result is the end of this run, or less than 64 KiB before its end. */
function endOfRun(bytes: Buffer, at: number, end: number): number {
  let stop = at;
  // All bytes of a range are equal if the range equals the range one byte before it.
  while (
    stop + runBytes <= end &&
    bytes.compare(bytes, stop - 1, stop - 1 + runBytes, stop, stop + runBytes) === 0
  )
    stop += runBytes;
  return stop;
}

/** Returns where the text ends before its trailing white space. */
export function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  let stop = end;
  while (stop > start) {
    // A white space character has at most three bytes, and its first byte is not a continuation byte.
    let first = stop - 1;
    while (first > start && stop - first < 3 && (bytes[first]! & 0xc0) === 0x80) first -= 1;
    if (spaceLength(bytes, first, stop) !== stop - first) break;
    stop = first;
  }
  return stop;
}

/** Returns the length in UTF-8 of the white space character at `at`; 0: another character is there. */
function spaceLength(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]!;
  if (first <= 0x20) return first === 0 ? 0 : 1;
  if (first < 0xc2) return 0;
  if (first === 0xc2) return at + 1 < end && (bytes[at + 1] === 0xa0 || bytes[at + 1] === 0x85) ? 2 : 0;
  if (at + 2 >= end) return 0;
  const rest = (bytes[at + 1]! << 8) | bytes[at + 2]!;
  switch (first) {
    case 0xe1:
      return rest === 0x9a80 ? 3 : 0; // U+1680
    case 0xe2: {
      const isSpaceOfWidth = rest >= 0x8080 && rest <= 0x808b; // U+2000 to U+200B
      const isSeparator = rest === 0x80a8 || rest === 0x80a9 || rest === 0x80af || rest === 0x819f; // U+2028, U+2029, U+202F, U+205F
      return isSpaceOfWidth || isSeparator ? 3 : 0;
    }
    case 0xe3:
      return rest === 0x8080 ? 3 : 0; // U+3000
    case 0xef:
      return rest === 0xbbbf ? 3 : 0; // U+FEFF
    default:
      return 0;
  }
}
