/**
 * Unpacks a file that is packed as a whole: `orders.csv.gz`, `.zst` and `.br`, and a zip file in which the table is one of the files. Its content
 * shows how it is packed. Workbooks are zip files, too, and remain as they are.
 */

import { createBrotliDecompress, constants as zlib } from 'node:zlib';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { Spool } from '../../spool.ts';
import { codingOf, ratioExceeded, ratioFreeBytes, unpack } from '../../unpack.ts';
import { openZipContainer } from '../package/zip-container.ts';
import { readRange } from '../random-access-file.ts';
import { recognizedBytes, recognizeFile } from '../recognize-file.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { chooseFileInZip, isDocument } from './choose-file-in-zip.ts';

/** How many times a file may be packed: twice, such as `orders.csv.gz` inside a zip file. Request bodies have the same limit. */
const maxLayers = 2;

export interface UnpackLimits extends SpreadsheetLimits {
  maxBodyBytes: number;
  /** The bytes that the client sent. The ratio counts from them through all layers, also that of the body. */
  sentBytes: number;
}

export interface UnpackedFile {
  /** Contains the unpacked file. */
  spool: Spool;
  /** The name of the file inside the zip file; undefined: it was not in a zip file. */
  fileInZip: string | undefined;
}

/**
 * Unpacks a file into another spool. A file that is not packed is returned as it is.
 *
 * @param wanted the file of a zip file that the caller asks for
 * @throws AppError `invalid-file`, `unsupported-file`, `invalid-parameter` (no such file in the zip file, or several tables in it),
 *   `limit-exceeded`, `storage-full`; the signal's reason
 */
export async function unpackFile(
  file: Spool,
  wanted: string | undefined,
  limits: UnpackLimits,
  signal: AbortSignal,
): Promise<UnpackedFile> {
  let spool = file;
  let fileInZip: string | undefined;
  try {
    for (let layers = 0; ; layers++) {
      const inner = await openLayer(spool, fileInZip === undefined ? wanted : undefined, limits);
      if (inner === undefined) break;
      if (layers === maxLayers) throw tooManyLayers();
      const unpacked = await spoolOf(inner.chunks, limits, signal);
      if (spool !== file) await spool.close();
      spool = unpacked;
      fileInZip = inner.fileInZip ?? fileInZip;
    }
    if (wanted !== undefined && fileInZip === undefined) throw notAZip(wanted);
  } catch (error) {
    if (spool !== file) await spool.close();
    throw error;
  }
  return { spool, fileInZip };
}

interface Layer {
  chunks: AsyncGenerator<Buffer>;
  fileInZip?: string;
}

/** Opens the packed content of the file; undefined: the file is not packed. */
async function openLayer(
  file: Spool,
  wanted: string | undefined,
  limits: UnpackLimits,
): Promise<Layer | undefined> {
  const head = await readRange(file, 0, recognizedBytes);
  const kind = recognizeFile(head);
  if (kind === 'zip') {
    const container = await openZipContainer(file, limits);
    if (isDocument(container)) return undefined;
    const part = chooseFileInZip(container, wanted);
    return { chunks: container.read(part), fileInZip: part.name };
  }
  const coding = codingOf(head) ?? ((await isBrotli(head)) ? 'br' : undefined);
  if (coding === undefined) return undefined;
  const { maxBodyBytes: maxBytes, maxRatio } = limits;
  const bounds = { maxBytes, maxRatio, setting: 'MAX_BODY_BYTES' } as const;
  return { chunks: unpack(file.chunks(), [coding], bounds, { subject: 'file', broken }) };
}

async function spoolOf(
  chunks: AsyncGenerator<Buffer>,
  { maxBodyBytes, maxRatio, sentBytes }: UnpackLimits,
  signal: AbortSignal,
): Promise<Spool> {
  const spool = new Spool({ maxBytes: maxBodyBytes });
  const mostBytes = Math.max(ratioFreeBytes, sentBytes * maxRatio);
  try {
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      if (spool.size + chunk.length > mostBytes) throw ratioExceeded('file', maxRatio);
      await spool.write(chunk);
    }
    return spool;
  } catch (error) {
    await spool.close();
    throw error;
  }
}

/**
 * Returns whether the file is a text compressed with brotli, which has no signature. A text without control characters is not
 * compressed. Bytes that are not brotli practically never decompress to such a text.
 */
async function isBrotli(head: Buffer): Promise<boolean> {
  if (!hasControls(head)) return false;
  const unpacker = createBrotliDecompress({
    chunkSize: recognizedBytes,
    finishFlush: zlib.BROTLI_OPERATION_FLUSH,
  });
  unpacker.end(head);
  try {
    for await (const chunk of unpacker) {
      const start = chunk as Buffer;
      return !hasControls(start) && ['csv', 'json'].includes(recognizeFile(start));
    }
  } catch {
    // These bytes are not brotli.
  }
  return false;
}

/** Returns whether the bytes have a control character that is not white space. */
function hasControls(bytes: Buffer): boolean {
  return bytes.some((byte) => byte < 0x20 && (byte < 0x09 || byte > 0x0d));
}

function broken(coding: string, what: string, cause?: unknown): AppError {
  const detail = `The file is packed with ${coding === 'br' ? 'brotli' : coding}, and the packed data ${what}. Pack it again, or send it unpacked.`;
  return new AppError('invalid-file', detail, { cause });
}

function tooManyLayers(): AppError {
  const detail = `The file is packed more than ${maxLayers} times. Send the unpacked file.`;
  return new AppError('unsupported-file', detail);
}

function notAZip(wanted: string): AppError {
  const detail = '`file_in_zip` is for zip files with a table inside, and the file is none: leave it out.';
  return wrongParameter('file_in_zip', detail, { value: wanted });
}
