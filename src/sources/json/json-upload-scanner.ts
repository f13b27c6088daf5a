/**
 * The body of a JSON upload, `{"table": {…}, "data": [{…}, …]}`, as a push scanner: bytes in at any borders, cells
 * out. Strict RFC 8259; nothing is allocated per cell or row, and no value is copied unless a chunk's end cuts it or
 * it has escapes.
 *
 * One loop walks a chunk from token to token; a token that the chunk's end cuts is gathered by a part that can go on
 * at any byte (`StringUnescaper`, `JsonValueScanner`), so that a value over many chunks costs linear time.
 */

import { AppError } from '../../errors.ts';
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
} from '../cell-kind.ts';
import type { CellSink, LocateCell } from '../cell-sink.ts';
import { ColumnNames } from './column-names.ts';
import { GrowableBytes } from './growable-bytes.ts';
import { JsonFault, type Limit, LimitFault, showByte } from './json-fault.ts';
import { NUMBER_START, scanNumber } from './json-number.ts';
import { JsonValueScanner } from './json-value-scanner.ts';
import { locateInData, pointerTo } from './locate-in-data.ts';
import { StringUnescaper } from './string-unescaper.ts';
import { Utf8Checker } from './utf8-checker.ts';

export interface JsonLimits {
  /** Levels of arrays and objects inside a cell or the definition. */
  maxDepth: number;
  /** Bytes of the JSON text of `table`. */
  maxTableBytes: number;
  /** Different keys in all rows. */
  maxColumns: number;
  /** Bytes of one cell: of a string unescaped, of a nested value its JSON text. */
  maxCellBytes: number;
}

/** A name PostgreSQL takes has 63 bytes at most; a longer key need only be told, not held without a bound. */
const KEY_LIMIT: Limit = { name: 'maxKeyBytes', value: 1024, unit: 'bytes' };

/** What the scanner is about to see. Up to `AFTER_ROW`: inside the array of rows. */
const KEY = 0;
const COLON = 1;
const VALUE = 2;
const AFTER_VALUE = 3;
const FIRST_KEY = 4;
const ROW = 5;
const FIRST_ROW = 6;
const AFTER_ROW = 7;
const DOCUMENT = 8;
const BOM_SECOND_BYTE = 9;
const BOM_THIRD_BYTE = 10;
const FIRST_MEMBER = 11;
const MEMBER = 12;
const MEMBER_COLON = 13;
const MEMBER_VALUE = 14;
const AFTER_MEMBER = 15;
const DOCUMENT_END = 16;

/** The token that the end of the chunk cut. */
const NO_TOKEN = 0;
const KEY_TOKEN = 1;
const STRING_TOKEN = 2;
const VALUE_TOKEN = 3;
const MEMBER_TOKEN = 4;

/** What a value scanned by `JsonValueScanner` is. */
const CELL_VALUE = 0;
const ROW_VALUE = 1;
const TABLE_VALUE = 2;
/** A value that is not wanted, only checked; from here on none is gathered. */
const DATA_VALUE = 3;
const DOCUMENT_VALUE = 4;

export class JsonUploadScanner {
  /** Gets the cells. To be set before the first row; `write` stops there once if it is not. */
  sink: CellSink | undefined;
  /** Rows begun. */
  rowCount = 0;
  /** The JSON text of `table`, once the whole of it has been seen; undefined too where that is `null`. */
  table: Buffer | undefined;
  /** `table` has been seen, to its end. */
  tableComplete = false;
  /** The `[` of `data` has been seen. */
  dataSeen = false;
  readonly locate: LocateCell = locateInData;

  readonly #tableLimit: Limit;
  readonly #columnLimit: Limit;
  readonly #cellLimit: Limit;
  readonly #names = new ColumnNames();
  readonly #utf8 = new Utf8Checker();
  readonly #value: JsonValueScanner;
  readonly #unescaper = new StringUnescaper();
  /** What is gathered of the token at hand, where it is not taken from the chunk. */
  readonly #held = new GrowableBytes();

  #state = DOCUMENT;
  #token = NO_TOKEN;
  #role = CELL_VALUE;
  #firstByte = 0;
  /** The column of the last key in the row; -1 before the first. */
  #column = -1;
  #isRepeated = false;
  #members = new Set<string>();
  #member = '';
  #isDocumentMisfit = false;
  /** The offset in the document of the chunk's byte 0; below 0 where the caller began later in it. */
  #origin = 0;
  /** Bytes taken so far. */
  #taken = 0;

  constructor(limits: JsonLimits) {
    this.#tableLimit = { name: 'maxTableBytes', value: limits.maxTableBytes, unit: 'bytes' };
    this.#columnLimit = { name: 'maxColumns', value: limits.maxColumns, unit: 'columns' };
    this.#cellLimit = { name: 'maxCellBytes', value: limits.maxCellBytes, unit: 'bytes' };
    this.#value = new JsonValueScanner(limits.maxDepth);
  }

  /**
   * Takes the next bytes of the body, from `start` to the chunk's end. The chunk is not kept.
   *
   * @returns the chunk's length; where no sink is set, the position just after the `[` of `data`, once: `dataSeen` is
   *   true then, and the caller sets the sink and calls again with that as `start`
   * @throws AppError `invalid-json` with the byte offset, `invalid-data` where the document is not such a body,
   *   `limit-exceeded`; the scanner is of no use afterwards
   */
  write(chunk: Buffer, start = 0): number {
    if (this.sink === undefined && this.#state <= AFTER_ROW) throw new Error('The rows need a sink');
    this.#origin = this.#taken - start;
    try {
      // What stands before a byte that is no UTF-8 is scanned all the same: so its row is known, and faults before it.
      const invalid = this.#utf8.check(chunk, start);
      const end = invalid < 0 ? chunk.length : invalid;
      let i = start;
      while (i < end) {
        if (this.#token !== NO_TOKEN) i = this.#resumeToken(chunk, i, end);
        else if (this.#state > AFTER_ROW) i = this.#scanMembers(chunk, i, end);
        else if (this.sink !== undefined) i = this.#scanRows(chunk, i, end, this.sink);
        else break;
      }
      // The bytes after the `[` come again.
      if (i < end) this.#utf8.restart();
      else if (invalid >= 0) throw new JsonFault(i, `not UTF-8, found ${showByte(chunk[i])}`, false);
      this.#taken += i - start;
      return i;
    } catch (error) {
      throw this.#explain(error, chunk);
    }
  }

  /** To be called at the end of the body. @throws AppError as `write` does, where the document is incomplete */
  end(): void {
    if (this.#token === VALUE_TOKEN && this.#role === DOCUMENT_VALUE && this.#value.isComplete()) {
      this.#token = NO_TOKEN;
      this.#endValue(this.#held.bytes, 0, 0);
    }
    if (this.#state !== DOCUMENT_END || this.#token !== NO_TOKEN) throw this.#incomplete();
    if (this.#isDocumentMisfit) {
      throw invalidBody('', 'wrong-type', 'The body must be an object that holds "table", "data" or both.');
    }
  }

  /**
   * The hot loop: rows, until the chunk or the array of rows ends.
   *
   * The states of the row at hand are local variables; they go back to the fields wherever the loop is left.
   */
  #scanRows(chunk: Buffer, start: number, end: number, sink: CellSink): number {
    const names = this.#names;
    const maxCellBytes = this.#cellLimit.value;
    let state = this.#state;
    let column = this.#column;
    let isRepeated = this.#isRepeated;
    let row = this.rowCount;
    let i = start;
    while (i < end) {
      const byte = chunk[i];
      if (byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
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
            state = AFTER_ROW;
            i++;
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
            i = this.#scanKey(chunk, i + 1, end);
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
              inner = chunk[i];
              if (inner === 0x22 || inner === 0x5c || inner < 0x20) break;
              i++;
            }
            if (i < end && inner === 0x22) {
              kind = STRING;
              to = i++;
            } else {
              this.#column = column;
              this.#isRepeated = isRepeated;
              i = this.#scanString(chunk, from, end);
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
            // The fifth byte of `null` and `true` may be any: it is looked at in the next turn.
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
            i = this.#scanValue(CELL_VALUE, chunk, i, end);
            if (this.#token !== NO_TOKEN) return i;
            state = AFTER_VALUE;
            continue;
          }
          if (to - from > maxCellBytes) throw new LimitFault('The value', this.#cellLimit);
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
            state = AFTER_ROW;
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
          this.#state = AFTER_MEMBER;
          return i + 1;
        default:
          if (byte === 0x7b) {
            row = ++this.rowCount;
            sink.beginRow(row);
            column = -1;
            state = FIRST_KEY;
            i++;
            continue;
          }
          if (byte === 0x5d && state === FIRST_ROW) {
            this.#state = AFTER_MEMBER;
            return i + 1;
          }
          row = ++this.rowCount;
          sink.beginRow(row);
          i = this.#scanValue(ROW_VALUE, chunk, i, end);
          if (this.#token !== NO_TOKEN) return i;
          state = AFTER_ROW;
      }
    }
    this.#state = state;
    this.#column = column;
    this.#isRepeated = isRepeated;
    return i;
  }

  /** A row's key that is not the expected one, from after its quote; may leave a token. */
  #scanKey(chunk: Buffer, start: number, end: number): number {
    let i = start;
    while (i < end && chunk[i] !== 0x22 && chunk[i] !== 0x5c && chunk[i] >= 0x20) i++;
    if (i < end && chunk[i] === 0x22) {
      this.#enterColumn(chunk, start, i);
      return i + 1;
    }
    this.#unescaper.begin();
    this.#held.reset('The key', KEY_LIMIT);
    const after = this.#unescaper.unescape(chunk, start, end, this.#held);
    if (after < 0) return this.#holdToken(KEY_TOKEN, COLON, end);
    this.#enterColumn(this.#held.bytes, 0, this.#held.length);
    return after;
  }

  /** A cell's string that has escapes or is cut, from after its quote; may leave a token. */
  #scanString(chunk: Buffer, start: number, end: number): number {
    this.#unescaper.begin();
    this.#held.reset('The value', this.#cellLimit);
    const after = this.#unescaper.unescape(chunk, start, end, this.#held);
    if (after < 0) return this.#holdToken(STRING_TOKEN, AFTER_VALUE, end);
    this.#tellCell(STRING, this.#held.bytes, 0, this.#held.length);
    return after;
  }

  /** Any value that is nested, cut, unwanted or broken; may leave a token. */
  #scanValue(role: number, chunk: Buffer, start: number, end: number): number {
    this.#role = role;
    this.#firstByte = chunk[start];
    this.#value.begin();
    const after = this.#value.scan(chunk, start, end);
    if (after >= 0) {
      this.#endValue(chunk, start, after);
      return after;
    }
    if (role < DATA_VALUE) {
      if (role === TABLE_VALUE) this.#held.reset('The definition', this.#tableLimit);
      else this.#held.reset('The value', this.#cellLimit);
      this.#held.append(chunk, start, end);
    }
    return this.#holdToken(VALUE_TOKEN, this.#state, end);
  }

  #holdToken(token: number, stateAfter: number, end: number): number {
    this.#token = token;
    this.#state = stateAfter;
    return end;
  }

  #resumeToken(chunk: Buffer, start: number, end: number): number {
    const held = this.#held;
    if (this.#token === VALUE_TOKEN) {
      const after = this.#value.scan(chunk, start, end);
      if (this.#role < DATA_VALUE) held.append(chunk, start, after < 0 ? end : after);
      if (after < 0) return end;
      this.#token = NO_TOKEN;
      this.#endValue(held.bytes, 0, held.length);
      return after;
    }
    const after = this.#unescaper.unescape(chunk, start, end, held);
    if (after < 0) return end;
    if (this.#token === KEY_TOKEN) this.#enterColumn(held.bytes, 0, held.length);
    else if (this.#token === STRING_TOKEN) this.#tellCell(STRING, held.bytes, 0, held.length);
    else this.#enterMember();
    this.#token = NO_TOKEN;
    return after;
  }

  #enterColumn(bytes: Buffer, start: number, end: number): void {
    if (end - start > KEY_LIMIT.value) throw new LimitFault('The key', KEY_LIMIT);
    const names = this.#names;
    let column = names.find(bytes, start, end);
    if (column < 0) {
      if (names.count === this.#columnLimit.value)
        throw new LimitFault('The number of keys', this.#columnLimit);
      column = names.add(bytes, start, end);
      this.sink!.column(column, bytes.toString('utf8', start, end));
    }
    names.setFollower(this.#column, column);
    this.#column = column;
    this.#isRepeated = names.lastRow[column] === this.rowCount;
    names.lastRow[column] = this.rowCount;
  }

  #tellCell(kind: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > this.#cellLimit.value) throw new LimitFault('The value', this.#cellLimit);
    if (this.#isRepeated) this.sink!.fault(this.#column, REPEATED_KEY, bytes, start, end);
    else this.sink!.cell(this.#column, kind, bytes, start, end);
  }

  #endValue(bytes: Buffer, start: number, end: number): void {
    switch (this.#role) {
      case CELL_VALUE:
        this.#state = AFTER_VALUE;
        this.#tellCell(kindOf(this.#firstByte), bytes, start, end);
        break;
      case ROW_VALUE:
        if (end - start > this.#cellLimit.value) throw new LimitFault('The row', this.#cellLimit);
        this.#state = AFTER_ROW;
        this.sink!.fault(-1, ROW_NOT_AN_OBJECT, bytes, start, end);
        this.sink!.endRow();
        break;
      case TABLE_VALUE:
        if (end - start > this.#tableLimit.value) throw new LimitFault('The definition', this.#tableLimit);
        this.#state = AFTER_MEMBER;
        this.tableComplete = true;
        if (this.#firstByte !== 0x6e) this.table = Buffer.from(bytes.subarray(start, end));
        break;
      case DATA_VALUE:
        this.#state = AFTER_MEMBER;
        if (this.#firstByte !== 0x6e) {
          throw invalidBody('/data', 'wrong-type', 'The member "data" must be an array of row objects.');
        }
        break;
      default:
        this.#state = DOCUMENT_END;
        this.#isDocumentMisfit = true;
    }
  }

  /** All outside the rows. */
  #scanMembers(chunk: Buffer, start: number, end: number): number {
    let i = start;
    while (i < end) {
      const byte = chunk[i];
      const isBlank = byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
      if (isBlank && this.#state !== BOM_SECOND_BYTE && this.#state !== BOM_THIRD_BYTE) {
        i++;
        continue;
      }
      switch (this.#state) {
        case DOCUMENT:
          if (byte === 0x7b) this.#state = FIRST_MEMBER;
          else if (byte === 0xef && this.#origin + i === 0) this.#state = BOM_SECOND_BYTE;
          else return this.#scanValue(DOCUMENT_VALUE, chunk, i, end);
          break;
        case BOM_SECOND_BYTE:
          if (byte !== 0xbb) throw new JsonFault(i - 1, 'an object', false);
          this.#state = BOM_THIRD_BYTE;
          break;
        case BOM_THIRD_BYTE:
          if (byte !== 0xbf) throw new JsonFault(i - 2, 'an object', false);
          this.#state = DOCUMENT;
          break;
        case FIRST_MEMBER:
        case MEMBER:
          if (byte === 0x7d && this.#state === FIRST_MEMBER) this.#state = DOCUMENT_END;
          else if (byte !== 0x22) throw new JsonFault(i, 'a key in quotes');
          else return this.#scanMemberKey(chunk, i + 1, end);
          break;
        case MEMBER_COLON:
          if (byte !== 0x3a) throw new JsonFault(i, '":" after the key');
          this.#state = MEMBER_VALUE;
          break;
        case MEMBER_VALUE:
          if (this.#member === 'table') return this.#scanValue(TABLE_VALUE, chunk, i, end);
          if (byte !== 0x5b) return this.#scanValue(DATA_VALUE, chunk, i, end);
          this.dataSeen = true;
          this.#state = FIRST_ROW;
          return i + 1;
        case AFTER_MEMBER:
          if (byte === 0x2c) this.#state = MEMBER;
          else if (byte === 0x7d) this.#state = DOCUMENT_END;
          else throw new JsonFault(i, '"," or "}" after the value');
          break;
        default:
          throw new JsonFault(i, 'nothing after the document');
      }
      i++;
    }
    return i;
  }

  #scanMemberKey(chunk: Buffer, start: number, end: number): number {
    this.#unescaper.begin();
    this.#held.reset('The key', KEY_LIMIT);
    const after = this.#unescaper.unescape(chunk, start, end, this.#held);
    if (after < 0) return this.#holdToken(MEMBER_TOKEN, MEMBER_COLON, end);
    this.#enterMember();
    return after;
  }

  #enterMember(): void {
    const name = this.#held.bytes.toString('utf8', 0, this.#held.length);
    const pointer = pointerTo(name);
    if (name !== 'table' && name !== 'data') {
      const shown = name.length > 63 ? `${name.slice(0, 63)}…` : name;
      throw invalidBody(
        pointer,
        'unknown-key',
        `The body has a member "${shown}"; only "table" and "data" are known.`,
      );
    }
    if (this.#members.has(name)) {
      throw invalidBody(pointer, 'repeated-key', `The member "${name}" stands in the body twice.`);
    }
    this.#members.add(name);
    this.#member = name;
    this.#state = MEMBER_COLON;
  }

  #isInRows(): boolean {
    return this.dataSeen && this.#state <= AFTER_ROW && this.rowCount > 0;
  }

  #explain(error: unknown, chunk: Buffer): unknown {
    if (error instanceof LimitFault) {
      const place = this.#isInRows() ? `Row ${this.rowCount}: ` : '';
      return new AppError('limit-exceeded', place + error.message);
    }
    if (!(error instanceof JsonFault)) return error;
    const row = this.#isInRows() ? ` (row ${this.rowCount})` : '';
    const what = error.showsByte
      ? `expected ${error.message}, found ${showByte(chunk[error.position])}`
      : error.message;
    return new AppError('invalid-json', `Byte ${this.#origin + error.position}${row}: ${what}.`);
  }

  #incomplete(): AppError {
    if (this.#state === DOCUMENT && this.#token === NO_TOKEN) {
      return new AppError(
        'invalid-json',
        'The body is empty; expected an object that holds "table", "data" or both.',
      );
    }
    const place = this.#isInRows() ? ` in row ${this.rowCount}` : '';
    const inside = this.#token === NO_TOKEN ? 'before the object is closed' : 'inside a key or value';
    return new AppError('invalid-json', `The body ends at byte ${this.#taken}${place}, ${inside}.`);
  }
}

/** The kind of a value that is no string, by its first byte. */
function kindOf(firstByte: number): number {
  switch (firstByte) {
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

function invalidBody(pointer: string, code: string, detail: string): AppError {
  return new AppError('invalid-data', detail, { errors: [{ pointer, code, detail }] });
}
