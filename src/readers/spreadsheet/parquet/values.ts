/** Decodes the values of a page. A page has only the values that are not null. */

import { BOOLEAN, type LeafType } from './column-types.ts';
import { readDeltas } from './deltas.ts';
import { broken, Fault } from './fault.ts';
import { readRuns } from './runs.ts';

/** The values of a page or of a dictionary. Only the members that the physical type needs have values. */
export interface Values {
  count: number;
  /** Booleans, and integers of 32 bits; two for each integer of 64 bits, three for each INT96, the lowest first. */
  ints: Int32Array;
  floats: Float32Array | Float64Array;
  /** Byte arrays: value n is in `bytes` from `starts[n]` to `ends[n]`. */
  bytes: Buffer;
  starts: Int32Array;
  ends: Int32Array;
}

const none = new Int32Array(0);
const noFloats = new Float64Array(0);
const noBytes = Buffer.alloc(0);

/** A page may repeat the beginnings of its values (DELTA_BYTE_ARRAY). They have at most this many bytes in all. */
const maxJoinedBytes = 256 * 1024 * 1024;

/**
 * Decodes values that are not indices of a dictionary.
 *
 * @param bytes the rest of the page after its levels
 * @throws Fault; RangeError if the bytes end too early
 */
export function decodeValues(encoding: string, bytes: Buffer, type: LeafType, count: number): Values {
  // A page without values may have no bytes.
  if (count === 0) return values(0, {});
  switch (encoding) {
    case 'PLAIN':
      return plainValues(bytes, type, count);
    case 'RLE':
      if (type.physical === 'BOOLEAN') return booleanRuns(bytes, count);
      break;
    case 'BYTE_STREAM_SPLIT':
      if (type.width > 0 && type.physical !== 'INT96')
        return plainValues(joinStreams(bytes, type.width, count), type, count);
      break;
    case 'DELTA_BINARY_PACKED':
      if (type.physical === 'INT32' || type.physical === 'INT64') return deltaIntegers(bytes, type, count);
      break;
    case 'DELTA_LENGTH_BYTE_ARRAY':
      if (type.physical === 'BYTE_ARRAY') return deltaLengths(bytes, count);
      break;
    case 'DELTA_BYTE_ARRAY':
      if (type.physical === 'BYTE_ARRAY') return deltaBytes(bytes, count);
      if (type.physical === 'FIXED_LEN_BYTE_ARRAY') return ofWidth(deltaBytes(bytes, count), type.width);
      break;
  }
  throw new Fault('unknown-encoding', `${encoding} of ${type.physical}`);
}

function plainValues(bytes: Buffer, type: LeafType, count: number): Values {
  if (type.code === BOOLEAN) return plainBooleans(bytes, count);
  if (type.width === 0) return plainByteArrays(bytes, count);
  const length = count * type.width;
  if (bytes.length < length) throw broken('a page with too few values');
  if (type.physical === 'FIXED_LEN_BYTE_ARRAY') return byteArrays(bytes, count, type.width);
  // Typed arrays begin at a multiple of the size of their elements.
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length);
  if (type.physical === 'FLOAT') return values(count, { floats: new Float32Array(buffer) });
  if (type.physical === 'DOUBLE') return values(count, { floats: new Float64Array(buffer) });
  return values(count, { ints: new Int32Array(buffer) });
}

function values(count: number, members: Partial<Values>): Values {
  return { count, ints: none, floats: noFloats, bytes: noBytes, starts: none, ends: none, ...members };
}

function plainBooleans(bytes: Buffer, count: number): Values {
  if (bytes.length * 8 < count) throw broken('a page with too few values');
  const ints = new Int32Array(count);
  for (let at = 0; at < count; at++) ints[at] = (bytes[at >> 3]! >> (at & 7)) & 1;
  return values(count, { ints });
}

function booleanRuns(bytes: Buffer, count: number): Values {
  const ints = new Int32Array(count);
  const end = 4 + bytes.readUInt32LE(0);
  if (end > bytes.length) throw broken('runs beyond the page');
  readRuns(bytes, 4, end, 1, ints);
  return values(count, { ints });
}

function plainByteArrays(bytes: Buffer, count: number): Values {
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  let at = 0;
  for (let index = 0; index < count; index++) {
    const start = at + 4;
    const end = start + bytes.readUInt32LE(at);
    if (end > bytes.length) throw broken('a value beyond the page');
    starts[index] = start;
    ends[index] = end;
    at = end;
  }
  return values(count, { bytes, starts, ends });
}

function byteArrays(bytes: Buffer, count: number, width: number): Values {
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  for (let index = 0; index < count; index++) {
    starts[index] = index * width;
    ends[index] = index * width + width;
  }
  return values(count, { bytes, starts, ends });
}

/** Joins the streams of BYTE_STREAM_SPLIT: the first bytes of all values, then the second ones, and so on. */
function joinStreams(bytes: Buffer, width: number, count: number): Buffer {
  if (bytes.length < width * count) throw broken('a page with too few values');
  const joined = Buffer.allocUnsafe(width * count);
  for (let byte = 0, at = 0; byte < width; byte++)
    for (let index = 0; index < count; index++) joined[index * width + byte] = bytes[at++]!;
  return joined;
}

function deltaIntegers(bytes: Buffer, type: LeafType, count: number): Values {
  const isLong = type.physical === 'INT64';
  const ints = new Int32Array(isLong ? 2 * count : count);
  readDeltas(bytes, 0, ints, isLong);
  return values(count, { ints });
}

function deltaLengths(bytes: Buffer, count: number, start = 0): Values {
  const lengths = new Int32Array(count);
  const end = readDeltas(bytes, start, lengths, false);
  const starts = new Int32Array(count);
  let at = end;
  for (let index = 0; index < count; index++) {
    const length = lengths[index]!;
    starts[index] = at;
    at += length;
    if (length < 0 || at > bytes.length) throw broken('a value beyond the page');
    lengths[index] = at;
  }
  return values(count, { bytes, starts, ends: lengths });
}

/** Reads values that begin like the value before: the lengths of these beginnings, and then the rest of each value. */
function deltaBytes(bytes: Buffer, count: number): Values {
  const prefixes = new Int32Array(count);
  const end = readDeltas(bytes, 0, prefixes, false);
  const rests = deltaLengths(bytes, count, end);
  let length = 0;
  let before = 0;
  for (let index = 0; index < count; index++) {
    const prefix = prefixes[index]!;
    if (prefix < 0 || prefix > before) throw broken('a beginning that the value before does not have');
    before = prefix + rests.ends[index]! - rests.starts[index]!;
    length += before;
    if (length > maxJoinedBytes) throw new Fault('page-too-large');
  }
  const joined = Buffer.allocUnsafe(length);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  for (let index = 0, at = 0, last = 0; index < count; index++) {
    starts[index] = at;
    at += joined.copy(joined, at, last, last + prefixes[index]!);
    at += bytes.copy(joined, at, rests.starts[index], rests.ends[index]);
    ends[index] = at;
    last = starts[index]!;
  }
  return values(count, { bytes: joined, starts, ends });
}

function ofWidth(found: Values, width: number): Values {
  for (let index = 0; index < found.count; index++)
    if (found.ends[index]! - found.starts[index]! !== width) throw broken('a value of another length');
  return found;
}
