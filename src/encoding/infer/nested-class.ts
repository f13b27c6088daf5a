/**
 * Finds out whether `jsonb` can store a nested JSON value. It refuses the character NUL and numbers that `numeric` cannot store
 * (PostgreSQL 8.14). An object that names a key twice loses values in `jsonb`, so it needs `json`. `jsonb` does not keep white space
 * and the order of keys either, but they have no meaning in JSON (RFC 8259 section 4).
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { noBytes, type Scan, scanInTurns } from '../../core/bytes/scan-in-turns.ts';
import { knownFacts, takeKnown } from '../encoders/long-json.ts';
import { findRepeatedKey, searchInTurns } from '../encoders/repeated-keys.ts';
import { EXACT, NESTED, NESTED_AS_SENT, OTHER, WHOLE } from '../text-reading/seen.ts';
import { classifyNumber } from './number-class.ts';

/** Finds values that only text can store, in valid JSON. */
class OtherValues implements Scan {
  #bytes: Buffer = noBytes;
  #at = 0;
  #end = 0;

  begin(bytes: Buffer, start: number, end: number): this {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    return this;
  }

  /** @returns whether only text can store the value */
  scanTo(until: number): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    while (at < until) {
      const byte = bytes[at]!;
      if (byte === ascii.QUOTE) {
        at = afterString(bytes, at + 1, end);
        if (at < 0) return true;
      } else if (byte >= ascii.ZERO && byte <= ascii.NINE) {
        // The minus sign is skipped, because it would count as the end of the number.
        const numberEnd = afterNumber(bytes, at + 1, end);
        const numberClass = classifyNumber(bytes, at, numberEnd);
        if (numberClass !== WHOLE && numberClass !== EXACT) return true;
        at = numberEnd;
      } else {
        at++;
      }
    }
    this.#at = at;
    return false;
  }
}

const ofOneValue = new OtherValues();

/**
 * Returns the class of an object or array: `NESTED` if `jsonb` can store it, `NESTED_AS_SENT` if it needs `json` because a key occurs
 * twice, or `OTHER` if only text can store it. The bytes are valid JSON.
 */
export function classifyNested(bytes: Buffer, start: number, end: number): number {
  const known = knownFacts(bytes, start, end)?.nestedClass;
  if (known !== undefined) return known;
  if (ofOneValue.begin(bytes, start, end).scanTo(end)) return OTHER;
  return findRepeatedKey(bytes, start, end) ? NESTED_AS_SENT : NESTED;
}

/** Finds the class in turns. */
async function classInTurns(bytes: Buffer, start: number, end: number): Promise<number> {
  if (await scanInTurns(new OtherValues().begin(bytes, start, end), start, end)) return OTHER;
  return (await searchInTurns(bytes, start, end)) ? NESTED_AS_SENT : NESTED;
}

/** Finds the class of a long object or array in turns, and takes the cell while the class is known. */
export async function takeClassified(
  bytes: Buffer,
  start: number,
  end: number,
  take: () => void,
): Promise<void> {
  const nestedClass = await classInTurns(bytes, start, end);
  takeKnown({ bytes, start, end, facts: { nestedClass } }, take);
}

/** Returns the position after the closing quote of the string whose first character is at `at`; -1: the string contains NUL. */
function afterString(bytes: Buffer, at: number, end: number): number {
  while (at < end) {
    const byte = bytes[at]!;
    if (byte === ascii.QUOTE) return at + 1;
    if (byte === ascii.BACKSLASH) {
      if (bytes[at + 1] === ascii.LOWER_U && isFourZeros(bytes, at + 2)) return -1;
      at += 2;
    } else {
      at++;
    }
  }
  return end;
}

function isFourZeros(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === ascii.ZERO &&
    bytes[at + 1] === ascii.ZERO &&
    bytes[at + 2] === ascii.ZERO &&
    bytes[at + 3] === ascii.ZERO
  );
}

function afterNumber(bytes: Buffer, at: number, end: number): number {
  while (at < end) {
    const byte = bytes[at]!;
    const isPart =
      (byte >= ascii.ZERO && byte <= ascii.NINE) ||
      byte === ascii.POINT ||
      byte === ascii.LOWER_E ||
      byte === ascii.UPPER_E ||
      byte === ascii.PLUS ||
      byte === ascii.MINUS;
    if (!isPart) return at;
    at++;
  }
  return end;
}
