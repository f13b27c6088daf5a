/** Decodes levels, indices and booleans: runs of one value, and groups of eight values in bits (RLE_BIT_PACKED hybrid). */

import { broken } from './fault.ts';

/** Wider values do not fit into the 32 bits in which they are shifted. No dictionary has so many values. */
const maxWidth = 24;

/**
 * Fills `output` from the bytes between `start` and `end`.
 *
 * @param width the bits of each value
 * @throws Fault if the bytes end too early
 */
export function readRuns(
  bytes: Buffer,
  start: number,
  end: number,
  width: number,
  output: Uint8Array | Int32Array,
): void {
  if (width > maxWidth) throw broken(`values of ${width} bits`);
  let at = start;
  for (let filled = 0; filled < output.length; ) {
    let header = 0;
    for (let shift = 0, byte = 0x80; byte & 0x80; shift += 7) {
      if (at >= end || shift > 28) throw broken('too few runs');
      byte = bytes[at++]!;
      header |= (byte & 0x7f) << shift;
    }
    const length = header >>> 1;
    if (header & 1) {
      const count = Math.min(length * 8, output.length - filled);
      if (Math.ceil((count * width) / 8) > end - at) throw broken('too few values in a run');
      unpackBits(bytes, at, width, output, filled, count);
      at += length * width;
      filled += count;
      continue;
    }
    let value = 0;
    for (let shift = 0; shift < width; shift += 8) {
      if (at >= end) throw broken('too few values in a run');
      value |= bytes[at++]! << shift;
    }
    const until = Math.min(output.length, filled + length);
    output.fill(value, filled, until);
    filled = until;
  }
}

function unpackBits(
  bytes: Buffer,
  start: number,
  width: number,
  output: Uint8Array | Int32Array,
  filled: number,
  count: number,
): void {
  const mask = (1 << width) - 1;
  let at = start;
  let bits = 0;
  let held = 0;
  for (let index = filled; index < filled + count; index++) {
    while (held < width) {
      bits |= bytes[at++]! << held;
      held += 8;
    }
    output[index] = bits & mask;
    bits >>>= width;
    held -= width;
  }
}
