/**
 * The event loop's turns, shared by all sources: however many of them push at once, a turn lasts little longer than
 * `TURN_MS`, so that other requests are answered between.
 */
import type { CellSink } from './cell-sink.ts';

const TURN_MS = 5;

/** Whether a next turn is asked for already. */
let isSharing = false;
let turnEndsAt = 0;
/** The sources that wait for a turn, in the order in which they began to wait. */
const waiting: (() => void)[] = [];

/** Asked between slices of rows: a promise when the source must wait, for the sink or for a turn. */
export function pauseBetweenSlices(sink: CellSink): Promise<void> | undefined {
  return sink.drain() ?? pauseForOthers();
}

/** Asked between slices of what goes into no sink: a promise when the source must wait for a turn. */
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

/** Lets one source go on; what it leaves of the turn is for those whose input arrives. */
function nextTurn(): void {
  const goOn = waiting.shift();
  isSharing = goOn !== undefined;
  if (goOn === undefined) return;
  turnEndsAt = performance.now() + TURN_MS;
  setImmediate(nextTurn);
  goOn();
}
