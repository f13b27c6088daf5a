/**
 * Puts the file of a link into the form of an asynchronous upload, before the form is stored. So the file is fetched once, whichever
 * process loads it and how often, and the link is stored nowhere.
 */
import { randomUUID } from 'node:crypto';
import { maxPatchBytes } from '../../../engine/loading/patch/cell-patch.ts';
import type { FetchedFile } from '../../fetching/fetch-file.ts';
import type { HttpContext } from '../context.ts';
import { startingWith } from '../wire/content-encoding.ts';
import { readSpreadsheetUpload, type SpreadsheetUpload } from '../wire/multipart.ts';
import type { UploadBody } from './admit-upload.ts';

/** The room for the link, the password and the headers of all parts. */
const otherBytes = 128 * 1024;

/**
 * Returns the form with the file of its link. A form without a link is returned as it is. A short form that is wrong is refused here,
 * because it may have a link.
 *
 * @throws the errors of `readSpreadsheetUpload`
 */
export async function completeForm(
  { config: { limits } }: HttpContext,
  body: UploadBody,
  signal: AbortSignal,
): Promise<Pick<UploadBody, 'headers' | 'chunks'>> {
  const rest = body.chunks(signal);
  const { form, isWhole } = await gather(rest, limits.maxDefinitionBytes + maxPatchBytes + otherBytes);
  const asSent = { headers: body.headers, chunks: () => startingWith(form, rest) };
  // A longer form has a file: the parts of a form with a link have limits.
  if (!isWhole) return asSent;
  let link: string | undefined;
  const note = async (found: string) => {
    link = found;
    return undefined;
  };
  const sent = { ...body, digest: undefined };
  const parts = await readSpreadsheetUpload(sent, asSent.chunks(), noFile, limits.maxDefinitionBytes, note);
  if (link === undefined) return asSent;
  // The digest of the request has the link, and not the file.
  body.digest?.addToPart('source', parts.source!);
  const boundary = `tablewright-${randomUUID()}`;
  const headers = { ...body.headers, 'content-type': `multipart/form-data; boundary=${boundary}` };
  const fetch = () => body.fetch!(link!, signal);
  return { headers, chunks: () => formWith(parts, fetch, boundary) };
}

const noFile = { write: () => undefined };

/** Gathers the first chunks, until they have more than `maxBytes` bytes. */
async function gather(
  chunks: AsyncGenerator<Buffer>,
  maxBytes: number,
): Promise<{ form: Buffer; isWhole: boolean }> {
  const gathered: Buffer[] = [];
  let isWhole = false;
  for (let bytes = 0; bytes <= maxBytes && !isWhole; ) {
    const { value, done } = await chunks.next();
    if (done) isWhole = true;
    else gathered.push(value);
    bytes += value?.length ?? 0;
  }
  return { form: Buffer.concat(gathered), isWhole };
}

async function* formWith(
  { body, patch, password }: SpreadsheetUpload,
  fetch: () => Promise<FetchedFile>,
  boundary: string,
): AsyncGenerator<Buffer> {
  for (const [name, content] of Object.entries({ body, patch, password })) {
    if (content !== undefined)
      yield Buffer.concat([headOfPart(boundary, name, name), Buffer.from(content as Buffer)]);
  }
  const { name, chunks } = await fetch();
  yield headOfPart(boundary, 'file', name);
  yield* chunks;
  yield endOfForm(boundary);
}

/**
 * Returns what comes before the content of a part. With a file name, a part may be longer than a field. Its names are quoted strings (RFC 9110,
 * section 5.6.4), so that they are read again as they are; such a string cannot have a line break.
 */
export function headOfPart(boundary: string, part: string, fileName: string): Buffer {
  const [name, sentName] = [part, fileName].map((text) =>
    text.replaceAll(/["\\]/g, '\\$&').replaceAll(/[\r\n]/g, encodeURIComponent),
  );
  return Buffer.from(
    `\r\n--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${sentName}"\r\n\r\n`,
  );
}

export function endOfForm(boundary: string): Buffer {
  return Buffer.from(`\r\n--${boundary}--\r\n`);
}
