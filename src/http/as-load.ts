/** Runs the work of an upload as a load: gives it an id, and records its end with the answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { KeptAnswer, LoadFacts } from '../loads/load-record.ts';
import type { LoadRun } from '../loads/load-run.ts';
import { endOfStatus } from '../loads/load-state.ts';
import { isRefusedCommit, loadCancelled } from '../loads/loads.ts';
import { factsOf } from './access-log.ts';
import type { HttpContext } from './context.ts';
import { asAppError, problemContentType, problemDocument } from './problem-json.ts';
import { ClientGone } from './request-body.ts';
import type { TableRequest } from './table-request.ts';

/** The header with the id of the load. */
export const loadIdHeader = 'load-id';

/**
 * Runs the work.
 *
 * @param work gets the upload with the signal and the transaction of the load. `run` is undefined if the service records no loads
 */
export async function asLoad<Upload extends TableRequest, Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  upload: Upload,
  { operation, dryRun }: Pick<LoadFacts, 'operation' | 'dryRun'>,
  work: (upload: Upload, run: LoadRun | undefined) => Promise<Result>,
): Promise<Result> {
  const { loads } = context;
  if (loads === undefined) return work(upload, undefined);
  const { schema, name, grants } = upload;
  const { owner, subject, role } = grants;
  const length = request.headers['content-length'];
  const facts = {
    operation,
    schema,
    table: name,
    dryRun,
    owner,
    subject,
    role,
    bytesExpected: length === undefined ? undefined : Number(length),
  };
  const run = loads.begin(facts, {
    bytesReceived: () => factsOf(request).bytes ?? 0,
    isReceived: () => request.raw.complete,
  });
  reply.header(loadIdHeader, run.id);
  const signal = eitherSignal(upload.signal, run.cancelled);
  const transaction = { ...upload.transaction, signal, beforeCommit: () => run.commitStatements() };
  try {
    const result = await work({ ...upload, signal, transaction }, run);
    await loads.end(run, dryRun ? 'checked' : 'committed', run.answer);
    return result;
  } catch (thrown) {
    const error = isRefusedCommit(thrown) ? loadCancelled() : thrown;
    if (error instanceof ClientGone) await loads.end(run, 'cancelled', undefined);
    else {
      const known = asAppError(error);
      if (known.code === 'too-many-uploads') {
        loads.forget(run);
        reply.removeHeader(loadIdHeader);
      } else {
        const state = known.code === 'load-cancelled' ? 'cancelled' : endOfStatus(known.status);
        await loads.end(run, state, keptProblem(known, request.id));
      }
    }
    throw error;
  }
}

/** Returns the answer to a failed request as it is kept. */
export function keptProblem(error: AppError, requestId: string): KeptAnswer {
  const { status, headers, body, code } = error;
  return {
    status,
    code,
    headers: { ...headers, 'content-type': body?.contentType ?? problemContentType },
    body: body?.bytes ?? Buffer.from(JSON.stringify(problemDocument(error, requestId))),
  };
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
