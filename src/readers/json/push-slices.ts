/**
 * Pushes a chunk of a body into the scanner slice by slice, and waits for the sink between slices.
 *
 * The slices are small because a sink may need far more memory than it gets: a row `{}` of two bytes becomes six kilobytes in a table of
 * 1,600 columns.
 */

import type { CellSink } from '../../core/cells/cell-sink.ts';
import { pauseBetweenSlices } from '../share-turns.ts';

export const sliceBytes = 8 * 1024;

/** The size of the next slice, if the last one filled the sink or took the whole turn. */
const shortSliceBytes = 1024;

/** Scans chunk[start, end). */
interface SliceScanner {
  /** About how many bytes of the current row were scanned, if that is a long row. */
  readonly rowBytes: number;
  /** Returns the position from which to continue. */
  write(chunk: Buffer, start: number, end: number): number;
  /** The scan has stopped after a long value, which `passLongCell` passes to the sink. */
  readonly hasLongCell: boolean;
  passLongCell(): Promise<void>;
}

/**
 * Pushes a chunk in slices, so that other requests are answered between two slices.
 *
 * @param begin the position in the chunk at which to begin
 */
export async function pushSlices(
  scanner: SliceScanner,
  chunk: Buffer,
  begin: number,
  sink: CellSink,
  signal: AbortSignal,
): Promise<void> {
  let size = shortSliceBytes;
  for (let start = begin; start < chunk.length; ) {
    signal.throwIfAborted();
    const end = Math.min(start + size, chunk.length);
    start = scanner.write(chunk, start, end);
    if (scanner.hasLongCell) await scanner.passLongCell();
    const drained = pauseBetweenSlices(sink, scanner.rowBytes);
    size = drained === undefined ? sliceBytes : shortSliceBytes;
    if (drained !== undefined) await drained;
  }
}
