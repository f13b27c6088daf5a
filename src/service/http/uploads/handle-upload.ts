/** Runs the work of an upload as a load: gives it an id, and records its end with the answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../../core/errors.ts';
import type { ClaimedKey, KeyClaim } from '../../loads/idempotency-key.ts';
import type { KeptAnswer, LoadFacts } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import type { Loads } from '../../loads/loads.ts';
import type { TableRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { factsOf } from '../observing/access-log.ts';
import { BodyDigest } from '../wire/body-digest.ts';
import { eitherSignal } from '../wire/either-signal.ts';
import { originOf } from './answer-upload.ts';
import { answerRepeated, endKey, idempotencyKeyOf, replyWith } from './idempotency.ts';
import { type CommitStatements, endWithError, type LoadOutcome, loadIdHeader, runToEnd } from './load-end.ts';
import { prefersLater, storeUpload } from './stored-uploads.ts';
import { type AdmittedUpload, admitUpload, type UploadQuery } from './upload.ts';
import { bodyOfRequest, type UploadOperation } from './upload-operation.ts';

/** Handles the request of an upload: runs it as a load, or stores it for later if the client prefers that. */
export async function handleUpload<Query extends UploadQuery>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  operation: UploadOperation<Query>,
): Promise<Buffer> {
  const query = operation.parseQuery(request.query);
  const upload = await admitUpload(request, reply, context, query);
  operation.check(query, request.headers);
  const key = idempotencyKeyOf(request, context);
  const body = bodyOfRequest(request, context);
  const origin = originOf(request, context, query);
  const { loads, queuedLoads } = context;
  if (loads === undefined)
    return replyWith(reply, await operation.load(context, upload, query, body, origin, undefined));
  const { name, digest } = operation;
  const run = beginLoad(request, loads, upload, { operation: name, dryRun: query.dry_run });
  reply.header(loadIdHeader, run.id);
  const isLater = queuedLoads?.canAccept === true && prefersLater(request);
  const work = isLater
    ? (admitted: AdmittedUpload, commit: CommitStatements) =>
        storeUpload(request, context, queuedLoads, admitted, operation, body, run, commit)
    : (admitted: AdmittedUpload, commit: CommitStatements) => {
        const beforeCommit = () => [...run.commitStatements(), ...commit(run.answer!)];
        const onCommitRefused = () => run.commitRefused();
        const { signal } = admitted;
        const transaction = { ...admitted.transaction, signal, beforeCommit, onCommitRefused };
        return operation.load(context, { ...admitted, transaction }, query, body, origin, run);
      };
  const load = { work, isLater, dryRun: query.dry_run };
  // The signal of the request ends with the request.
  const admitted = { ...upload, signal: eitherSignal(upload.signal, run.cancelled).signal };
  if (key === undefined)
    return replyWith(reply, await runLoad(request, reply, loads, admitted, load, run, undefined));
  const keyed = { ...admitted, digest: new BodyDigest() };
  const once = async ({ claimed, answered }: KeyClaim): Promise<Buffer> => {
    if (claimed !== undefined) {
      return replyWith(reply, await runLoad(request, reply, loads, keyed, load, run, claimed));
    }
    await discardLoad(reply, loads, run);
    const readBody = () =>
      context.lines.uploads.use({ caller: upload.caller }, keyed.signal, () => digest(context, keyed, body));
    return answerRepeated(request, reply, answered, keyed.digest, readBody);
  };
  try {
    return await loads.withKey(upload.grants.owner, key, run.id, once);
  } catch (error) {
    // The key could not be claimed.
    if (!run.hasEnded) await discardLoad(reply, loads, run);
    throw error;
  }
}

interface LoadWork {
  work: (upload: AdmittedUpload, commit: CommitStatements) => Promise<KeptAnswer>;
  /** The work only stores the upload. */
  isLater: boolean;
  dryRun: boolean;
}

function beginLoad(
  request: FastifyRequest,
  loads: Loads,
  { schema, name, grants: { owner, subject, role } }: TableRequest,
  { operation, dryRun }: Pick<LoadFacts, 'operation' | 'dryRun'>,
): LoadRun {
  const length = request.headers['content-length'];
  const bytesExpected = length === undefined ? undefined : Number(length);
  return loads.begin(
    { operation, schema, table: name, dryRun, owner, subject, role, bytesExpected },
    { bytesReceived: () => factsOf(request).bytes ?? 0, isReceived: () => request.raw.complete },
  );
}

async function runLoad(
  request: FastifyRequest,
  reply: FastifyReply,
  loads: Loads,
  upload: AdmittedUpload,
  { work, isLater, dryRun }: LoadWork,
  run: LoadRun,
  key: ClaimedKey | undefined,
): Promise<KeptAnswer> {
  const noteBody = (): void => {
    if (key) key.fingerprint = upload.digest!.fingerprint(request);
  };
  const keptAnswer = (answer: KeptAnswer): KeptAnswer => ({
    ...answer,
    headers: { ...answer.headers, [loadIdHeader]: run.id },
  });
  let committed: KeptAnswer | undefined;
  const commit: CommitStatements = (answer) => {
    noteBody();
    committed = answer;
    return key ? [key.commitStatement(keptAnswer(answer))] : [];
  };
  const doWork = async (): Promise<KeptAnswer> => {
    if (key) await loads.record(run);
    const answer = await work(upload, commit);
    if (dryRun && !isLater) {
      noteBody();
      await key?.keep(keptAnswer(answer));
    }
    if (key && committed && !committed.body.equals(answer.body))
      await key.amend(answer).catch((error: unknown) => request.log.warn({ err: error }, notAmended));
    return answer;
  };
  const outcome = isLater
    ? await storeForLater(loads, run, request.id, doWork)
    : await runToEnd(loads, run, request.id, notBegun, doWork);
  if (outcome.answer) return outcome.answer;
  if (!outcome.hasEnded) await discardLoad(reply, loads, run);
  noteBody();
  if (key) await endKey(key, outcome.error, request.id, { [loadIdHeader]: run.id });
  throw outcome.error;
}

const notAmended =
  'The answer that is kept for an idempotency key lacks a warning that was found after the commit';

/** A load for which there is no place has not begun. */
const notBegun: ErrorCode[] = ['too-many-uploads', 'queue-full'];

/** Does the work that puts a load into the queue. It ends only if that fails. */
async function storeForLater(
  loads: Loads,
  run: LoadRun,
  requestId: string,
  store: () => Promise<KeptAnswer>,
): Promise<LoadOutcome> {
  try {
    const answer = await store();
    loads.forget(run);
    return { answer };
  } catch (thrown) {
    return endWithError(loads, run, requestId, notBegun, thrown);
  }
}

/** Removes a load that has not begun. The answer does not have its id. */
async function discardLoad(reply: FastifyReply, loads: Loads, run: LoadRun): Promise<void> {
  reply.removeHeader(loadIdHeader);
  await loads.discard(run);
}
