/**
 * A chunk of a body → the scanner, slice by slice, with the sink's consent between them.
 *
 * The slices are small because a sink may hold far more than it is sent: a row `{}` of two bytes becomes one of six
 * kilobytes in a table of 1,600 columns.
 */

import type { CellSink } from '../cell-sink.ts';
import { pauseBetweenSlices } from '../share-turns.ts';
import type { JsonUploadScanner } from './json-upload-scanner.ts';

const sliceBytes = 8 * 1024;

export async function pushSlices(
  scanner: JsonUploadScanner,
  chunk: Buffer,
  sink: CellSink,
  signal: AbortSignal,
): Promise<void> {
  for (let start = 0; start < chunk.length; start += sliceBytes) {
    signal.throwIfAborted();
    scanner.write(chunk, start, Math.min(start + sliceBytes, chunk.length));
    const drained = pauseBetweenSlices(sink);
    if (drained !== undefined) await drained;
  }
}
