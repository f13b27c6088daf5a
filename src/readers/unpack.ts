/** Decompresses gzip, deflate, br and zstd as streams: request bodies while they arrive, and packed files. */
import {
  type BrotliOptions,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type ZlibOptions,
  type ZstdOptions,
} from 'node:zlib';
import type { AppError } from '../core/errors.ts';
import { limitExceeded } from '../core/limit-exceeded.ts';
import type { SettingName } from '../core/settings/config.ts';

type Unpacker = ReturnType<
  typeof createGunzip | typeof createInflate | typeof createBrotliDecompress | typeof createZstdDecompress
>;

const chunkSize = 64 * 1024;
const options: ZlibOptions & BrotliOptions = { chunkSize };
/** RFC 9659: a receiver must accept windows of up to 8 MiB, and a sender must not use larger ones. */
const zstdOptions: ZstdOptions = { chunkSize, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

interface Coding {
  /** @param first the first bytes; at least one */
  open(first: Buffer): Unpacker;
  /** true: the data may consist of several frames (RFC 8878 section 3). For gzip, zlib itself reads several members. */
  hasFrames?: true;
}

const gzip: Coding = { open: () => createGunzip(options) };
const codings: Record<string, Coding> = {
  gzip,
  // RFC 9110 section 8.4.1.3.
  'x-gzip': gzip,
  deflate: { open: (first) => (hasZlibHeader(first) ? createInflate(options) : createInflateRaw(options)) },
  br: { open: () => createBrotliDecompress(options) },
  zstd: { open: () => createZstdDecompress(zstdOptions), hasFrames: true },
};

/** The largest number of frames. A frame costs as much time as some thousand bytes, even if it is tiny. */
const maxFrames = 10_000;

/** The ratio is not checked for the first unpacked bytes, as in workbooks, because a small one with much repetition does no harm. */
export const ratioFreeBytes = 8 * 1024 * 1024;

export interface UnpackLimits {
  /** The limit for the unpacked bytes. */
  maxBytes: number;
  maxRatio: number;
  /** The setting that the error names for `maxBytes`. */
  setting: SettingName;
}

/** The words that errors use for the packed data. */
export interface PackedWords {
  /** `body` or `file`. */
  subject: string;
  /** @param what what is wrong with the data of this coding: `is cut off` */
  broken(coding: string, what: string, cause?: unknown): AppError;
}

export function isCoding(name: string): boolean {
  return Object.hasOwn(codings, name);
}

/** Returns the coding whose signature the bytes begin with. Deflate and brotli have no signature. */
export function codingOf(head: Buffer): 'gzip' | 'zstd' | undefined {
  if (head.length >= 3 && head[0] === 0x1f && head[1] === 0x8b && head[2] === 0x08) return 'gzip';
  const signature = head.length >= 4 ? head.readUInt32LE(0) : 0;
  return signature === zstdSignature || signature >>> 4 === skippableSignature ? 'zstd' : undefined;
}

/** The bytes that `codingOf` needs. */
export const maxSignatureBytes = 4;

/** RFC 8878 section 3.1.1. */
const zstdSignature = 0xfd2fb528;

/** A frame without data, which some programs write first: 0x184d2a50 to 0x184d2a5f. RFC 8878 section 3.1.2. */
const skippableSignature = 0x184d2a5;

/**
 * Unpacks bytes at the pace of their reader, on other threads.
 *
 * @param names the codings in the order in which they were applied
 * @throws AppError `words.broken` if the data is damaged, cut off or followed by other bytes; `limit-exceeded`; what `packed` throws
 */
export function unpack(
  packed: AsyncGenerator<Buffer>,
  names: readonly string[],
  limits: UnpackLimits,
  words: PackedWords,
): AsyncGenerator<Buffer> {
  let packedBytes = 0;
  const counted = countBytes(packed, (bytes) => {
    packedBytes += bytes;
  });
  return names.reduceRight(
    (inner, name) => bound(decode(inner, name, words), () => packedBytes, limits, words),
    counted,
  );
}

async function* countBytes(
  chunks: AsyncGenerator<Buffer>,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    count(chunk.length);
    yield chunk;
  }
}

async function* bound(
  chunks: AsyncGenerator<Buffer>,
  packedBytes: () => number,
  { maxBytes, maxRatio, setting }: UnpackLimits,
  { subject }: PackedWords,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw limitExceeded(`The unpacked ${subject} is too long`, maxBytes, { setting });
    if (bytes > ratioFreeBytes && bytes > packedBytes() * maxRatio) throw ratioExceeded(subject, maxRatio);
    yield chunk;
  }
}

export function ratioExceeded(subject: string, maxRatio: number): AppError {
  const what = `The ${subject} unpacks to too many times its size`;
  return limitExceeded(what, maxRatio, { setting: 'MAX_UNPACK_RATIO' });
}

async function* decode(
  packed: AsyncGenerator<Buffer>,
  name: string,
  words: PackedWords,
): AsyncGenerator<Buffer> {
  const coding = codings[name]!;
  let rest = await nextChunk(packed);
  try {
    if (rest === undefined) throw words.broken(name, 'is empty');
    let frames = 0;
    do {
      if (++frames > maxFrames)
        throw limitExceeded(`The ${words.subject} has too many parts of ${name} data`, maxFrames, 'frames');
      const unpacking = new Unpacking(coding.open(rest), packed, rest);
      try {
        yield* unpacking.chunks(name, words);
      } finally {
        unpacking.close();
      }
      rest = unpacking.rest ?? (await nextChunk(packed));
    } while (rest !== undefined && coding.hasFrames);
    if (rest !== undefined) throw words.broken(name, 'is followed by other bytes');
  } finally {
    // Not awaited, because the source may be waiting for a chunk that never comes.
    packed.return(undefined).catch(() => {});
  }
}

async function nextChunk(chunks: AsyncGenerator<Buffer>): Promise<Buffer | undefined> {
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) return undefined;
    if (value.length > 0) return value;
  }
}

/** A decompressing stream that receives one chunk at a time, so that at most one chunk waits. */
class Unpacking {
  /** The bytes of the last chunk after the end of the stream. */
  rest: Buffer | undefined;
  readonly #unpacker: Unpacker;
  readonly #packed: AsyncGenerator<Buffer>;
  #chunk: Buffer | undefined;
  #fedBytes = 0;
  /** The error of reading the packed data. It is thrown instead of the error of the decompressor, which only follows from it. */
  #failure: { cause: unknown } | undefined;

  constructor(unpacker: Unpacker, packed: AsyncGenerator<Buffer>, first: Buffer) {
    this.#unpacker = unpacker;
    this.#packed = packed;
    this.#chunk = first;
  }

  async *chunks(name: string, { broken }: PackedWords): AsyncGenerator<Buffer> {
    this.#feed().catch((cause: unknown) => {
      this.#failure = { cause };
      this.#unpacker.destroy();
    });
    try {
      for await (const chunk of this.#unpacker) yield chunk as Buffer;
    } catch (error) {
      if (this.#failure !== undefined) throw this.#failure.cause;
      throw isCutOff(error) ? broken(name, 'is cut off', error) : broken(name, 'is damaged', error);
    }
    const left = this.#fedBytes - this.#unpacker.bytesWritten;
    if (left > 0) this.rest = this.#chunk!.subarray(this.#chunk!.length - left);
  }

  close(): void {
    this.#unpacker.destroy();
  }

  async #feed(): Promise<void> {
    for (; this.#chunk !== undefined; this.#chunk = await nextChunk(this.#packed)) {
      this.#fedBytes += this.#chunk.length;
      if (!(await this.#takes(this.#chunk))) return;
    }
    this.#unpacker.end();
  }

  /**
   * Passes a chunk to the decompressor.
   *
   * @returns false if the compressed data ended before the end of the chunk
   */
  #takes(chunk: Buffer): Promise<boolean> {
    const unpacker = this.#unpacker;
    return new Promise((resolve) => {
      const ends = (): void => resolve(false);
      unpacker.write(chunk, (error) => {
        unpacker.off('end', ends);
        unpacker.off('close', ends);
        resolve(!error && unpacker.bytesWritten === this.#fedBytes);
      });
      unpacker.once('end', ends);
      unpacker.once('close', ends);
    });
  }
}

function isCutOff(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
}

/** Returns whether the data begins with the zlib header (RFC 1950). Some clients send deflate without it (RFC 9110 section 8.4.1.2). */
function hasZlibHeader(first: Buffer): boolean {
  const [method, flags] = first;
  if ((method! & 0x8f) !== 0x08) return false;
  return flags === undefined || (method! * 256 + flags) % 31 === 0;
}
