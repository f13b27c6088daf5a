/**
 * Opens the streams of a compound file (MS-CFB) without copying them. A stream is a chain of sectors. A small stream is a chain
 * of pieces of another stream.
 *
 * Every sector number is checked to be in the file, and no chain is followed for longer than the stated size of its stream. A
 * stream is never larger than the file.
 */

import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';

const headerBytes = 512;
const listedInHeader = 109;
const entryBytes = 128;

/** The maximum number of directory entries (streams and folders). A file with more is refused as broken. Real workbooks have far fewer. */
const maxEntries = 10_000;

/**
 * The maximum number of runs of consecutive sectors in one stream. In most files, only one sector of the allocation table interrupts a
 * run, after each 128 sectors. So this limit is enough for more than 1 GiB.
 */
const maxExtents = 100_000;

/** The largest number of a sector. Larger numbers have other meanings, such as the end of a chain. */
const maxSector = 0xffff_fffa;

const stepsPerTurn = 2048;

interface Entry {
  start: number;
  size: number;
}

/** A run of consecutive sectors. */
interface Extent {
  /** `from`: where the run begins in its stream. `at`: where it begins in the file or stream that contains it. */
  from: number;
  at: number;
  length: number;
}

/** Reports that the compound file is broken. */
export class BrokenCompoundFile extends Error {}

/**
 * Opens the streams with these names, in any folder of the file.
 *
 * @returns undefined if one of the names has no stream
 * @throws BrokenCompoundFile
 */
export async function openStreams(
  file: RandomAccessFile,
  names: readonly string[],
): Promise<RandomAccessFile[] | undefined> {
  const container = new Container(file, await readHeader(file));
  const entries = await container.readDirectory();
  const found = names.map((name) => entries.get(name));
  const streams: RandomAccessFile[] = [];
  for (const entry of found) {
    if (entry === undefined) return undefined;
    streams.push(await container.openStream(entry));
  }
  return streams;
}

interface Header {
  sectorBytes: number;
  directoryStart: number;
  /** Streams below this size are kept in the stream of small streams. */
  smallBelow: number;
  smallTableStart: number;
  /** The sectors of the allocation table, which has the next sector of each sector. */
  tableSectors: number[];
}

const smallSectorBytes = 64;

async function readHeader(file: RandomAccessFile): Promise<Header> {
  const head = await readRange(file, 0, headerBytes);
  if (head.length < headerBytes) throw new BrokenCompoundFile('no header');
  const shift = head.readUInt16LE(30);
  if ((shift !== 9 && shift !== 12) || head.readUInt16LE(32) !== 6)
    throw new BrokenCompoundFile('sector size');
  const sectorBytes = 2 ** shift;
  const tableSectors: number[] = [];
  const maxTableSectors = Math.ceil(file.size / sectorBytes / (sectorBytes / 4)) + 1;
  const add = (list: Buffer, from: number, to: number): void => {
    for (let at = from; at < to && tableSectors.length < maxTableSectors; at += 4) {
      const sector = list.readUInt32LE(at);
      if (sector < maxSector) tableSectors.push(sector);
    }
  };
  add(head, 76, 76 + 4 * listedInHeader);
  let next = head.readUInt32LE(68);
  for (let steps = 0; next < maxSector; steps++) {
    if (steps > maxTableSectors) throw new BrokenCompoundFile('a list of sectors without an end');
    const list = await readRange(file, (next + 1) * sectorBytes, sectorBytes);
    if (list.length < sectorBytes) throw new BrokenCompoundFile('a sector outside of the file');
    add(list, 0, sectorBytes - 4);
    next = list.readUInt32LE(sectorBytes - 4);
    const pause = pauseForOthers();
    if (pause !== undefined) await pause;
  }
  return {
    sectorBytes,
    directoryStart: head.readUInt32LE(48),
    smallBelow: head.readUInt32LE(56),
    smallTableStart: head.readUInt32LE(60),
    tableSectors,
  };
}

class Container {
  readonly #file: RandomAccessFile;
  readonly #header: Header;
  #root: Entry = { start: maxSector, size: 0 };
  /** The index and the bytes of the part of the table that was read last. */
  #tableIndex = -1;
  #table: Buffer = Buffer.alloc(0);

  constructor(file: RandomAccessFile, header: Header) {
    this.#file = file;
    this.#header = header;
  }

  async readDirectory(): Promise<Map<string, Entry>> {
    const entries = new Map<string, Entry>();
    const { sectorBytes, directoryStart } = this.#header;
    let sector = directoryStart;
    for (let read = 0; sector < maxSector; read += sectorBytes / entryBytes) {
      if (read > maxEntries) throw new BrokenCompoundFile('too many streams');
      const bytes = await readRange(this.#file, (sector + 1) * sectorBytes, sectorBytes);
      for (let at = 0; at + entryBytes <= bytes.length; at += entryBytes) this.#addEntry(bytes, at, entries);
      sector = await this.#nextSector(sector);
    }
    return entries;
  }

  #addEntry(bytes: Buffer, at: number, entries: Map<string, Entry>): void {
    const nameBytes = bytes.readUInt16LE(at + 64);
    const type = bytes[at + 66]!;
    if (nameBytes < 2 || nameBytes > 64) return;
    // In files with sectors of 512 bytes, the upper half of a size may have any value, so it is ignored.
    const highSize = this.#header.sectorBytes === 512 ? 0 : bytes.readUInt32LE(at + 124);
    const size = bytes.readUInt32LE(at + 120) + highSize * 2 ** 32;
    const entry = { start: bytes.readUInt32LE(at + 116), size };
    if (type === rootType) this.#root = entry;
    else if (type === streamType) entries.set(bytes.toString('utf16le', at, at + nameBytes - 2), entry);
  }

  async openStream({ start, size }: Entry): Promise<RandomAccessFile> {
    if (size > this.#file.size) throw new BrokenCompoundFile('a stream larger than the file');
    const { sectorBytes, smallBelow, smallTableStart } = this.#header;
    if (size >= smallBelow) return await this.#openLarge(start, size);
    const tableSize = 4 * Math.ceil(this.#root.size / smallSectorBytes);
    const table = await this.#openLarge(smallTableStart, Math.ceil(tableSize / sectorBytes) * sectorBytes);
    const holder = await this.#openLarge(this.#root.start, this.#root.size);
    const next = async (sector: number): Promise<number> => {
      const bytes = await readRange(table, 4 * sector, 4);
      if (bytes.length < 4) throw new BrokenCompoundFile('a sector outside of the table');
      return bytes.readUInt32LE(0);
    };
    const extents = await followChain(start, size, smallSectorBytes, 0, holder.size, next);
    return new ChainFile(holder, extents, size);
  }

  async #openLarge(start: number, size: number): Promise<RandomAccessFile> {
    if (size > this.#file.size) throw new BrokenCompoundFile('a stream larger than the file');
    const { sectorBytes } = this.#header;
    const next = (sector: number) => this.#nextSector(sector);
    const extents = await followChain(start, size, sectorBytes, sectorBytes, this.#file.size, next);
    return new ChainFile(this.#file, extents, size);
  }

  #nextSector(sector: number): number | Promise<number> {
    const perTable = this.#header.sectorBytes / 4;
    const index = Math.floor(sector / perTable);
    if (index === this.#tableIndex) return this.#table.readUInt32LE(4 * (sector % perTable));
    return this.#loadTable(index).then(() => this.#table.readUInt32LE(4 * (sector % perTable)));
  }

  async #loadTable(index: number): Promise<void> {
    const { tableSectors, sectorBytes } = this.#header;
    const tableSector = tableSectors[index];
    if (tableSector === undefined) throw new BrokenCompoundFile('a sector outside of the table');
    const table = await readRange(this.#file, (tableSector + 1) * sectorBytes, sectorBytes);
    if (table.length < sectorBytes) throw new BrokenCompoundFile('a sector outside of the file');
    this.#table = table;
    this.#tableIndex = index;
  }
}

const streamType = 2;
const rootType = 5;

/**
 * Returns the runs of sectors of a stream.
 *
 * @param offset the position of sector 0 in its holder, which has `holderBytes` bytes
 */
async function followChain(
  start: number,
  size: number,
  sectorBytes: number,
  offset: number,
  holderBytes: number,
  next: (sector: number) => number | Promise<number>,
): Promise<Extent[]> {
  const extents: Extent[] = [];
  let last: Extent | undefined;
  let sector = start;
  let steps = 0;
  for (let from = 0; from < size; from += sectorBytes) {
    const at = offset + sector * sectorBytes;
    const length = Math.min(sectorBytes, size - from);
    if (sector >= maxSector || at + length > holderBytes)
      throw new BrokenCompoundFile('a chain of sectors that ends early');
    if (last !== undefined && last.at + last.length === at) last.length += length;
    else last = extents[extents.push({ from, at, length }) - 1];
    if (extents.length > maxExtents) throw new BrokenCompoundFile('a stream in too many pieces');
    if (from + sectorBytes >= size) break;
    const following = next(sector);
    sector = typeof following === 'number' ? following : await following;
    const pause = ++steps % stepsPerTurn === 0 ? pauseForOthers() : undefined;
    if (pause !== undefined) await pause;
  }
  return extents;
}

class ChainFile implements RandomAccessFile {
  readonly size: number;
  readonly #holder: RandomAccessFile;
  readonly #extents: Extent[];

  constructor(holder: RandomAccessFile, extents: Extent[], size: number) {
    this.#holder = holder;
    this.#extents = extents;
    this.size = size;
  }

  async read(target: Buffer, position: number): Promise<number> {
    let filled = 0;
    for (let index = this.#find(position); index < this.#extents.length && filled < target.length; index++) {
      const extent = this.#extents[index]!;
      const skipped = position + filled - extent.from;
      const length = Math.min(target.length - filled, extent.length - skipped);
      if (length <= 0) break;
      const count = await this.#holder.read(target.subarray(filled, filled + length), extent.at + skipped);
      filled += count;
      if (count < length) break;
    }
    return filled;
  }

  /** Returns the index of the last extent that begins at or before the position. */
  #find(position: number): number {
    let low = 0;
    let high = this.#extents.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#extents[middle]!.from <= position) low = middle;
      else high = middle;
    }
    return low;
  }
}
