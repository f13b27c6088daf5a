/** The small parts of an .xlsb workbook (workbook, styles, tables), record by record. */

import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { binaryPartSlices } from '../package/part-slices.ts';
import { maxSmallPartBytes } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { BinaryRecords, NEED_MORE } from './binary-records.ts';

/** The code of a number format is the longest text of these parts. */
export const maxSmallTextBytes = 64 * 1024;

/**
 * Reads the records of a part that is small enough for memory.
 *
 * @throws AppError `invalid-file`, `limit-exceeded`
 */
export async function readSmallRecords(
  container: ZipContainer,
  part: ZipPart,
  wanted: number[],
  onRecord: (type: number, records: BinaryRecords) => void,
): Promise<void> {
  const records = new BinaryRecords(part.name, wanted, { maxCellBytes: maxSmallTextBytes });
  let bytes = 0;
  for await (const slice of binaryPartSlices(container, part, neverAborted)) {
    bytes += slice.length;
    if (bytes > maxSmallPartBytes)
      throw limitExceeded(`Part ${part.name} is too large`, maxSmallPartBytes, 'bytes');
    records.feed(slice);
    for (let count = 1; ; count++) {
      const type = records.next();
      if (type === NEED_MORE) break;
      onRecord(type, records);
      const pause = count % recordsPerTurn === 0 ? pauseForOthers() : undefined;
      if (pause !== undefined) await pause;
    }
  }
}

const neverAborted = new AbortController().signal;
const recordsPerTurn = 64;
