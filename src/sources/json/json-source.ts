/** Reads the rows of a JSON upload from a spool. */

import type { LocateCell } from '../cell-sink.ts';
import type { RowSource } from '../row-source.ts';
import type { Spool } from '../spool.ts';
import type { JsonLimits } from './json-limits.ts';
import { JsonRowScanner } from './json-row-scanner.ts';
import { LineCounter } from './line-counter.ts';
import { pushSlices } from './push-slices.ts';

/**
 * Reads the rows in `spool`, which must stay open and unchanged.
 *
 * @param spool begins with the first row; a `JsonUploadScanner` has scanned it, and bytes after the rows are not read
 * @param isLines each line is a row
 */
export function jsonSource(
  spool: Spool,
  limits: JsonLimits,
  isLines: boolean,
  locate: LocateCell,
): RowSource {
  return {
    async read(sink, signal) {
      const rows = new JsonRowScanner(limits, new LineCounter(isLines));
      const write = (chunk: Buffer, start: number, end: number) => {
        if (!rows.isDone) rows.scan(chunk, start, end, sink);
      };
      for await (const chunk of spool.chunks()) {
        await pushSlices({ write }, chunk, 0, sink, signal);
        if (rows.isDone) break;
      }
      signal.throwIfAborted();
      if (isLines) rows.endLines(sink);
    },
    locate,
    nameMatching: 'exact',
    warnings: [],
  };
}
