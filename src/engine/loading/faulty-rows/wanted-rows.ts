/** Decides from the problems of a load which rows are kept. */
import type { Problem } from '../../../core/errors.ts';
import { Pace } from '../../../core/pause-for-others.ts';
import { reasonOf } from './reason.ts';

/** The maximum number of rows that are kept of a load, and of their bytes. They are written at once when the load ends, so more would block the event loop for too long. */
export const keptRowLimits = { rows: 10_000, bytes: 4 * 1024 * 1024 };

export interface WantedRow {
  row: number;
  reason: Buffer;
  /** The places of the problems of the row. */
  places: { cell: string | undefined; pointer: string | undefined; column: string | undefined }[];
}

export interface WantedRows {
  /** In ascending order. */
  rows: WantedRow[];
  /** Whether these are all rows with problems. */
  areAll: boolean;
}

/** @param problems are in the order of their rows. Those without a row come first */
export async function wantedRows(problems: Iterable<Problem>): Promise<WantedRows> {
  const rows: WantedRow[] = [];
  let areAll = true;
  let bytes = 0;
  let ofRow: Problem[] = [];
  const endRow = (): void => {
    const [first] = ofRow;
    if (first?.row === undefined) return;
    const reason = Buffer.from(reasonOf(ofRow));
    bytes += reason.length;
    const places = ofRow.map(({ cell, pointer, column }) => ({ cell, pointer, column }));
    rows.push({ row: first.row, reason, places });
  };
  const pace = new Pace();
  for (const problem of problems) {
    // One row can have all of the problems.
    const pause = pace.pause();
    if (pause !== undefined) await pause;
    // Only PostgreSQL's own refusals may be about a row whose number is not known.
    if (problem.row === undefined && problem.code === 'refused-by-postgresql') areAll = false;
    if (problem.row !== ofRow[0]?.row) {
      endRow();
      ofRow = [];
      if (rows.length === keptRowLimits.rows || bytes > keptRowLimits.bytes) return { rows, areAll: false };
    }
    if (problem.row !== undefined) ofRow.push(problem);
  }
  endRow();
  return { rows, areAll };
}
