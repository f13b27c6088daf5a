/** The notations of dates and numbers that parameters name, each with its bit, its parameters and its description. */

import { APOSTROPHE, COMMA, POINT, SPACE } from '../../core/bytes/ascii.ts';
import { DAY_MONTH_YEAR, MONTH_DAY_YEAR, YEAR_MONTH_DAY } from '../text-reading/date-form.ts';
import type { NumberSigns } from '../text-reading/number-form.ts';
import * as bits from './form-bits.ts';

export interface DateForm {
  bit: number;
  order: number;
  parameters: Record<string, string>;
  looksLike: string;
}

export interface NumberForm {
  bit: number;
  signs: NumberSigns;
  parameters: Record<string, string>;
  looksLike: string;
}

export const dateForms: readonly DateForm[] = [
  { bit: bits.DMY, order: DAY_MONTH_YEAR, parameters: { date_order: 'dmy' }, looksLike: 'day/month/year' },
  { bit: bits.MDY, order: MONTH_DAY_YEAR, parameters: { date_order: 'mdy' }, looksLike: 'month/day/year' },
  { bit: bits.YMD, order: YEAR_MONTH_DAY, parameters: { date_order: 'ymd' }, looksLike: 'year/month/day' },
];

/** The notation that the parameters of a request name. */
export interface NamedNotation {
  dateOrder: string;
  decimalSign: string;
  thousandsSign: string;
}

/** Returns the forms of the notation, as bits of form-bits.ts. They are used if `values=natural` finds several forms for a column. */
export function preferredForms({ dateOrder, decimalSign, thousandsSign }: NamedNotation): number {
  const dates = dateForms.filter(({ parameters }) => parameters.date_order === dateOrder);
  const isByComma = decimalSign === ',';
  const hasSigns = isByComma || thousandsSign !== 'none';
  const numbers = !hasSigns ? 0 : isByComma ? bits.COMMA_FORMS : bits.POINT_FORMS;
  return dates.reduce((all, { bit }) => all | bit, numbers);
}

/** The forms of numbers. Forms that need fewer parameters come first. */
export const numberForms: readonly NumberForm[] = [
  numberForm(bits.COMMA_ALONE, COMMA, 0),
  numberForm(bits.GROUPED_BY_COMMA, POINT, COMMA),
  numberForm(bits.GROUPED_BY_SPACE, POINT, SPACE),
  numberForm(bits.GROUPED_BY_APOSTROPHE, POINT, APOSTROPHE),
  numberForm(bits.GROUPED_BY_POINT, COMMA, POINT),
  numberForm(bits.SPACE_AND_COMMA, COMMA, SPACE),
  numberForm(bits.APOSTROPHE_AND_COMMA, COMMA, APOSTROPHE),
];

function numberForm(bit: number, decimal: number, thousands: number): NumberForm {
  const decimals = decimal === COMMA ? 'a comma before the decimals' : '';
  const between = {
    0: '',
    [COMMA]: 'a comma',
    [POINT]: 'a point',
    [SPACE]: 'a space',
    [APOSTROPHE]: 'an apostrophe',
  }[thousands];
  const groups = between && `${between} between thousands`;
  const looksLike = `numbers with ${[groups, decimals].filter((part) => part).join(' and ')}`;
  const parameters = {
    ...(decimal === COMMA && { decimal_sign: ',' }),
    ...(thousands !== 0 && {
      thousands_sign: thousands === SPACE ? 'space' : String.fromCharCode(thousands),
    }),
  };
  return { bit, signs: { decimal, thousands }, parameters, looksLike };
}
