/** Scans the bytes of a long value in turns of the event loop, because a scan of 16 MB takes up to half a second. */

import { pauseForOthers } from '../pause-for-others.ts';

/** Work on the bytes of a value that can stop at any position and continue later. */
export interface Scan {
  /**
   * Continues at the position where it stopped. A token that `until` cuts is scanned as a whole.
   *
   * @returns whether the result is known, so that the other bytes need not be scanned
   */
  scanTo(until: number): boolean;
}

/** The bytes of a scan that has not begun. */
export const noBytes = Buffer.alloc(0);

/** A longer value is scanned in turns if its source can wait. Its scan has memory of its own, which is given back with the result. */
export const SHORT_SCAN_BYTES = 256 * 1024;
/** The scan of a part takes up to five milliseconds, if all of it are keys. */
const PART_BYTES = 32 * 1024;

/** Scans the bytes from `start` to `end`. @returns the last result of `scanTo` */
export async function scanInTurns(scan: Scan, start: number, end: number): Promise<boolean> {
  for (let until = start; until < end; ) {
    await pauseForOthers();
    until = Math.min(until + PART_BYTES, end);
    if (scan.scanTo(until)) return true;
  }
  return false;
}
