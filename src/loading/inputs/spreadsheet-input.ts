/**
 * A spreadsheet that has arrived, with the definition that came beside it, as an input.
 */
import type { RowSource } from '../../sources/row-source.ts';
import type { Spool } from '../../sources/spool.ts';
import type { LoadInput } from '../load-input.ts';

/** @param definition the value of `table` in the part `body`; undefined: none */
export function spreadsheetInput(source: RowSource, spool: Spool, definition: unknown): LoadInput {
  return {
    nameMatching: source.nameMatching,
    warnings: source.warnings,
    locate: source.locate,
    get headerFaults() {
      return source.headerFaults ?? [];
    },
    get reading() {
      return source.reading ?? { format: 'unknown' };
    },
    definition,
    open: async () => {},
    read: (sink, signal) => source.read(sink, signal),
    readAndKeep: (sink, signal) => source.read(sink, signal),
    keep: async () => {},
    close: () => spool.close(),
  };
}
