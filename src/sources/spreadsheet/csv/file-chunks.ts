import { pauseForOthers } from '../../share-turns.ts';
import type { RandomAccessFile } from '../random-access-file.ts';

/** A read costs as much as some 50 KB of scanning, whatever its length. */
const readBytes = 256 * 1024;

/** Some 0.2 ms of scanning; between two chunks the sink may stop us and the caller may give up. */
const chunkBytes = 64 * 1024;

/**
 * One pass over a file from `start` to its end, with a turn for others when it is due; ends with the signal's
 * reason. A chunk is valid only until the next is asked for, and may be written to.
 */
export async function* fileChunks(
  file: RandomAccessFile,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  let current = Buffer.allocUnsafe(readBytes);
  let ahead = Buffer.allocUnsafe(readBytes);
  let position = start;
  // The disk works on the next chunk while the consumer is at the one before.
  let reading = file.read(ahead, position);
  try {
    for (;;) {
      const length = await reading;
      signal.throwIfAborted();
      if (length === 0) return;
      [current, ahead] = [ahead, current];
      position += length;
      reading = file.read(ahead, position);
      // It is awaited only after the yield; a failure before that is not unhandled.
      reading.catch(() => {});
      for (let at = 0; at < length; at += chunkBytes) {
        signal.throwIfAborted();
        yield current.subarray(at, Math.min(length, at + chunkBytes));
        const pause = pauseForOthers();
        if (pause !== undefined) await pause;
      }
    }
  } finally {
    await reading.catch(() => {});
  }
}
