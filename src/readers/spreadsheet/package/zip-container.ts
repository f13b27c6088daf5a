/**
 * Reads the zip container of an Office Open XML file (ECMA-376 part 2, OPC): finds its parts by name and unpacks them as streams.
 *
 * Only the parts in the central directory exist. What the directory states is checked against the data: sizes, CRC, and that no two
 * parts share bytes. The memory depends on the bytes that were read, never on a stated size.
 */

import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { crc32, createGunzip, inflateRawSync } from 'node:zlib';
import type { Entry, LocalFileHeader, ZipFile } from 'yauzl';
import yauzl from 'yauzl';
import { cutText } from '../../../core/cut-text.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { encryptedZip } from '../file-errors.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';

/**
 * The maximum number of parts. Real workbooks have tens of them, or some thousands if they have pictures. Listing a part takes two reads.
 */
const maxParts = 20_000;
const maxShownName = 100;

/**
 * The unpacked size up to which the ratio of a part is not limited. Small parts with much repetition may reach the
 * maximum of deflate (1:1032).
 */
const ratioFreeBytes = 8 * 1024 * 1024;

/** The size of the pieces that zlib produces. By measurement 256 KiB is 2.5 times as fast as the default of 16 KiB. */
const inflateChunkBytes = 256 * 1024;
/** How many bytes zlib may unpack in advance while the previous ones are processed. */
const inflateAheadBytes = 1024 * 1024;
const readChunkBytes = 128 * 1024;

/** The size up to which a part is unpacked in one call, in about 0.3 ms. Creating a stream costs more than that. */
const smallPartBytes = 128 * 1024;

/** The largest central directory. The whole directory is kept in memory, about a hundred bytes for each part. */
const maxDirectoryBytes = 8 * 1024 * 1024;

const localHeaderBytes = 30;
const directoryHeaderBytes = 46;

/** Bit 3 of the general purpose flags: the sizes and the CRC follow the data (APPNOTE 4.4.4). */
const dataDescriptorFlag = 0x08;
/** The value in place of a size if the size is in a zip64 extra field. */
const inZip64 = 0xffffffff;

export interface ZipPart {
  /** The name as the container spells it, without a leading slash. */
  name: string;
  entry: Entry;
  /** The position at which the next part begins. */
  end: number;
  /** The largest number of bytes of this part that one pass has unpacked so far. */
  unpackedBytes: number;
}

export class ZipContainer {
  readonly #file: RandomAccessFile;
  readonly #zip: ZipFile;
  readonly #reader: FileReader;
  readonly #parts: Map<string, ZipPart>;
  readonly #limits: SpreadsheetLimits;
  #unpackedBytes = 0;

  constructor(
    file: RandomAccessFile,
    zip: ZipFile,
    reader: FileReader,
    parts: Map<string, ZipPart>,
    limits: SpreadsheetLimits,
  ) {
    this.#file = file;
    this.#zip = zip;
    this.#reader = reader;
    this.#parts = parts;
    this.#limits = limits;
  }

  /** Finds a part by its name. The case of ASCII letters does not matter (ECMA-376 part 2, 6.2.2.3). */
  find(name: string): ZipPart | undefined {
    return this.#parts.get(partKey(name));
  }

  /** The parts in the order of the directory. */
  get parts(): Iterable<ZipPart> {
    return this.#parts.values();
  }

  /**
   * Unpacks a part. If the caller leaves the loop early, the streams are closed and the CRC is not checked.
   *
   * @throws AppError `invalid-file`, `unsupported-file`, `limit-exceeded`
   */
  async *read(part: ZipPart): AsyncGenerator<Buffer, void, undefined> {
    const { entry } = part;
    if (entry.uncompressedSize > this.#limits.maxUnpackedBytes) this.#refuseSize(part.name);
    const start = await this.#dataStart(part);
    let unpackedBytes = 0;
    for await (const chunk of this.#unpack(part, start)) {
      unpackedBytes += chunk.length;
      // The limits are checked before the stated size, because their error tells the caller more. Bytes beyond the stated size do not count.
      this.#checkLimits(part, Math.min(unpackedBytes, entry.uncompressedSize));
      if (unpackedBytes > entry.uncompressedSize) break;
      yield chunk;
    }
    if (unpackedBytes !== entry.uncompressedSize) throw wrongSize(part);
  }

  /** Unpacks a part. It throws at the end if the CRC is wrong. */
  #unpack(part: ZipPart, start: number): AsyncGenerator<Buffer, void, undefined> {
    const packed = readChunks(this.#file, start, part.entry.compressedSize, part.name);
    if (part.entry.compressionMethod === 0) return checkCrc(packed, part);
    if (part.entry.compressionMethod === 8) {
      const largest = Math.max(part.entry.compressedSize, part.entry.uncompressedSize);
      return largest <= smallPartBytes ? checkCrc(inflateWhole(packed, part), part) : inflate(packed, part);
    }
    throw new AppError(
      'unsupported-file',
      `Part ${part.name} is compressed by the unknown method ${part.entry.compressionMethod}. Save the workbook again as .xlsx, or make the zip file with the method deflate.`,
    );
  }

  async #dataStart(part: ZipPart): Promise<number> {
    const header = await this.#localHeader(part);
    if (header.fileDataStart + part.entry.compressedSize > part.end) {
      throw broken(`Part ${part.name} shares the bytes at offset ${part.end} with another part.`);
    }
    if (contradicts(header, part.entry)) {
      throw broken(`Part ${part.name} has a local header that contradicts the directory of the file.`);
    }
    return header.fileDataStart;
  }

  async #localHeader(part: ZipPart): Promise<LocalFileHeader> {
    try {
      return await this.#zip.readLocalFileHeaderPromise(part.entry);
    } catch (error) {
      throw (
        this.#reader.failure ??
        broken(`Part ${part.name} cannot be read: its local header is not at the stated place.`, error)
      );
    }
  }

  #checkLimits(part: ZipPart, unpackedBytes: number): void {
    const more = unpackedBytes - part.unpackedBytes;
    if (more > 0) {
      this.#unpackedBytes += more;
      part.unpackedBytes = unpackedBytes;
    }
    // Only bytes that no earlier pass has unpacked were added, so reading a part again does not count twice.
    if (this.#unpackedBytes > this.#limits.maxUnpackedBytes) this.#refuseSize(part.name);
    if (unpackedBytes > ratioFreeBytes && unpackedBytes > part.entry.compressedSize * this.#limits.maxRatio) {
      throw limitExceeded(
        `Part ${part.name} unpacks to too many times its packed size`,
        this.#limits.maxRatio,
        { setting: 'MAX_UNPACK_RATIO' },
      );
    }
  }

  #refuseSize(name: string): never {
    throw limitExceeded(`The file is too large when unpacked (part ${name})`, this.#limits.maxUnpackedBytes, {
      setting: 'MAX_UNPACKED_BYTES',
    });
  }
}

/** Returns whether a local header contradicts the directory. Other programs may use the local headers, so both must describe the same bytes. */
function contradicts(local: LocalFileHeader, entry: Entry): boolean {
  if (local.compressionMethod !== entry.compressionMethod) return true;
  if ((local.generalPurposeBitFlag & dataDescriptorFlag) !== 0) return false;
  const isSame = (here: number, there: number): boolean => here === there || here === 0 || here === inZip64;
  return !(
    isSame(local.crc32, entry.crc32) &&
    isSame(local.compressedSize, entry.compressedSize) &&
    isSame(local.uncompressedSize, entry.uncompressedSize)
  );
}

/**
 * Reads the central directory (PKWARE APPNOTE 4.3.12), including zip64.
 *
 * @throws AppError `invalid-file`, `unsupported-file` if a part is encrypted, `limit-exceeded`
 */
export async function openZipContainer(
  file: RandomAccessFile,
  limits: SpreadsheetLimits,
): Promise<ZipContainer> {
  const fileBytes = await findZipEnd(file);
  const reader = new FileReader(file);
  try {
    const zip = await yauzl.fromRandomAccessReaderPromise(reader, fileBytes, {
      autoClose: false,
      decodeStrings: false,
      validateEntrySizes: true,
    });
    const parts = await listParts(zip, fileBytes);
    return new ZipContainer(file, zip, reader, parts, limits);
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (reader.failure !== undefined) throw reader.failure;
    const reason = error instanceof Error ? error.message : 'unknown';
    if (reason === 'strong encryption is not supported') throw encryptedZip();
    if (/end of central directory|truncated/i.test(reason)) {
      const detail =
        'The file begins like a workbook or a zip file, but its end is missing. It was probably cut off during transfer: send it again, or open it in a spreadsheet program and save it again.';
      throw broken(detail, error);
    }
    throw broken(`The zip container cannot be read (${reason}). Is the file complete?`, error);
  }
}

/** The maximum number of bytes that may follow the end of a zip, such as a line break or the zeros of a last block. */
const maxBytesAfterZip = 4096;
const endRecordBytes = 22;
const maxCommentBytes = 0xffff;
const endRecordSignature = Buffer.from([0x50, 0x4b, 0x05, 0x06]);

/**
 * Finds the end of the zip, which usually is the end of the file. Mail programs and downloads may add a few bytes, which Excel
 * ignores too. The last end record (APPNOTE 4.3.16) counts, as in every other program, so that all programs see the same zip in
 * the file.
 */
async function findZipEnd(file: RandomAccessFile): Promise<number> {
  const tailStart = Math.max(0, file.size - endRecordBytes - maxCommentBytes - maxBytesAfterZip);
  const tail = await readRange(file, tailStart, file.size - tailStart);
  const at = tail.lastIndexOf(endRecordSignature);
  if (at < 0 || at + endRecordBytes > tail.length) return file.size;
  const end = at + endRecordBytes + tail.readUInt16LE(at + 20);
  return end <= tail.length && tail.length - end <= maxBytesAfterZip ? tailStart + end : file.size;
}

async function listParts(zip: ZipFile, fileBytes: number): Promise<Map<string, ZipPart>> {
  const parts = new Map<string, ZipPart>();
  const entries: Entry[] = [];
  let directoryBytes = 0;
  for await (const entry of zip.eachEntry()) {
    if (entries.push(entry) > maxParts) {
      throw limitExceeded('The file has too many parts', maxParts, 'parts');
    }
    directoryBytes +=
      directoryHeaderBytes + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    if (directoryBytes > maxDirectoryBytes) {
      throw limitExceeded('The directory of the file is too large', maxDirectoryBytes, 'bytes');
    }
    if (entry.isEncrypted()) throw encryptedZip();
    const name = nameOf(entry);
    if (name.endsWith('/')) continue;
    const key = partKey(name);
    if (parts.has(key)) throw broken(`The file holds part ${cutText(name, maxShownName)} twice.`);
    parts.set(key, { name: cutText(name, maxShownName), entry, end: fileBytes, unpackedBytes: 0 });
  }
  setEnds([...parts.values()], entries);
  return parts;
}

/** Bit 11 of the general purpose flags: the name is UTF-8 (APPNOTE 4.4.4). */
const utf8Flag = 0x800;

/** Returns the name of an entry. Without the flag for UTF-8 it is in code page 437, but some programs write UTF-8 without the flag. */
function nameOf({ fileNameRaw: raw, generalPurposeBitFlag: flags, extraFields }: Entry): string {
  const read = isUtf8(raw) ? flags | utf8Flag : flags;
  return yauzl.getFileNameLowLevel(read, raw, extraFields, false).replace(/^\/+/, '');
}

/**
 * Sets the end of each part. Entries that share bytes are refused, because they let a small zip unpack to petabytes without
 * nesting.
 */
function setEnds(parts: ZipPart[], entries: Entry[]): void {
  const byOffset = entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader);
  const ends = new Map<Entry, number>();
  let before: Entry | undefined;
  let end = 0;
  for (const entry of byOffset) {
    const offset = entry.relativeOffsetOfLocalHeader;
    if (offset < end) throw broken(`Two parts of the file share the bytes at offset ${offset}.`);
    end = offset + localHeaderBytes + entry.fileNameLength + entry.compressedSize;
    if (before !== undefined) ends.set(before, offset);
    before = entry;
  }
  for (const part of parts) part.end = ends.get(part.entry) ?? part.end;
}

async function* readChunks(
  file: RandomAccessFile,
  start: number,
  length: number,
  name: string,
): AsyncGenerator<Buffer, void, undefined> {
  for (let done = 0; done < length; ) {
    const chunk = await readRange(file, start + done, Math.min(readChunkBytes, length - done));
    if (chunk.length === 0) throw broken(`The file ends within part ${name}.`);
    done += chunk.length;
    yield chunk;
  }
}

async function* inflateWhole(
  packed: AsyncGenerator<Buffer, void, undefined>,
  part: ZipPart,
): AsyncGenerator<Buffer, void, undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of packed) chunks.push(chunk);
  const { uncompressedSize, compressedSize } = part.entry;
  let result: { buffer: Buffer; engine: { bytesWritten: number } };
  try {
    // One byte more than stated is allowed, so that a part that is larger than stated is detected.
    const maxOutputLength = uncompressedSize + 1;
    const options = { info: true, chunkSize: Math.max(maxOutputLength, 64), maxOutputLength };
    result = inflateRawSync(Buffer.concat(chunks), options) as unknown as typeof result;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? wrongSize(part)
      : damaged(part, error);
  }
  if (result.engine.bytesWritten !== compressedSize) throw shorterThanStated(part);
  yield result.buffer;
}

async function* checkCrc(
  chunks: AsyncGenerator<Buffer, void, undefined>,
  part: ZipPart,
): AsyncGenerator<Buffer, void, undefined> {
  let crc = 0;
  for await (const chunk of chunks) {
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (crc !== part.entry.crc32) throw wrongCrc(part);
}

/**
 * Unpacks a part as gzip (RFC 1952): a gzip header and trailer are added around its deflate data, so that zlib checks the CRC in
 * its own thread. The data may itself contain gzip members. Only an empty first one is accepted, because the total size is checked.
 */
async function* inflate(
  packed: AsyncGenerator<Buffer, void, undefined>,
  part: ZipPart,
): AsyncGenerator<Buffer, void, undefined> {
  const source = Readable.from(asGzip(packed, part), { objectMode: false });
  const gunzip = createGunzip(gunzipOptions);
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
    // `bytesWritten` counts the bytes that zlib consumed. Bytes after the end of the deflate stream are not counted.
    const gzipBytes = gzipHeader.length + part.entry.compressedSize + gzipTrailerBytes;
    if (gunzip.bytesWritten !== gzipBytes) throw shorterThanStated(part);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (code === 'Z_DATA_ERROR' && message === 'incorrect data check') throw wrongCrc(part, error);
    if (code === 'Z_DATA_ERROR' && message === 'incorrect length check') throw wrongSize(part);
    if (code.startsWith('Z_')) throw damaged(part, error);
    throw error;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

const gunzipOptions = { chunkSize: inflateChunkBytes, highWaterMark: inflateAheadBytes };

/** The gzip header for deflate, without a name or a time. */
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const gzipTrailerBytes = 8;

async function* asGzip(
  packed: AsyncGenerator<Buffer, void, undefined>,
  { entry }: ZipPart,
): AsyncGenerator<Buffer, void, undefined> {
  yield gzipHeader;
  yield* packed;
  const trailer = Buffer.alloc(gzipTrailerBytes);
  trailer.writeUInt32LE(entry.crc32, 0);
  trailer.writeUInt32LE(entry.uncompressedSize % 2 ** 32, 4);
  yield trailer;
}

/** Reads the file for yauzl, which reads the directory in many small steps. They are answered from a block in memory. */
class FileReader extends yauzl.RandomAccessReader {
  readonly #file: RandomAccessFile;
  #block: Buffer = Buffer.alloc(0);
  #blockStart = 0;
  /** The error of reading the stored file. It is a failure of the service, not of the caller. */
  failure: unknown;

  constructor(file: RandomAccessFile) {
    super();
    this.#file = file;
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.#load(position, length).then(
      () => {
        const from = position - this.#blockStart;
        callback(null, this.#block.copy(target, offset, from, from + length));
      },
      (error: unknown) => {
        this.failure = error;
        callback(error as Error);
      },
    );
  }

  async #load(position: number, length: number): Promise<void> {
    const blockEnd = this.#blockStart + this.#block.length;
    if (position >= this.#blockStart && position + length <= blockEnd) return;
    this.#block = await readRange(this.#file, position, Math.max(length, readChunkBytes));
    this.#blockStart = position;
  }
}

function partKey(name: string): string {
  return name.replace(/^\/+/, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function wrongSize(part: ZipPart): AppError {
  const { uncompressedSize } = part.entry;
  return broken(`Part ${part.name} does not unpack to the ${uncompressedSize} bytes that the file states.`);
}

function shorterThanStated(part: ZipPart): AppError {
  return broken(`Part ${part.name} is shorter than the ${part.entry.compressedSize} packed bytes stated.`);
}

function wrongCrc(part: ZipPart, cause?: unknown): AppError {
  return broken(`Part ${part.name} is damaged: its CRC-32 does not match.`, cause);
}

function damaged(part: ZipPart, cause: unknown): AppError {
  return broken(`Part ${part.name} cannot be unpacked: it is damaged.`, cause);
}

function broken(detail: string, cause?: unknown): AppError {
  return new AppError('invalid-file', detail, { cause });
}
