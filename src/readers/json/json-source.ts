/** Reads the rows of a JSON upload from a spool. */

import type { CellSink, LocateCell } from '../../core/cells/cell-sink.ts';
import type { RowSource } from '../../core/cells/row-source.ts';
import type { Spool } from '../spool.ts';
import type { JsonLimits } from './json-limits.ts';
import { JsonRowScanner, type RowList } from './json-row-scanner.ts';
import { LineCounter } from './line-counter.ts';
import { pushSlices } from './push-slices.ts';

/**
 * Reads the rows in `spool`, which must stay open and unchanged.
 *
 * @param spool begins with the first row. A `JsonUploadScanner` must have scanned it before. Bytes after the rows are not read
 * @param list how the rows follow each other
 */
export function jsonSource(spool: Spool, limits: JsonLimits, list: RowList, locate: LocateCell): RowSource {
  return {
    async read(sink, signal) {
      const rows = await scanRows(spool.chunks(), limits, list, sink, signal);
      signal.throwIfAborted();
      if (list === 'lines') rows.endLines(sink);
    },
    locate,
    nameMatching: 'exact',
    warnings: [],
  };
}

/**
 * Pushes the rows of the chunks into the sink. The chunks may end within a row.
 *
 * @param chunks the first one begins with the first row; bytes after the rows are not scanned
 * @param list how the rows follow each other
 * @returns the scanner. If each line is a row, the last line is not ended yet
 */
export async function scanRows(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  limits: JsonLimits,
  list: RowList,
  sink: CellSink,
  signal: AbortSignal,
): Promise<JsonRowScanner> {
  const rows = new JsonRowScanner(limits, new LineCounter(list === 'lines'));
  if (list === 'one') rows.beginOne();
  const scanner = {
    write(chunk: Buffer, start: number, end: number): number {
      const after = rows.isDone ? end : rows.scan(chunk, start, end, sink);
      return rows.isDone ? end : after;
    },
    get hasLongCell(): boolean {
      return rows.hasLongCell;
    },
    passLongCell: () => rows.passLongCell(sink),
    get rowBytes(): number {
      return rows.rowBytes;
    },
  };
  for await (const chunk of chunks) {
    await pushSlices(scanner, chunk, 0, sink, signal);
    if (rows.isDone) break;
  }
  return rows;
}
