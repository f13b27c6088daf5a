/**
 * Unpacks bodies with a `Content-Encoding` (RFC 9110 section 8.4): gzip, deflate, br and zstd. They are unpacked while they
 * arrive.
 */
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
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { SettingName } from '../../../core/settings/config.ts';

type Unpacker = ReturnType<
  typeof createGunzip | typeof createInflate | typeof createBrotliDecompress | typeof createZstdDecompress
>;

const chunkSize = 64 * 1024;
const options: ZlibOptions & BrotliOptions = { chunkSize };
/** By RFC 9659 a receiver must accept windows of up to 8 MiB, and a sender must not use larger ones. */
const zstdOptions: ZstdOptions = { chunkSize, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

interface Coding {
  /** @param first the first bytes; at least one */
  open(first: Buffer): Unpacker;
  /** Several frames may follow each other (RFC 8878 section 3). For gzip, zlib itself reads several members. */
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

export const acceptedEncodings = 'gzip, deflate, br, zstd';

/** The maximum number of codings of a body. Each coding costs memory and time, and one is enough. */
const maxCodings = 2;

/** The maximum number of frames of a body. Each frame costs as much time as some thousand bytes, however small it is. */
const maxFrames = 10_000;

/** The ratio is not checked for the first unpacked bytes, as in workbooks, because a small body with much repetition does no harm. */
const ratioFreeBytes = 8 * 1024 * 1024;

export interface UnpackLimits {
  /** The limit for the body, before and after it is unpacked. */
  maxBodyBytes: number;
  maxUnpackRatio: number;
  /** The setting with this limit. */
  setting: SettingName;
}

/**
 * Returns the codings in the header, in the order in which they were applied.
 *
 * @throws AppError `unsupported-media-type` with the header `Accept-Encoding` (RFC 9110 section 12.5.3)
 */
export function parseContentEncoding(header: string | undefined): string[] {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const unknown = names.find((name) => !Object.hasOwn(codings, name));
  if (unknown !== undefined) {
    throw unsupported(
      `The Content-Encoding "${unknown.slice(0, 40)}" is not accepted; send the body unpacked, or in one of ${acceptedEncodings}.`,
    );
  }
  if (names.length > maxCodings) {
    throw unsupported(
      `The Content-Encoding names ${names.length} codings; at most ${maxCodings} are accepted, and one is enough.`,
    );
  }
  return names;
}

function unsupported(detail: string): AppError {
  return new AppError('unsupported-media-type', detail, {
    headers: { 'accept-encoding': acceptedEncodings },
  });
}

/**
 * Unpacks a body at the pace of its reader, on other threads.
 *
 * @param names the result of `parseContentEncoding`
 * @throws AppError `invalid-content-encoding` if the body is damaged, cut off or followed by other bytes; `limit-exceeded`; what `packed` throws
 */
export function unpackBody(
  packed: AsyncGenerator<Buffer>,
  names: readonly string[],
  limits: UnpackLimits,
): AsyncGenerator<Buffer> {
  let receivedBytes = 0;
  const counted = countBytes(packed, (bytes) => {
    receivedBytes += bytes;
  });
  return names.reduceRight((inner, name) => {
    return bound(decode(inner, name), () => receivedBytes, limits);
  }, counted);
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
  receivedBytes: () => number,
  { maxBodyBytes, maxUnpackRatio, setting }: UnpackLimits,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) {
      throw limitExceeded('The unpacked body is too long', maxBodyBytes, { setting });
    }
    if (bytes > ratioFreeBytes && bytes > receivedBytes() * maxUnpackRatio) {
      const what = 'The body unpacks to too many times its size';
      throw limitExceeded(what, maxUnpackRatio, { setting: 'MAX_UNPACK_RATIO' });
    }
    yield chunk;
  }
}

async function* decode(packed: AsyncGenerator<Buffer>, name: string): AsyncGenerator<Buffer> {
  const coding = codings[name]!;
  let rest = await nextChunk(packed);
  try {
    if (rest === undefined) throw broken(name, 'is empty');
    let frames = 0;
    do {
      if (++frames > maxFrames) throw tooManyFrames(name);
      const unpacking = new Unpacking(coding.open(rest), packed, rest);
      try {
        yield* unpacking.chunks(name);
      } finally {
        unpacking.close();
      }
      rest = unpacking.rest ?? (await nextChunk(packed));
    } while (rest !== undefined && coding.hasFrames);
    if (rest !== undefined) throw broken(name, 'is followed by other bytes');
  } finally {
    // This is not awaited, because the next chunk may never come.
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

/** A stream of packed bytes that gets one chunk at a time, so at most one chunk waits to be unpacked. */
class Unpacking {
  /** The bytes of the last chunk after the end of the stream. */
  rest: Buffer | undefined;
  readonly #unpacker: Unpacker;
  readonly #packed: AsyncGenerator<Buffer>;
  #chunk: Buffer | undefined;
  #fedBytes = 0;
  /** The error with which reading the packed body failed. It is thrown instead of the unpacker's own error. */
  #failure: { cause: unknown } | undefined;

  constructor(unpacker: Unpacker, packed: AsyncGenerator<Buffer>, first: Buffer) {
    this.#unpacker = unpacker;
    this.#packed = packed;
    this.#chunk = first;
  }

  async *chunks(name: string): AsyncGenerator<Buffer> {
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
   * Takes a chunk.
   *
   * @returns false if the stream ended before the end of the chunk
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

function broken(name: string, what: string, cause?: unknown): AppError {
  const detail = `The body is sent with Content-Encoding: ${name}, and its ${name} data ${what}.`;
  return new AppError('invalid-content-encoding', detail, { cause });
}

function tooManyFrames(name: string): AppError {
  return limitExceeded(`The body has too many parts of ${name} data`, maxFrames, 'frames');
}

/**
 * Returns whether the data begins with the header of RFC 1950. Some clients send deflate without it (RFC 9110 section 8.4.1.2).
 */
function hasZlibHeader(first: Buffer): boolean {
  const [method, flags] = first;
  if ((method! & 0x8f) !== 0x08) return false;
  return flags === undefined || (method! * 256 + flags) % 31 === 0;
}
