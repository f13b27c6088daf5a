/**
 * Scans the rows of a JSON upload, which follow a `[` or are one on each line, and pushes their cells. Chunks may be cut anywhere.
 * Nothing is allocated for a cell or row, and a value is copied only if the end of a chunk cuts it or if it has escapes.
 *
 * One loop goes through a chunk from token to token. If the end of the chunk cuts a token, `StringUnescaper` or `JsonValueScanner`
 * collects it. They can continue at any byte, so a value in many chunks takes linear time.
 */

import { type ByteLimit, GrowableBytes } from '../../core/bytes/growable-bytes.ts';
import { SHORT_SCAN_BYTES } from '../../core/bytes/scan-in-turns.ts';
import {
  ARRAY,
  FALSE,
  NULL,
  NUMBER,
  OBJECT,
  REPEATED_KEY,
  ROW_NOT_AN_OBJECT,
  STRING,
  TRUE,
} from '../../core/cells/cell-kind.ts';
import type { CellSink } from '../../core/cells/cell-sink.ts';
import { ColumnNames } from './column-names.ts';
import { byteLimit, JsonFault, type Limit, LimitFault, RowTooLong } from './json-fault.ts';
import type { JsonLimits } from './json-limits.ts';
import { NUMBER_START, scanNumber } from './json-number.ts';
import { JsonValueScanner } from './json-value-scanner.ts';
import type { LineCounter } from './line-counter.ts';
import { StringUnescaper } from './string-unescaper.ts';

/** The longest key that is read. A column name has at most 63 bytes, so a longer key is read only to show it in the message about it. */
export const KEY_LIMIT = byteLimit('The key is too long', { value: 1024, unit: 'bytes' });

/** The states of the scanner. Each is named after what the scanner expects next. */
const KEY = 0;
const COLON = 1;
const VALUE = 2;
const AFTER_VALUE = 3;
const FIRST_KEY = 4;
const ROW = 5;
const FIRST_ROW = 6;
const AFTER_ROW = 7;
/** The states `LINE` and `LINE_END` occur only if each line of the document is a row. */
const LINE = 8;
const LINE_END = 9;
/** The document is a single row, and this object has ended. */
const ONE_ENDED = 10;

/** How the rows follow each other: as the elements of an array, on one line each, or one object alone. */
export type RowList = 'array' | 'lines' | 'one';

/** The maximum number of a line. It is limited because the number of a row is that of its line and has 32 bits. */
const LINE_LIMIT: Limit = { value: 2 ** 31 - 1, unit: 'lines' };

/** The kinds of a token that the end of the chunk cut. */
const NO_TOKEN = 0;
const KEY_TOKEN = 1;
const STRING_TOKEN = 2;
/** A cell of any kind except a string. */
const VALUE_TOKEN = 3;
/** A value in the place of a row, for example one that is not an object. */
const ROW_TOKEN = 4;

export class JsonRowScanner {
  /** The number of the last row that began; 0: none. If each line is a row, this is the number of its line. */
  row = 0;
  /** The `]` after the rows, or the end of the only row, has been seen. */
  isDone = false;
  /** The scan has stopped after a long value. Call `passLongCell` before the next `scan`. */
  hasLongCell = false;
  readonly #lines: LineCounter;
  readonly #columnLimit: Limit;
  readonly #cellLimit: ByteLimit;
  readonly #maxRowBytes: number;
  readonly #names = new ColumnNames();
  readonly #value: JsonValueScanner;
  readonly #unescaper = new StringUnescaper();
  /** The collected bytes of the current token, if it cannot be read directly from the chunk. */
  readonly #held = new GrowableBytes(KEY_LIMIT);
  #state: number;
  #isOne = false;
  /** The number of values of all rows that are objects or arrays. */
  #nestedValues = 0;
  /** The number of bytes of the current row, without those in the chunk in which it begins. */
  #rowBytes = 0;
  #token = NO_TOKEN;
  /** The first byte of the current value. */
  #firstByte = 0;
  /** The column of the last key in the row; -1 before the first. */
  #column = -1;
  #isRepeated = false;

  /** @param lines counts the lines and says whether each line is a row */
  constructor({ maxDepth, maxColumns, maxCellBytes, maxRowBytes }: JsonLimits, lines: LineCounter) {
    this.#lines = lines;
    this.#state = lines.endsRows ? LINE : FIRST_ROW;
    this.#columnLimit = { setting: 'MAX_COLUMNS', value: maxColumns, unit: 'columns' };
    const cellLimit: Limit = { setting: 'MAX_CELL_BYTES', value: maxCellBytes, unit: 'bytes' };
    this.#cellLimit = byteLimit('The value is too long', cellLimit);
    this.#maxRowBytes = maxRowBytes;
    this.#value = new JsonValueScanner(maxDepth, lines);
  }

  /** Call this before the first row if the row is one object that is in no array. The next byte is then its brace. */
  beginOne(): void {
    this.#isOne = true;
  }

  /** About how many bytes of the current row were scanned; 0: the row is short. */
  get rowBytes(): number {
    return this.#rowBytes;
  }

  /** Returns whether the scan is in the middle of a key or value. */
  get isInToken(): boolean {
    return this.#token !== NO_TOKEN;
  }

  /** Returns whether all values of the only row are objects or arrays. It may then be something else than a row. */
  get isAllNested(): boolean {
    return this.#nestedValues > 0 && this.#nestedValues === this.#names.count;
  }

  /** Ends a document of one row on each line. @returns whether it may end here */
  endLines(sink: CellSink): boolean {
    // A number ends only when another byte follows, so the end of the document ends it, too.
    if (this.#token === ROW_TOKEN && this.#value.isComplete()) {
      this.#token = NO_TOKEN;
      this.#state = LINE_END;
      this.#pushFaultyRow(this.#held.bytes, 0, this.#held.length, sink);
    }
    return this.#token === NO_TOKEN && (this.#state === LINE || this.#state === LINE_END);
  }

  /**
   * Scans bytes that are valid UTF-8. A sequence may be cut at `end`.
   *
   * @returns the position after the `]`, after the only row or after a long value (`hasLongCell`), otherwise `end`
   * @throws JsonFault, LimitFault, RowTooLong
   */
  scan(chunk: Buffer, start: number, end: number, sink: CellSink): number {
    const { row } = this;
    const next = this.#token === NO_TOKEN ? start : this.#resumeToken(chunk, start, end, sink);
    const isStopped = this.#token !== NO_TOKEN || this.hasLongCell;
    const after = isStopped ? next : this.#scanRows(chunk, next, end, sink);
    if (this.row === row && this.#isInRow()) this.#countRowBytes(after - start);
    else this.#rowBytes = 0;
    return after;
  }

  #isInRow(): boolean {
    return this.#token !== NO_TOKEN || this.#state < ROW;
  }

  /** Adds the bytes of a chunk to the length of the row. It is called only for chunks in which the row neither begins nor ends, so it costs nothing for short rows. */
  #countRowBytes(bytes: number): void {
    this.#rowBytes += bytes;
    if (this.#rowBytes > this.#maxRowBytes) throw new RowTooLong(this.#maxRowBytes);
  }

  /**
   * Scans the rows of a chunk. It keeps its state in local variables, which are faster than fields. It writes them back to the
   * fields before it calls a method that needs them, and when it ends.
   */
  #scanRows(chunk: Buffer, start: number, end: number, sink: CellSink): number {
    const names = this.#names;
    const maxCellBytes = this.#cellLimit.maxBytes;
    const afterRow = this.#afterRow;
    let state = this.#state;
    let column = this.#column;
    let isRepeated = this.#isRepeated;
    let row = this.row;
    let i = start;
    while (i < end) {
      const byte = chunk[i]!;
      if (byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
        if (byte === 0x0a) state = this.#passNewline(state, i);
        i++;
        continue;
      }
      switch (state) {
        case FIRST_KEY:
        case KEY: {
          if (byte !== 0x22) {
            if (state === KEY) throw new JsonFault(i, 'a key in quotes');
            if (byte !== 0x7d) throw new JsonFault(i, 'a key in quotes or "}"');
            sink.endRow();
            state = afterRow;
            i++;
            if (state === ONE_ENDED) end = i;
            continue;
          }
          const expected = names.followerOf(column);
          const after = names.match(expected, chunk, i + 1, end);
          if (after >= 0) {
            column = expected;
            isRepeated = names.lastRow[column] === row;
            names.lastRow[column] = row;
            i = after;
          } else {
            this.#column = column;
            i = this.#scanKey(chunk, i + 1, end, sink);
            if (this.#token !== NO_TOKEN) return i;
            column = this.#column;
            isRepeated = this.#isRepeated;
          }
          state = COLON;
          if (i < end && chunk[i] === 0x3a) {
            state = VALUE;
            i++;
          }
          continue;
        }
        case COLON:
          if (byte !== 0x3a) throw new JsonFault(i, '":" after the key');
          state = VALUE;
          i++;
          continue;
        case VALUE: {
          let kind = -1;
          let from = i;
          let to = 0;
          if (byte === 0x22) {
            from = ++i;
            let inner = 0;
            while (i < end) {
              inner = chunk[i]!;
              if (inner === 0x22 || inner === 0x5c || inner < 0x20) break;
              i++;
            }
            if (i < end && inner === 0x22) {
              kind = STRING;
              to = i++;
            } else {
              this.#column = column;
              this.#isRepeated = isRepeated;
              i = this.#scanString(chunk, from, end, sink);
              if (this.#token !== NO_TOKEN) return i;
              state = AFTER_VALUE;
              continue;
            }
          } else if (byte === 0x2d || (byte <= 0x39 && byte >= 0x30)) {
            to = scanNumber(chunk, i, end, NUMBER_START);
            if (to >= 0) {
              kind = NUMBER;
              i = to;
            }
          } else if (i + 5 <= end) {
            // The byte after `null` or `true` may be any byte. The next step of the loop checks it.
            if (byte === 0x6e) {
              if (chunk[i + 1] === 0x75 && chunk[i + 2] === 0x6c && chunk[i + 3] === 0x6c) kind = NULL;
            } else if (byte === 0x74) {
              if (chunk[i + 1] === 0x72 && chunk[i + 2] === 0x75 && chunk[i + 3] === 0x65) kind = TRUE;
            } else if (byte === 0x66) {
              if (
                chunk[i + 1] === 0x61 &&
                chunk[i + 2] === 0x6c &&
                chunk[i + 3] === 0x73 &&
                chunk[i + 4] === 0x65
              ) {
                kind = FALSE;
                i++;
              }
            }
            if (kind >= 0) {
              i += 4;
              to = i;
            }
          }
          if (kind < 0) {
            this.#column = column;
            this.#isRepeated = isRepeated;
            i = this.#scanValue(false, chunk, i, end, sink);
            if (this.#token !== NO_TOKEN) return i;
            state = AFTER_VALUE;
            continue;
          }
          if (to - from > maxCellBytes) throw this.#cellLimit.exceeded();
          if (isRepeated) sink.fault(column, REPEATED_KEY, chunk, from, to);
          else sink.cell(column, kind, chunk, from, to);
          state = AFTER_VALUE;
          if (i < end && chunk[i] === 0x2c) {
            state = KEY;
            i++;
          }
          continue;
        }
        case AFTER_VALUE:
          if (byte === 0x2c) {
            state = KEY;
          } else if (byte === 0x7d) {
            sink.endRow();
            state = afterRow;
            if (state === ONE_ENDED) end = i + 1;
          } else {
            throw new JsonFault(i, '"," or "}" after the value');
          }
          i++;
          continue;
        case AFTER_ROW:
          if (byte === 0x2c) {
            state = ROW;
            i++;
            continue;
          }
          if (byte !== 0x5d) throw new JsonFault(i, '"," or "]" after the row');
          this.isDone = true;
          return i + 1;
        case LINE_END:
          throw new JsonFault(i, 'the end of the line after the row');
        default:
          if (byte === 0x7b) {
            row = this.#nextRow();
            sink.beginRow(row);
            column = -1;
            state = FIRST_KEY;
            i++;
            continue;
          }
          if (byte === 0x5d && state === FIRST_ROW) {
            this.isDone = true;
            return i + 1;
          }
          row = this.#nextRow();
          sink.beginRow(row);
          i = this.#scanValue(true, chunk, i, end, sink);
          if (this.#token !== NO_TOKEN) return i;
          state = afterRow;
      }
    }
    this.#state = state;
    this.#column = column;
    this.#isRepeated = isRepeated;
    if (state === ONE_ENDED) this.isDone = true;
    return i;
  }

  /**
   * Passes a newline.
   *
   * @returns the state after the newline
   */
  #passNewline(state: number, position: number): number {
    if (state >= LINE) {
      this.#lines.newline(position);
      return LINE;
    }
    this.#lines.newlineInside(position);
    return state;
  }

  get #afterRow(): number {
    if (this.#isOne) return ONE_ENDED;
    return this.#lines.endsRows ? LINE_END : AFTER_ROW;
  }

  #nextRow(): number {
    const { endsRows, line } = this.#lines;
    if (endsRows && line > LINE_LIMIT.value) throw new LimitFault('The body has too many lines', LINE_LIMIT);
    this.row = endsRows ? line : this.row + 1;
    return this.row;
  }

  /** Scans a key that is not the expected one, from after its opening quote. It may leave a token that the chunk has cut. */
  #scanKey(chunk: Buffer, start: number, end: number, sink: CellSink): number {
    let i = start;
    while (i < end && chunk[i] !== 0x22 && chunk[i] !== 0x5c && chunk[i]! >= 0x20) i++;
    if (i < end && chunk[i] === 0x22) {
      this.#enterColumn(chunk, start, i, sink);
      return i + 1;
    }
    this.#unescaper.begin();
    this.#held.clear(KEY_LIMIT);
    const after = this.#unescaper.unescape(chunk, start, end, this.#held);
    if (after < 0) {
      this.#token = KEY_TOKEN;
      return end;
    }
    this.#enterColumn(this.#held.bytes, 0, this.#held.length, sink);
    return after;
  }

  /** Scans a string that has escapes or is cut, from after its opening quote. It may leave a token that the chunk has cut. */
  #scanString(chunk: Buffer, start: number, end: number, sink: CellSink): number {
    this.#unescaper.begin();
    this.#held.clear(this.#cellLimit);
    const after = this.#unescaper.unescape(chunk, start, end, this.#held);
    if (after < 0) {
      this.#firstByte = 0x22;
      this.#token = STRING_TOKEN;
      return end;
    }
    this.#pushCell(STRING, this.#held.bytes, 0, this.#held.length, sink);
    return after;
  }

  /** Scans a value that is nested, cut or invalid, or that is in the place of a row (`isRow`). It may leave a token that the chunk has cut. */
  #scanValue(isRow: boolean, chunk: Buffer, start: number, end: number, sink: CellSink): number {
    this.#firstByte = chunk[start]!;
    this.#value.begin();
    const after = this.#value.scan(chunk, start, end);
    if (after < 0) {
      this.#held.clear(this.#cellLimit);
      this.#held.append(chunk, start, end);
      this.#token = isRow ? ROW_TOKEN : VALUE_TOKEN;
      return end;
    }
    if (isRow) this.#pushFaultyRow(chunk, start, after, sink);
    else this.#pushCell(kindOf(this.#firstByte), chunk, start, after, sink);
    return after;
  }

  #resumeToken(chunk: Buffer, start: number, end: number, sink: CellSink): number {
    const held = this.#held;
    const token = this.#token;
    let after: number;
    if (token === KEY_TOKEN || token === STRING_TOKEN) {
      after = this.#unescaper.unescape(chunk, start, end, held);
    } else {
      after = this.#value.scan(chunk, start, end);
      held.append(chunk, start, after < 0 ? end : after);
    }
    if (after < 0) return end;
    this.#token = NO_TOKEN;
    this.#state = token === KEY_TOKEN ? COLON : token === ROW_TOKEN ? this.#afterRow : AFTER_VALUE;
    if (token === KEY_TOKEN) this.#enterColumn(held.bytes, 0, held.length, sink);
    else if (token === ROW_TOKEN) this.#pushFaultyRow(held.bytes, 0, held.length, sink);
    else if (this.#isLong(sink)) {
      this.hasLongCell = true;
      return after;
    } else this.#pushCell(kindOf(this.#firstByte), held.bytes, 0, held.length, sink);
    held.release();
    return after;
  }

  /** Returns whether the sink takes the current value in turns. */
  #isLong({ longCell }: CellSink): boolean {
    const isNested = this.#firstByte === 0x7b || this.#firstByte === 0x5b;
    return isNested && this.#held.length > SHORT_SCAN_BYTES && !this.#isRepeated && longCell !== undefined;
  }

  /** Passes on the value after which the scan has stopped. */
  async passLongCell(sink: CellSink): Promise<void> {
    const { bytes, length } = this.#held;
    this.#nestedValues++;
    await sink.longCell!(this.#column, kindOf(this.#firstByte), bytes, 0, length);
    this.hasLongCell = false;
    this.#held.release();
  }

  #enterColumn(bytes: Buffer, start: number, end: number, sink: CellSink): void {
    if (end - start > KEY_LIMIT.maxBytes) throw KEY_LIMIT.exceeded();
    const names = this.#names;
    let column = names.find(bytes, start, end);
    if (column < 0) {
      if (names.count === this.#columnLimit.value)
        throw new LimitFault('The rows have too many different keys', this.#columnLimit);
      column = names.add(bytes, start, end);
      sink.column(column, bytes.toString('utf8', start, end));
    }
    names.setFollower(this.#column, column);
    this.#column = column;
    this.#isRepeated = names.lastRow[column] === this.row;
    names.lastRow[column] = this.row;
  }

  #pushCell(kind: number, bytes: Buffer, start: number, end: number, sink: CellSink): void {
    if (end - start > this.#cellLimit.maxBytes) throw this.#cellLimit.exceeded();
    if (kind >= OBJECT) this.#nestedValues++;
    if (this.#isRepeated) sink.fault(this.#column, REPEATED_KEY, bytes, start, end);
    else sink.cell(this.#column, kind, bytes, start, end);
  }

  #pushFaultyRow(bytes: Buffer, start: number, end: number, sink: CellSink): void {
    if (end - start > this.#cellLimit.maxBytes) throw this.#cellLimit.exceeded();
    sink.fault(-1, ROW_NOT_AN_OBJECT, bytes, start, end);
    sink.endRow();
  }
}

/** Returns the kind of a value, given its first byte. */
export function kindOf(firstByte: number): number {
  switch (firstByte) {
    case 0x22:
      return STRING;
    case 0x7b:
      return OBJECT;
    case 0x5b:
      return ARRAY;
    case 0x6e:
      return NULL;
    case 0x74:
      return TRUE;
    case 0x66:
      return FALSE;
    default:
      return NUMBER;
  }
}
