/**
 * Asynchronous uploads (`Prefer: respond-async`, RFC 7240): a request is answered when its body is stored, and the rows are loaded
 * later, perhaps by another process. The permissions that the token had when the request was accepted are kept. The token itself is not
 * kept.
 */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../../core/errors.ts';
import type { LoadInput } from '../../loading/inputs/load-input.ts';
import type { LoadResult } from '../../loading/request/load-request.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import { viewOf } from '../../loads/load-view.ts';
import type { Loads } from '../../loads/loads.ts';
import { type GivenUpLoad, maxAttempts, type StoredRequest } from '../../loads/queue-statements.ts';
import type { QueuedLoads, QueueWork, RunTaken, TakenLoad } from '../../loads/queued-loads.ts';
import { shownLoad } from '../answers/load-answers.ts';
import { jsonContentType, logFailure } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import { auditedEnd, writeAudit } from '../observing/audit.ts';
import { measureError } from '../observing/measure-requests.ts';
import { eitherSignal } from '../wire/either-signal.ts';
import { changeOf, measureLoaded } from './answer-upload.ts';
import { type CommitStatements, loadGivenUp, runToEnd } from './load-end.ts';
import { type AdmittedUpload, uploadChoices } from './upload.ts';
import type { UploadBody, UploadOperation } from './upload-operation.ts';

/** The headers that describe the body or the answer. */
const storedHeaders = ['content-type', 'accept'];

/** A quoted value of a preference, which may contain any word. It may lack its end. */
const quoted = /"(?:[^"\\]|\\.)*(?:"|\\?$)/g;

/** Returns whether the client prefers an answer before the rows are loaded. */
export function prefersLater({ headers }: FastifyRequest): boolean {
  const preferences = String(headers.prefer ?? '').replaceAll(quoted, '""');
  return /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i.test(preferences);
}

/**
 * Stores an upload, and returns the answer that it was accepted.
 *
 * @throws AppError `storage-full`, `limit-exceeded`, `too-many-uploads`, …
 */
export async function storeUpload(
  request: FastifyRequest,
  context: HttpContext,
  queuedLoads: QueuedLoads,
  upload: AdmittedUpload,
  operation: Pick<UploadOperation, 'digest'>,
  body: UploadBody,
  run: LoadRun,
  commit: CommitStatements,
): Promise<KeptAnswer> {
  const { grants, caller, signal } = upload;
  const stored: StoredRequest = {
    query: request.query as Record<string, unknown>,
    headers: Object.fromEntries(
      storedHeaders.flatMap((name) => (request.headers[name] ? [[name, String(request.headers[name])]] : [])),
    ),
    scopes: [...grants.scopes],
    schemas: grants.schemas,
    caller,
    requestId: request.id,
  };
  return context.lines.uploads.use({ caller }, signal, async () => {
    const readAgain = (chunks: () => AsyncGenerator<Buffer>): Promise<void> =>
      upload.digest ? operation.digest(context, upload, { ...body, chunks }) : Promise.resolve();
    const answer = () => accepted(run);
    await queuedLoads.accept(run, stored, body.chunks(signal), readAgain, () => commit(answer()));
    return answer();
  });
}

function accepted(run: LoadRun): KeptAnswer {
  const location = `/api/v1/loads/${run.id}`;
  return {
    status: 202,
    headers: { location, 'preference-applied': 'respond-async', 'content-type': jsonContentType },
    body: Buffer.from(JSON.stringify(shownLoad({ ...viewOf(run), state: 'queued', answer: null }))),
  };
}

/** Returns the functions that run a stored upload, and that report one that was given up. */
export function storedUploadWork(
  context: HttpContext,
  loads: Loads,
  operations: readonly UploadOperation[],
  log: FastifyBaseLogger,
): QueueWork {
  const run: RunTaken = async (load, taken, chunks) => {
    const operation = operations.find(({ name }) => name === load.facts.operation)!;
    const { requestId } = load.request;
    const facts = {
      subject: load.facts.subject,
      role: load.facts.role,
      schema: load.facts.schema,
      table: load.facts.table,
      load: load.id,
    } as Parameters<typeof writeAudit>[2];
    let change: object = {};
    const waitsAgain = load.attempts < maxAttempts ? [...notBegun, ...interrupted] : notBegun;
    const outcome = await runToEnd(loads, taken, requestId, waitsAgain, () =>
      runStored(context, load, operation, taken, chunks, (changed) => {
        change = changed;
      }),
    );
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
    writeAudit(log, operation, facts as Parameters<typeof writeAudit>[2], auditedEnd(error));
  };
  return { run, onGivenUp };
}

/** A load that finds no place, or that the service stops, waits again. */
const notBegun: ErrorCode[] = ['too-many-uploads', 'shutting-down'];
/**
 * A load whose database goes away waits again, until it has been begun `maxAttempts` times, because its rows may be the reason why
 * PostgreSQL ended.
 */
const interrupted: ErrorCode[] = ['database-unavailable'];

async function runStored(
  context: HttpContext,
  { facts, request, bytesReceived }: TakenLoad,
  operation: UploadOperation,
  run: LoadRun,
  chunks: () => AsyncGenerator<Buffer>,
  onChanged: (change: object) => void,
): Promise<KeptAnswer> {
  const { database } = context.config;
  const query = operation.parseQuery(request.query);
  const { schema, table: name, owner, subject, role } = facts;
  const { signal, release } = eitherSignal(context.stopping, run.cancelled);
  const { statementTimeoutMs, lockTimeoutMs } = database;
  const beforeCommit = () => run.commitStatements();
  const onCommitRefused = () => run.commitRefused();
  const upload: AdmittedUpload = {
    schema,
    name,
    caller: request.caller,
    signal,
    grants: {
      subject,
      owner,
      role,
      scopes: new Set(request.scopes),
      schemas: request.schemas ?? undefined,
      serviceSchema: database.serviceSchema,
    },
    transaction: { role, statementTimeoutMs, lockTimeoutMs, signal, beforeCommit, onCommitRefused },
    ...uploadChoices(query),
  };
  const body = { headers: request.headers, parameters: [], chunks };
  const origin = {
    accept: request.headers.accept,
    onLoaded: (result: LoadResult, input: LoadInput) => {
      onChanged(changeOf(query, result));
      measureLoaded(context, query, result, input, bytesReceived);
    },
  };
  try {
    return await operation.load(context, upload, query, body, origin, run);
  } finally {
    release();
  }
}
