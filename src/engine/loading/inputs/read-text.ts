/**
 * Wraps an input so that its text is read as the request says.
 */
import type { Warning } from '../../../core/errors.ts';
import { shortYearWarning } from '../../../encoding/infer/inferred-columns.ts';
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

/** Warns of the columns with years of two digits. */
export function shortYearWarnings(sink: TextReadingSink, { locate }: Pick<LoadInput, 'locate'>): Warning[] {
  return sink.shortYears().map((shortYear) => shortYearWarning(shortYear, locate));
}
