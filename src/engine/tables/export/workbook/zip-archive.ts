/**
 * Writes a ZIP archive while its files arrive (APPNOTE 4.3). The lengths of a file follow its bytes, in a data descriptor. A file must be shorter than
 * 4 GiB, because a longer one would need ZIP64.
 */
import { pipeline, Readable } from 'node:stream';
import { constants, crc32, createDeflateRaw } from 'node:zlib';

export interface ArchivedFile {
  name: string;
  content: AsyncIterable<Buffer> | Iterable<Buffer>;
}

interface Written {
  name: Buffer;
  crc: number;
  packed: number;
  bytes: number;
  offset: number;
}

const version = 20;
/** The lengths follow the file, and its name is UTF-8. */
const flags = 0x0808;
const deflated = 8;
/** 1980-01-01, the first date. */
const date = 0x21;
/** The fastest level, because a higher one takes longer than PostgreSQL takes to send the rows. */
const level = constants.Z_BEST_SPEED;

export async function* zipArchive(files: readonly ArchivedFile[]): AsyncGenerator<Buffer> {
  const written: Written[] = [];
  let offset = 0;
  for (const { name, content } of files) {
    const file = { name: Buffer.from(name), crc: 0, packed: 0, bytes: 0, offset };
    const header = localHeader(file.name);
    yield header;
    for await (const chunk of deflate(content, file)) {
      file.packed += chunk.length;
      yield chunk;
    }
    const descriptor = numbers('4444', 0x08074b50, file.crc, file.packed, file.bytes);
    yield descriptor;
    offset += header.length + file.packed + descriptor.length;
    written.push(file);
  }
  const directory = Buffer.concat(written.map(directoryEntry));
  yield directory;
  const count = written.length;
  yield numbers('42222442', 0x06054b50, 0, 0, count, count, directory.length, offset, 0);
}

/** Packs the bytes, and notes their length and checksum in `file`. */
function deflate(content: ArchivedFile['content'], file: Written): AsyncIterable<Buffer> {
  const packing = createDeflateRaw({ level, chunkSize: 64 * 1024 });
  // The error of the content is also the error of `packing`, which the reader gets.
  pipeline(Readable.from(noting(content, file), { highWaterMark: 1 }), packing, () => {});
  return packing;
}

async function* noting(content: ArchivedFile['content'], file: Written): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    file.crc = crc32(chunk, file.crc);
    file.bytes += chunk.length;
    yield chunk;
  }
}

function localHeader(name: Buffer): Buffer {
  const header = numbers(
    '42222244422',
    0x04034b50,
    version,
    flags,
    deflated,
    0,
    date,
    0,
    0,
    0,
    name.length,
    0,
  );
  return Buffer.concat([header, name]);
}

function directoryEntry({ name, crc, packed, bytes, offset }: Written): Buffer {
  const sizes = [crc, packed, bytes, name.length];
  const entry = [0x02014b50, version, version, flags, deflated, 0, date, ...sizes, 0, 0, 0, 0, 0, offset];
  return Buffer.concat([numbers('42222224442222244', ...entry), name]);
}

/** Returns whole numbers in little-endian order. @param widths for each number a digit: its length in bytes */
function numbers(widths: string, ...values: number[]): Buffer {
  return Buffer.concat(
    values.map((value, index) => {
      const number = Buffer.alloc(Number(widths[index]));
      number.writeUIntLE(value, 0, number.length);
      return number;
    }),
  );
}
