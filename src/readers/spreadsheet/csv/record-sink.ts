/** The interface of what receives the records of delimited text. */

/** Receives the cells: `SheetRows`. Columns count from 0, records from 1. */
export interface RecordSink {
  beginRow(record: number): void;
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void;
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void;
  endRow(): void;
  /** Called for a record that is a comment, in place of the other functions. */
  commentRow?(record: number): void;
  /** true: the current record is left out. */
  readonly isRowLeftOut?: boolean;
  /** true: the current record is outside of the range that is read. */
  readonly isRowSkipped?: boolean;
}
