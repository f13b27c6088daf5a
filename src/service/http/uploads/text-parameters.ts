/** Reads the parameters for reading text. They are the same for JSON strings, text files and text cells of workbooks. */
import { wrongParameter } from '../../../core/errors.ts';
import type { TextReading } from '../../../encoding/text-reading/text-reading.ts';
import type { QueryOnBoth } from './parameters.ts';
import { splitList } from './split-list.ts';

const maxNullValues = 100;

/**
 * Returns how text is read.
 *
 * @returns undefined if all parameters have their defaults
 * @throws AppError `invalid-parameter`
 */
export function textReadingOf(query: QueryOnBoth<'inspect-json', 'inspect-excel'>): TextReading | undefined {
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
