/**
 * Decides how `values=natural` reads a column: in the one notation that all of its values have. If several notations fit and read
 * some value differently, only the caller can decide, and the column stays text. It also stays text if its numbers would lose
 * something: amounts of several currencies, and percentages among other numbers.
 */

import { COMMA, POINT } from '../../core/bytes/ascii.ts';
import { DAY_MONTH_YEAR, MONTH_DAY_YEAR, YEAR_MONTH_DAY } from '../text-reading/date-form.ts';
import type { Notation } from '../text-reading/natural/notation.ts';
import * as bits from './form-bits.ts';
import * as of from './natural-facts.ts';
import { numberForms } from './notation-forms.ts';
import type { InferredType } from './type-of.ts';

export interface NaturalReading {
  type: InferredType;
  notation: Notation;
  /** What the values look like: `dates in the order day/month/year`. */
  looksLike: string;
}

/** The forms to use if several fit: a union of bits of form-bits.ts. */
export type PreferredForms = number;

/**
 * Returns how the values of a text column are read.
 *
 * @param forms the bits of form-bits.ts that all values have in common
 * @returns undefined: no notation fits, or several fit that read values differently
 */
export function naturalReading(
  forms: number,
  facts: of.ColumnFacts,
  preferred: PreferredForms,
): NaturalReading | undefined {
  if ((forms & bits.IS_NEEDED) === 0 && !arePointsNamed(forms, facts, preferred)) return undefined;
  // A column with only white space fits every form and shows no type.
  if ((forms & bits.PLAIN_FORMS) === bits.PLAIN_FORMS) return undefined;
  if ((forms & bits.DATE_FORMS) !== 0) return dates(forms, facts.facts, preferred);
  if ((forms & (bits.NUMBER_FORMS | bits.PLAIN_NUMBER)) !== 0) return numbers(forms, facts, preferred);
  if ((facts.facts & of.IS_INEXACT) !== 0) return undefined;
  if ((forms & bits.TIME) !== 0) {
    const isMixed = (facts.facts & of.HAS_HALF) !== 0 && (facts.facts & of.HAS_NO_HALF) !== 0;
    if (isMixed) return undefined;
    return { type: 'time without time zone', notation: { kind: 'time' }, looksLike: 'times of day' };
  }
  if ((forms & bits.DURATION) !== 0) return durations(facts.facts);
  return trueFalse(forms, facts);
}

/** Returns whether all numbers have a form such as `1.234`, which needs no notation, and the caller names the one in which the point separates thousands. */
function arePointsNamed(forms: number, { facts }: of.ColumnFacts, preferred: PreferredForms): boolean {
  return (
    (forms & bits.COMMA_FORMS) === bits.GROUPED_BY_POINT &&
    (facts & of.HAS_SIGN) !== 0 &&
    (preferred & bits.GROUPED_BY_POINT) !== 0
  );
}

const orders = [
  { bit: bits.DMY, order: DAY_MONTH_YEAR, name: 'day/month/year' },
  { bit: bits.MDY, order: MONTH_DAY_YEAR, name: 'month/day/year' },
  { bit: bits.YMD, order: YEAR_MONTH_DAY, name: 'year/month/day' },
];

const differences = [
  { both: bits.DMY | bits.MDY, fact: of.DMY_IS_NOT_MDY },
  { both: bits.DMY | bits.YMD, fact: of.DMY_IS_NOT_YMD },
  { both: bits.MDY | bits.YMD, fact: of.MDY_IS_NOT_YMD },
];

function dates(forms: number, facts: number, preferred: PreferredForms): NaturalReading | undefined {
  const type = typeOfDates(facts);
  const areSame = differences.every(({ both, fact }) => (facts & fact) === 0 || (forms & both) !== both);
  const fitting = areSame ? forms : forms & preferred;
  const found = orders.find(({ bit }) => (fitting & bit) !== 0);
  if (found === undefined || type === undefined) return undefined;
  const { order, name } = found;
  const times = type === 'date' ? '' : ' with times';
  return { type, notation: { kind: 'date', order }, looksLike: `dates${times} in the order ${name}` };
}

function typeOfDates(facts: number): InferredType | undefined {
  // If some dates have an offset and others have none, the column has no common type.
  if ((facts & of.WITH_OFFSET) !== 0)
    return (facts & (of.DATE_ONLY | of.WITH_TIME)) === 0 ? 'timestamp with time zone' : undefined;
  return (facts & of.WITH_TIME) !== 0 ? 'timestamp without time zone' : 'date';
}

function numbers(
  forms: number,
  { facts, currency }: of.ColumnFacts,
  preferred: PreferredForms,
): NaturalReading | undefined {
  if ((facts & of.CURRENCIES_DIFFER) !== 0) return undefined;
  const isPercent = (forms & bits.HAS_PERCENT_SIGN) !== 0;
  if (isPercent && ((forms & bits.PERCENT) === 0 || (forms & bits.HAS_BARE_NUMBER) !== 0)) return undefined;
  const byPoint = forms & bits.POINT_FORMS;
  const byComma = forms & bits.COMMA_FORMS;
  const isOpen = byPoint !== 0 && byComma !== 0 && (facts & of.HAS_SIGN) !== 0;
  const isNamed = (forms & preferred & (bits.POINT_FORMS | bits.COMMA_FORMS)) !== 0;
  if (isOpen && !isNamed) return undefined;
  const takesPoint = isOpen ? (forms & preferred & bits.POINT_FORMS) !== 0 : byPoint !== 0;
  const fitting = takesPoint ? byPoint : byComma;
  const found =
    (fitting & bits.PLAIN_NUMBER) !== 0
      ? { signs: { decimal: POINT, thousands: 0 }, looksLike: 'numbers' }
      : numberForms.find(({ bit }) => (fitting & bit) !== 0);
  if (found === undefined) return undefined;
  const fraction = found.signs.decimal === COMMA ? of.FRACTION_BY_COMMA : of.FRACTION_BY_POINT;
  const isDecorated = (forms & bits.DECORATIONS) !== 0;
  const type = !isDecorated && (facts & fraction) === 0 ? 'bigint' : 'numeric';
  const parts = [
    found.looksLike,
    ...(currency === undefined ? [] : [`without their currency ${currency.toString()}`]),
    ...(isPercent ? ['as fractions, so that 12 % is 0.12'] : []),
  ];
  return { type, notation: { kind: 'number', signs: found.signs, isPercent }, looksLike: parts.join(' ') };
}

/** Returns the notation of durations. `26:15` may be hours and minutes, or minutes and seconds, which only a value with a fraction shows. */
function durations(facts: number): NaturalReading | undefined {
  const beginsWithMinutes = (facts & of.MINUTES_AND_FRACTION) !== 0;
  if ((facts & of.TWO_NUMBERS) !== 0 && !beginsWithMinutes) return undefined;
  const looksLike = beginsWithMinutes ? 'durations of minutes and seconds' : 'durations';
  return { type: 'interval', notation: { kind: 'duration', beginsWithMinutes }, looksLike };
}

function trueFalse(forms: number, { pairs }: of.ColumnFacts): NaturalReading | undefined {
  const hasBoth = (forms & bits.HAS_TRUE) !== 0 && (forms & bits.HAS_FALSE) !== 0;
  if (pairs === 0 || (forms & (bits.TRUE_FALSE | bits.YES_NO)) === 0) return undefined;
  if (!hasBoth && (forms & bits.HAS_WHOLE_WORD) === 0) return undefined;
  return { type: 'boolean', notation: { kind: 'words' }, looksLike: 'words for true and false' };
}
