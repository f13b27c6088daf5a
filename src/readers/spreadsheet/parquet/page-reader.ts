/** Reads the pages of one column of a row group, one at a time. */

import { crc32 } from 'node:zlib';
import type { PageHeader } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { unpackPage } from './codecs.ts';
import { broken, Fault } from './fault.ts';
import type { Chunk, ParquetFile } from './footer.ts';
import { readFilePart } from './range-reader.ts';
import { readRuns } from './runs.ts';
import type { Leaf } from './schema-tree.ts';
import { decodeValues, type Values } from './values.ts';

/** A page of data. It has an entry for each value and each null. */
export interface Page {
  entries: number;
  /** The definition level of each entry; undefined: no entry is null. */
  definitions: Uint8Array | undefined;
  /** The repetition level of each entry; undefined: each is a row. */
  repetitions: Uint8Array | undefined;
  /** The values that are not null; undefined: `indices` has their places in the dictionary. */
  values: Values | undefined;
  indices: Int32Array | undefined;
}

/** The page limits, for the packed and the unpacked bytes, and for entries, of which nulls have no bytes. */
const maxPageBytes = 256 * 1024 * 1024;
const maxEntries = 64 * 1024 * 1024;

/** The beginning of a page in which its header is searched first. A header can have long values of its statistics. */
const headerBytes = 16 * 1024;

const maxHeaderBytes = 16 * 1024 * 1024;

/** The bytes that are read ahead for all columns together, and for one. */
const aheadOfAllBytes = 32 * 1024 * 1024;
const aheadBytes = 256 * 1024;

export class PageReader {
  readonly #file: ParquetFile;
  readonly #leaf: Leaf;
  readonly #chunk: Chunk;
  readonly #aheadBytes: number;
  #position: number;
  #entriesLeft: number;
  /** Bytes of the file that were read, and the position of the first one. */
  #ahead: Buffer = Buffer.alloc(0);
  #aheadAt = 0;
  /** The values that pages refer to. */
  dictionary: Values | undefined;

  constructor(file: ParquetFile, leaf: Leaf, chunk: Chunk) {
    this.#file = file;
    this.#leaf = leaf;
    this.#chunk = chunk;
    this.#aheadBytes = Math.min(aheadBytes, Math.floor(aheadOfAllBytes / file.schema.leaves.length));
    this.#position = chunk.start;
    this.#entriesLeft = chunk.valueCount;
  }

  /** Returns the next page; undefined: there is none. @throws Fault */
  next(): Page | undefined {
    while (this.#entriesLeft > 0) {
      const headerAt = this.#position;
      const header = this.#readHeader();
      const { compressed_page_size: packedLength, uncompressed_page_size: length, crc } = header;
      if (!(packedLength >= 0 && length >= 0)) throw broken('a page of a negative length');
      if (packedLength > maxPageBytes || length > maxPageBytes) throw new Fault('page-too-large');
      const packed = this.#bytesAt(this.#position, packedLength);
      this.#position += packedLength;
      this.#file.bytesLeft -= this.#position - headerAt;
      if (this.#file.bytesLeft < 0) throw broken('pages that several columns share');
      if (crc !== undefined && crc32(packed) >>> 0 !== crc >>> 0) throw broken('the checksum of a page');
      if (header.type === 'DICTIONARY_PAGE') this.#readDictionary(header, packed);
      else if (header.type !== 'INDEX_PAGE') {
        const page =
          header.type === 'DATA_PAGE_V2' ? this.#readV2(header, packed) : this.#readV1(header, packed);
        this.#entriesLeft -= page.entries;
        if (page.entries > 0) return page;
      }
    }
    return undefined;
  }

  #readHeader(): PageHeader {
    const left = this.#file.end - this.#position;
    for (let length = headerBytes; ; length *= 8) {
      const bytes = this.#bytesAt(this.#position, Math.min(length, left));
      const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
      try {
        const header = parquetHeader(reader);
        this.#position += reader.offset;
        return header;
      } catch (error) {
        if (length >= left || length > maxHeaderBytes) throw error;
      }
    }
  }

  /** Returns a part of the file. The next parts are read with it if the column has more bytes. */
  #bytesAt(position: number, length: number): Buffer {
    const end = this.#file.end;
    if (position + length > end) throw broken('a page beyond the pages');
    const from = position - this.#aheadAt;
    if (from < 0 || from + length > this.#ahead.length) {
      const endOfColumn = Math.min(end, this.#chunk.start + this.#chunk.length);
      const wanted = Math.max(length, Math.min(this.#aheadBytes, endOfColumn - position));
      this.#ahead = readFilePart(this.#file.size, position, wanted);
      this.#aheadAt = position;
    }
    const start = position - this.#aheadAt;
    return this.#ahead.subarray(start, start + length);
  }

  #readDictionary(
    { dictionary_page_header: head, uncompressed_page_size: length }: PageHeader,
    packed: Buffer,
  ) {
    if (head === undefined || this.dictionary !== undefined) throw broken('the dictionary');
    const { num_values: count, encoding } = head;
    if (!(count >= 0 && count <= maxEntries)) throw broken('the number of values of a dictionary');
    if (encoding !== 'PLAIN' && encoding !== 'PLAIN_DICTIONARY')
      throw new Fault('unknown-encoding', `${encoding} of a dictionary`);
    const bytes = unpackPage(this.#chunk.codec, packed, length);
    this.dictionary = decodeValues('PLAIN', bytes, this.#leaf.type, count);
  }

  #readV1({ data_page_header: head, uncompressed_page_size: length }: PageHeader, packed: Buffer): Page {
    if (head === undefined) throw broken('the header of a page');
    const { num_values: entries, encoding } = head;
    this.#checkEntries(entries);
    const bytes = unpackPage(this.#chunk.codec, packed, length);
    const { definition, repetition } = this.#leaf;
    let at = 0;
    const readLevels = (max: number, levelEncoding: string): Uint8Array | undefined => {
      if (max === 0) return undefined;
      if (levelEncoding !== 'RLE') throw new Fault('unknown-encoding', `${levelEncoding} of levels`);
      const start = at + 4;
      at = start + bytes.readUInt32LE(at);
      return levelsOf(bytes, start, at, max, entries);
    };
    const repetitions = readLevels(repetition, head.repetition_level_encoding);
    const definitions = readLevels(definition, head.definition_level_encoding);
    return this.#pageOf(entries, repetitions, definitions, encoding, bytes.subarray(at));
  }

  /** In version 2 the levels are not packed, and the header has their lengths. */
  #readV2({ data_page_header_v2: head, uncompressed_page_size: length }: PageHeader, packed: Buffer): Page {
    if (head === undefined) throw broken('the header of a page');
    const { num_values: entries, num_nulls: nulls, encoding, is_compressed: isPacked } = head;
    this.#checkEntries(entries);
    const { definition, repetition } = this.#leaf;
    const endOfRepetitions = head.repetition_levels_byte_length;
    const start = endOfRepetitions + head.definition_levels_byte_length;
    if (!(endOfRepetitions >= 0 && start >= endOfRepetitions && start <= length)) throw broken('levels');
    const repetitions =
      repetition === 0 ? undefined : levelsOf(packed, 0, endOfRepetitions, repetition, entries);
    const definitions =
      definition === 0 ? undefined : levelsOf(packed, endOfRepetitions, start, definition, entries);
    const rest = packed.subarray(start);
    const isEmpty = start === length;
    const bytes = isPacked === false || isEmpty ? rest : unpackPage(this.#chunk.codec, rest, length - start);
    const page = this.#pageOf(entries, repetitions, definitions, encoding, bytes);
    const missing = entries - valuesIn(definitions, definition, entries);
    // Arrow does not count lists that are NULL or empty, although the specification of `num_nulls` does. The levels have all of them.
    if (repetition === 0 ? nulls !== missing : !(nulls >= 0 && nulls <= missing))
      throw broken('the number of nulls');
    return page;
  }

  #checkEntries(entries: number): void {
    if (!(entries >= 0 && entries <= this.#entriesLeft)) throw broken('the number of values of a page');
    if (entries > maxEntries) throw new Fault('page-too-large');
  }

  #pageOf(
    entries: number,
    repetitions: Uint8Array | undefined,
    definitions: Uint8Array | undefined,
    encoding: string,
    bytes: Buffer,
  ): Page {
    const count = valuesIn(definitions, this.#leaf.definition, entries);
    const page = { entries, repetitions, definitions: count === entries ? undefined : definitions };
    if (encoding !== 'PLAIN_DICTIONARY' && encoding !== 'RLE_DICTIONARY') {
      const values = decodeValues(encoding, bytes, this.#leaf.type, count);
      return { ...page, values, indices: undefined };
    }
    return { ...page, values: undefined, indices: this.#indicesOf(bytes, count) };
  }

  #indicesOf(bytes: Buffer, count: number): Int32Array {
    const indices = new Int32Array(count);
    if (count === 0) return indices;
    const { dictionary } = this;
    if (dictionary === undefined || bytes.length === 0) throw broken('indices without a dictionary');
    readRuns(bytes, 1, bytes.length, bytes[0]!, indices);
    const size = dictionary.count;
    for (let at = 0; at < count; at++)
      if (indices[at]! >= size) throw broken('an index beyond the dictionary');
    return indices;
  }
}

function levelsOf(bytes: Buffer, start: number, end: number, max: number, entries: number): Uint8Array {
  if (end > bytes.length) throw broken('levels beyond the page');
  const levels = new Uint8Array(entries);
  readRuns(bytes, start, end, 32 - Math.clz32(max), levels);
  for (let at = 0; at < entries; at++) if (levels[at]! > max) throw broken('a level beyond the highest one');
  return levels;
}

function valuesIn(definitions: Uint8Array | undefined, max: number, entries: number): number {
  if (definitions === undefined) return entries;
  let count = 0;
  for (let at = 0; at < entries; at++) if (definitions[at] === max) count++;
  return count;
}
