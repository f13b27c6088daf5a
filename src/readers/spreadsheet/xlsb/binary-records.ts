/**
 * Reads the records of a binary part of an .xlsb workbook (MS-XLSB 2.1.4) from chunks that may be cut anywhere.
 *
 * A record has its type (1 or 2 bytes), the size of its content (1 to 4 bytes) and the content. Records of types that the
 * caller does not want are skipped and never kept, whatever size they state.
 */

import { codePointOfPair, writeCodePoint } from '../../../core/bytes/utf8.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';

/** The result of `next` if there is no complete record: the caller must call `feed`. No record has this type. */
export const NEED_MORE = -1;

/** The number of types, because a type has 14 bits. */
const typeCount = 1 << 14;

/**
 * The space for what a record contains besides the text of a cell or string: formulas, formatting and phonetic hints. A text in
 * UTF-16 has at most two bytes for each byte of UTF-8.
 */
const besideTextBytes = 1024 * 1024;

export class BinaryRecords {
  /** The content of the record that `next` found: from `start` (included) to `end` (excluded). */
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  end = 0;

  readonly #partName: string;
  readonly #wanted = new Uint8Array(typeCount);
  readonly #maxCellBytes: number;
  readonly #maxRecordBytes: number;
  /** The bytes from `#position` to `#length` of `bytes` were fed but not read yet. */
  #position = 0;
  #length = 0;
  /** How many bytes of an unwanted record have not arrived yet. */
  #skipped = 0;
  /** A buffer in which a record that is split over several chunks is put together. */
  #joined: Buffer = Buffer.alloc(0);
  /** The text that was read last, as UTF-8. */
  text: Buffer = Buffer.alloc(1024);

  /** @param wanted the types of the records that `next` returns */
  constructor(
    partName: string,
    wanted: readonly number[],
    { maxCellBytes }: Pick<SpreadsheetLimits, 'maxCellBytes'>,
  ) {
    this.#partName = partName;
    for (const type of wanted) this.#wanted[type] = 1;
    this.#maxCellBytes = maxCellBytes;
    this.#maxRecordBytes = 2 * maxCellBytes + besideTextBytes;
  }

  /** Takes the next bytes of the part, which must not change until `next` returns `NEED_MORE`. */
  feed(chunk: Buffer): void {
    const rest = this.#length - this.#position;
    if (rest === 0) {
      this.bytes = chunk;
      this.#position = 0;
      this.#length = chunk.length;
    } else {
      this.#join(chunk, rest);
    }
  }

  /** The fed bytes that are not read yet. */
  get rest(): Buffer {
    return this.bytes.subarray(this.#position, this.#length);
  }

  /**
   * Moves to the next wanted record.
   *
   * @returns its type, or `NEED_MORE`
   * @throws AppError `limit-exceeded` if it is larger than a cell may be
   */
  next(): number {
    const { bytes } = this;
    const length = this.#length;
    for (;;) {
      if (this.#skipped > 0 && !this.#skip()) return NEED_MORE;
      let at = this.#position;
      if (at >= length) return NEED_MORE;
      let type = bytes[at++]!;
      if (type >= 0x80) {
        if (at >= length) return NEED_MORE;
        type = (type & 0x7f) | ((bytes[at++]! & 0x7f) << 7);
      }
      let size = 0;
      for (let shift = 0; shift < 28; shift += 7) {
        if (at >= length) return NEED_MORE;
        const byte = bytes[at++]!;
        size |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      if (this.#wanted[type] === 0) {
        this.#position = at;
        this.#skipped = size;
        continue;
      }
      if (size > this.#maxRecordBytes) throw this.#tooLong();
      if (at + size > length) return NEED_MORE;
      this.start = at;
      this.end = at + size;
      this.#position = this.end;
      return type;
    }
  }

  /** Returns the unsigned 32-bit number at this offset of the content. */
  uint32(offset: number): number {
    const at = this.start + offset;
    if (at + 4 > this.end) this.fail('a record that is too short');
    const { bytes } = this;
    return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
  }

  uint16(offset: number): number {
    const at = this.start + offset;
    if (at + 2 > this.end) this.fail('a record that is too short');
    return this.bytes[at]! | (this.bytes[at + 1]! << 8);
  }

  uint8(offset: number): number {
    const at = this.start + offset;
    if (at >= this.end) this.fail('a record that is too short');
    return this.bytes[at]!;
  }

  double(offset: number): number {
    const at = this.start + offset;
    if (at + 8 > this.end) this.fail('a record that is too short');
    return this.bytes.readDoubleLE(at);
  }

  /**
   * Reads the text at this offset (`XLWideString`, 2.5.168) into `text`, as UTF-8.
   *
   * @returns its length in bytes
   * @throws AppError `limit-exceeded` if it is longer than a cell may be
   */
  readText(offset: number): number {
    const units = this.uint32(offset);
    const from = this.start + offset + 4;
    if (2 * units > this.end - from) this.fail('a text that is longer than its record');
    if (units > this.#maxCellBytes) throw this.#tooLong();
    if (3 * units > this.text.length) this.text = Buffer.alloc(3 * units);
    const length = copyAsUtf8(this.bytes, from, from + 2 * units, this.text);
    if (length > this.#maxCellBytes) throw this.#tooLong();
    return length;
  }

  /** Returns a short text and its end. The text is `''` if it is null (`XLNullableWideString`, 2.5.166). */
  readString(offset: number): { value: string; end: number } {
    if (this.uint32(offset) === 0xffff_ffff) return { value: '', end: offset + 4 };
    const length = this.readText(offset);
    return { value: this.text.toString('utf8', 0, length), end: offset + 4 + 2 * this.uint32(offset) };
  }

  fail(what: string): never {
    throw new AppError('invalid-file', `Part ${this.#partName} cannot be read: it holds ${what}.`);
  }

  #skip(): boolean {
    const step = Math.min(this.#skipped, this.#length - this.#position);
    this.#position += step;
    this.#skipped -= step;
    return this.#skipped === 0;
  }

  #join(chunk: Buffer, rest: number): void {
    const needed = rest + chunk.length;
    if (this.bytes === this.#joined && this.#length + chunk.length <= this.#joined.length) {
      chunk.copy(this.#joined, this.#length);
      this.#length += chunk.length;
      return;
    }
    // Twice the needed size, so that a record of many chunks is not copied again for each chunk.
    const target = needed <= this.#joined.length ? this.#joined : Buffer.alloc(2 * needed);
    this.bytes.copy(target, 0, this.#position, this.#length);
    chunk.copy(target, rest);
    this.bytes = target;
    this.#joined = target;
    this.#position = 0;
    this.#length = needed;
  }

  #tooLong(): AppError {
    return limitExceeded('The text of a cell is too long', this.#maxCellBytes, { setting: 'MAX_CELL_BYTES' });
  }
}

/**
 * Converts UTF-16LE to UTF-8. A surrogate without its partner becomes U+FFFD.
 *
 * @param target must have room for three bytes for each code unit
 * @returns the number of bytes written
 */
function copyAsUtf8(bytes: Buffer, start: number, end: number, target: Buffer): number {
  let to = 0;
  for (let at = start; at < end; at += 2) {
    let code = bytes[at]! | (bytes[at + 1]! << 8);
    if (code < 0x80) {
      target[to++] = code;
      continue;
    }
    if (code >= 0xd800 && code < 0xe000) {
      const low = at + 3 < end ? bytes[at + 2]! | (bytes[at + 3]! << 8) : 0;
      const isPair = code < 0xdc00 && low >= 0xdc00 && low < 0xe000;
      code = isPair ? codePointOfPair(code, low) : 0xfffd;
      if (isPair) at += 2;
    }
    to = writeCodePoint(target, to, code);
  }
  return to;
}
