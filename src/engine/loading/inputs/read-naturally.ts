/** Wraps an input so that each column is read in the notation that `values=natural` has found for it. */
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import type { TypeChoices, TypeInference } from '../../../encoding/infer/infer-types.ts';
import { naturalColumns } from '../../../encoding/infer/inferred-columns.ts';
import { NotationFinder } from '../../../encoding/infer/notation-finder.ts';
import {
  NaturalReadingSink,
  type NotationOf,
} from '../../../encoding/text-reading/natural/natural-reading.ts';
import type { LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

/** Returns a sink that reads each text in the notation of its column and passes the cells on to `sink`. The types of all columns must be inferred. */
export function readInferred(
  sink: CellSink,
  inference: TypeInference,
  { isNatural, words }: TypeChoices,
): CellSink {
  return isNatural ? new NaturalReadingSink(sink, inferredNotations(inference), words) : sink;
}

/** Returns the notations that the inference found. They are read when the first one is wanted, because most loads need none again. */
export function inferredNotations(inference: TypeInference): NotationOf {
  const read = () => new Map(inference.columns().map(({ name, reading }) => [name, reading]));
  let readings: ReturnType<typeof read> | undefined;
  return (name) => {
    readings ??= read();
    return readings.get(name)?.notation;
  };
}

/** Returns the input with each column read in the notation that the inference found. */
export function readNaturally(input: LoadInput, inference: TypeInference, choices: TypeChoices): LoadInput {
  if (!choices.isNatural) return input;
  return wrapInput(input, {
    through: (sink) => readInferred(sink, inference, choices),
    notationOf: inferredNotations(inference),
    warnings: () => [],
  });
}

type NaturalColumn = Parameters<typeof naturalColumns>[0][number];

/** Finds the notations of columns whose types are known, in a pass over all rows. Returns the input that is read in these notations. */
export async function findNotations(
  input: LoadInput,
  choices: TypeChoices,
  signal: AbortSignal,
): Promise<LoadInput> {
  const finder = new NotationFinder(choices);
  await input.readAndKeep(finder, signal);
  let found: NaturalColumn[] = [];
  return wrapInput(input, {
    through: (sink) => {
      const ofPass: NaturalColumn[] = [];
      found = ofPass;
      const notationOf = (name: string, wanted: number, column: number) => {
        const reading = finder.readingOf(name, wanted);
        if (reading !== undefined) ofPass.push({ name, column, reading });
        return reading?.notation;
      };
      return new NaturalReadingSink(sink, notationOf, choices.words);
    },
    notationOf: (name, wanted) => finder.readingOf(name, wanted)?.notation,
    warnings: () => naturalColumns(found, input.locate),
  });
}
