/**
 * Files that are compressed as a whole: `orders.csv.gz`, `.zst`, `.br`. Usually the service decompresses them. This command does it
 * if the service could not recognize the compression, or if the command changes the content.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { WrongUse } from './exit-codes.ts';
import type { ByteStream } from './file-stream.ts';

export type Packing = 'gzip' | 'zstd' | 'brotli';

/** The extensions of compressed files. */
const packedExtension = /\.(gz|zst|br)$/i;

/** Returns the path without the extension of the compression. */
export function unpackedPath(path: string): string {
  return path.replace(packedExtension, '');
}

/** Returns how a file is compressed: by its first bytes, and for brotli, which has no signature, by its name. @param start each byte as one character */
export function packingOf(path: string, start: string): Packing | undefined {
  if (start.startsWith('\x1f\x8b\x08')) return 'gzip';
  if (start.startsWith('\x28\xb5\x2f\xfd')) return 'zstd';
  return /\.br$/i.test(path) ? 'brotli' : undefined;
}

const atMost = { maxOutputLength: 1024 * 1024 };

/** Returns the first decompressed bytes, each as one character; empty if decompressing fails. */
export function unpackedStart(start: string, packing: Packing, length: number): string {
  const bytes = Buffer.from(start, 'latin1');
  try {
    return unpackCut(bytes, packing).toString('latin1', 0, length);
  } catch {
    return '';
  }
}

function unpackCut(bytes: Buffer, packing: Packing): Buffer {
  const { constants } = zlib;
  if (packing === 'gzip') return zlib.gunzipSync(bytes, { ...atMost, finishFlush: constants.Z_SYNC_FLUSH });
  if (packing === 'brotli')
    return zlib.brotliDecompressSync(bytes, { ...atMost, finishFlush: constants.BROTLI_OPERATION_FLUSH });
  return zlib.zstdDecompressSync(bytes, { ...atMost, finishFlush: constants.ZSTD_e_flush });
}

/** Returns the decompressed bytes of a file. The stream fails with WrongUse if the file is damaged. @throws WrongUse */
export function unpackedStream(file: ByteStream, packing: Packing): ByteStream {
  return ReadableStream.from(chunksOf(file, unpackerOf(packing)));
}

function unpackerOf(packing: Packing): zlib.Gunzip | zlib.BrotliDecompress {
  if (packing === 'gzip') return zlib.createGunzip();
  if (packing === 'brotli') return zlib.createBrotliDecompress();
  // Node.js 20 has no zstd.
  if ('createZstdDecompress' in zlib) return zlib.createZstdDecompress();
  throw new WrongUse('This Node.js cannot unpack zstd. Use Node.js 24, or unpack the file first.');
}

async function* chunksOf(
  file: ByteStream,
  unpacker: zlib.Gunzip | zlib.BrotliDecompress,
): AsyncGenerator<Uint8Array> {
  let failure: unknown;
  pipeline(Readable.from(copiesOf(file)), unpacker).catch((error: unknown) => {
    failure = error;
  });
  try {
    for await (const chunk of unpacker) yield chunk as Buffer;
  } catch (error) {
    const { message } = error as Error;
    throw failure instanceof WrongUse ? failure : new WrongUse(`The file cannot be unpacked: ${message}`);
  } finally {
    unpacker.destroy();
  }
}

/** Copies each chunk, because it is valid only until the next one is read, and the decompressor reads ahead. */
async function* copiesOf(file: ByteStream): AsyncGenerator<Uint8Array> {
  for await (const chunk of file) yield Buffer.from(chunk);
}
