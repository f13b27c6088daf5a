/**
 * Shares the turns of the event loop among all sources. If many sources push at the same time, a turn still lasts only a little longer
 * than `TURN_MS`, so that other requests are answered between turns.
 */
import type { CellSink } from './cell-sink.ts';

const TURN_MS = 5;

/** Whether the next turn was already requested. */
let isSharing = false;
let turnEndsAt = 0;
/** The sources that wait for a turn, in the order in which they began to wait. */
const waiting: (() => void)[] = [];

/** A source calls this between slices of rows. It returns a promise if the source must wait for the sink or for a turn. */
export function pauseBetweenSlices(sink: CellSink): Promise<void> | undefined {
  return sink.drain() ?? pauseForOthers();
}

/** A source calls this between slices that go into no sink. It returns a promise if the source must wait for a turn. */
export function pauseForOthers(): Promise<void> | undefined {
  if (!isSharing) {
    isSharing = true;
    turnEndsAt = performance.now() + TURN_MS;
    setImmediate(nextTurn);
    return undefined;
  }
  if (performance.now() < turnEndsAt) return undefined;
  return new Promise((resolve) => waiting.push(resolve));
}

/** Lets one source continue. Sources whose input arrives may use the rest of the turn. */
function nextTurn(): void {
  const goOn = waiting.shift();
  isSharing = goOn !== undefined;
  if (goOn === undefined) return;
  turnEndsAt = performance.now() + TURN_MS;
  setImmediate(nextTurn);
  goOn();
}
