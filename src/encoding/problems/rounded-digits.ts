/** The warning about numbers of a workbook that lose digits: docs/decisions/0048-rounded-digits.md. */
import type { Choice, Warning } from '../../core/errors.ts';
import { shortenValue } from './problems.ts';

export const asDoubles: Choice = { parameters: { extra_columns: 'add' }, type: 'double precision' };

/** Warns of a column of an inspected workbook whose numbers would be rounded. @param place the first such number */
export function roundedDigits(column: string, place: string): Warning {
  const detail = describeRounded(`values of "${shortenValue(column)}"`, place, 'would be');
  return { code: 'digits-rounded', column, detail, choices: [asDoubles] };
}

export function describeRounded(of: string, place: string, are: 'were' | 'would be'): string {
  return `Digits of ${of} after the 15th significant digit ${are} rounded (first in ${place}), because Excel does not show them. If a program or a sensor wrote the numbers, send a definition in which this column has the type double precision, which stores them unchanged.`;
}
