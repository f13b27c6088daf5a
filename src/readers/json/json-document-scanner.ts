/**
 * Scans a JSON document strictly by RFC 8259 and pushes its rows as cells. A `DocumentPlan` knows where in the document the rows
 * are, and `JsonRowScanner` scans them. The code outside of the rows need not be fast.
 */

import { type ByteLimit, GrowableBytes } from '../../core/bytes/growable-bytes.ts';
import type { CellSink } from '../../core/cells/cell-sink.ts';
import { rowTooLong } from '../../core/cells/row-limit.ts';
import { AppError } from '../../core/errors.ts';
import { Utf8Checker } from '../bytes/utf8-checker.ts';
import { explainAlmostJson } from './almost-json.ts';
import { type DocumentPlan, KEEP, ONE_ROW, ROWS, SKIP, WALK } from './document-plan.ts';
import { byteLimit, JsonFault, type Limit, LimitFault, RowTooLong, showByte } from './json-fault.ts';
import type { JsonLimits } from './json-limits.ts';
import { JsonRowScanner, KEY_LIMIT } from './json-row-scanner.ts';
import { JsonValueScanner } from './json-value-scanner.ts';
import { LineCounter } from './line-counter.ts';
import { StringUnescaper } from './string-unescaper.ts';

/** The states of the scanner: what it expects next. */
const DOCUMENT = 0;
const BOM_SECOND_BYTE = 1;
const BOM_THIRD_BYTE = 2;
const FIRST_KEY = 3;
const KEY = 4;
const COLON = 5;
const VALUE = 6;
const FIRST_ELEMENT = 7;
const AFTER_VALUE = 8;
const DOCUMENT_END = 9;
/** The scanner is inside something that the end of the chunk may cut. */
const IN_KEY = 10;
const IN_VALUE = 11;
const IN_ROWS = 12;

const UTF_16 = 'The body is UTF-16; send UTF-8.';

/** Texts for messages that describe what the body should be. */
export interface DocumentWords {
  /** The expected body, for an empty one: `an object that holds "table"`. */
  expected: string;
  /** What to do if the body does not begin as JSON, because it is a file of another format. */
  otherFormat: string;
}

export class JsonDocumentScanner {
  /** Receives the cells. If it is not set when the first row comes, `write` stops there once. */
  sink: CellSink | undefined;
  /** The scan has reached the first row, or the end of an empty array of rows. */
  rowsSeen = false;

  readonly #plan: DocumentPlan | undefined;
  readonly #words: DocumentWords;
  readonly #keepLimit: ByteLimit;
  readonly #lines: LineCounter;
  readonly #rows: JsonRowScanner;
  readonly #utf8 = new Utf8Checker();
  readonly #value: JsonValueScanner;
  readonly #unescaper = new StringUnescaper();
  /** The current key or kept value. */
  readonly #held = new GrowableBytes(KEY_LIMIT);

  #state = DOCUMENT;
  /** For each open object or array that is walked, the outermost first: the index of the current element of an array; -1 for an object. */
  readonly #walked: number[] = [];
  /** The first byte of the document; 0: not seen yet. */
  #documentByte = 0;
  /** The first byte of the current value, and what the plan wants to do with the value. */
  #firstByte = 0;
  #action = SKIP;
  /** The offset in the document of the chunk's byte 0. It is negative if the caller began later in the chunk. */
  #origin = 0;
  /** The number of bytes scanned so far. */
  #taken = 0;

  /** @param plan undefined: each line of the body is a row, so there is no document around the rows */
  constructor(limits: JsonLimits, words: DocumentWords, plan: DocumentPlan | undefined) {
    this.#plan = plan;
    this.#words = words;
    const keepLimit: Limit = { setting: 'MAX_DEFINITION_BYTES', value: limits.maxTableBytes, unit: 'bytes' };
    this.#keepLimit = byteLimit('The definition is too long', keepLimit);
    this.#lines = new LineCounter(plan === undefined);
    this.#rows = new JsonRowScanner(limits, this.#lines);
    this.#value = new JsonValueScanner(limits.maxDepth, this.#lines);
  }

  /** Returns the number of the last row that began; 0: none. */
  get row(): number {
    return this.#rows.row;
  }

  /** About how many bytes of the current row were scanned; 0: the row is short. */
  get rowBytes(): number {
    return this.#rows.rowBytes;
  }

  /** The scan has stopped after a long value of a row. Call `passLongCell` before the next `write`. */
  get hasLongCell(): boolean {
    return this.#rows.hasLongCell;
  }

  /** Passes the value on to the sink. */
  passLongCell(): Promise<void> {
    return this.#rows.passLongCell(this.sink!);
  }

  /** Returns whether the last row has ended. More of the document may follow. */
  get rowsEnded(): boolean {
    return this.#rows.isDone;
  }

  /**
   * Scans the next bytes of the body, chunk[start, limit). It does not keep the chunk.
   *
   * @returns `limit`, or the position after a long value (`hasLongCell`). If no sink is set, it once returns the position of the first row.
   *   `rowsSeen` is then true, and the caller sets the sink and calls again with this position as `start`
   * @throws AppError `invalid-json` with the byte offset, `invalid-data` if the document is not such a body,
   *   `limit-exceeded`; the scanner cannot be used afterwards
   */
  write(chunk: Buffer, start = 0, limit = chunk.length): number {
    if (this.sink === undefined && this.#state === IN_ROWS) throw new Error('The rows need a sink');
    this.#origin = this.#taken - start;
    this.#lines.enterChunk(this.#origin);
    try {
      // The bytes before an invalid byte are scanned first, so that the message can name its row, and earlier errors are reported instead.
      const invalid = this.#utf8.check(chunk, start, limit);
      const end = invalid < 0 ? limit : invalid;
      let i = start;
      while (i < end && !this.hasLongCell && (this.#state !== IN_ROWS || this.sink !== undefined))
        i = this.#scanPart(chunk, i, end);
      // The caller will pass the bytes of the rows again, so the check starts again, too.
      if (i < end) this.#utf8.restart();
      else if (invalid >= 0) throw new JsonFault(i, `not UTF-8, found ${showByte(chunk[i]!)}`, false);
      this.#taken += i - start;
      if (i === chunk.length) this.#lines.leaveChunk(chunk);
      return i;
    } catch (error) {
      throw this.#explain(error, chunk);
    }
  }

  /** Call this at the end of the body. @throws the errors of `write`; AppError `invalid-json` if the document is incomplete */
  end(): void {
    if (this.#plan === undefined) {
      const isComplete = this.#state === IN_ROWS ? this.#rows.endLines(this.sink!) : this.#state === DOCUMENT;
      if (!isComplete) throw this.#incomplete();
      return;
    }
    const isNumber = this.#state === IN_VALUE && this.#walked.length === 0 && this.#value.isComplete();
    if (isNumber) this.#endValue();
    if (this.#state !== DOCUMENT_END) throw this.#incomplete();
    this.#plan.finish();
  }

  /** Continues with the current key, value or rows, to their end or the end of the chunk. */
  #scanPart(chunk: Buffer, start: number, end: number): number {
    switch (this.#state) {
      case IN_ROWS: {
        const after = this.#rows.scan(chunk, start, end, this.sink!);
        if (this.#rows.isDone) {
          this.#plan!.rowsEnded(this.#rows.isAllNested);
          this.#closeValue();
        }
        return after;
      }
      case IN_KEY: {
        const after = this.#unescaper.unescape(chunk, start, end, this.#held);
        if (after < 0) return end;
        this.#plan!.key(this.#held.bytes.toString('utf8', 0, this.#held.length));
        this.#state = COLON;
        return after;
      }
      case IN_VALUE: {
        const after = this.#value.scan(chunk, start, end);
        if (this.#action === KEEP) this.#held.append(chunk, start, after < 0 ? end : after);
        if (after >= 0) this.#endValue();
        return after < 0 ? end : after;
      }
      default:
        return this.#scanBetween(chunk, start, end);
    }
  }

  /** Scans brackets, commas, colons and white space, up to the next key, value or row. */
  #scanBetween(chunk: Buffer, start: number, end: number): number {
    for (let i = start; i < end; i++) {
      const byte = chunk[i]!;
      if (this.#isBeforeLines(byte, i)) return this.#beginRows(i);
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        if (byte === 0x0a) this.#lines.newline(i);
        continue;
      }
      switch (this.#state) {
        case DOCUMENT:
          if (byte === 0xef && this.#origin + i === 0) {
            this.#state = BOM_SECOND_BYTE;
            break;
          }
          this.#documentByte = byte;
          return this.#beginValue(byte, i);
        // The bytes are valid UTF-8, so two more bytes follow this one. A character other than a byte order mark is refused here anyway.
        case BOM_SECOND_BYTE:
        case BOM_THIRD_BYTE:
          if (byte !== (this.#state === BOM_SECOND_BYTE ? 0xbb : 0xbf))
            throw new JsonFault(i, 'a byte order mark');
          this.#state = this.#state === BOM_SECOND_BYTE ? BOM_THIRD_BYTE : DOCUMENT;
          break;
        case FIRST_KEY:
        case KEY:
          if (byte === 0x7d && this.#state === FIRST_KEY) {
            this.#leave();
            break;
          }
          if (byte !== 0x22) throw new JsonFault(i, 'a key in quotes');
          this.#unescaper.begin();
          this.#held.clear(KEY_LIMIT);
          this.#state = IN_KEY;
          return i + 1;
        case COLON:
          if (byte !== 0x3a) throw new JsonFault(i, '":" after the key');
          this.#state = VALUE;
          break;
        case FIRST_ELEMENT:
          if (byte === 0x5d) {
            this.#leave();
            break;
          }
          this.#nextElement();
          return this.#beginValue(byte, i);
        case VALUE:
          return this.#beginValue(byte, i);
        case AFTER_VALUE:
          this.#separate(byte, i);
          break;
        default:
          throw new JsonFault(i, 'nothing after the document');
      }
    }
    return end;
  }

  /** If each line is a row, returns whether the lines begin here. Only a byte order mark may come before them, because blank lines count as lines. */
  #isBeforeLines(byte: number, position: number): boolean {
    if (this.#plan !== undefined || this.#state !== DOCUMENT) return false;
    return byte !== 0xef || this.#origin + position !== 0;
  }

  /** Takes the comma or bracket after a value. */
  #separate(byte: number, position: number): void {
    const isObject = this.#walked.at(-1)! < 0;
    if (byte === (isObject ? 0x7d : 0x5d)) {
      this.#leave();
    } else if (byte === 0x2c) {
      this.#state = isObject ? KEY : VALUE;
      if (!isObject) this.#nextElement();
    } else {
      throw new JsonFault(position, isObject ? '"," or "}" after the value' : '"," or "]" after the value');
    }
  }

  #nextElement(): void {
    const { length } = this.#walked;
    this.#plan!.element(this.#walked[length - 1]!++);
  }

  /**
   * Begins a value.
   *
   * @returns the position to continue at
   */
  #beginValue(byte: number, position: number): number {
    this.#firstByte = byte;
    this.#action = this.#plan!.enter(byte);
    if (this.#action === ROWS) return this.#beginRows(position + 1);
    if (this.#action === ONE_ROW) {
      this.#rows.beginOne();
      return this.#beginRows(position);
    }
    if (this.#action === WALK) {
      const isObject = byte === 0x7b;
      this.#walked.push(isObject ? -1 : 0);
      this.#state = isObject ? FIRST_KEY : FIRST_ELEMENT;
      return position + 1;
    }
    this.#value.begin();
    if (this.#action === KEEP) this.#held.clear(this.#keepLimit);
    this.#state = IN_VALUE;
    return position;
  }

  #beginRows(position: number): number {
    this.rowsSeen = true;
    this.#state = IN_ROWS;
    return position;
  }

  #endValue(): void {
    const isKept = this.#action === KEEP;
    this.#closeValue();
    this.#plan!.ended(this.#firstByte, isKept ? this.#held.bytes.subarray(0, this.#held.length) : undefined);
  }

  #leave(): void {
    const count = this.#walked.pop()!;
    this.#closeValue();
    this.#plan!.leave(count);
  }

  #closeValue(): void {
    this.#state = this.#walked.length === 0 ? DOCUMENT_END : AFTER_VALUE;
  }

  #isInRow(): boolean {
    return this.#state === IN_ROWS && this.row > 0;
  }

  #explain(error: unknown, chunk: Buffer): unknown {
    if (error instanceof LimitFault) {
      const place = this.#isInRow() ? `${this.#lines.endsRows ? 'Line' : 'Row'} ${this.row}: ` : '';
      return error.toError(place);
    }
    if (error instanceof RowTooLong) {
      return rowTooLong(`${this.#lines.endsRows ? 'Line' : 'Row'} ${this.row}`, error.maxBytes);
    }
    if (!(error instanceof JsonFault)) return error;
    if (this.#isUtf16(error.position, chunk)) return new AppError('invalid-json', UTF_16);
    const isInRow = this.#isInRow() && !this.#lines.endsRows;
    const places = [this.#lines.describe(chunk, error.position), isInRow ? `row ${this.row}` : ''];
    const place = places.filter((known) => known !== '').join('; ');
    const what =
      explainAlmostJson(error, chunk) ??
      (error.showsByte
        ? `expected ${error.message}, found ${showByte(chunk[error.position]!)}`
        : error.message);
    return new AppError(
      'invalid-json',
      `Byte ${this.#origin + error.position}${place && ` (${place})`}: ${what}.${this.#otherFormat()}`,
    );
  }

  /** Returns whether the body begins with a byte order mark of UTF-16, or has NUL at every other byte. */
  #isUtf16(position: number, chunk: Buffer): boolean {
    const offset = this.#origin + position;
    const byte = chunk[position];
    const next = chunk[position + 1];
    if (offset === 1) return byte === 0x00 && next !== 0x00;
    if (offset !== 0) return false;
    if (byte === 0x00) return next !== undefined && next !== 0x00 && chunk[position + 2] === 0x00;
    return (byte === 0xff && next === 0xfe) || (byte === 0xfe && next === 0xff);
  }

  #otherFormat(): string {
    const isJson = this.#documentByte === 0x7b || this.#documentByte === 0x5b || this.row > 0;
    return isJson || this.#words.otherFormat === '' ? '' : ` ${this.#words.otherFormat}`;
  }

  #incomplete(): AppError {
    if (this.#state === DOCUMENT) {
      return new AppError('invalid-json', `The body is empty; expected ${this.#words.expected}.`);
    }
    const isInToken = this.#state === IN_KEY || this.#state === IN_VALUE || this.#rows.isInToken;
    const place = this.#isInRow() ? ` in ${this.#lines.endsRows ? 'line' : 'row'} ${this.row}` : '';
    const container = this.#documentByte === 0x5b ? 'array' : 'object';
    const inside = isInToken ? 'inside a key or value' : `before the ${container} is closed`;
    return new AppError('invalid-json', `The body ends at byte ${this.#taken}${place}, ${inside}.`);
  }
}
