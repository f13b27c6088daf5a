/** The parameters for reading text. They are the same for JSON strings, text files and text cells of workbooks. */
import Type, { type Static } from 'typebox';
import { wrongParameter } from '../../../core/errors.ts';
import type { TextReading } from '../../../encoding/text-reading/text-reading.ts';
import { choice } from '../query.ts';
import { splitList } from './split-list.ts';

export const textParameters = {
  null_values: Type.Optional(
    Type.String({
      description:
        'Texts that mean NULL, separated by commas and compared exactly as written: `N/A,-`. An empty item means the empty text. Write a backslash before a comma or backslash in a text. Default: none.',
    }),
  ),
  date_order: choice(['iso', 'dmy', 'mdy', 'ymd'], {
    default: 'iso',
    description:
      'The order of day, month and year in dates such as `21/11/2026`, `21.11.2026` or `21-11-26 14:30`. Dates such as `2026-11-21` are read with every value. `iso`: only such dates.',
  }),
  decimal_sign: choice(['.', ','], {
    default: '.',
    description: 'The sign before the decimals of a number.',
  }),
  thousands_sign: choice(['none', '.', ',', 'space', "'"], {
    default: 'none',
    description:
      'The sign between the thousands of a number: `1.234,50` needs `decimal_sign=,&thousands_sign=.`.',
  }),
  trim: Type.Boolean({
    default: false,
    description: 'true: white space around a text is removed.',
  }),
};

const textQuery = Type.Object(textParameters);
export type TextQuery = Static<typeof textQuery>;

const maxNullValues = 100;

/**
 * Returns how text is read.
 *
 * @returns undefined if all parameters have their defaults
 * @throws AppError `invalid-parameter`
 */
export function textReadingOf(query: TextQuery): TextReading | undefined {
  const { null_values, date_order, decimal_sign, thousands_sign, trim } = query;
  if (decimal_sign === thousands_sign) {
    throw wrongParameter('thousands_sign', 'thousands_sign and decimal_sign must not be the same sign.');
  }
  const nullValues = null_values === undefined ? [] : splitList(null_values, ',');
  if (nullValues.length > maxNullValues) {
    throw wrongParameter('null_values', `null_values has more than ${maxNullValues} items.`);
  }
  const isDefault =
    nullValues.length === 0 &&
    date_order === 'iso' &&
    decimal_sign === '.' &&
    thousands_sign === 'none' &&
    !trim;
  if (isDefault) return undefined;
  return {
    nullValues,
    dateOrder: date_order,
    decimalSign: decimal_sign,
    thousandsSign: thousands_sign,
    trim,
  };
}
