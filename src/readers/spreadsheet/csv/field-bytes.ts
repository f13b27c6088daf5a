/** Functions over the bytes of fields: quotes, line ends and formulas. They have no state. */

import { CR, LF, QUOTE, SPACE, TAB } from '../../../core/bytes/ascii.ts';

/** The length of `=""`, the shortest such formula. */
export const emptyFormulaBytes = 3;

/** Returns whether the field, which begins with `=`, is a formula of one text: `="00042"`, with quotes in the text doubled. */
export function isTextFormula(bytes: Buffer, start: number, end: number): boolean {
  const last = end - 1;
  if (last - start < 2 || bytes[start + 1] !== QUOTE || bytes[last] !== QUOTE) return false;
  for (let at = start + 2; at < last; at++) {
    if (bytes[at] !== QUOTE) continue;
    at++;
    if (at === last || bytes[at] !== QUOTE) return false;
  }
  return true;
}

/**
 * Finds the quote that closes a quoted field.
 *
 * @param from the position after the opening quote
 * @returns the position of the quote; its complement (`~`) if doubled quotes come before it; `bytes.length` or more if this slice does
 *   not show where it is
 */
export function closingQuote(bytes: Buffer, from: number, quote: number): number {
  const end = bytes.length;
  let at = from;
  while (at < end && bytes[at] !== quote) at++;
  if (at + 1 >= end || bytes[at + 1] !== quote) return at;
  do {
    at += 2;
    while (at < end && bytes[at] !== quote) at++;
  } while (at + 1 < end && bytes[at + 1] === quote);
  return ~at;
}

/**
 * Returns the position of the next LF, or of the next CR if no LF follows; `bytes.length`: there is no line end.
 *
 * @param hasFeeds false: it is known that no LF follows
 */
export function nextLineEnd(bytes: Buffer, from: number, hasFeeds: boolean): number {
  const feed = hasFeeds ? bytes.indexOf(LF, from) : -1;
  if (feed >= 0) return feed;
  const carriageReturn = bytes.indexOf(CR, from);
  return carriageReturn >= 0 ? carriageReturn : bytes.length;
}

/** Below this length a loop finds a byte faster than a call of the runtime. */
const shortField = 256;

export function countBytes(bytes: Buffer, start: number, end: number, byte: number): number {
  let count = 0;
  if (end - start < shortField) {
    for (let at = start; at < end; at++) if (bytes[at] === byte) count++;
    return count;
  }
  for (let at = bytes.indexOf(byte, start); at >= 0 && at < end; at = bytes.indexOf(byte, at + 1)) count++;
  return count;
}

/** Returns the position after the white space at `from`, which ends before a delimiter. */
export function endOfSpace(bytes: Buffer, from: number, delimiter: number): number {
  let at = from;
  while ((bytes[at] === SPACE || bytes[at] === TAB) && bytes[at] !== delimiter) at++;
  return at;
}

/** If a field has this many whole lines that look like records, its first line may differ from them. */
const manyJoinedLines = 3;

/**
 * Returns whether the lines of a quoted field look like records: most whole lines in it have as many delimiters as the header, and so
 * has the line in which the field begins.
 *
 * @param column the number of delimiters before the field
 * @param wanted the number of delimiters of the header; -1: the field may be in the header, whose first line has as many as the others
 */
export function looksJoined(
  bytes: Buffer,
  start: number,
  end: number,
  delimiter: number,
  lineEnd: number,
  column: number,
  wanted: number,
): boolean {
  let delimiters = column;
  let wantedHere = wanted;
  let isFirstAlike = false;
  let lines = 0;
  let alike = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === delimiter) {
      delimiters++;
    } else if (byte === lineEnd) {
      if (lines === 0) {
        wantedHere = wanted < 0 ? delimiters : wanted;
        isFirstAlike = delimiters === wantedHere && delimiters > 0;
      } else if (delimiters === wantedHere) alike++;
      lines++;
      delimiters = 0;
    }
  }
  const whole = lines - 1;
  return whole > 0 && 2 * alike > whole && (isFirstAlike || (alike >= manyJoinedLines && wantedHere > 0));
}

/**
 * Replaces each doubled quote in a field by one quote.
 *
 * @returns the new end of the text
 */
export function undouble(bytes: Buffer, start: number, end: number, quote: number): number {
  let to = start;
  for (let from = start; from < end; from++) {
    const byte = bytes[from]!;
    bytes[to++] = byte;
    if (byte === quote) from++;
  }
  return to;
}

/**
 * Returns where the next record begins if the record at `start` and the next one are blank; -1: one of them is not. A file may consist of line
 * ends, and the scan takes a hundred times as long for a record that it does not skip.
 */
export function nextOfBlanks(bytes: Buffer, start: number): number {
  const byte = bytes[start];
  if (byte !== LF && byte !== CR) return -1;
  const next = byte === CR && bytes[start + 1] === LF ? start + 2 : start + 1;
  return bytes[next] === LF || bytes[next] === CR ? next : -1;
}
