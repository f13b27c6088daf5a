/** Wraps an input to change its cells on their way to the sink, or to change its places or warnings. */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import type { Warning } from '../../../core/errors.ts';
import type { HeadSize, LoadInput } from './load-input.ts';

export interface InputWrapper {
  /** Returns the sink that the input pushes its cells into. It passes them on to `sink`. */
  through(sink: CellSink): CellSink;
  /** Returns the warnings of the wrapper, in addition to those of the input. */
  warnings(): Warning[];
  /**
   * true: the wrapper changes only names of columns and passes cells on unchanged. A wrapper that changes cells may change them
   * differently in each pass.
   */
  keepsCells?: boolean;
  /** Returns whether the first rows show all columns, as far as the wrapper knows. Called after a pass over the first rows. Default: they do. */
  isHeadEnough?(): boolean;
  /** true: every pass stores the rows, so that they can be read again. */
  keepsRows?: boolean;
  /** Returns the cells that the wrapper has corrected. Default: those of the input. */
  corrected?(): LoadInput['corrected'];
  /** Returns the notation of a column that the wrapper has found. */
  notationOf?: LoadInput['notationOf'];
  /** Called after a whole pass. */
  afterPass?(): void;
  locate?: LoadInput['locate'];
  /** Returns another definition than that of the input. */
  definition?(): unknown;
  /** Default: the columns are passed on to the input. */
  expectColumns?: LoadInput['expectColumns'];
}

export function wrapInput(input: LoadInput, wrapper: InputWrapper): LoadInput {
  const expectColumns = wrapper.expectColumns ?? input.expectColumns?.bind(input);
  return {
    nameMatching: input.nameMatching,
    locate: wrapper.locate ?? input.locate,
    get warnings() {
      return [...input.warnings, ...wrapper.warnings()];
    },
    sent: input.sent ?? input,
    get isKept() {
      return input.isKept;
    },
    expanded: input.expanded,
    notationOf: wrapper.notationOf ?? input.notationOf,
    get headerFaults() {
      return input.headerFaults ?? [];
    },
    get hasRowList() {
      return input.hasRowList;
    },
    get headerTexts() {
      return input.headerTexts;
    },
    get joinedLines() {
      return input.joinedLines;
    },
    get reading() {
      return input.reading ?? { format: 'json' };
    },
    get rowsBefore() {
      return input.rowsBefore ?? 0;
    },
    get definition() {
      return wrapper.definition ? wrapper.definition() : input.definition;
    },
    get isDefinitionOfProfile() {
      return wrapper.definition ? input.definition === undefined : (input.isDefinitionOfProfile ?? false);
    },
    get corrected() {
      return wrapper.corrected?.() ?? input.corrected;
    },
    ...(expectColumns && { expectColumns }),
    ...wrappedPasses(input, wrapper),
  };
}

type Passes = Pick<LoadInput, 'open' | 'readHead' | 'read' | 'readAndKeep' | 'keep' | 'close'>;

function wrappedPasses(input: LoadInput, wrapper: InputWrapper): Passes {
  return {
    open: () => input.open(),
    ...(wrapper.keepsCells &&
      input.readHead && {
        readHead: async (sink: CellSink, size: HeadSize, signal: AbortSignal) => {
          const part = await input.readHead!(wrapper.through(sink), size, signal);
          return wrapper.isHeadEnough?.() === false ? undefined : part;
        },
      }),
    read: async (sink, signal) => {
      const through = wrapper.through(sink);
      await (wrapper.keepsRows ? input.readAndKeep(through, signal) : input.read(through, signal));
      wrapper.afterPass?.();
    },
    readAndKeep: async (sink, signal) => {
      await input.readAndKeep(wrapper.through(sink), signal);
      wrapper.afterPass?.();
    },
    keep: (signal) => input.keep(signal),
    close: () => input.close(),
  };
}
