/**
 * Records and fields of delimited text (RFC 4180) from UTF-8 bytes in slices that are cut anywhere.
 *
 * Lenient where programs agree on what is meant: a record ends with CR, LF or CRLF, the last one with or without; quotes
 * within a field that does not begin with one are text (`6" pipe`); blanks between a closing quote and the delimiter are no
 * part of the value. Any other text behind a closing quote is a fault of the cell: most often a quote within
 * a quoted field was not doubled, and the commas that follow it have been taken for delimiters already. To
 * guess would put values into wrong columns in silence; the fault names the place, and the scan goes on.
 *
 * An empty field is no cell, quoted or not: what writes `""` for an empty text writes it for NULL just as well.
 */

import { AppError } from '../../../errors.ts';
import { limitExceeded } from '../../../limit-exceeded.ts';
import { CR, LF, SPACE, TAB } from '../../bytes/ascii.ts';
import { GrowableBytes } from '../../bytes/growable-bytes.ts';
import { TEXT, TEXT_BEHIND_QUOTE } from '../../cell-kind.ts';
import { columnLetters } from '../cell-address.ts';

/** What takes the cells: `SheetRows`. Columns count from 0, records from 1. */
export interface RecordSink {
  beginRow(record: number): void;
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void;
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void;
  endRow(): void;
}

/** Between fields nothing is held; the others say what of a field stands in `#held`. */
const RECORD_START = 0;
/** As `RECORD_START`; a LF that comes now belongs to the CR before. */
const AFTER_CR = 1;
const FIELD_START = 2;
const UNQUOTED = 3;
const QUOTED = 4;
/** A quote within a quoted field: it is doubled, or closes the field. */
const QUOTE_SEEN = 5;
/** Behind the closing quote. */
const CLOSED = 6;
const UNREADABLE = 7;
/** Within a line that is a comment. */
const COMMENT = 8;

export interface CsvDialect {
  /** An ASCII byte, neither a quote nor a line end. */
  delimiter: number;
  /** An ASCII byte; 0: no sign quotes. */
  quote: number;
  /** Lines that begin with this ASCII byte are left out, and count as records; 0: there are none. */
  comment: number;
}

/** Records with another number of fields than the header. */
export class OddRecords {
  count = 0;
  first = 0;
  last = 0;
  /** Fields of the first. */
  fields = 0;

  add(record: number, fields: number): void {
    if (this.count === 0) {
      this.first = record;
      this.fields = fields;
    }
    this.count += 1;
    this.last = record;
  }
}

export class CsvScanner {
  readonly #sink: RecordSink;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #comment: number;
  readonly #quoteBytes: Buffer;
  readonly #maxCellBytes: number;
  readonly #maxColumns: number;
  /** By byte: 1 where an unquoted field ends with it. */
  readonly #ends = new Uint8Array(256);

  #state = RECORD_START;
  #record = 0;
  #column = 0;
  #recordBytes = 0;
  /** Fields of the header: of the record that was said, or of the first that has a value. */
  #headerFields = 0;
  /** The same with those behind the last name. */
  #allHeaderFields = 0;
  /** The last record that has a value. */
  #lastValued = 0;
  #lastValuedColumn = 0;
  readonly #headerRecord: number | undefined;
  /** The parts of a field that did not lie whole in one slice, or that has text behind its closing quote. */
  readonly #held: GrowableBytes;
  /** Where the value ended in `#held` when its quote was closed. */
  #closedEnd = 0;

  /**
   * @param headerRecord the record with the names of the columns; undefined: the first with a value
   */
  constructor(
    sink: RecordSink,
    { delimiter, quote, comment }: CsvDialect,
    limits: { maxCellBytes: number; maxColumns: number },
    headerRecord?: number,
  ) {
    this.#headerRecord = headerRecord;
    this.#sink = sink;
    this.#delimiter = delimiter;
    // No byte is -1.
    this.#quote = quote || -1;
    this.#comment = comment || -1;
    this.#quoteBytes = Buffer.of(quote);
    this.#maxCellBytes = limits.maxCellBytes;
    // A closing quote may follow a field of the full length.
    const maxBytes = limits.maxCellBytes + 1;
    this.#held = new GrowableBytes({ maxBytes, exceeded: () => this.#cellTooLong() });
    this.#maxColumns = limits.maxColumns;
    for (const byte of [delimiter, CR, LF]) this.#ends[byte] = 1;
  }

  /** Within `endRow`: the column of the record's last field. */
  get column(): number {
    return this.#column;
  }

  /** Records below the header that have a value and fewer fields than the header. */
  readonly short = new OddRecords();
  /** Records below the header that have a value behind the last field of the header. */
  readonly long = new OddRecords();

  /** Fields of the header without those behind its last name, to which `short` compares. */
  get headerFields(): number {
    return this.#headerFields;
  }

  /** All fields of the header, to which `long` compares. */
  get allHeaderFields(): number {
    return this.#allHeaderFields;
  }

  /** The number of records so far. */
  get records(): number {
    return this.#record;
  }

  /** Some bytes of the record that is not yet at its end; grows by whole slices. */
  get recordBytes(): number {
    return this.#recordBytes;
  }

  /**
   * Takes a slice of the text: valid UTF-8 as a whole. Quotes are undoubled in place, so the slice is used up.
   *
   * @throws AppError `limit-exceeded`
   */
  push(bytes: Buffer): void {
    this.#recordBytes += bytes.length;
    let at = 0;
    if (this.#state === COMMENT) {
      at = this.#skipComment(bytes, 0);
    } else if (this.#state > FIELD_START) {
      at = this.#collect(bytes, 0);
      if (at === bytes.length) return;
      this.#endHeld();
      at = this.#endField(bytes, at);
    } else if (this.#state === AFTER_CR && bytes.length > 0) {
      this.#state = RECORD_START;
      if (bytes[0] === LF) at = 1;
    }
    this.#scan(bytes, at);
  }

  /** @throws AppError `invalid-file` where a quote was never closed, `limit-exceeded` */
  finish(): void {
    if (this.#state === QUOTED) {
      throw new AppError(
        'invalid-file',
        `The quote that opens the field in record ${this.#record}, column ${columnLetters(this.#column + 1)}, is never closed.`,
      );
    }
    if (this.#state > FIELD_START && this.#state !== COMMENT) this.#endHeld();
    if (this.#state === FIELD_START) this.#endRecord();
    this.#state = RECORD_START;
  }

  #endRecord(): void {
    this.#sink.endRow();
    const fields = this.#column + 1;
    const hasValue = this.#lastValued === this.#record;
    if (this.#headerFields === 0) {
      const isHeader = this.#headerRecord === undefined ? hasValue : this.#record === this.#headerRecord;
      // A delimiter behind the last name is no further column.
      if (isHeader) {
        this.#headerFields = hasValue ? this.#lastValuedColumn + 1 : fields;
        this.#allHeaderFields = fields;
      }
    } else if (hasValue && fields < this.#headerFields) {
      this.short.add(this.#record, fields);
    } else if (hasValue && this.#lastValuedColumn >= this.#allHeaderFields) {
      this.long.add(this.#record, this.#lastValuedColumn + 1);
    }
  }

  /** The hot loop: fields that lie whole in the slice, passed on where they stand. */
  #scan(bytes: Buffer, from: number): void {
    const ends = this.#ends;
    const end = bytes.length;
    let at = from;
    while (at < end) {
      const start = at;
      if (this.#state === RECORD_START) {
        if (bytes[start] === this.#comment) {
          this.#record++;
          at = this.#skipComment(bytes, start);
          continue;
        }
        this.#beginRecord();
      }
      let cellStart = start;
      let cellEnd: number;
      if (bytes[start] !== this.#quote) {
        while (at < end && ends[bytes[at]!] === 0) at++;
        cellEnd = at;
      } else {
        cellStart++;
        at = closingQuote(bytes, cellStart, this.#quote);
        cellEnd = at;
        // Below 0 the field has doubled quotes.
        if (at < 0) {
          at = ~at;
          cellEnd =
            at < end - 1 && ends[bytes[at + 1]!] !== 0 ? undouble(bytes, cellStart, at, this.#quote) : at;
        }
        at++;
      }
      if (at >= end || ends[bytes[at]!] === 0) {
        at = this.#collect(bytes, start);
        if (at === end) return;
        this.#endHeld();
      } else if (cellEnd > cellStart) {
        this.#cell(bytes, cellStart, cellEnd);
      }
      at = this.#endField(bytes, at);
    }
  }

  /** @returns where the next line begins; `bytes.length`: the comment may go on in the next slice */
  #skipComment(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at++;
    this.#state = COMMENT;
    if (at === bytes.length) return at;
    this.#state = RECORD_START;
    this.#recordBytes = 0;
    if (bytes[at] === LF) return at + 1;
    if (at + 1 === bytes.length) this.#state = AFTER_CR;
    return bytes[at + 1] === LF && at + 1 < bytes.length ? at + 2 : at + 1;
  }

  #beginRecord(): void {
    this.#state = FIELD_START;
    this.#column = 0;
    this.#sink.beginRow(++this.#record);
  }

  /** @param at where the delimiter or the line end stands. @returns where the next field begins */
  #endField(bytes: Buffer, at: number): number {
    const byte = bytes[at]!;
    if (byte === this.#delimiter) {
      this.#column++;
      return at + 1;
    }
    this.#endRecord();
    this.#state = RECORD_START;
    this.#recordBytes = 0;
    if (byte === LF) return at + 1;
    if (at + 1 === bytes.length) this.#state = AFTER_CR;
    return bytes[at + 1] === LF && at + 1 < bytes.length ? at + 2 : at + 1;
  }

  #cell(bytes: Buffer, start: number, end: number): void {
    if (end - start > this.#maxCellBytes) throw this.#cellTooLong();
    if (this.#column >= this.#maxColumns) {
      throw limitExceeded(`Record ${this.#record} has too many columns`, this.#maxColumns, 'columns');
    }
    this.#lastValued = this.#record;
    this.#lastValuedColumn = this.#column;
    this.#sink.cell(this.#column, TEXT, bytes, start, end);
  }

  /**
   * Goes on with a field, run by run, and holds what belongs to it.
   *
   * @returns where the byte that ends the field stands; `bytes.length`: the field may go on in the next slice
   */
  #collect(bytes: Buffer, from: number): number {
    const end = bytes.length;
    let at = from;
    while (at < end) {
      switch (this.#state) {
        case FIELD_START:
          this.#state = bytes[at] === this.#quote ? QUOTED : UNQUOTED;
          if (this.#state === QUOTED) at++;
          break;
        case QUOTED: {
          const found = closingQuote(bytes, at, this.#quote);
          const quote = Math.min(found < 0 ? ~found : found, end);
          this.#held.append(bytes, at, found < 0 ? undouble(bytes, at, quote, this.#quote) : quote);
          if (quote < end) this.#state = QUOTE_SEEN;
          at = quote + 1;
          break;
        }
        case QUOTE_SEEN:
          this.#state = bytes[at] === this.#quote ? QUOTED : CLOSED;
          this.#closedEnd = this.#held.length;
          this.#held.append(this.#quoteBytes, 0, 1);
          if (this.#state === QUOTED) at++;
          break;
        case CLOSED:
          if (this.#ends[bytes[at]!] !== 0) return at;
          if (bytes[at] === SPACE || bytes[at] === TAB) at++;
          else this.#state = UNREADABLE;
          break;
        default: {
          const start = at;
          while (at < end && this.#ends[bytes[at]!] === 0) at++;
          this.#held.append(bytes, start, at);
          if (at < end) return at;
        }
      }
    }
    return end;
  }

  /** Passes the held field on; the next one may begin. */
  #endHeld(): void {
    const held = this.#held;
    if (this.#state === UNREADABLE) {
      this.#sink.fault(this.#column, TEXT_BEHIND_QUOTE, held.bytes, 0, held.length);
    } else {
      const end = this.#state === CLOSED ? this.#closedEnd : this.#held.length;
      if (end > 0) this.#cell(held.bytes, 0, end);
    }
    held.clear();
    this.#state = FIELD_START;
  }

  #cellTooLong(): AppError {
    const place = `record ${this.#record}, column ${columnLetters(this.#column + 1)}`;
    const isQuoted = this.#state === QUOTED || this.#state === QUOTE_SEEN;
    return limitExceeded(
      `The field in ${place} is too long${isQuoted ? ' (is its quote ever closed?)' : ''}`,
      this.#maxCellBytes,
      { setting: 'MAX_CELL_BYTES' },
    );
  }
}

/**
 * Finds the quote that closes a quoted field.
 *
 * @param from behind the opening quote
 * @returns where it stands; its complement (`~`) where quotes before it are doubled; `bytes.length` or more where it
 *   cannot be told in this slice
 */
function closingQuote(bytes: Buffer, from: number, quote: number): number {
  const end = bytes.length;
  let at = from;
  while (at < end && bytes[at] !== quote) at++;
  if (at + 1 >= end || bytes[at + 1] !== quote) return at;
  do {
    at += 2;
    while (at < end && bytes[at] !== quote) at++;
  } while (at + 1 < end && bytes[at + 1] === quote);
  return ~at;
}

/** @returns the new end of the text */
function undouble(bytes: Buffer, start: number, end: number, quote: number): number {
  let to = start;
  for (let from = start; from < end; from++) {
    const byte = bytes[from]!;
    bytes[to++] = byte;
    if (byte === quote) from++;
  }
  return to;
}
