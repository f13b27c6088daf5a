/** Returns the hints in the problems of cells, and the shortened value of an array element with a problem. */

import { QUOTE } from '../../core/bytes/ascii.ts';
import { NUMBER, ROUNDED_NUMBER, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { asNull, queryText } from '../infer/query-text.ts';
import { isNullWord, parameterReading } from '../infer/text-forms.ts';
import * as problems from '../problems/cell-problems.ts';
import { shortenBytes, shortenValue } from '../problems/problems.ts';

/** Returns a hint for a problem that the value itself does not explain. */
export function hintFor(
  problem: number,
  kind: number,
  isDispensable: boolean,
  hasDefault: boolean,
  isOfSheet: boolean,
): string {
  if (problem === problems.NOT_NULL)
    return hasDefault && !isOfSheet ? '; to get the default, leave the key out' : '';
  if (kind === STRING && isDispensable) {
    return `; if there is no value, ${hasDefault ? '' : 'send null or '}leave the key out`;
  }
  const wantsMoment =
    problem === problems.NOT_A_DATE ||
    problem === problems.NOT_A_TIME ||
    problem === problems.NOT_A_TIMESTAMP;
  if (wantsMoment && kind === STRING && isOfSheet) {
    return '; the cell holds text: make it a date or time in Excel, or write the text in this form';
  }
  const isNumber = kind === NUMBER || kind === ROUNDED_NUMBER;
  if (wantsMoment && isNumber && !isOfSheet)
    return '; write a Unix time as a date and time, such as 2026-11-21 10:00:00+01:00';
  return wantsMoment && isNumber && isOfSheet ? '; the cell needs a date or time format' : '';
}

/**
 * Returns a hint for a text that is no date or number: the parameter that loads a word such as `N/A` as NULL, the parameters with which a date or a
 * number in another notation is read, or the part that must be left out.
 */
export function notationHint(
  problem: number,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): string {
  if (kind !== STRING && kind !== TEXT) return '';
  const word = shortenBytes(bytes, start, end);
  if (word !== '' && isNullWord(word)) return `; send ${queryText(asNull([word]))} to load it as NULL`;
  const isDate =
    problem === problems.NOT_A_DATE ||
    problem === problems.NOT_A_TIMESTAMP ||
    problem === problems.NO_SUCH_DATE;
  if (!isDate && problem !== problems.NOT_A_NUMBER && problem !== problems.NOT_A_WHOLE_NUMBER) return '';
  const parameters = parameterReading(isDate, bytes, start, end);
  if (parameters !== undefined) return `; send ${parameters} to read it`;
  return end - start > maxHintBytes ? '' : partToLeaveOut(isDate, bytes.toString('utf8', start, end));
}

/** The maximum length of a text that gets a hint. Longer texts are neither dates nor numbers. */
const maxHintBytes = 100;

/** Returns a hint that names a part of the text which no parameter reads: a time zone, or the sign of a currency. */
function partToLeaveOut(isDate: boolean, text: string): string {
  if (isDate)
    return /\d\s+[A-Z][A-Za-z_]+\/[A-Za-z_]+$/.test(text)
      ? '; write the offset, such as +01:00, and not the name of the time zone'
      : '';
  const bare = Buffer.from(text.replace(/[\p{Sc}%]/u, '').trim());
  if (bare.length === Buffer.byteLength(text)) return '';
  const parameters = parameterReading(false, bare, 0, bare.length);
  return `; leave the sign of the currency or the percent sign out${parameters === undefined ? '' : `, and send ${parameters}`}`;
}

/** Returns the JSON text of an element, shortened. A string is shown without its quotes, as in all problems. */
export function shortenElement(bytes: Buffer, start: number, end: number): string {
  const isShortString = bytes[start] === QUOTE && end - start <= maxUnescapedBytes;
  if (!isShortString) return shortenBytes(bytes, start, end);
  return shortenValue(JSON.parse(bytes.toString('utf8', start, end)));
}

const maxUnescapedBytes = 4096;
