/**
 * Makes the text of numeric cells. A number in JSON's grammar is unchanged, so that whole numbers keep every digit. Fractions are rounded
 * to the 15 significant digits that Excel keeps and shows.
 *
 * Programs write the shortest text of a double, which is `0.30000000000000004` for 0.1 + 0.2. For the author of the sheet this cell is 0.3.
 */
import { FIVE, isDigit, LOWER_E, MINUS, NINE, PLUS, POINT, ZERO } from '../../../core/bytes/ascii.ts';

const significantDigits = 15;

/** The number of digits that distinguish any double from all others. */
const doubleDigits = 17;

/** The results of `checkNumber`. */
export const NOT_A_NUMBER = 0;
export const UNCHANGED = 1;
/** A fraction with more than 15 significant digits. Use `roundNumber`. */
export const TOO_PRECISE = 2;
/** A number in another form, such as `007`, `.5`, or `1.2E7`, which Excel shows as 12000000. Use `normalizeNumber`. */
export const UNUSUAL = 3;

/** Checks a number without parsing it. It must have no white space around it. */
export function checkNumber(bytes: Buffer, start: number, end: number): number {
  let at = start;
  if (bytes[at] === MINUS) at++;
  const whole = at;
  while (at < end && isDigit(bytes[at]!)) at++;
  const wholeDigits = at - whole;
  if (at === end && wholeDigits > 0 && (bytes[whole] !== ZERO || wholeDigits === 1)) return UNCHANGED;
  if (wholeDigits === 0 || (bytes[whole] === ZERO && wholeDigits > 1)) return checkUnusual(bytes, start, end);
  let fractionDigits = 0;
  if (bytes[at] === POINT && at < end) {
    const fraction = ++at;
    while (at < end && isDigit(bytes[at]!)) at++;
    fractionDigits = at - fraction;
    if (fractionDigits === 0) return checkUnusual(bytes, start, end);
  }
  const mantissaEnd = at;
  if (at < end) {
    if ((bytes[at]! | 0x20) !== LOWER_E) return NOT_A_NUMBER;
    at++;
    if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
    const exponent = at;
    while (at < end && isDigit(bytes[at]!)) at++;
    if (at < end || at === exponent) return NOT_A_NUMBER;
    const magnitude = Number(bytes.toString('latin1', exponent, end));
    if (magnitude <= maxExpandedExponent && mantissaEnd - start <= maxExpandedMantissa) return UNUSUAL;
  }
  if (wholeDigits + fractionDigits <= significantDigits) return UNCHANGED;
  if (mantissaEnd === end) return TOO_PRECISE;
  // An exponent of at least the number of fraction digits makes it a whole number, and whole numbers keep all digits.
  const exponent = Number(bytes.toString('latin1', mantissaEnd + 1, end));
  return exponent >= fractionDigits ? UNCHANGED : TOO_PRECISE;
}

/**
 * Finds the end of a number and checks it in one step, if it has only digits and at most one point, as nearly all numbers have.
 * A byte that is not a digit must follow the number.
 *
 * @returns the end of the number if it is `UNCHANGED`; the negated end if it is `TOO_PRECISE`; 0 if it has another form or is
 * no number
 */
export function endOfDecimal(bytes: Buffer, start: number): number {
  let at = start;
  let byte = bytes[at]!;
  if (byte === MINUS) byte = bytes[++at]!;
  const whole = at;
  const first = byte;
  while (byte >= ZERO && byte <= NINE) byte = bytes[++at]!;
  const wholeDigits = at - whole;
  if (wholeDigits === 0 || (first === ZERO && wholeDigits > 1)) return 0;
  if (byte !== POINT) return at;
  byte = bytes[++at]!;
  const fraction = at;
  while (byte >= ZERO && byte <= NINE) byte = bytes[++at]!;
  if (at === fraction) return 0;
  return wholeDigits + at - fraction <= significantDigits ? at : -at;
}

/**
 * Matches a number in an unusual form. Each text can be matched in only one way, so a text of a megabyte is matched in linear
 * time.
 */
const unusual = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function checkUnusual(bytes: Buffer, start: number, end: number): number {
  return unusual.test(bytes.toString('latin1', start, end)) ? UNUSUAL : NOT_A_NUMBER;
}

/**
 * Returns an `UNUSUAL` number in JSON's grammar with every digit. The exponent is expanded unless it is large. Java programs
 * write every number from ten million on with an exponent: `1.2345678E7`.
 */
export function normalizeNumber(text: string): string {
  const [, sign, digits = '', fraction = '', power] = /^([+-]?)0*(\d*)\.?(\d*)(?:[eE](.*))?$/.exec(text)!;
  const minus = sign === '-' ? '-' : '';
  const exponent = Number(power ?? 0);
  const mantissa = `${minus}${digits || '0'}${fraction === '' ? '' : `.${fraction}`}`;
  // The same limits as in `checkNumber`. Otherwise `checkNumber` would call the result unusual again.
  if (mantissa.length > maxExpandedMantissa || Math.abs(exponent) > maxExpandedExponent) {
    return power === undefined ? mantissa : `${mantissa}e${power.replace(/^([+-]?)0+(?=\d)/, '$1')}`;
  }
  let all = digits + fraction;
  let point = digits.length + exponent;
  if (point <= 0) {
    all = '0'.repeat(1 - point) + all;
    point = 1;
  }
  all = all.padEnd(point, '0');
  const whole = all.slice(0, point).replace(/^0+(?=\d)/, '');
  return `${minus}${whole}${point < all.length ? `.${all.slice(point)}` : ''}`;
}

/** Numbers with a larger exponent keep it and are not written with all their zeros. */
const maxExpandedExponent = 30;
const maxExpandedMantissa = 24;

/** Returns where a number ends without a fraction that has only zeros: some programs write 72 as `72.0`. Any other number keeps its end. */
export function endOfWhole(bytes: Buffer, start: number, end: number): number {
  let at = end - 1;
  while (at > start && bytes[at] === ZERO) at--;
  return bytes[at] === POINT ? at : end;
}

/**
 * Rounds a `TOO_PRECISE` number to 15 significant digits, half away from zero, without trailing zeros. Digits before the
 * decimal point are always kept.
 *
 * @param target takes the text; it must have room for one byte more than the number has
 * @returns the length of the result
 */
export function roundNumber(bytes: Buffer, start: number, end: number, target: Buffer): number {
  let to = 0;
  if (bytes[start] === MINUS) target[to++] = MINUS;
  const first = to;
  let at = start + first;
  let byte = bytes[at]!;
  // Digits before the decimal point are kept. The significant digits begin at the first digit that is not zero.
  const wholeStart = at;
  while (byte >= ZERO && byte <= NINE) {
    target[to++] = byte;
    byte = ++at < end ? bytes[at]! : 0;
  }
  let significant = bytes[wholeStart] === ZERO ? 0 : at - wholeStart;
  const inFraction = byte === POINT;
  if (inFraction) {
    do {
      target[to++] = byte;
      byte = ++at < end ? bytes[at]! : 0;
    } while (significant === 0 && byte === ZERO);
    for (; significant < significantDigits && byte >= ZERO && byte <= NINE; significant++) {
      target[to++] = byte;
      byte = ++at < end ? bytes[at]! : 0;
    }
  }
  if (at < end && isDigit(bytes[at]!) && roundsUp(bytes, start, at, end, significant)) {
    to = increment(target, first, to);
  }
  if (inFraction) {
    while (target[to - 1] === ZERO) to--;
    if (target[to - 1] === POINT) to--;
  }
  while (at < end && isDigit(bytes[at]!)) at++;
  return at < end ? to + bytes.copy(target, to, at, end) : to;
}

/**
 * Returns whether the number is rounded up.
 *
 * @param at the first digit that is dropped, after `significant` significant digits
 */
function roundsUp(bytes: Buffer, start: number, at: number, end: number, significant: number): boolean {
  if (bytes[at] !== FIVE) return bytes[at]! > FIVE;
  let rest = at + 1;
  while (rest < end && bytes[rest] === ZERO) rest++;
  if (rest < end && isDigit(bytes[rest]!)) return true;
  // The text `…5` may be the shortest text of a double slightly below or above the half. So the double decides.
  if (significant > doubleDigits) return true;
  const nearest = Number(bytes.toString('latin1', start, end)).toPrecision(significant);
  const exponent = nearest.indexOf('e');
  const lastDigit = nearest.charCodeAt((exponent < 0 ? nearest.length : exponent) - 1);
  return lastDigit !== bytes[bytes[at - 1] === POINT ? at - 2 : at - 1];
}

/**
 * Adds one to the last digit.
 *
 * @returns the end of the number, one byte further if it got a digit more (9.99… becomes 10)
 */
function increment(target: Buffer, first: number, end: number): number {
  let at = end - 1;
  for (;;) {
    if (target[at] === POINT) at--;
    if (at < first || target[at] !== NINE) break;
    target[at--] = ZERO;
  }
  if (at >= first) {
    target[at] = target[at]! + 1;
    return end;
  }
  target.copyWithin(first + 1, first, end);
  target[first] = ZERO + 1;
  return end + 1;
}

/**
 * Writes the digits of a whole number into a mask of zeros and literals, from the right: 501 in `00000` is `00501`.
 *
 * @param target takes the text; it must have room for the mask and the digits
 * @returns the length of the result
 */
export function padNumber(bytes: Buffer, start: number, end: number, mask: Buffer, target: Buffer): number {
  let to = 0;
  let digits = start;
  if (bytes[start] === MINUS) {
    target[to++] = MINUS;
    digits++;
  }
  let places = 0;
  for (let i = 0; i < mask.length; i++) if (mask[i] === ZERO) places++;
  let missing = places - (end - digits);
  let isFirst = true;
  for (let i = 0; i < mask.length; i++) {
    if (mask[i] !== ZERO) {
      target[to++] = mask[i]!;
      continue;
    }
    // If the number has more digits than the mask, the surplus digits are written at its first place.
    for (; isFirst && missing < 0; missing++) target[to++] = bytes[digits++]!;
    isFirst = false;
    if (missing > 0) {
      target[to++] = ZERO;
      missing--;
    } else {
      target[to++] = bytes[digits++]!;
    }
  }
  return to;
}
