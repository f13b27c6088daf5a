/** Counts records and fields, for the warnings and problems of a text file. */

/** Counts records that have another number of fields than the header. */
export class OddRecords {
  count = 0;
  first = 0;
  last = 0;
  /** The number of fields of the first counted record. */
  fields = 0;
  /** All counted records have the same number of fields. */
  areAlike = true;

  add(record: number, fields: number): void {
    if (this.count === 0) {
      this.first = record;
      this.fields = fields;
    }
    this.count += 1;
    this.last = record;
    if (fields !== this.fields) this.areAlike = false;
  }
}

/** Counts records that have several lines, with the place of the first one. Lines count from 1. */
export class LinedRecords {
  count = 0;
  /** The number of lines of all these records. */
  lines = 0;
  column = 0;
  record = 0;
  firstLine = 0;
  lastLine = 0;

  add(record: number, column: number, firstLine: number, moreLines: number): void {
    if (this.count === 0) {
      this.record = record;
      this.column = column;
      this.firstLine = firstLine;
      this.lastLine = firstLine + moreLines;
    }
    this.count += 1;
    this.lines += moreLines + 1;
  }
}

/** Counts fields, with the place of the first one. */
export class CountedFields {
  count = 0;
  record = 0;
  column = 0;

  add(record: number, column: number): void {
    if (this.count === 0) {
      this.record = record;
      this.column = column;
    }
    this.count++;
  }
}
