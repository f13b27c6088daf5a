/** Wraps an input so that the columns whose notation is known are read in it. */
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import type { InferredColumn } from '../../../encoding/infer/infer-types.ts';
import type { LanguageWords } from '../../../encoding/text-reading/natural/language-words.ts';
import {
  NaturalReadingSink,
  type Notations,
} from '../../../encoding/text-reading/natural/natural-reading.ts';
import type { LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

/** Returns the notations of the inferred columns; undefined: no column has one. */
export function notationsOf(columns: InferredColumn[]): Notations | undefined {
  const notations: Notations[number][] = [];
  for (const { column, reading } of columns) if (reading !== undefined) notations[column] = reading.notation;
  return notations.length === 0 ? undefined : notations;
}

/** Returns the sink through which cells pass on their way to `sink`. */
export function naturalSink(
  sink: CellSink,
  notations: Notations | undefined,
  words: LanguageWords,
): CellSink {
  return notations === undefined ? sink : new NaturalReadingSink(sink, notations, words);
}

export function readNaturally(
  input: LoadInput,
  notations: Notations | undefined,
  words: LanguageWords,
): LoadInput {
  if (notations === undefined) return input;
  return wrapInput(input, {
    through: (sink) => naturalSink(sink, notations, words),
    warnings: () => [],
  });
}
