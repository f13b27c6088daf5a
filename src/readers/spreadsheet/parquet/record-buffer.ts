/** A growing buffer with the records of cells (cell-records.ts), and the texts of values. */

import { frameHeadBytes } from '../reader-process/frames.ts';
import { CELLS, FAULT } from './cell-records.ts';
import { Fault } from './fault.ts';
import { writeOutput } from './range-reader.ts';

/** The size from which on the records are sent. */
const sentBytes = 64 * 1024;

/** The maximum number of bytes of a problem's value. */
const shownBytes = 400;

const HEX = Buffer.from('0123456789abcdef');

export class RecordBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(4 * sentBytes);
  /** The end of what was written. A frame begins with its head. */
  length = frameHeadBytes;
  /** The beginning of the bytes of the record that is being written. */
  #start = 0;
  readonly #maxCellBytes: number;

  constructor(maxCellBytes: number) {
    this.#maxCellBytes = maxCellBytes;
  }

  /** Sends the records if they are many. Call it between cells. */
  send(): void {
    if (this.length >= sentBytes) this.flush();
  }

  flush(): void {
    if (this.length === frameHeadBytes) return;
    this.bytes[0] = CELLS;
    this.bytes.writeUInt32LE(this.length - frameHeadBytes, 1);
    writeOutput(this.bytes.subarray(0, this.length));
    this.length = frameHeadBytes;
  }

  /** Writes a record without content: `NULL`, `FALSE` or `TRUE`. */
  flag(kind: number): void {
    this.ensure(1);
    this.bytes[this.length++] = kind;
  }

  /** @param days since 2000-01-01; 0 for a time */
  moment(kind: number, days: number, microseconds: number): void {
    this.ensure(13);
    this.bytes[this.length] = kind;
    this.bytes.writeInt32LE(days, this.length + 1);
    this.length = this.bytes.writeDoubleLE(microseconds, this.length + 5);
  }

  /** Begins a record with bytes, which follow. */
  begin(kind: number): void {
    this.ensure(5);
    this.bytes[this.length] = kind;
    this.length += 5;
    this.#start = this.length;
  }

  end(): void {
    this.bytes.writeUInt32LE(this.length - this.#start, this.#start - 4);
  }

  value(kind: number, bytes: Buffer, start: number, end: number): void {
    this.begin(kind);
    this.append(bytes, start, end);
    this.end();
  }

  /** Writes a problem. @param text shows the value */
  fault(fault: number, text: string): void {
    const bytes = Buffer.from(text).subarray(0, shownBytes);
    this.ensure(2);
    this.bytes[this.length++] = FAULT;
    this.begin(fault);
    this.append(bytes, 0, bytes.length);
    this.end();
  }

  append(bytes: Buffer, start: number, end: number): void {
    this.ensure(end - start);
    // For short texts a loop is faster than a call into the engine.
    if (end - start < 32) for (let at = start, to = this.length; at < end; ) this.bytes[to++] = bytes[at++]!;
    else bytes.copy(this.bytes, this.length, start, end);
    this.length += end - start;
  }

  appendByte(byte: number): void {
    this.ensure(1);
    this.bytes[this.length++] = byte;
  }

  /** @param text ASCII */
  appendText(text: string): void {
    this.ensure(text.length);
    this.length += this.bytes.write(text, this.length, 'latin1');
  }

  /** Appends a whole number in decimal, at least `width` digits long. @param value not negative, a safe integer */
  appendDigits(value: number, width: number): void {
    this.ensure(Math.max(width, 16));
    let digits = 1;
    for (let bound = 10; bound <= value; bound *= 10) digits++;
    const start = this.length;
    const end = start + Math.max(width, digits);
    let at = end;
    let rest = value;
    while (rest > 0x7fffffff) {
      const upper = Math.floor(rest / 10);
      this.bytes[--at] = 0x30 + (rest - upper * 10);
      rest = upper;
    }
    let small = rest | 0;
    while (at > start) {
      const upper = (small / 10) | 0;
      this.bytes[--at] = 0x30 + (small - upper * 10);
      small = upper;
    }
    this.length = end;
  }

  appendHex(bytes: Buffer, start: number, end: number): void {
    this.ensure(2 * (end - start));
    for (let at = start; at < end; at++) {
      this.bytes[this.length++] = HEX[bytes[at]! >> 4]!;
      this.bytes[this.length++] = HEX[bytes[at]! & 15]!;
    }
  }

  /** @throws Fault if the buffer would become longer than the longest cell needs */
  ensure(length: number): void {
    const needed = this.length + length;
    if (needed <= this.bytes.length) return;
    if (needed > this.#maxCellBytes + 2 * sentBytes) throw new Fault('value-too-long');
    const larger = Buffer.allocUnsafeSlow(Math.min(2 * needed, this.#maxCellBytes + 4 * sentBytes));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
