/** Runs the work of an upload as a load: gives it an id, and records its end with the answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { ClaimedKey } from '../loads/idempotency-key.ts';
import type { KeptAnswer, LoadFacts } from '../loads/load-record.ts';
import type { LoadRun } from '../loads/load-run.ts';
import { endOfStatus, type LoadState } from '../loads/load-state.ts';
import { isRefusedCommit, type Loads, loadCancelled } from '../loads/loads.ts';
import { factsOf } from './access-log.ts';
import { BodyDigest } from './body-digest.ts';
import type { HttpContext } from './context.ts';
import { answerRepeated, asKeyError, endKey, idempotencyKeyOf, sendKept } from './idempotency.ts';
import { asAppError, keptProblem } from './problem-json.ts';
import { ClientGone } from './request-body.ts';
import type { TableRequest } from './table-request.ts';

/** The header with the id of the load. */
export const loadIdHeader = 'load-id';

export interface LoadWork<Upload> extends Pick<LoadFacts, 'operation' | 'dryRun'> {
  /** Does the work. `run` is undefined if the service records no loads. */
  work: (upload: Upload, run: LoadRun | undefined) => Promise<KeptAnswer>;
  /** Reads the whole body of a repeated request into `upload.digest`. */
  readBody: (upload: Upload) => Promise<void>;
}

/** Runs an upload as a load, once if it has an idempotency key. */
export async function asLoad<Upload extends TableRequest>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  upload: Upload,
  load: LoadWork<Upload>,
): Promise<FastifyReply> {
  const key = idempotencyKeyOf(request, context);
  const { loads } = context;
  if (loads === undefined) return sendKept(reply, await load.work(upload, undefined));
  const run = beginLoad(request, loads, upload, load);
  const signal = eitherSignal(upload.signal, run.cancelled);
  reply.header(loadIdHeader, run.id);
  if (key === undefined) {
    return sendKept(reply, await runLoad(request, reply, loads, { ...upload, signal }, load, run, undefined));
  }
  const digest = new BodyDigest();
  const keyed = { ...upload, signal, digest };
  return loads.withLease(async () => {
    const claim = await loads.claimKey(upload.grants.owner, key, run.id);
    if (claim.claimed === undefined) {
      forgetLoad(reply, loads, run);
      return answerRepeated(request, reply, claim, digest, () => load.readBody(keyed));
    }
    await loads.record(run);
    return sendKept(reply, await runLoad(request, reply, loads, keyed, load, run, claim.claimed));
  });
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

async function runLoad<Upload extends TableRequest>(
  request: FastifyRequest,
  reply: FastifyReply,
  loads: Loads,
  upload: Upload,
  { work, dryRun }: LoadWork<Upload>,
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
  const beforeCommit = (): string[] => {
    noteBody();
    const ofKey = key ? [key.commitStatement(keptAnswer(run.answer!))] : [];
    return [...run.commitStatements(), ...ofKey];
  };
  const { signal } = upload;
  try {
    const result = await work(
      { ...upload, transaction: { ...upload.transaction, signal, beforeCommit } },
      run,
    );
    if (dryRun) {
      noteBody();
      await key?.keep(keptAnswer(run.answer!));
    }
    await loads.end(run, dryRun ? 'checked' : 'committed', run.answer);
    return result;
  } catch (thrown) {
    const error = isRefusedCommit(thrown) ? loadCancelled() : asKeyError(thrown);
    const known = error instanceof ClientGone ? undefined : asAppError(error);
    const answer = known && keptProblem(known, request.id);
    if (known?.code === 'too-many-uploads') forgetLoad(reply, loads, run);
    else await loads.end(run, endOf(known), answer);
    noteBody();
    if (key) await endKey(key, error, request.id, { [loadIdHeader]: run.id });
    throw error;
  }
}

/** The load has not begun, so its id is not told. */
function forgetLoad(reply: FastifyReply, loads: Loads, run: LoadRun): void {
  loads.forget(run);
  reply.removeHeader(loadIdHeader);
}

/** @param error undefined: the client went away */
function endOf(error: AppError | undefined): LoadState {
  if (error === undefined || error.code === 'load-cancelled') return 'cancelled';
  return endOfStatus(error.status);
}

/** The answer of a load whose process ended. */
export function abandonedAnswer(): KeptAnswer {
  const detail =
    'The process of the service that ran the load ended before the load did; nothing was changed. Send the request again.';
  return keptProblem(new AppError('shutting-down', detail), '00000000-0000-0000-0000-000000000000');
}

/** Combines two signals without `AbortSignal.any`, because that removes its listeners only when the garbage collector runs. */
function eitherSignal(first: AbortSignal, second: AbortSignal): AbortSignal {
  const either = new AbortController();
  for (const signal of [first, second]) {
    const abort = () => either.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }
  return either.signal;
}
