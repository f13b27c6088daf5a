/**
 * Asynchronous uploads (`Prefer: respond-async`, RFC 7240): a request is answered when its body is stored, and the rows are loaded
 * later, perhaps by another process. The permissions that the token had at that time are stored with it. The token itself is not
 * stored.
 */

import type { FastifyBaseLogger } from 'fastify';
import type { ErrorCode } from '../../../core/errors.ts';
import type { CallersStatement } from '../../../postgres/callers-statement.ts';
import { type AnswerKeeper, noKey } from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import { viewOf } from '../../loads/load-view.ts';
import { type GivenUpLoad, maxAttempts, type StoredRequest } from '../../loads/queue-statements.ts';
import type { QueueWork, RunTaken, TakenLoad } from '../../loads/queued-loads.ts';
import { shownLoad } from '../answers/load-answers.ts';
import { jsonContentType, logFailure } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import { auditedEnd, writeAudit } from '../observing/audit.ts';
import { measureError } from '../observing/measure-requests.ts';
import { eitherSignal } from '../wire/either-signal.ts';
import { digestOf, noteFileOf, type Upload, type UploadOperation } from './admit-upload.ts';
import { loadGivenUp, runToEnd } from './load-end.ts';
import { loadUpload } from './load-upload.ts';
import { uploadChoices } from './upload.ts';

/** The headers that are stored, because the load needs them later to read the body and to write the answer. */
const storedHeaders = ['content-type', 'accept'];

/**
 * Waits for a place, stores an upload, and returns the answer that it was accepted. Its load then waits in the queue.
 *
 * @throws AppError `storage-full`, `limit-exceeded`, `too-many-uploads`, …
 */
export async function storeUpload(
  context: HttpContext,
  upload: Upload,
  keeper: AnswerKeeper,
): Promise<KeptAnswer> {
  const { loads, queuedLoads } = context.records.require();
  const { grants, caller, signal, operation, run } = upload;
  let answer: KeptAnswer | undefined;
  const commit = (): CallersStatement[] => {
    answer = accepted(run);
    return keeper.commitStatements(() => answer!);
  };
  await context.lines.uploads.use({ caller }, signal, async () => {
    const body = { ...upload.body, ...(await operation.completeBody?.(context, upload.body, signal)) };
    const stored: StoredRequest = {
      query: upload.sentQuery,
      headers: Object.fromEntries(
        storedHeaders.flatMap((name) => (body.headers[name] ? [[name, String(body.headers[name])]] : [])),
      ),
      scopes: [...grants.scopes],
      schemas: grants.schemas,
      caller,
      requestId: upload.requestId,
      definition: upload.definition,
    };
    const readAgain = async (chunks: () => AsyncGenerator<Buffer>): Promise<void> => {
      if (upload.key) await operation.readBody(context, { ...body, chunks }, signal);
    };
    await queuedLoads.accept(run, stored, body.chunks(signal), readAgain, commit);
  });
  loads.forget(run);
  return answer!;
}

function accepted(run: LoadRun): KeptAnswer {
  const location = `/api/v1/loads/${run.id}`;
  return {
    status: 202,
    headers: { location, 'preference-applied': 'respond-async', 'content-type': jsonContentType },
    body: Buffer.from(JSON.stringify(shownLoad({ ...viewOf(run), state: 'queued' }, null))),
  };
}

/** Returns two functions: one runs a stored upload, and the other reports an upload that was given up. */
export function storedUploadWork(
  context: HttpContext,
  operations: readonly UploadOperation[],
  log: FastifyBaseLogger,
): QueueWork {
  const run: RunTaken = async (load, taken, chunks) => {
    const operation = operations.find(({ name }) => name === load.facts.operation)!;
    const { requestId } = load.request;
    const { subject, role, schema, table } = load.facts;
    const facts = { subject, role, schema, table, load: load.id };
    let change: object = {};
    const waitsAgain = load.attempts < maxAttempts ? [...notBegun, ...interrupted] : notBegun;
    const onLoaded: Upload['onLoaded'] = (changed) => {
      change = changed;
    };
    const { signal, release } = eitherSignal(context.stopping, taken.cancelled);
    const running = { run: taken, signal, log, onLoaded };
    const outcome = await runToEnd(context.records.uploads, { run: taken, requestId }, waitsAgain, async () =>
      (operation.load ?? loadUpload)(context, uploadOf(context, load, operation, running, chunks), noKey),
    ).finally(release);
    if (outcome.answer) {
      writeAudit(log, operation.name, facts, change);
      return 'ended';
    }
    const { error, known, hasEnded } = outcome;
    if (!hasEnded) {
      if (notBegun.includes(known!.code)) return 'not-begun';
      log.warn({ err: known!.cause ?? error, load: load.id }, 'load interrupted; it is tried again');
      return 'interrupted';
    }
    if (known) {
      logFailure(log, known, error, { load: load.id }, 'load failed');
      measureError(context.measures, known);
    }
    writeAudit(log, operation.name, facts, auditedEnd(error));
    return 'ended';
  };
  const onGivenUp = ({ id, operation, subject, role, schema, table }: GivenUpLoad): void => {
    const error = loadGivenUp();
    log.error({ load: id, attempts: maxAttempts }, 'load given up, because no attempt came to an end');
    measureError(context.measures, error);
    context.measures.loadGivenUp();
    const facts = { subject: subject ?? undefined, role: role ?? undefined, schema, table, load: id };
    writeAudit(log, operation, facts, auditedEnd(error));
  };
  return { run, onGivenUp };
}

/** With these errors a load waits in the queue again: there was no place for it, or the service is stopping. */
const notBegun: ErrorCode[] = ['too-many-uploads', 'shutting-down'];
/**
 * With these errors a load waits in the queue again, but at most until it was started `maxAttempts` times: its rows may be the reason
 * why PostgreSQL ended, or why a disk is full.
 */
const interrupted: ErrorCode[] = ['database-unavailable', 'storage-full'];

/** Makes the `Upload` of a load that was taken from the queue. @throws AppError `invalid-parameter` */
function uploadOf(
  context: HttpContext,
  { facts, request, bytesReceived }: TakenLoad,
  operation: UploadOperation,
  running: Pick<Upload, 'run' | 'signal' | 'log' | 'onLoaded'>,
  chunks: () => AsyncGenerator<Buffer>,
): Upload {
  const { statementTimeoutMs, lockTimeoutMs, serviceSchema } = context.config.database;
  const { schema, table: name, owner, subject, role } = facts;
  const { query: sentQuery, headers, caller, requestId, definition } = request;
  const query = operation.parseQuery(sentQuery);
  const scopes = new Set(request.scopes);
  const digest = digestOf(running.run, undefined, () => bytesReceived);
  return {
    ...running,
    ...uploadChoices(query),
    operation,
    query,
    sentQuery,
    definition,
    schema,
    name,
    caller,
    requestId,
    grants: { subject, owner, role, scopes, schemas: request.schemas ?? undefined, serviceSchema },
    transaction: { role, statementTimeoutMs, lockTimeoutMs, signal: running.signal },
    body: {
      ...{ headers, parameters: [], digest, chunks, fetch: undefined },
      onFileName: noteFileOf(running.run),
      bytesReceived: () => bytesReceived,
    },
    line: context.lines.uploads,
    key: undefined,
  };
}
