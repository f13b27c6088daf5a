/**
 * Reads the multipart/form-data body of a spreadsheet upload (RFC 7578): the part `file`, which is spooled, or the part `source` with the
 * link of the file, the part `body`, JSON, the part `patch` with corrections of cells, and the part `password` of an encrypted workbook.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { Busboy, type BusboyFileStream, type BusboyHeaders } from '@fastify/busboy';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { ProblemCode } from '../../../core/problem-codes.ts';
import { maxPatchBytes } from '../../../engine/loading/patch/cell-patch.ts';
import type { Spool } from '../../../readers/spool.ts';
import { maxPasswordLength } from '../../../readers/spreadsheet/encryption/passwords.ts';
import { type FetchedFile, maxLinkLength } from '../../fetching/fetch-file.ts';
import type { BodyDigest } from './body-digest.ts';

type BusboyInstance = InstanceType<typeof Busboy>;

export interface FormBody {
  headers: IncomingHttpHeaders;
  /** The names of the query parameters, because a part of a form with such a name is a common mistake. */
  parameters: readonly string[];
  /** Computes the digest of all parts but `password`, if the request needs it. */
  digest: BodyDigest | undefined;
  /** Called with the name of the file when its part begins. */
  onFileName?: ((name: string) => void) | undefined;
}

export interface SpreadsheetUpload {
  /** The JSON text of the part `body`; undefined if it was not sent or is empty. */
  body: Buffer | undefined;
  /** The JSON text of the part `patch`; undefined if it was not sent or is empty. */
  patch: Buffer | undefined;
  /** The part `password`; undefined if it was not sent or is empty. */
  password: string | undefined;
  /** The JSON text of the part `source`; undefined if it was not sent. */
  source: Buffer | undefined;
  /** The name of the file without folders, as the client or the server of the link says it; empty: it says none. */
  fileName: string;
}

const partNames = ['file', 'source', 'body', 'patch', 'password'];

/** Fetches the file of a link. @returns undefined: the file is not needed */
export type FetchLink = (link: string) => Promise<FetchedFile | undefined>;

/**
 * Reads the parts in any order, and writes the spreadsheet to `file` as it arrives. The name of the file has no effect on how it is read.
 *
 * @throws AppError `invalid-multipart` (400), `invalid-parameter` (422: a part is missing, unknown or sent twice),
 *   `limit-exceeded`; the errors of `fetch`
 *
 * @param fetch undefined: a link is refused
 */
export async function readSpreadsheetUpload(
  form: FormBody,
  chunks: AsyncIterable<Buffer>,
  file: FileWriter,
  maxBodyPartBytes: number,
  fetch?: FetchLink,
): Promise<SpreadsheetUpload> {
  const { digest, onFileName } = form;
  let fileName = '';
  const { parts, password } = await readForm(form, chunks, {
    maxPartBytes: maxBodyPartBytes,
    maxParts: 10,
    names: partNames,
    isFile: (name) => name === 'file',
    openFile: (_name, sentName) => {
      fileName = sentName;
      onFileName?.(sentName);
      return file;
    },
  });
  const source = parts.get('source');
  if (source !== undefined) {
    digest?.addToPart('source', source);
    fileName = await fetchPart(parts, source, file, digest, fetch);
  } else if (!parts.has('file')) {
    throw partError('file', 'missing-part', 'The part file, the spreadsheet, is missing.');
  }
  const [body, patch] = [parts.get('body'), parts.get('patch')];
  // The stored form of a link has no empty parts.
  if (body?.length) digest?.addToPart('body', body);
  if (patch?.length) digest?.addToPart('patch', patch);
  digest?.endOfParts();
  return { body: unlessEmpty(body), patch: unlessEmpty(patch), password, source, fileName };
}

/** The parts that a form may have. */
export interface FormParts {
  /** The maximum length of a part that is not a file, unless it is `password` or `patch`. */
  maxPartBytes: number;
  maxParts: number;
  /** The names of the parts. */
  names: readonly string[];
  isFile: (name: string) => boolean;
  /** Returns where the content of a file is written. It is called when the files before have been written. */
  openFile: (name: string, sentName: string) => FileWriter;
  /** Whether a part that is a file may be a link instead: a field with the JSON of the part `source`. */
  mayLink?: boolean;
}

type FileWriter = Pick<Spool, 'write'>;

export interface ReadForm {
  /** The parts; undefined: the content is in the spool of the file. */
  parts: Map<string, Buffer | undefined>;
  /** The part `password`; undefined if it was not sent or is empty. It is not part of the digest, which is stored: a fast hash would help to guess it. */
  password: string | undefined;
}

/**
 * Reads the parts of a form, and adds the files to the digest.
 *
 * @throws AppError `invalid-multipart`, `invalid-parameter`, `limit-exceeded`
 */
export async function readForm(
  { headers, parameters, digest }: FormBody,
  chunks: AsyncIterable<Buffer>,
  { maxPartBytes, maxParts, names, isFile, openFile, mayLink }: FormParts,
): Promise<ReadForm> {
  const taken: Parts = new Map();
  const busboy = openBusboy(headers, maxParts);
  busboy.on('partsLimit', () => busboy.destroy(tooManyParts(maxParts)));
  let written = Promise.resolve<undefined>(undefined);
  const maxBytesOf = (name: string): number =>
    limitsOfParts[name] ?? (isFile(name) ? maxSourceBytes : maxPartBytes);
  const receive = (name: string | undefined, take: () => Promise<Buffer | undefined>): void => {
    // The failure is handled here, so that it does not end the process. The pipeline reports it.
    addPart(taken, { names, parameters }, name, take).catch((error) => busboy.destroy(error));
  };
  busboy.on('file', (name: string, stream: BusboyFileStream, sentName: string | undefined, ...type) => {
    orDestroy(busboy, () => {
      const isContent = isFile(name) && isSentAsFile(sentName, type[1]);
      if (isFile(name) && !isContent && !mayLink)
        throw partError(name, 'not-a-file', `The part ${name} must be sent as a file (with a filename).`);
      receive(name, () => {
        if (!isContent) return collectPart(name, stream, maxBytesOf(name));
        stream.on('error', () => {});
        written = written.then(() =>
          spoolPart(stream, openFile(name, sentName ?? ''), (chunk) => digest?.addToPart(name, chunk)),
        );
        return written;
      });
    });
  });

  try {
    await pipeline(Readable.from(slicesOf(chunks), { objectMode: true, highWaterMark: 1 }), busboy);
    await Promise.all(taken.values());
  } catch (error) {
    throw asMultipartError(error);
  }
  const parts = new Map<string, Buffer | undefined>();
  for (const [name, part] of taken) parts.set(name, await part);
  return { parts, password: passwordOf(parts.get('password')) };
}

/** The parser leaves out parts without a name. It leaves out no more than this many before the first part with a name. */
const maxPartsBeforeFirst = 10;

/** The room for what comes before the content of the first part, and for the chunk that has its end. */
const maxHeadBytes = 128 * 1024;

/**
 * Reads the beginning of a form until its first part has ended, which must be this one.
 *
 * @param hold calls `take` until it returns undefined. Each call takes a chunk, and returns its length
 * @returns the part, and all chunks of the body from its beginning
 * @throws AppError `invalid-multipart`, `invalid-parameter`, `limit-exceeded`
 */
export async function readFirstPart(
  headers: IncomingHttpHeaders,
  chunks: AsyncGenerator<Buffer>,
  name: string,
  maxBytes: number,
  hold: (take: () => Promise<number | undefined>) => Promise<void> = takeAll,
): Promise<{ part: Buffer; chunks: () => AsyncGenerator<Buffer> }> {
  const busboy = openBusboy(headers, maxPartsBeforeFirst);
  const first = Promise.withResolvers<Buffer>();
  let isRead = false;
  const settled = first.promise.finally(() => {
    isRead = true;
  });
  // The promise is awaited only after the loop.
  settled.catch(() => {});
  let isTaken = false;
  const take = (sent: string, read: () => Promise<Buffer>): void => {
    // A part after the first one may have arrived in the same chunk.
    if (isTaken) return;
    isTaken = true;
    if (sent === name) read().then(first.resolve, first.reject);
    else first.reject(partError(name, 'missing-part', `The first part of the form must be ${name}.`));
  };
  busboy.on('file', (sent: string, stream: BusboyFileStream) => {
    stream.on('error', () => {});
    take(sent, () => collectPart(name, stream, maxBytes));
    stream.resume();
  });
  busboy.on('finish', () => {
    if (!isTaken) first.reject(partError(name, 'missing-part', `The part ${name} is missing.`));
  });
  busboy.on('partsLimit', () => {
    if (!isTaken) first.reject(tooManyParts(maxPartsBeforeFirst));
  });
  busboy.on('error', (error) => first.reject(asMultipartError(error)));
  const kept: Buffer[] = [];
  let bytes = 0;
  await hold(async () => {
    const { value, done } = await chunks.next();
    bytes += value?.length ?? 0;
    // The parser ends a part that is too long, or that never begins, only with the body.
    const isTooLong = bytes > maxBytes + maxHeadBytes;
    if (done) busboy.end();
    else if (isTooLong) first.reject(partTooLong(name, maxBytes));
    if (done || isTooLong) return undefined;
    kept.push(value);
    await writeSlices(busboy, value, () => isRead);
    return isRead ? undefined : value.length;
  });
  const part = await settled;
  busboy.removeAllListeners('file').destroy();
  return {
    part,
    chunks: async function* () {
      yield* kept.splice(0);
      yield* chunks;
    },
  };
}

/** Gives the parser the chunk until it has enough. */
async function writeSlices(busboy: BusboyInstance, chunk: Buffer, isEnough: () => boolean): Promise<void> {
  for (const slice of slicesOfChunk(chunk)) {
    await new Promise((resolve) => busboy.write(slice, resolve));
    // The end of the part comes after the call of the writer.
    await setImmediate();
    if (isEnough()) return;
  }
}

async function takeAll(take: () => Promise<number | undefined>): Promise<void> {
  while ((await take()) !== undefined);
}

function unlessEmpty(part: Buffer | undefined): Buffer | undefined {
  return part === undefined || part.length === 0 ? undefined : part;
}

/** The maximum number of bytes of the part: each UTF-16 unit of the password has at most three bytes, and a line break may follow. */
const maxPasswordBytes = 3 * maxPasswordLength + 2;

/** Returns the password. A line break at its end is not part of it, because editors and commands write one at the end of a file. */
function passwordOf(part: Buffer | undefined): string | undefined {
  const password = part?.toString('utf8').replace(/\r?\n$/, '');
  if (password && password.length > maxPasswordLength) throw partTooLong('password', maxPasswordLength);
  return password === '' ? undefined : password;
}

/** The parts that have begun, with their content; undefined: the content is in the spool of the file. */
type Parts = Map<string, Promise<Buffer | undefined>>;

/** Begins to read a part. @throws AppError `invalid-parameter` if the part is unknown or sent twice */
function addPart(
  parts: Parts,
  { names, parameters }: { names: readonly string[]; parameters: readonly string[] },
  // A part may have no name. The types of the library do not show that.
  name = '',
  take: () => Promise<Buffer | undefined>,
): Promise<Buffer | undefined> {
  if (!names.includes(name)) {
    throw partError(
      name,
      'unknown-part',
      parameters.includes(name)
        ? `"${name}" is a query parameter, not a part: send it in the URL, as in ?${name}=…`
        : `There is no part "${name.slice(0, 100)}"; the parts are ${namesInWords(names)}.`,
    );
  }
  if (parts.has(name)) throw partError(name, 'repeated-part', `The part ${name} is sent more than once.`);
  const taken = take();
  parts.set(name, taken);
  return taken;
}

/** How many parts an error names. */
const maxNamedParts = 20;

function namesInWords(names: readonly string[]): string {
  if (names.length > maxNamedParts) return `${names.slice(0, maxNamedParts).join(', ')}, …`;
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The maximum length of the header Content-Type. A boundary has at most 70 characters (RFC 2046, section 5.1.1), and the time of the parser grows with the square of its length. */
const maxTypeLength = 256;

function openBusboy(headers: IncomingHttpHeaders, parts: number): BusboyInstance {
  if (headers['content-type']!.length > maxTypeLength)
    throw new AppError(
      'invalid-multipart',
      'The Content-Type is too long; a boundary has at most 70 characters.',
    );
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: { fieldNameSize: 200, parts, headerPairs: 100 },
      // The text of a field would replace bytes that are not UTF-8. So all parts come as bytes.
      isPartAFile: () => true,
    });
  } catch (error) {
    throw new AppError('invalid-multipart', 'The Content-Type names no boundary.', { cause: error });
  }
}

/** How many parts may begin in a slice. The parser takes up to 40 µs for each, also for those that it leaves out because they are too many. */
const partsInSlice = 64;
const beforeBoundary = Buffer.from('\r\n--');

/** Cuts the chunks into slices in which few parts begin, because the parser takes all parts of a chunk in one turn of the event loop. */
async function* slicesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield* slicesOfChunk(chunk);
}

function* slicesOfChunk(chunk: Buffer): Generator<Buffer> {
  let start = 0;
  let begun = 0;
  let at = chunk.indexOf(beforeBoundary);
  while (at >= 0) {
    begun++;
    if (begun % partsInSlice === 0) {
      yield chunk.subarray(start, at);
      start = at;
    }
    at = chunk.indexOf(beforeBoundary, at + beforeBoundary.length);
  }
  yield chunk.subarray(start);
}

/** Whether the sender means a file, and not a field. */
function isSentAsFile(sentName: string | undefined, contentType: string): boolean {
  return sentName !== undefined || contentType === 'application/octet-stream';
}

function orDestroy(busboy: BusboyInstance, act: () => void): void {
  try {
    act();
  } catch (error) {
    busboy.destroy(error as Error);
  }
}

async function spoolPart(
  stream: BusboyFileStream,
  file: FileWriter,
  onChunk: (chunk: Buffer) => void,
): Promise<undefined> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    onChunk(chunk);
    await file.write(chunk);
  }
}

/** A JSON text may have six characters for each one of the link. */
const maxSourceBytes = 6 * maxLinkLength + 100;

/** The maximum number of bytes of each part with a limit of its own. */
const limitsOfParts: Record<string, number> = {
  password: maxPasswordBytes,
  patch: maxPatchBytes,
  source: maxSourceBytes,
};

/** Fetches the file of the link. @returns its name */
async function fetchPart(
  parts: ReadForm['parts'],
  source: Buffer,
  file: FileWriter,
  digest?: BodyDigest,
  fetch?: FetchLink,
): Promise<string> {
  if (parts.has('file'))
    throw partError('source', 'repeated-part', 'Send either the part file or the part source.');
  if (fetch === undefined)
    throw partError('source', 'unknown-part', 'A form with a part source is too long.');
  const fetched = await fetch(linkOf('source', source));
  for await (const chunk of fetched?.chunks ?? []) {
    digest?.addToPart('file', chunk);
    await file.write(chunk);
  }
  return fetched?.name ?? '';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the link of a part. @throws AppError `invalid-parameter`, which does not show the link */
export function linkOf(part: string, source: Buffer): string {
  let sent: unknown;
  try {
    sent = JSON.parse(utf8.decode(source));
  } catch {
    // It is refused below.
  }
  const { from_url: link, ...others } = (sent ?? {}) as Record<string, unknown>;
  if (typeof link === 'string' && Object.keys(others).length === 0) return link;
  throw partError(part, 'wrong-type', `The part ${part} must be like {"from_url": "https://…"}.`);
}

async function collectPart(name: string, stream: BusboyFileStream, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw partTooLong(name, maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function asMultipartError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  if (/multipart|part terminated|malformed|boundary/i.test(message) && !(error instanceof AppError)) {
    return new AppError(
      'invalid-multipart',
      'The multipart body ends before its closing boundary or is malformed.',
      {
        cause: error,
      },
    );
  }
  return error;
}

export function partError(name: string, code: ProblemCode, detail: string): AppError {
  return wrongParameter(name.slice(0, 100), detail, { code });
}

function tooManyParts(limit: number): AppError {
  return limitExceeded('The form has too many parts', limit, 'parts');
}

function partTooLong(name: string, maxBytes: number): AppError {
  if (name === 'password')
    return limitExceeded('The part password is too long', maxPasswordLength, 'characters');
  const unit = name === 'body' ? ({ setting: 'MAX_DEFINITION_BYTES' } as const) : 'bytes';
  return limitExceeded(`The part ${name} is too long`, maxBytes, unit);
}
