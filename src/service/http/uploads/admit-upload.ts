/**
 * Admits an upload and makes its description, `Upload`: who sends it, what it asks for, its body, its idempotency key, its load,
 * and how it reports. It is made once, and all later steps get what they need from it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { maxSmallBytes } from '../../../engine/loading/load-known.ts';
import { type FetchedFile, fetchFile } from '../../fetching/fetch-file.ts';
import type { AnswerKeeper } from '../../loads/idempotency-key.ts';
import type { KeptAnswer, LoadFacts } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import { isCompared } from '../../loads/same-file.ts';
import { admitRequest, type TableRequest, tableRequestOf } from '../admission/table-request.ts';
import type { WaitingLine } from '../admission/waiting-line.ts';
import type { HttpContext } from '../context.ts';
import { factsOf } from '../observing/access-log.ts';
import { type AuditedChange, noteChange } from '../observing/audit.ts';
import { checkSent, sentQueryOf } from '../profiles/sent-query.ts';
import { type Grants, requireScope, type Scope } from '../tokens/auth.ts';
import { BodyDigest } from '../wire/body-digest.ts';
import type { FormBody } from '../wire/multipart.ts';
import { readBody } from '../wire/request-body.ts';
import { type DigestedKey, requestKeyOf } from './idempotency.ts';
import { loadIdHeader } from './load-end.ts';
import type { UploadQuery } from './parameters.ts';
import { type UploadChoices, uploadChoices } from './upload.ts';

export interface Upload<Query extends UploadQuery = UploadQuery>
  extends Omit<TableRequest, 'cancel' | 'validUntilMs'>,
    UploadChoices {
  operation: UploadOperation<Query>;
  query: Query;
  /** The query as it was sent, with the parameters of its profile. An asynchronous upload stores it for later. */
  sentQuery: Record<string, unknown>;
  /** The JSON text of the definition of the profile; undefined: none. */
  definition: string | undefined;
  body: UploadBody;
  /** The line in which the upload waits for a place. */
  line: WaitingLine;
  /** undefined: the request has no idempotency key. */
  key: DigestedKey | undefined;
  /** The load of the upload. If it is cancelled, `signal` is aborted. */
  run: LoadRun;
  requestId: string;
  log: FastifyBaseLogger;
  /** Called when the rows are committed or, in a dry run, checked. */
  onLoaded: (change: AuditedChange & { rows: number }) => void;
}

/** The body of an upload with the headers that describe it. */
export interface UploadBody extends FormBody {
  bytesReceived: () => number;
  /** Returns the unpacked body. */
  chunks: (signal: AbortSignal) => AsyncGenerator<Buffer>;
  /** Fetches the file of a link. undefined: the body was stored, with the file. @throws AppError `insufficient-scope`; the errors of `fetchFile` */
  fetch: ((link: string, signal: AbortSignal) => Promise<FetchedFile>) | undefined;
}

/** What distinguishes the two kinds of uploads. The members are methods, not properties, so that TypeScript accepts an operation with more parameters. */
export interface UploadOperation<Query extends UploadQuery = UploadQuery> {
  name: LoadFacts['operation'];
  /** @throws AppError `invalid-parameter` */
  parseQuery: (query: unknown) => Query;
  /** Checks the parameters together with the headers, before the body is read. @throws AppError `invalid-parameter` */
  check(query: Query, headers: IncomingHttpHeaders): void;
  /** Opens the rows of the body and passes them to `use`. Closes the input afterwards. */
  withInput(
    context: HttpContext,
    upload: Upload<Query>,
    use: (input: LoadInput) => Promise<KeptAnswer>,
  ): Promise<KeptAnswer>;
  /** Returns the body with everything that it refers to, to store it. Without `digest`, the digest of the request is computed meanwhile. Default: the body has everything. */
  completeBody?(
    context: HttpContext,
    body: UploadBody,
    signal: AbortSignal,
  ): Promise<Pick<UploadBody, 'headers' | 'chunks'> & Partial<Pick<UploadBody, 'digest'>>>;
  /** Loads the rows and answers. Default: `loadUpload`. */
  load?(context: HttpContext, upload: Upload, keeper: AnswerKeeper): Promise<KeptAnswer>;
  /** Reads the whole body of a repeated request, only to compute its digest. */
  readBody(context: HttpContext, body: UploadBody, signal: AbortSignal): Promise<void>;
}

/** Admits the request of an upload before its body is read. @throws the errors of `admitTableRequest`; AppError `invalid-parameter` */
export async function admitUpload(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  operation: UploadOperation,
): Promise<Upload> {
  const sent = await sentQueryOf(request, reply, context);
  const [query, choices] = checkSent(sent, request.query, () => {
    const parsed = operation.parseQuery(sent.query);
    return [parsed, uploadChoices(parsed)] as const;
  });
  const admitted = sent.admitted ?? (await admitRequest(request, reply, context, undefined));
  requireScope(admitted.grants, scopeOf(query.if_exists));
  const table = tableRequestOf(request, context, admitted, query.schema);
  requireUploadScopes(query, choices, table.grants);
  checkSent(sent, request.query, () => operation.check(query, request.headers));
  const { schema, name } = table;
  const line = lineOf(request, context, operation, query);
  const body = bodyOfRequest(request, context, table.grants, line);
  const used = { profile: sent.profile?.used, parameters: sent.query };
  const facts = { operation: operation.name, schema, table: name, dryRun: query.dry_run, ...used };
  const begun = beginLoad(request, context, table, { ...body, facts, tag: sent.profile?.tag });
  const digest = digestOf(begun.run, begun.key?.digest, body.bytesReceived);
  return {
    ...table,
    ...choices,
    operation,
    query,
    sentQuery: sent.query,
    definition: sent.profile?.definition,
    ...begun,
    body: { ...body, digest, onFileName: noteFileOf(begun.run) },
    line,
  };
}

interface NewLoad {
  facts: Omit<LoadFacts, 'owner' | 'subject' | 'role' | 'bytesExpected'>;
  bytesReceived: () => number;
  /** What the idempotency key covers besides the request. */
  tag?: string | undefined;
}

/** Begins the load of a request, and returns what its description has of it. */
export function beginLoad(
  request: FastifyRequest,
  { records }: HttpContext,
  { grants, cancel }: Pick<TableRequest, 'grants' | 'cancel'>,
  { facts, bytesReceived, tag }: NewLoad,
): Pick<Upload, 'run' | 'key' | 'requestId' | 'log' | 'onLoaded'> {
  const { owner, subject, role } = grants;
  const length = request.headers['content-length'];
  const bytesExpected = length === undefined ? undefined : Number(length);
  const run = records.uploads.create(
    { ...facts, owner, subject, role, bytesExpected },
    { bytesReceived, isReceived: () => request.raw.complete },
  );
  const claimed = { claim: run.id, headers: { [loadIdHeader]: run.id } };
  const key = requestKeyOf(request, records, grants, claimed, tag);
  run.cancelled.addEventListener('abort', () => cancel(run.cancelled.reason));
  return {
    run,
    key,
    requestId: request.id,
    log: request.log,
    onLoaded: (change) => {
      factsOf(request).rows = change.rows;
      noteChange(request, change);
    },
  };
}

/** Returns the digest that the body computes, for its key and to compare its file with earlier ones; undefined: it needs none. */
export function digestOf(
  run: LoadRun,
  ofKey: BodyDigest | undefined,
  bytesReceived: () => number,
): BodyDigest | undefined {
  const { operation, bytesExpected } = run.facts;
  if (!isCompared(operation, bytesExpected)) return ofKey;
  const digest = ofKey ?? new BodyDigest();
  run.digest = () => (isCompared(operation, bytesReceived()) ? digest.file() : undefined);
  return digest;
}

/** Returns a function that notes the name of the file for the record of the load. */
export function noteFileOf(run: LoadRun): (name: string) => void {
  return (name) => {
    run.fileName = name || undefined;
  };
}

/** Requires the scopes for what an upload does, before its rows are read. @throws AppError `insufficient-scope` */
export function requireUploadScopes(query: UploadQuery, { missing }: UploadChoices, grants: Grants): void {
  requireScope(grants, scopeOf(query.if_exists));
  if (query.extra_columns === 'add') requireScope(grants, 'table:create');
  if (query.misfits !== 'fail') requireScope(grants, 'table:alter');
  if (missing !== undefined && missing.action !== 'keep') requireScope(grants, 'table:replace');
}

/** Returns the scope that an upload with this `if_exists` needs. */
function scopeOf(ifExists: UploadQuery['if_exists']): Scope {
  if (ifExists === 'append') return 'table:load';
  return ifExists === 'fail' ? 'table:create' : 'table:replace';
}

/** Returns the line for the upload. Small appends have their own line, so that they do not wait for large uploads. */
function lineOf(
  { headers }: FastifyRequest,
  { lines }: HttpContext,
  { name }: UploadOperation,
  { if_exists }: UploadQuery,
): WaitingLine {
  const { 'content-length': length, 'content-encoding': encoding } = headers;
  const isShort = length !== undefined && Number(length) <= maxSmallBytes && encoding === undefined;
  return isShort && name === 'upload-json' && if_exists === 'append' ? lines.smallUploads : lines.uploads;
}

/** Returns the body of a running request. @param line the line in which others may wait for this request to end */
export function bodyOfRequest(
  request: FastifyRequest,
  { config, lines, addresses }: HttpContext,
  grants: Grants,
  line: Pick<WaitingLine, 'isFull'> = lines.uploads,
): UploadBody {
  const othersWait = () => line.isFull;
  const limits = { ...config.limits, setting: 'MAX_BODY_BYTES', othersWait } as const;
  const schema = request.routeOptions.schema?.querystring as TObject | undefined;
  const parameters = Object.keys(schema?.properties ?? {});
  const facts = factsOf(request);
  let fetchedBytes = 0;
  const onBytes = (bytes: number) => {
    fetchedBytes += bytes;
  };
  return {
    headers: request.headers,
    parameters,
    digest: undefined,
    bytesReceived: () => (facts.bytes ?? 0) + fetchedBytes,
    chunks: (signal) => readBody(request, limits, signal),
    fetch: async (link, signal) => {
      requireScope(grants, 'load:from-url');
      const host = URL.parse(link)?.host;
      if (host !== undefined) facts.fetchedFrom = host;
      return fetchFile(link, { addresses, limits, onBytes }, signal);
    },
  };
}
