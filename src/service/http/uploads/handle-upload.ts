/** Handles the request of an upload: admits it, claims its key, opens its rows, loads them and answers. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../../core/errors.ts';
import type { AnswerKeeper } from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { HttpContext } from '../context.ts';
import { admitUpload, type Upload, type UploadBody, type UploadOperation } from './admit-upload.ts';
import { answerOnce } from './idempotency.ts';
import { loadIdHeader, runToEnd } from './load-end.ts';
import { loadUpload } from './load-upload.ts';
import { storeUpload } from './stored-uploads.ts';

/** Loads the rows of an upload and answers. If the client prefers that, the upload is only stored, and its rows are loaded later. */
export async function handleUpload(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  operation: UploadOperation,
): Promise<Buffer> {
  return answerUpload(reply, context, await admitUpload(request, reply, context, operation));
}

/** Loads or stores the rows of an admitted upload, and answers. */
export async function answerUpload(
  reply: FastifyReply,
  context: HttpContext,
  upload: Upload,
): Promise<Buffer> {
  const { operation } = upload;
  const isLater = prefersLater(upload.body) && context.records.acceptsLater;
  const { run, caller, signal, line } = upload;
  const readBody = () => line.use({ caller }, signal, () => operation.readBody(context, upload.body, signal));
  try {
    return await answerOnce(reply, context.records, { ...upload, readBody }, (keeper) =>
      runUpload(context, upload, keeper, isLater ? storeUpload : (operation.load ?? loadUpload)),
    );
  } finally {
    if (run.shownId !== undefined) reply.header(loadIdHeader, run.shownId);
  }
}

/** A quoted value of a preference. It may contain any word, so it is removed before preferences are searched for. Its end may be missing. */
const quoted = /"(?:[^"\\]|\\.)*(?:"|\\?$)/g;

/** Returns whether the client prefers an asynchronous upload (`Prefer: respond-async`). */
function prefersLater({ headers }: UploadBody): boolean {
  const preferences = String(headers.prefer ?? '').replaceAll(quoted, '""');
  return /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i.test(preferences);
}

/** The errors of a load for which there was no place. Such a load counts as not begun. */
const notBegun: ErrorCode[] = ['too-many-uploads', 'queue-full'];

/** Runs an upload as a load. @throws the error for the caller */
async function runUpload(
  context: HttpContext,
  upload: Upload,
  keeper: AnswerKeeper,
  work: (context: HttpContext, upload: Upload, keeper: AnswerKeeper) => Promise<KeptAnswer>,
): Promise<KeptAnswer> {
  const { uploads } = context.records;
  const { run } = upload;
  uploads.begin(run);
  const outcome = await runToEnd(uploads, upload, notBegun, async () => {
    // With an idempotency key the load is recorded at once, because the stored key refers to it.
    if (upload.key !== undefined) await uploads.record(run);
    return work(context, upload, keeper);
  });
  if (outcome.answer) return outcome.answer;
  if (!outcome.hasEnded) await uploads.discard(run);
  throw outcome.error;
}
