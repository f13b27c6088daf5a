/** Lets a source pause between slices of rows, so that sinks and other requests keep up. */

import type { CellSink } from '../core/cells/cell-sink.ts';
import { pauseForOthers } from '../core/pause-for-others.ts';

/** A source calls this between slices of rows. It returns a promise if the source must wait for the sink or for a turn. */
export function pauseBetweenSlices(sink: CellSink, rowBytes?: number): Promise<void> | undefined {
  // A sink whose output has room drains without a turn of the event loop.
  return sink.drain(rowBytes)?.then(pauseForOthers) ?? pauseForOthers();
}
