/** Adds records to .xls files that the library wrote, because it writes neither names nor hidden rows and columns (MS-XLS 2.3). */

import * as library from '@e965/xlsx';

const BOUND_SHEET = 0x85;

/** Returns a record of 16-bit words. */
export function wordRecord(type: number, ...words: number[]): Buffer {
  return Buffer.from(Uint16Array.from([type, 2 * words.length, ...words]).buffer);
}

/** Returns a record of bytes. */
export function byteRecord(type: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(Uint16Array.from([type, content.length]).buffer), content]);
}

/** Returns the file with the records before the first record of one of the types. */
export function insertRecords(file: Buffer, types: number[], records: Buffer): Buffer {
  const container = library.CFB.read(file, { type: 'buffer' });
  const entry = library.CFB.find(container, '/Workbook')!;
  entry.content = insertInStream(Buffer.from(entry.content as Buffer), types, records);
  entry.size = entry.content.length;
  return library.CFB.write(container, { type: 'buffer' }) as Buffer;
}

function insertInStream(stream: Buffer, types: number[], records: Buffer): Buffer {
  let place = 0;
  while (!types.includes(stream.readUInt16LE(place))) place += 4 + stream.readUInt16LE(place + 2);
  for (let at = 0; at < stream.length; at += 4 + stream.readUInt16LE(at + 2)) {
    // A sheet states where its records begin.
    if (stream.readUInt16LE(at) !== BOUND_SHEET) continue;
    const begin = stream.readUInt32LE(at + 4);
    if (begin > place) stream.writeUInt32LE(begin + records.length, at + 4);
  }
  return Buffer.concat([stream.subarray(0, place), records, stream.subarray(place)]);
}

/** Returns the file after changing the content of all records of a type, and their type. */
export function changeRecords(
  file: Buffer,
  type: number,
  change: (content: Buffer) => void,
  newType = type,
): Buffer {
  const container = library.CFB.read(file, { type: 'buffer' });
  const entry = library.CFB.find(container, '/Workbook')!;
  const stream = Buffer.from(entry.content as Buffer);
  for (let at = 0; at + 4 <= stream.length; at += 4 + stream.readUInt16LE(at + 2)) {
    if (stream.readUInt16LE(at) !== type) continue;
    change(stream.subarray(at + 4, at + 4 + stream.readUInt16LE(at + 2)));
    stream.writeUInt16LE(newType, at);
  }
  entry.content = stream;
  return library.CFB.write(container, { type: 'buffer' }) as Buffer;
}
