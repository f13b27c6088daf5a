import { type RowLimit, rowsOfLimit, textOfLimit } from '../request/row-limit.ts';

/** Counts the rows of one upload that have problems and may be left out (`faulty_rows=leave_out`). */
export class FaultyRows {
  count = 0;
  /** The maximum number of rows that may be left out. With more, the upload is refused. Of a share it is known after the rows were read. */
  max: number;
  readonly #limit: RowLimit;

  constructor(limit: RowLimit) {
    this.#limit = limit;
    this.max = typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY;
  }

  /** Call this with the number of all rows after the rows were read. */
  setRows(rows: number): void {
    this.max = rowsOfLimit(this.#limit, rows);
  }

  add(count: number): void {
    this.count += count;
  }

  get areTooMany(): boolean {
    return this.count > this.max;
  }

  /** Returns the reason why the upload is refused. It is the first sentence of the error. */
  get reasonOfTooMany(): string {
    return this.max === 0
      ? 'No row may be left out, because max_faulty_rows is 0.'
      : `More rows have problems than max_faulty_rows=${textOfLimit(this.#limit)} allows to leave out.`;
  }
}

/** The reason why an upload is refused if each of its rows has a problem. */
export const noGoodRow = 'Every row has a problem, so no row is left to load.';

/** The reason why an upload is refused if PostgreSQL cannot store its rows in the staging table: a row is too wide, or the table is. */
export const cannotBeStaged =
  'No row can be left out (faulty_rows=leave_out), because PostgreSQL cannot store these rows in the temporary table in which the service searches for rows with problems.';
