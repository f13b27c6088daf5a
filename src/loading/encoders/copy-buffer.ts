/**
 * The growable output of the encoders: COPY bytes, big-endian, written at `position`.
 *
 * The writers do not look at the capacity: `ensure` comes first, once per field. Storing single bytes measured faster
 * than `DataView` and `Buffer.writeInt32BE`, which check their range on every call (see the note at `int32`).
 */
export class CopyBuffer {
  bytes: Buffer;
  position: number;

  constructor(initialBytes = 65_536) {
    this.bytes = Buffer.allocUnsafeSlow(initialBytes);
    this.position = 0;
  }

  /** Makes room for `count` more bytes. `bytes` may be another buffer afterwards. */
  ensure(count: number): void {
    if (this.bytes.length - this.position < count) this.#grow(count);
  }

  int8(value: number): void {
    this.bytes[this.position++] = value;
  }

  int16(value: number): void {
    const bytes = this.bytes;
    const position = this.position;
    bytes[position] = value >> 8;
    bytes[position + 1] = value;
    this.position = position + 2;
  }

  int32(value: number): void {
    const bytes = this.bytes;
    const position = this.position;
    bytes[position] = value >> 24;
    bytes[position + 1] = value >> 16;
    bytes[position + 2] = value >> 8;
    bytes[position + 3] = value;
    this.position = position + 4;
  }

  /** Writes high · 2³² + low; each half is taken modulo 2³², so both may be signed or not. */
  int64(high: number, low: number): void {
    this.int32(high | 0);
    this.int32(low | 0);
  }

  /** IEEE 754 binary64. */
  float64(value: number): void {
    doubles[0] = value;
    this.int32(halves[HIGH]!);
    this.int32(halves[1 - HIGH]!);
  }

  /** IEEE 754 binary32; the value must be one that `Math.fround` answers. */
  float32(value: number): void {
    floats[0] = value;
    this.int32(floatBits[0]!);
  }

  /** Copies source[start, end). The room must be there. */
  appendRange(source: Buffer, start: number, end: number): void {
    const bytes = this.bytes;
    let position = this.position;
    if (end - start > SHORT_RANGE_BYTES) {
      source.copy(bytes, position, start, end);
      this.position = position + end - start;
      return;
    }
    for (let at = start; at < end; at++) bytes[position++] = source[at]!;
    this.position = position;
  }

  /** Takes back everything from `position` on: a row or a field that turned out to be a problem. */
  rewind(position = 0): void {
    this.position = position;
  }

  /** Hands out what was written and goes on with a new buffer of the same size. */
  take(): Buffer {
    const filled = this.bytes.subarray(0, this.position);
    this.bytes = Buffer.allocUnsafeSlow(this.bytes.length);
    this.position = 0;
    return filled;
  }

  #grow(count: number): void {
    let size = this.bytes.length * 2;
    while (size - this.position < count) size *= 2;
    const grown = Buffer.allocUnsafeSlow(size);
    this.bytes.copy(grown, 0, 0, this.position);
    this.bytes = grown;
  }
}

/** Up to here a loop is cheaper than the call of `copy` (measured). */
const SHORT_RANGE_BYTES = 48;

const doubles = new Float64Array(1);
const halves = new Int32Array(doubles.buffer);
const floats = new Float32Array(1);
const floatBits = new Int32Array(floats.buffer);
doubles[0] = 1;
/** Where the machine keeps the half of a double with the sign and the exponent. */
const HIGH = halves[1] === 0 ? 0 : 1;
