/**
 * The body of a JSON upload, `{"table": {…}, "data": [{…}, …]}`, as a push scanner: strict RFC 8259, members in any
 * order, the rows as cells. Outside the rows nothing is hot; those are `JsonRowScanner`'s.
 */

import { AppError } from '../../errors.ts';
import { Utf8Checker } from '../bytes/utf8-checker.ts';
import type { CellSink, LocateCell } from '../cell-sink.ts';
import { GrowableBytes } from './growable-bytes.ts';
import { foreignWordAt, JsonFault, type Limit, LimitFault, showByte } from './json-fault.ts';
import { JsonRowScanner, KEY_LIMIT } from './json-row-scanner.ts';
import { JsonValueScanner } from './json-value-scanner.ts';
import { locateInData, pointerTo } from './locate-in-data.ts';
import { StringUnescaper } from './string-unescaper.ts';

export interface JsonLimits {
  /** Levels of arrays and objects inside a cell or the definition. */
  maxDepth: number;
  /** Bytes of the JSON text of `table`. */
  maxTableBytes: number;
  /** Different keys in all rows. */
  maxColumns: number;
  /** Bytes of one cell: of a string unescaped, of any other value as it was sent. */
  maxCellBytes: number;
}

/** What the scanner is about to see. */
const DOCUMENT = 0;
const BOM_SECOND_BYTE = 1;
const BOM_THIRD_BYTE = 2;
const FIRST_MEMBER = 3;
const MEMBER = 4;
const COLON = 5;
const MEMBER_VALUE = 6;
const AFTER_MEMBER = 7;
const DOCUMENT_END = 8;
/** Inside something that the end of the chunk may cut. */
const IN_KEY = 9;
const IN_VALUE = 10;
const IN_ROWS = 11;

/** What is wrong with a member that the body does not have, and where people's usual members belong. */
function unknownMember(member: string, takesRows: boolean): string {
  if (member === 'columns') return '"columns" must be inside "table": {"table": {"columns": […]}}.';
  if (member === 'constraints') {
    return '"constraints" must be inside "table": {"table": {"columns": […], "constraints": {…}}}.';
  }
  const known = `The body has a member "${member}"; only ${takesRows ? '"table" and "data" are' : '"table" is'} known here.`;
  if (takesRows) {
    return `${known} Rows must be inside "data", also when there is one JSON object per line: {"data": [{…}, …]}.`;
  }
  return member === 'data' ? `${known} Send rows to upload/json, or in the file.` : known;
}

const UTF_16 = 'The body is UTF-16; send UTF-8.';
const WRONG_DEFINITION = 'The body must be an object that holds "table".';
const WRONG_DOCUMENT = 'The body must be an object that holds "table", "data" or both.';
const BARE_ARRAY = 'The body is an array. Put the rows inside "data": {"data": [{…}, …]}.';
const NOT_JSON_AT_ALL =
  'Send a workbook or a text file such as CSV to upload/excel, as the part "file" of a multipart/form-data body.';
const WRONG_DATA = 'The member "data" must be an array of row objects.';

export class JsonUploadScanner {
  /** Gets the cells. To be set before the first row; `write` stops there once if it is not. */
  sink: CellSink | undefined;
  /** The JSON text of `table`, once the whole of it has been seen; undefined too where that is `null`. */
  table: Buffer | undefined;
  /** `table` has been seen, to its end. */
  tableComplete = false;
  /** The `[` of `data` has been seen. */
  dataSeen = false;
  readonly locate: LocateCell = locateInData;

  readonly #takesRows: boolean;
  readonly #tableLimit: Limit;
  readonly #rows: JsonRowScanner;
  readonly #utf8 = new Utf8Checker();
  readonly #value: JsonValueScanner;
  readonly #unescaper = new StringUnescaper();
  /** The key or definition at hand. */
  readonly #held = new GrowableBytes();

  #state = DOCUMENT;
  #isObject = false;
  /** The member at hand. */
  #member = '';
  readonly #members = new Set<string>();
  #firstByte = 0;
  /** The offset in the document of the chunk's byte 0; below 0 where the caller began later in it. */
  #origin = 0;
  /** Bytes taken so far. */
  #taken = 0;

  /** @param body with `data`, or a definition alone */
  constructor(limits: JsonLimits, body: 'upload' | 'definition' = 'upload') {
    this.#takesRows = body === 'upload';
    this.#tableLimit = { setting: 'MAX_DEFINITION_BYTES', value: limits.maxTableBytes, unit: 'bytes' };
    this.#rows = new JsonRowScanner(limits.maxDepth, limits.maxColumns, limits.maxCellBytes);
    this.#value = new JsonValueScanner(limits.maxDepth);
  }

  /** Rows begun. */
  get rowCount(): number {
    return this.#rows.rowCount;
  }

  /**
   * Takes the next bytes of the body, chunk[start, limit). The chunk is not kept.
   *
   * @returns `limit`; where no sink is set, the position just after the `[` of `data`, once: `dataSeen` is
   *   true then, and the caller sets the sink and calls again with that as `start`
   * @throws AppError `invalid-json` with the byte offset, `invalid-data` where the document is not such a body,
   *   `limit-exceeded`; the scanner is of no use afterwards
   */
  write(chunk: Buffer, start = 0, limit = chunk.length): number {
    if (this.sink === undefined && this.#state === IN_ROWS) throw new Error('The rows need a sink');
    this.#origin = this.#taken - start;
    try {
      // What stands before a byte that is no UTF-8 is scanned all the same: so its row is known, and faults before it.
      const invalid = this.#utf8.check(chunk, start, limit);
      const end = invalid < 0 ? limit : invalid;
      let i = start;
      while (i < end && (this.#state !== IN_ROWS || this.sink !== undefined))
        i = this.#scanPart(chunk, i, end);
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
    const isNumber = this.#state === IN_VALUE && !this.#isObject && this.#value.isComplete();
    if (this.#state !== DOCUMENT_END && !isNumber) throw this.#incomplete();
    if (!this.#isObject) {
      const expected = this.#firstByte === 0x5b ? BARE_ARRAY : WRONG_DOCUMENT;
      throw invalidBody('', 'wrong-type', this.#takesRows ? expected : WRONG_DEFINITION);
    }
  }

  /** Goes on with whatever it is in, to its end or the chunk's. */
  #scanPart(chunk: Buffer, start: number, end: number): number {
    switch (this.#state) {
      case IN_ROWS: {
        const after = this.#rows.scan(chunk, start, end, this.sink!);
        if (this.#rows.isDone) this.#state = AFTER_MEMBER;
        return after;
      }
      case IN_KEY: {
        const after = this.#unescaper.unescape(chunk, start, end, this.#held);
        if (after >= 0) this.#enterMember();
        return after < 0 ? end : after;
      }
      case IN_VALUE: {
        const after = this.#value.scan(chunk, start, end);
        if (this.#isTable()) this.#held.append(chunk, start, after < 0 ? end : after);
        if (after >= 0) this.#endValue();
        return after < 0 ? end : after;
      }
      default:
        return this.#scanBetween(chunk, start, end);
    }
  }

  /** Brackets, commas, colons and blanks, up to the next key, value or row. */
  #scanBetween(chunk: Buffer, start: number, end: number): number {
    for (let i = start; i < end; i++) {
      const byte = chunk[i];
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
      switch (this.#state) {
        case DOCUMENT:
          if (byte === 0xef && this.#origin + i === 0) {
            this.#state = BOM_SECOND_BYTE;
            break;
          }
          if (byte !== 0x7b) return this.#beginValue(byte, i);
          this.#isObject = true;
          this.#state = FIRST_MEMBER;
          break;
        // Known to be UTF-8: two bytes will come, and no blank. What other character it is does not matter.
        case BOM_SECOND_BYTE:
        case BOM_THIRD_BYTE:
          if (byte !== (this.#state === BOM_SECOND_BYTE ? 0xbb : 0xbf))
            throw new JsonFault(i, 'a byte order mark');
          this.#state = this.#state === BOM_SECOND_BYTE ? BOM_THIRD_BYTE : DOCUMENT;
          break;
        case FIRST_MEMBER:
        case MEMBER:
          if (byte === 0x7d && this.#state === FIRST_MEMBER) {
            this.#state = DOCUMENT_END;
            break;
          }
          if (byte !== 0x22) throw new JsonFault(i, 'a key in quotes');
          this.#unescaper.begin();
          this.#held.reset('The key', KEY_LIMIT);
          this.#state = IN_KEY;
          return i + 1;
        case COLON:
          if (byte !== 0x3a) throw new JsonFault(i, '":" after the key');
          this.#state = MEMBER_VALUE;
          break;
        case MEMBER_VALUE:
          if (this.#isTable() || byte !== 0x5b) return this.#beginValue(byte, i);
          this.dataSeen = true;
          this.#state = IN_ROWS;
          return i + 1;
        case AFTER_MEMBER:
          if (byte === 0x2c) this.#state = MEMBER;
          else if (byte === 0x7d) this.#state = DOCUMENT_END;
          else throw new JsonFault(i, '"," or "}" after the value');
          break;
        default:
          throw new JsonFault(i, 'nothing after the document');
      }
    }
    return end;
  }

  #enterMember(): void {
    const name = this.#held.bytes.toString('utf8', 0, this.#held.length);
    const pointer = pointerTo(name);
    if (name !== 'table' && !(name === 'data' && this.#takesRows)) {
      const shown = name.length > 63 ? `${name.slice(0, 63)}…` : name;
      throw invalidBody(pointer, 'unknown-key', unknownMember(shown, this.#takesRows));
    }
    if (this.#members.has(name)) {
      throw invalidBody(pointer, 'repeated-key', `The body has the member "${name}" twice.`);
    }
    this.#members.add(name);
    this.#member = name;
    this.#state = COLON;
  }

  #isTable(): boolean {
    return this.#member === 'table';
  }

  /** Of the values only the definition is kept; the others, which have no place in an upload, are checked. */
  #beginValue(byte: number, position: number): number {
    this.#firstByte = byte;
    this.#value.begin();
    this.#held.reset('The definition', this.#tableLimit);
    this.#state = IN_VALUE;
    return position;
  }

  #endValue(): void {
    const isNull = this.#firstByte === 0x6e;
    this.#state = this.#isObject ? AFTER_MEMBER : DOCUMENT_END;
    if (this.#isTable()) {
      this.tableComplete = true;
      if (!isNull) this.table = Buffer.from(this.#held.bytes.subarray(0, this.#held.length));
    } else if (this.#isObject && !isNull) {
      throw invalidBody('/data', 'wrong-type', WRONG_DATA);
    }
  }

  #isInRow(): boolean {
    return this.#state === IN_ROWS && this.rowCount > 0;
  }

  #explain(error: unknown, chunk: Buffer): unknown {
    if (error instanceof LimitFault) {
      const place = this.#isInRow() ? `Row ${this.rowCount}: ` : '';
      return new AppError('limit-exceeded', place + error.message);
    }
    if (!(error instanceof JsonFault)) return error;
    if (this.#isUtf16(error.position, chunk)) return new AppError('invalid-json', UTF_16);
    const places = [this.#lineOf(chunk, error.position), this.#isInRow() ? `row ${this.rowCount}` : ''];
    const place = places.filter((known) => known !== '').join('; ');
    const what =
      foreignWordAt(error, chunk) ??
      (error.showsByte
        ? `expected ${error.message}, found ${showByte(chunk[error.position])}`
        : error.message);
    return new AppError(
      'invalid-json',
      `Byte ${this.#origin + error.position}${place && ` (${place})`}: ${what}.${this.#otherFormat()}`,
    );
  }

  /** Whether the body begins with a byte order mark of UTF-16, or has NUL at every other byte. */
  #isUtf16(position: number, chunk: Buffer): boolean {
    const offset = this.#origin + position;
    const byte = chunk[position];
    const next = chunk[position + 1];
    if (offset === 1) return byte === 0x00 && next !== 0x00;
    if (offset !== 0) return false;
    if (byte === 0x00) return next !== undefined && next !== 0x00 && chunk[position + 2] === 0x00;
    return (byte === 0xff && next === 0xfe) || (byte === 0xfe && next === 0xff);
  }

  /** Of a body of several lines, as people write it, where the chunk has its beginning: no lines are counted for it. */
  #lineOf(chunk: Buffer, position: number): string {
    if (this.#origin !== 0 || position < 0) return '';
    const before = chunk.toString('utf8', 0, position).split('\n');
    return before.length === 1 ? '' : `line ${before.length}, column ${before.at(-1)!.length + 1}`;
  }

  /** What to do with a body that does not begin as JSON: it is a file of another format. */
  #otherFormat(): string {
    const isOther = this.#takesRows && !this.#isObject && this.#firstByte !== 0x5b;
    return isOther ? ` ${NOT_JSON_AT_ALL}` : '';
  }

  #incomplete(): AppError {
    if (this.#state === DOCUMENT) {
      return new AppError(
        'invalid-json',
        this.#takesRows
          ? 'The body is empty; expected an object that holds "table", "data" or both.'
          : 'The body is empty; expected an object that holds "table".',
      );
    }
    const isInToken = this.#state === IN_KEY || this.#state === IN_VALUE || this.#rows.isInToken;
    const place = this.#isInRow() ? ` in row ${this.rowCount}` : '';
    const inside = isInToken ? 'inside a key or value' : 'before the object is closed';
    return new AppError('invalid-json', `The body ends at byte ${this.#taken}${place}, ${inside}.`);
  }
}

function invalidBody(pointer: string, code: string, detail: string): AppError {
  return new AppError('invalid-data', detail, { errors: [{ pointer, code, detail }] });
}
