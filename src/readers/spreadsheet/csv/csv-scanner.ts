/**
 * Scans the records and fields of delimited text (RFC 4180) from UTF-8 bytes in slices that are cut anywhere.
 *
 * The scanner accepts variations that all programs read alike. A record ends with CR, LF or CRLF, and the last record may have no line
 * end. Quotes within a field that does not begin with a quote are text (`6" pipe`). White space between a closing quote and the delimiter
 * is not part of the value. Any other text after a closing quote is a problem of the cell. Most often a quote within a quoted field was not
 * doubled, so the commas after it were already read as delimiters. Guessing could put values into wrong columns without a warning. So
 * the problem names the place, and the scan continues. If such a record has several lines, its quotes may have joined lines that are
 * records of their own. `damaged` counts these records. `joined` counts records whose quotes have no problem, but look the same.
 *
 * An empty field is not a cell, with or without quotes, because programs write `""` both for an empty text and for NULL.
 *
 * A field `="00042"` is the text 00042. Programs write a text of digits in this way, because Excel would read 00042 as a number.
 */

import { BACKSLASH, CR, EQUALS, LF, QUOTE, SPACE, TAB } from '../../../core/bytes/ascii.ts';
import { GrowableBytes } from '../../../core/bytes/growable-bytes.ts';
import { STRING, TEXT, TEXT_AFTER_ESCAPED_QUOTE, TEXT_AFTER_QUOTE } from '../../../core/cells/cell-kind.ts';
import { maxJoinedRows } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { columnLetters } from '../cell-address.ts';
import type { CsvDialect } from './csv-dialect.ts';
import {
  closingQuote,
  countBytes,
  emptyFormulaBytes,
  endOfSpace,
  isTextFormula,
  looksJoined,
  nextLineEnd,
  nextOfBlanks,
  undouble,
} from './field-bytes.ts';
import { CountedFields, LinedRecords, OddRecords } from './record-counts.ts';
import type { RecordSink } from './record-sink.ts';

/** The states of the scan. Between fields `#held` is empty. Within a field it contains the beginning of the field, if it must be kept. */
const RECORD_START = 0;
/** Like `RECORD_START`, but the last byte was a CR. If an LF follows, it belongs to the same line end. */
const AFTER_CR = 1;
const FIELD_START = 2;
const UNQUOTED = 3;
const QUOTED = 4;
/** The last byte was a quote within a quoted field. The next byte shows whether it is doubled or closes the field. */
const QUOTE_SEEN = 5;
/** The scan is after the closing quote. */
const CLOSED = 6;
const UNREADABLE = 7;
/** The scan is within a comment line. */
const COMMENT = 8;
/** The scan is in white space at the beginning of a field. A quote may follow. */
const SPACES = 9;

export class CsvScanner {
  readonly #sink: RecordSink;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #comment: number;
  readonly #quoteBytes: Buffer;
  readonly #maxCellBytes: number;
  readonly #maxColumns: number;
  readonly #skipsSpace: boolean;
  readonly #quoted: CsvDialect['quoted'];
  readonly #dropsSpace: boolean;
  /** For each byte: 1 if it ends a field without quotes. */
  readonly #ends = new Uint8Array(256);

  #state = RECORD_START;
  #record = 0;
  #column = 0;
  #recordBytes = 0;
  /** The number of fields of the header, which is the stated record or the first record with a value. */
  #headerFields = 0;
  /** The number of fields of the header, including empty fields after the last name. */
  #allHeaderFields = 0;
  /** The last record that has a value. */
  #lastValued = 0;
  #lastValuedColumn = 0;
  readonly #headerRecord: number | undefined;
  /** The parts of a field that is not completely in one slice, or that has text after its closing quote. */
  readonly #held: GrowableBytes;
  /** The length of the value in `#held` when the closing quote came. */
  #closedEnd = 0;
  /** The number of line ends within quoted fields of earlier records. */
  #linesBefore = 0;
  /** The number of line ends within quoted fields of the current record. */
  #moreLines = 0;
  /** In the current record, the column of the first field with text after its closing quote (`#faultyColumn`) or with lines that look like records (`#joinedColumn`); -1: none. */
  #faultyColumn = -1;
  #joinedColumn = -1;

  /** @param headerRecord the number of the record with the names of the columns; undefined: the first record with a value */
  constructor(
    sink: RecordSink,
    { delimiter, quote, comment, skipsSpace = false, dropsSpace = false, quoted }: CsvDialect,
    limits: { maxCellBytes: number; maxColumns: number },
    headerRecord?: number,
  ) {
    this.#headerRecord = headerRecord;
    this.#sink = sink;
    this.#delimiter = delimiter;
    // `-1` means that there is no such sign, because no byte equals -1.
    this.#quote = quote || -1;
    this.#comment = comment || -1;
    this.#quoteBytes = Buffer.of(quote);
    this.#maxCellBytes = limits.maxCellBytes;
    // One more byte is allowed, for the closing quote after a field of the full length.
    const maxBytes = limits.maxCellBytes + 1;
    this.#held = new GrowableBytes({ maxBytes, exceeded: () => this.#cellTooLong() });
    this.#maxColumns = limits.maxColumns;
    this.#skipsSpace = skipsSpace && quote !== 0;
    this.#quoted = quoted;
    this.#dropsSpace = dropsSpace;
    for (const byte of [delimiter, CR, LF]) this.#ends[byte] = 1;
  }

  /** Returns the column of the record's last field. Only for use in `endRow`. */
  get column(): number {
    return this.#column;
  }

  /** The number of records below the header that have a value. */
  valued = 0;
  /** Records below the header that have a value and fewer fields than the header has up to its last name. */
  readonly short = new OddRecords();
  /** The short records that have a field for each name of the header, and lack only fields after the last name. */
  readonly lean = new OddRecords();
  /** Records below the header that have a value in a field beyond the header. */
  readonly long = new OddRecords();
  /** Records below the header that have more fields than the header, but no values in the additional fields. */
  readonly surplus = new OddRecords();

  /** Records of several lines that have text after a closing quote. Their lines may be separate records. */
  readonly damaged = new LinedRecords();
  /** Records with a quoted field whose lines look like separate records, as if the quotes were text. */
  readonly joined = new LinedRecords();
  /** The first of the joined records. */
  readonly joinedRecords: number[] = [];
  /** A field has text after its closing quote. */
  areQuotesWrong = false;

  /** Returns whether the text so far ends within quotes. */
  get isInQuotes(): boolean {
    return this.#state === QUOTED;
  }

  /** Fields with white space before a quote. Such a quote is text. */
  readonly spacedQuotes = new CountedFields();

  /** Fields such as `="00042"`, with the place of the first one. */
  readonly textFormulas = new CountedFields();

  /** Returns the number of header fields up to its last name. `short` compares with this. */
  get headerFields(): number {
    return this.#headerFields;
  }

  /** Returns the number of all header fields. `long` compares with this. */
  get allHeaderFields(): number {
    return this.#allHeaderFields;
  }

  /** Returns the number of records so far. */
  get records(): number {
    return this.#record;
  }

  /** Returns the approximate number of bytes of the unfinished record, which grows by whole slices. */
  get recordBytes(): number {
    return this.#recordBytes;
  }

  /**
   * Scans a slice of the text, which must be valid UTF-8 as a whole. Doubled quotes are removed in place, so the slice changes.
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

  /** Ends the text. @throws AppError `invalid-file` if a quote was never closed, `limit-exceeded` */
  finish(): void {
    if (this.#state === QUOTED) {
      throw new AppError(
        'invalid-file',
        `The quote that opens the field in record ${this.#record}, column ${columnLetters(this.#column + 1)}, is never closed. If the quotes of this file are text, send quote=none.`,
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
    const mayBeHeader = this.#headerRecord === undefined ? hasValue : this.#record === this.#headerRecord;
    const isHeader = this.#headerFields === 0 && mayBeHeader;
    if (this.#moreLines > 0) this.#endLines(isHeader);
    this.#faultyColumn = -1;
    if (this.#headerFields === 0) {
      // Fields after the last name do not add columns.
      if (isHeader) {
        this.#headerFields = hasValue ? this.#lastValuedColumn + 1 : fields;
        this.#allHeaderFields = fields;
      }
    } else if (!hasValue || this.#sink.isRowLeftOut) {
      return;
    } else {
      this.valued++;
      if (fields !== this.#allHeaderFields) this.#addOdd(fields);
    }
  }

  #addOdd(fields: number): void {
    if (fields < this.#headerFields) this.short.add(this.#record, fields);
    else if (fields < this.#allHeaderFields) this.lean.add(this.#record, fields);
    else if (this.#lastValuedColumn < this.#allHeaderFields) this.surplus.add(this.#record, fields);
    else this.long.add(this.#record, this.#lastValuedColumn + 1);
  }

  /** Ends a record that has several lines. */
  #endLines(isHeader: boolean): void {
    const moreLines = this.#moreLines;
    if (isHeader) {
      if (this.#joinedColumn >= 0) this.#addJoined(this.#record + this.#linesBefore, moreLines);
    } else if (this.#headerFields > 0 && !this.#sink.isRowLeftOut && !this.#sink.isRowSkipped) {
      const first = this.#record + this.#linesBefore;
      if (this.#faultyColumn >= 0) this.damaged.add(this.#record, this.#faultyColumn, first, moreLines);
      else if (this.#joinedColumn >= 0) this.#addJoined(first, moreLines);
    }
    this.#linesBefore += moreLines;
    this.#moreLines = 0;
    this.#joinedColumn = -1;
  }

  #addJoined(firstLine: number, moreLines: number): void {
    this.joined.add(this.#record, this.#joinedColumn, firstLine, moreLines);
    if (this.joinedRecords.length < maxJoinedRows) this.joinedRecords.push(this.#record);
  }

  /** Notes the lines of a quoted field that is complete and has a line end. */
  #endLinedField(bytes: Buffer, start: number, end: number): void {
    const feeds = countBytes(bytes, start, end, LF);
    const lines = feeds > 0 ? feeds : countBytes(bytes, start, end, CR);
    this.#moreLines += lines;
    const isHeaderKnown = this.#headerFields > 0;
    const delimiters = isHeaderKnown ? this.#allHeaderFields - 1 : -1;
    // The first and the last line are incomplete, so only the lines between two line ends are compared with the header.
    if (lines < 2 || delimiters === 0 || this.#joinedColumn >= 0) return;
    const lineEnd = feeds > 0 ? LF : CR;
    if (looksJoined(bytes, start, end, this.#delimiter, lineEnd, this.#column, delimiters)) {
      this.#joinedColumn = this.#column;
    }
  }

  /** Scans a slice. It passes fields that are completely in the slice to the sink without copying them. */
  #scan(bytes: Buffer, from: number): void {
    const ends = this.#ends;
    const end = bytes.length;
    let at = from;
    // The next line end is searched only once for all fields before it, which is faster than a loop over the bytes of each field.
    let lineEnd = -1;
    let hasFeeds = true;
    while (at < end) {
      let start = at;
      if (this.#state === RECORD_START) {
        if (bytes[start] === this.#comment) {
          this.#record++;
          this.#sink.commentRow?.(this.#record);
          at = this.#skipComment(bytes, start);
          continue;
        }
        at = start = this.#skipBlank(bytes, start);
        this.#beginRecord();
      }
      let cellStart = start;
      let cellEnd: number;
      let isSpaced = false;
      if (bytes[start] === SPACE || bytes[start] === TAB) {
        const textAt = endOfSpace(bytes, start, this.#delimiter);
        const isQuote = bytes[textAt] === this.#quote;
        if (isQuote ? this.#skipsSpace : this.#dropsSpace) cellStart = textAt;
        else isSpaced = isQuote && textAt > start;
      }
      let isLined = false;
      const isQuoted = bytes[cellStart] === this.#quote;
      if (!isQuoted) {
        while (at < end && ends[bytes[at]!] === 0) at++;
        cellEnd = at;
      } else {
        cellStart++;
        at = closingQuote(bytes, cellStart, this.#quote);
        cellEnd = at;
        // A negative position (`~at`) means that the field has doubled quotes.
        if (at < 0) {
          at = ~at;
          cellEnd =
            at < end - 1 && ends[bytes[at + 1]!] !== 0 ? undouble(bytes, cellStart, at, this.#quote) : at;
        }
        if (lineEnd < cellStart) {
          lineEnd = nextLineEnd(bytes, cellStart, hasFeeds);
          if (bytes[lineEnd] !== LF) hasFeeds = false;
        }
        isLined = lineEnd < at;
        at++;
      }
      if (at >= end || ends[bytes[at]!] === 0) {
        at = this.#collect(bytes, start);
        if (at === end) return;
        this.#endHeld();
      } else {
        if (isSpaced) this.spacedQuotes.add(this.#record, this.#column);
        if (isLined) this.#endLinedField(bytes, cellStart, cellEnd);
        if (cellEnd > cellStart || (isQuoted && this.#quoted === 'exact'))
          this.#cell(bytes, cellStart, cellEnd, isQuoted && this.#quoted === 'text' ? STRING : TEXT);
      }
      at = this.#endField(bytes, at);
    }
  }

  /**
   * Skips a comment line.
   *
   * @returns where the next line begins; `bytes.length`: the comment may continue in the next slice
   */
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

  /** Skips blank records, except the last one and the header. @returns where the next record begins */
  #skipBlank(bytes: Buffer, from: number): number {
    let start = from;
    let next = nextOfBlanks(bytes, start);
    for (; next > 0 && this.#record + 1 !== this.#headerRecord; next = nextOfBlanks(bytes, start)) {
      this.#record++;
      start = next;
    }
    return start;
  }

  #beginRecord(): void {
    this.#state = FIELD_START;
    this.#column = 0;
    this.#sink.beginRow(++this.#record);
  }

  /**
   * Passes the field that ends here to the sink.
   *
   * @param at the position of the delimiter or the line end
   * @returns where the next field begins
   */
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

  #cell(bytes: Buffer, start: number, end: number, kind: number): void {
    if (end - start > this.#maxCellBytes) throw this.#cellTooLong();
    if (this.#column >= this.#maxColumns) {
      throw limitExceeded(`Record ${this.#record} has too many columns`, this.#maxColumns, 'columns');
    }
    const mayBeFormula = bytes[start] === EQUALS && this.#quoted !== 'exact';
    const isFormula = mayBeFormula && isTextFormula(bytes, start, end);
    if (isFormula && end - start === emptyFormulaBytes) return;
    this.#lastValued = this.#record;
    this.#lastValuedColumn = this.#column;
    if (isFormula) this.#textFormula(bytes, start, end);
    else this.#sink.cell(this.#column, kind, bytes, start, end);
  }

  #textFormula(bytes: Buffer, start: number, end: number): void {
    this.textFormulas.add(this.#record, this.#column);
    const from = start + 2;
    this.#sink.cell(this.#column, STRING, bytes, from, undouble(bytes, from, end - 1, QUOTE));
  }

  /**
   * Continues a field piece by piece and keeps its bytes in `#held`.
   *
   * @returns the position of the byte that ends the field; `bytes.length`: the field may continue in the next slice
   */
  #collect(bytes: Buffer, from: number): number {
    const end = bytes.length;
    let at = from;
    while (at < end) {
      switch (this.#state) {
        case FIELD_START:
          this.#state = bytes[at] === this.#quote ? QUOTED : this.#isSpace(bytes[at]!) ? SPACES : UNQUOTED;
          if (this.#state === QUOTED) at++;
          break;
        case SPACES:
          if (this.#isSpace(bytes[at]!)) {
            this.#held.append(bytes, at, ++at);
          } else if (bytes[at] === this.#quote && this.#skipsSpace) {
            this.#held.clear();
            this.#state = QUOTED;
            at++;
          } else {
            if (bytes[at] === this.#quote) this.spacedQuotes.add(this.#record, this.#column);
            if (this.#dropsSpace) this.#held.clear();
            this.#state = UNQUOTED;
          }
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

  /** Passes the field in `#held` to the sink, and empties `#held`. */
  #endHeld(): void {
    const held = this.#held;
    const end = this.#state === CLOSED ? this.#closedEnd : held.length;
    const isQuoted = this.#state !== UNQUOTED && this.#state !== SPACES;
    if (isQuoted && nextLineEnd(held.bytes.subarray(0, end), 0, true) < end)
      this.#endLinedField(held.bytes, 0, end);
    if (this.#state === UNREADABLE) {
      this.areQuotesWrong = true;
      if (this.#faultyColumn < 0) this.#faultyColumn = this.#column;
      const isEscaped = this.#closedEnd > 0 && held.bytes[this.#closedEnd - 1] === BACKSLASH;
      const fault = isEscaped ? TEXT_AFTER_ESCAPED_QUOTE : TEXT_AFTER_QUOTE;
      this.#sink.fault(this.#column, fault, held.bytes, 0, held.length);
    } else if (end > 0 || (isQuoted && this.#quoted === 'exact')) {
      this.#cell(held.bytes, 0, end, isQuoted && this.#quoted === 'text' ? STRING : TEXT);
    }
    held.clear();
    this.#state = FIELD_START;
  }

  /** Returns whether the byte is white space that may come before a quote. */
  #isSpace(byte: number): boolean {
    return (byte === SPACE || byte === TAB) && byte !== this.#delimiter && this.#quote !== -1;
  }

  #cellTooLong(): AppError {
    const place = `record ${this.#record}, column ${columnLetters(this.#column + 1)}`;
    const isQuoted = this.#state === QUOTED || this.#state === QUOTE_SEEN;
    const what = `The field in ${place} is too long${isQuoted ? ' (is its quote ever closed?)' : ''}`;
    return limitExceeded(what, this.#maxCellBytes, { setting: 'MAX_CELL_BYTES' });
  }
}
