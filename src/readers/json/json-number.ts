/** Scans numbers by the grammar of RFC 8259 section 6. It can stop and continue at any byte. */

/** The states of the scan. From `INTEGER` on, one more digit does not change the state. */
export const NUMBER_START = 0;
const MINUS = 1;
const ZERO = 2;
const POINT = 3;
const EXPONENT = 4;
const EXPONENT_SIGN = 5;
const INTEGER = 6;
const FRACTION = 7;
const EXPONENT_DIGITS = 8;

/**
 * A negative result of `scanNumber` is `-1 - state` or, for a problem, `-FAULT - position`. `FAULT` is greater than every state, so that the two can be distinguished.
 */
const FAULT = 16;

/**
 * Walks a number from `start` in `state` (`NUMBER_START` at its first byte).
 *
 * @returns the position after the number if it ended before `end`. A negative result means `heldState` if the bytes ended first, or
 *   `faultPosition` if they are not a number
 */
export function scanNumber(bytes: Buffer, start: number, end: number, state: number): number {
  let i = start;
  for (; i < end; i++) {
    const byte = bytes[i]!;
    if (byte <= 0x39 && byte >= 0x30) {
      if (state >= INTEGER) continue;
      if (state === NUMBER_START || state === MINUS) state = byte === 0x30 ? ZERO : INTEGER;
      else if (state === POINT) state = FRACTION;
      else if (state === ZERO) return i;
      else state = EXPONENT_DIGITS;
    } else if (byte === 0x2e && (state === ZERO || state === INTEGER)) {
      state = POINT;
    } else if ((byte | 0x20) === 0x65 && (state === ZERO || state === INTEGER || state === FRACTION)) {
      state = EXPONENT;
    } else if (byte === 0x2d && state === NUMBER_START) {
      state = MINUS;
    } else if ((byte === 0x2d || byte === 0x2b) && state === EXPONENT) {
      state = EXPONENT_SIGN;
    } else {
      return isWholeNumber(state) ? i : -FAULT - i;
    }
  }
  return -1 - state;
}

/** Returns whether a number may end in this state. */
export function isWholeNumber(state: number): boolean {
  return state >= INTEGER || state === ZERO;
}

/** Returns the state to continue with in the next chunk, given a negative result of `scanNumber`; -1: the text is not a number. */
export function heldState(result: number): number {
  return result > -FAULT ? -1 - result : -1;
}

export function faultPosition(result: number): number {
  return -FAULT - result;
}
