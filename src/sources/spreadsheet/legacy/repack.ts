/**
 * A binary workbook (.xlsb) as a zip file without compression, with the parts alone that say what cells hold.
 *
 * Unpacked here, its parts are bound by the limits and checked by their CRC like those of any other workbook, by a
 * faster inflater than the library has, and before the reader process takes memory for them.
 */

import { limitExceeded } from '../spreadsheet-limits.ts';
import type { ZipContainer, ZipPart } from '../xlsx/zip-container.ts';

/** A file as the reader process takes it: once, from its start. */
export interface ReaderInput {
  size: number;
  chunks: () => AsyncIterable<Buffer>;
}

/** Pictures, macros, pivot caches and their like. */
const besideCells =
  /(^|\/)(media|embeddings|printerSettings|pivotCache|pivotTables|drawings|charts|ctrlProps|activeX|customXml)\/|\/vbaProject/i;

/** The reader holds all of it, and the cells made of it, within its bounds. */
const maxBytes = 512 * 1024 * 1024;

const localHeaderBytes = 30;
const centralHeaderBytes = 46;
const endBytes = 22;

/** @throws AppError `limit-exceeded` */
export function repack(container: ZipContainer): ReaderInput {
  const parts = container.parts().filter(({ name }) => !besideCells.test(name));
  let size = endBytes;
  for (const part of parts) {
    const nameBytes = Buffer.byteLength(part.name);
    size += localHeaderBytes + centralHeaderBytes + 2 * nameBytes + part.entry.uncompressedSize;
  }
  if (size > maxBytes)
    throw limitExceeded('The workbook is too large when unpacked', maxBytes, 'bytes (MAX_UNPACKED_BYTES)');
  return { size, chunks: () => write(container, parts) };
}

/** The sizes and CRCs are those that the file states: a part that is another ends the reading (`ZipContainer.read`). */
async function* write(container: ZipContainer, parts: ZipPart[]): AsyncGenerator<Buffer, void, undefined> {
  const directory: Buffer[] = [];
  let offset = 0;
  for (const part of parts) {
    const name = Buffer.from(part.name);
    directory.push(centralHeader(part, name, offset), name);
    yield Buffer.concat([localHeader(part, name), name]);
    yield* container.read(part);
    offset += localHeaderBytes + name.length + part.entry.uncompressedSize;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(endBytes);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  yield Buffer.concat([central, end]);
}

function localHeader({ entry }: ZipPart, name: Buffer): Buffer {
  const header = Buffer.alloc(localHeaderBytes);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(utf8Name, 6);
  header.writeUInt32LE(entry.crc32, 14);
  header.writeUInt32LE(entry.uncompressedSize, 18);
  header.writeUInt32LE(entry.uncompressedSize, 22);
  header.writeUInt16LE(name.length, 26);
  return header;
}

function centralHeader({ entry }: ZipPart, name: Buffer, offset: number): Buffer {
  const header = Buffer.alloc(centralHeaderBytes);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(20, 6);
  header.writeUInt16LE(utf8Name, 8);
  header.writeUInt32LE(entry.crc32, 16);
  header.writeUInt32LE(entry.uncompressedSize, 20);
  header.writeUInt32LE(entry.uncompressedSize, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt32LE(offset, 42);
  return header;
}

/** General purpose bit 11 (PKWARE APPNOTE 4.4.4). */
const utf8Name = 0x800;
