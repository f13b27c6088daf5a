/**
 * Unpacks bodies with a `Content-Encoding` (RFC 9110 section 8.4): gzip, deflate, br and zstd. They are unpacked while they arrive. A body
 * without this header that begins like a .gz or .zst file is unpacked, too, because no body that the service accepts begins like that.
 */
import { AppError } from '../../../core/errors.ts';
import type { SettingName } from '../../../core/settings/config.ts';
import {
  codingOf,
  isCoding,
  type UnpackLimits as Limits,
  maxSignatureBytes,
  unpack,
} from '../../../readers/unpack.ts';

export const acceptedEncodings = 'gzip, deflate, br, zstd';

/** The maximum number of codings of a body. Each coding costs memory and time, and one is enough. */
const maxCodings = 2;

export interface UnpackLimits {
  /** The limit for the body, before and after it is unpacked. */
  maxBodyBytes: number;
  maxUnpackRatio: number;
  /** The name of the setting for `maxBodyBytes`, for messages. */
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
  const unknown = names.find((name) => !isCoding(name));
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
 * Unpacks a body on other threads, only as fast as it is read.
 *
 * @param names the result of `parseContentEncoding`
 * @throws AppError `invalid-content-encoding` if the body is damaged, cut off or followed by other bytes; `limit-exceeded`; what `packed` throws
 */
export function unpackBody(
  packed: AsyncGenerator<Buffer>,
  names: readonly string[],
  limits: UnpackLimits,
): AsyncGenerator<Buffer> {
  const broken = (name: string, what: string, cause?: unknown) =>
    invalid(`The body is sent with Content-Encoding: ${name}, and its ${name} data ${what}.`, cause);
  return unpack(packed, names, limitsOf(limits), { subject: 'body', broken });
}

/** Unpacks a body that begins like a packed file, and passes on every other body. @throws the errors of `unpackBody` */
export async function* unpackRecognized(
  chunks: AsyncGenerator<Buffer>,
  limits: UnpackLimits,
): AsyncGenerator<Buffer> {
  const first = await gatherFirst(chunks);
  const all = startingWith(first, chunks);
  const coding = codingOf(first);
  const broken = (name: string, what: string, cause?: unknown) =>
    invalid(`The body begins like a file that is packed with ${name}, and its ${name} data ${what}.`, cause);
  yield* coding === undefined ? all : unpack(all, [coding], limitsOf(limits), { subject: 'body', broken });
}

/** Returns the first chunks together, until they have all bytes of a signature. The first chunks may have one byte each. */
async function gatherFirst(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < maxSignatureBytes) {
    const { value, done } = await chunks.next();
    if (done) break;
    first = first.length === 0 ? value : Buffer.concat([first, value]);
  }
  return first;
}

/** Yields `first` and then the rest. */
export async function* startingWith(first: Buffer, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (first.length > 0) yield first;
    yield* chunks;
  } finally {
    // The reader may stop at the first chunk.
    await chunks.return(undefined);
  }
}

function limitsOf({ maxBodyBytes, maxUnpackRatio, setting }: UnpackLimits): Limits {
  return { maxBytes: maxBodyBytes, maxRatio: maxUnpackRatio, setting };
}

function invalid(detail: string, cause: unknown): AppError {
  return new AppError('invalid-content-encoding', detail, { cause });
}
