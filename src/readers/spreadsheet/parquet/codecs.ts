/**
 * Unpacks pages. A page must have exactly the length that its header states.
 *
 * The codecs are those of Node.js, Snappy of hyparquet, and LZ4 here. The package hyparquet-compressors is not used: of a page that is longer or
 * shorter than stated it keeps a part, or fills the rest with zeros.
 */

import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { snappyUncompress } from 'hyparquet/src/snappy.js';
import { broken, Fault } from './fault.ts';

/** @throws Fault */
export function unpackPage(codec: string, bytes: Buffer, length: number): Buffer {
  const page = unpack(codec, bytes, length);
  if (page.length !== length) throw broken(`a page of ${page.length} bytes instead of ${length}`);
  return page;
}

function unpack(codec: string, bytes: Buffer, length: number): Buffer {
  // zlib refuses a limit of 0.
  const maxOutputLength = Math.max(1, length);
  switch (codec) {
    case 'UNCOMPRESSED':
      return bytes;
    case 'SNAPPY': {
      const page = Buffer.alloc(length);
      snappyUncompress(bytes, page);
      return page;
    }
    case 'GZIP':
      return gunzipSync(bytes, { maxOutputLength });
    case 'BROTLI':
      return brotliDecompressSync(bytes, { maxOutputLength });
    case 'ZSTD':
      return zstdDecompressSync(bytes, { maxOutputLength });
    case 'LZ4_RAW':
      return unpackLz4(bytes, length);
    case 'LZ4':
      return unpackHadoopLz4(bytes, length) ?? unpackLz4(bytes, length);
    default:
      throw new Fault('unknown-codec', codec);
  }
}

/**
 * Unpacks the old codec LZ4: blocks, each after its lengths, unpacked and packed (4 bytes each, big endian), as Hadoop writes them.
 *
 * @returns undefined if the lengths do not fit. Other programs wrote one block without lengths.
 */
function unpackHadoopLz4(bytes: Buffer, length: number): Buffer | undefined {
  const blocks: Buffer[] = [];
  let left = length;
  for (let at = 0; at < bytes.length; ) {
    if (at + 8 > bytes.length) return undefined;
    const unpacked = bytes.readUInt32BE(at);
    const end = at + 8 + bytes.readUInt32BE(at + 4);
    if (end > bytes.length || unpacked > left) return undefined;
    blocks.push(unpackLz4(bytes.subarray(at + 8, end), unpacked));
    left -= unpacked;
    at = end;
  }
  return left === 0 ? Buffer.concat(blocks) : undefined;
}

/** Unpacks a block of LZ4 (lz4_Block_format.md). @throws Fault if it does not have this length */
function unpackLz4(bytes: Buffer, length: number): Buffer {
  const page = Buffer.alloc(length);
  let at = 0;
  let filled = 0;
  const readLength = (nibble: number): number => {
    let count = nibble;
    for (let byte = nibble === 15 ? 255 : 0; byte === 255; count += byte) {
      if (at >= bytes.length) throw broken('LZ4 ends within a length');
      byte = bytes[at++]!;
    }
    return count;
  };
  while (at < bytes.length) {
    const token = bytes[at++]!;
    const literals = readLength(token >> 4);
    if (at + literals > bytes.length || filled + literals > length) throw broken('LZ4 literals are too long');
    bytes.copy(page, filled, at, at + literals);
    at += literals;
    filled += literals;
    if (at === bytes.length) break;
    if (at + 2 > bytes.length) throw broken('LZ4 ends within an offset');
    const offset = bytes.readUInt16LE(at);
    at += 2;
    const matched = readLength(token & 15) + 4;
    if (offset === 0 || offset > filled || filled + matched > length) throw broken('LZ4 match out of range');
    for (const end = filled + matched; filled < end; filled++) page[filled] = page[filled - offset]!;
  }
  if (filled !== length) throw broken('LZ4 is too short');
  return page;
}
