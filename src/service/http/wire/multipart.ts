/**
 * Reads the multipart/form-data body of a spreadsheet upload (RFC 7578): the part `file`, which is spooled, and the part `body`, JSON.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyHeaders } from '@fastify/busboy';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { ProblemCode } from '../../../core/problem-codes.ts';
import type { Spool } from '../../../readers/spool.ts';
import type { BodyDigest } from './body-digest.ts';

type BusboyInstance = InstanceType<typeof Busboy>;

export interface SpreadsheetUpload {
  /** The JSON text of the part `body`; undefined if it was not sent or is empty. */
  body: Buffer | undefined;
}

/**
 * Reads both parts in either order, and writes the spreadsheet to `file` as it arrives. The file name is never used.
 *
 * @param parameters the names of the query parameters, because a part with such a name is a common mistake
 * @throws AppError `invalid-multipart` (400), `invalid-parameter` (422: a part is missing, unknown or sent twice),
 *   `limit-exceeded`
 */
export async function readSpreadsheetUpload(
  headers: IncomingHttpHeaders,
  chunks: AsyncIterable<Buffer>,
  file: Spool,
  maxBodyPartBytes: number,
  parameters: readonly string[],
  digest?: BodyDigest,
): Promise<SpreadsheetUpload> {
  const parts: Parts = new Map();
  const busboy = openBusboy(headers, maxBodyPartBytes);
  const receive = (name: string | undefined, take: () => Promise<Buffer | undefined>): void => {
    const taken = addPart(parts, parameters, name, take);
    // The pipeline reports a failure of this part. Without a handler here the failure would end the process first.
    taken.catch((error) => busboy.destroy(error));
  };
  busboy.on('file', (name: string, stream: BusboyFileStream) => {
    orDestroy(busboy, () =>
      receive(name, () =>
        name === 'file' ? spoolPart(stream, file, digest) : collectPart(stream, maxBodyPartBytes),
      ),
    );
  });
  busboy.on('field', (name: string, value: string, _nameTruncated: boolean, truncated: boolean) => {
    orDestroy(busboy, () => {
      if (name === 'file') {
        throw partError('file', 'not-a-file', 'The part file must be sent as a file (with a filename).');
      }
      receive(name, async () => {
        if (truncated) throw bodyPartTooLarge(maxBodyPartBytes);
        return Buffer.from(value);
      });
    });
  });

  try {
    await pipeline(Readable.from(chunks, { objectMode: true, highWaterMark: 1 }), busboy);
    await Promise.all(parts.values());
  } catch (error) {
    throw asMultipartError(error);
  }
  if (!parts.has('file'))
    throw partError('file', 'missing-part', 'The part file, the spreadsheet, is missing.');
  const body = await parts.get('body');
  if (body) digest?.addToPart('body', body);
  digest?.endOfParts();
  return { body: body === undefined || body.length === 0 ? undefined : body };
}

/** The content of each part that has begun; undefined: the content is in the file. */
type Parts = Map<string, Promise<Buffer | undefined>>;

/** Begins to read a part. @throws AppError `invalid-parameter` if the part is unknown or sent twice */
function addPart(
  parts: Parts,
  parameters: readonly string[],
  // A part may have no name, although the types of the library say otherwise.
  name = '',
  take: () => Promise<Buffer | undefined>,
): Promise<Buffer | undefined> {
  if (name !== 'file' && name !== 'body') {
    throw partError(
      name,
      'unknown-part',
      parameters.includes(name)
        ? `"${name}" is a query parameter, not a part: send it in the URL, as in ?${name}=…`
        : `There is no part "${name.slice(0, 100)}"; the parts are file and body.`,
    );
  }
  if (parts.has(name)) throw partError(name, 'repeated-part', `The part ${name} is sent more than once.`);
  const taken = take();
  parts.set(name, taken);
  return taken;
}

function openBusboy(headers: IncomingHttpHeaders, maxBodyPartBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: { fieldSize: maxBodyPartBytes, fieldNameSize: 200, parts: 10, headerPairs: 100 },
    });
  } catch (error) {
    throw new AppError('invalid-multipart', 'The Content-Type names no boundary.', { cause: error });
  }
}

function orDestroy(busboy: BusboyInstance, act: () => void): void {
  try {
    act();
  } catch (error) {
    busboy.destroy(error as Error);
  }
}

async function spoolPart(stream: BusboyFileStream, file: Spool, digest?: BodyDigest): Promise<undefined> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    digest?.addToPart('file', chunk);
    await file.write(chunk);
  }
}

async function collectPart(stream: BusboyFileStream, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw bodyPartTooLarge(maxBytes);
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

function partError(name: string, code: ProblemCode, detail: string): AppError {
  return wrongParameter(name.slice(0, 100), detail, { code });
}

function bodyPartTooLarge(maxBytes: number): AppError {
  return limitExceeded('The part body is too long', maxBytes, { setting: 'MAX_DEFINITION_BYTES' });
}
