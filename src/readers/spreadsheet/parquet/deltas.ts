/**
 * Decodes integers of DELTA_BINARY_PACKED: a first value, and blocks of differences from the value before.
 *
 * All sums are modulo 2⁶⁴, in two halves of 32 bits. Of an integer of 32 bits only the lower half counts, and files have first values and
 * differences of 33 bits and more for them.
 */

import { broken } from './fault.ts';

/** The number that was read last, in its two halves. */
const read = { low: 0, high: 0 };

/** Where the next byte is, in the bytes that are read. */
let at = 0;

const maxVarintBytes = 10;

/**
 * Fills `output`, which has two elements for each integer of 64 bits, the lower one first, and one for each of 32 bits.
 *
 * @returns where the bytes after the integers begin
 * @throws Fault
 */
export function readDeltas(bytes: Buffer, start: number, output: Int32Array, isLong: boolean): number {
  const step = isLong ? 2 : 1;
  const count = output.length / step;
  at = start;
  const blockSize = readCount(bytes);
  const miniblocks = readCount(bytes);
  const size = blockSize / miniblocks;
  const isBlock = blockSize > 0 && blockSize % 128 === 0 && miniblocks > 0 && size % 32 === 0;
  if (!isBlock || readCount(bytes) !== count) throw broken('the head of a delta encoding');
  readZigzag(bytes);
  let { low, high } = read;
  if (count > 0) put(output, 0, low, high, isLong);
  for (let filled = 1; filled < count; ) {
    readZigzag(bytes);
    const { low: leastLow, high: leastHigh } = read;
    const widths = at;
    at += miniblocks;
    for (let miniblock = 0; miniblock < miniblocks && filled < count; miniblock++) {
      const width = bytes[widths + miniblock] ?? 0;
      const end = at + (size * width) / 8;
      if (width > 64 || end > bytes.length) throw broken('a block of a delta encoding');
      for (let index = 0; index < size && filled < count; index++) {
        readBits(bytes, at * 8 + index * width, width);
        const sum = low + (leastLow >>> 0) + (read.low >>> 0);
        const carry = Math.floor(sum / UPPER);
        low = sum - carry * UPPER;
        high = (high + leastHigh + read.high + carry) | 0;
        put(output, filled, low, high, isLong);
        filled++;
      }
      at = end;
    }
  }
  return at;
}

const UPPER = 4_294_967_296;

function put(output: Int32Array, index: number, low: number, high: number, isLong: boolean): void {
  if (!isLong) {
    output[index] = low;
    return;
  }
  output[2 * index] = low;
  output[2 * index + 1] = high;
}

/** Reads a number of the head. */
function readCount(bytes: Buffer): number {
  readVarint(bytes);
  if (read.high !== 0 || read.low < 0) throw broken('the head of a delta encoding');
  return read.low;
}

/** Reads a signed number: 0, -1, 1, -2 are written as 0, 1, 2, 3. */
function readZigzag(bytes: Buffer): void {
  readVarint(bytes);
  const sign = -(read.low & 1);
  read.low = (((read.low >>> 1) | (read.high << 31)) ^ sign) >>> 0;
  read.high = (read.high >>> 1) ^ sign;
}

function readVarint(bytes: Buffer): void {
  read.low = 0;
  read.high = 0;
  for (let count = 0, byte = 0x80; byte & 0x80; count++) {
    if (at >= bytes.length || count === maxVarintBytes) throw broken('a number of a delta encoding');
    byte = bytes[at++]!;
    addBits(byte & 0x7f, 7 * count);
  }
}

function readBits(bytes: Buffer, bit: number, width: number): void {
  read.low = 0;
  read.high = 0;
  for (let got = 0; got < width; ) {
    const within = (bit + got) & 7;
    const taken = Math.min(8 - within, width - got);
    addBits((bytes[(bit + got - within) / 8]! >> within) & ((1 << taken) - 1), got);
    got += taken;
  }
}

function addBits(bits: number, shift: number): void {
  if (shift >= 32) {
    read.high |= bits << (shift - 32);
    return;
  }
  read.low |= bits << shift;
  if (shift > 24) read.high |= bits >>> (32 - shift);
}
