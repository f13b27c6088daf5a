/**
 * Wraps an input so that its text is read as the request says.
 */
import type { Warning } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { type TextReading, TextReadingSink } from '../../../encoding/text-reading/text-reading.ts';
import type { LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

/**
 * Returns the input with its text read.
 *
 * @param reading undefined: the request says nothing about text, and the input is returned unchanged
 */
export function readText(input: LoadInput, reading: TextReading | undefined): LoadInput {
  if (reading === undefined) return input;
  let pass: TextReadingSink;
  let ownWarnings: Warning[] = [];
  return wrapInput(input, {
    through: (sink) => {
      pass = new TextReadingSink(sink, reading);
      return pass;
    },
    afterPass: () => {
      ownWarnings = shortYearWarnings(pass, input);
    },
    warnings: () => ownWarnings,
  });
}

/** Warns of years of two digits, because PostgreSQL's rule may give the wrong century. Example: dates of birth. */
export function shortYearWarnings(sink: TextReadingSink, { locate }: Pick<LoadInput, 'locate'>): Warning[] {
  return sink.shortYears().map(({ column, name, row, text, readAs }) => {
    const place = locate(row, column, name).cell ?? `row ${row}`;
    return {
      code: 'two-digit-year',
      column: name,
      detail: `Column "${shortenValue(name)}" has years of two digits: 70 to 99 were read as 1970 to 1999, 00 to 69 as 2000 to 2069. The first is ${JSON.stringify(text)} in ${place}, read as ${readAs}.`,
    };
  });
}
