/**
 * The parts that all table endpoints share: path, `schema`, token and permission, and what happens when the client disconnects.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { checkTableName, refuseSystemSchema } from '../../../core/identifiers.ts';
import type { TransactionOptions } from '../../../postgres/transaction.ts';
import { type HttpContext, requireReady } from '../context.ts';
import { factsOf } from '../observing/access-log.ts';
import { authenticate, type Grants, requireSchema, requireScope, type Scope } from '../tokens/auth.ts';
import { invalidToken } from '../tokens/invalid-token.ts';
import { eitherSignal } from '../wire/either-signal.ts';
import { ClientGone } from '../wire/request-body.ts';
import { whenClosed } from '../wire/when-closed.ts';

export const TablePath = Type.Object({
  table_name: Type.String({
    description:
      'The name of the table: a PostgreSQL identifier of 1 to 63 bytes, case-sensitive and used exactly as written.',
    examples: ['orders'],
  }),
});

export const schemaParameter = Type.String({
  default: 'public',
  description: 'The schema of the table.',
  examples: ['public'],
});

export interface TableRequest extends AdmittedRequest {
  schema: string;
  name: string;
  /** The options with which the transactions of this request begin. */
  transaction: TransactionOptions;
}

export interface AdmittedRequest {
  grants: Grants;
  /** When the token ends, in milliseconds since 1970. A stream of events ends then, too. */
  validUntilMs: number;
  /** The key of the token's subject, by which requests and uploads are limited. */
  caller: string;
  /** Aborted when the client disconnects, the service stops or `cancel` is called. Running transactions are then rolled back. */
  signal: AbortSignal;
  cancel: (reason: unknown) => void;
}

/**
 * Admits a request: checks that the service is ready, the token and the scope.
 *
 * @param scope undefined: no scope is needed
 * @throws AppError 401, 403, `too-many-requests`, `token-keys-unavailable`, `shutting-down`, `database-unavailable`
 */
export async function admitRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  scope: Scope | undefined,
): Promise<AdmittedRequest> {
  requireReady(context);
  refuseSecondToken(request.raw.rawHeaders);
  const { config } = context;
  const { validUntilMs, ...granted } = await authenticate(request.headers.authorization, context.tokens);
  const { requireRole, roleClaim } = config.tokens;
  if (requireRole && granted.role === undefined) throw roleRequired(roleClaim);
  const grants = { ...granted, serviceSchema: config.database.serviceSchema };
  const caller = identifyCaller(request, grants);
  await context.quotas.admit(request, reply, caller);
  if (scope !== undefined) requireScope(grants, scope);
  return { grants, validUntilMs, caller, ...abortSignalOf(reply, context.stopping) };
}

/**
 * Returns the key under which the requests of a token's subject are counted, and adds the caller to the facts of the request. A token
 * without the claim `sub` is counted by itself.
 */
function identifyCaller(
  request: FastifyRequest,
  { subject, role }: { subject: string | undefined; role: string | undefined },
): string {
  const facts = factsOf(request);
  if (role !== undefined) facts.role = role;
  if (subject !== undefined) {
    facts.subject = subject;
    return `subject ${subject}`;
  }
  facts.tokenDigest = digestOf(request.headers.authorization ?? '');
  return `token ${facts.tokenDigest}`;
}

/**
 * Returns 16 hexadecimal digits of the hash of the token's signed part. The signature is left out, because some signatures can be
 * changed and remain valid, which would give the same token several digests.
 */
function digestOf(authorization: string): string {
  const token = authorization.trimEnd().split(' ').at(-1)!;
  const signed = token.slice(0, token.lastIndexOf('.'));
  return createHash('sha256').update(signed).digest('hex').slice(0, 16);
}

function roleRequired(claim: string): AppError {
  const detail = `The access token has no claim "${claim}". This service requires one (REQUIRE_ROLE).`;
  return invalidToken(detail, 'claim');
}

/**
 * Refuses a second `Authorization` header, because Node uses the first one, but a proxy in front of the service may have
 * checked the other.
 */
function refuseSecondToken(rawHeaders: string[]): void {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.filter((name) => name.toLowerCase() === 'authorization').length < 2) return;
  throw new AppError('invalid-request', 'The request has more than one Authorization header. Send one.');
}

/**
 * Admits a request for a table: does the checks of `admitRequest`, and checks the names of schema and table.
 *
 * @throws AppError 401, 403, `too-many-requests`, `invalid-parameter`, `shutting-down`
 */
export async function admitTableRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  schema: string,
  scope: Scope,
): Promise<TableRequest> {
  const admitted = await admitRequest(request, reply, context, scope);
  return tableRequestOf(request, context, admitted, schema);
}

/** Checks the names of schema and table of an admitted request. @throws AppError `invalid-parameter`, `schema-forbidden` */
export function tableRequestOf(
  request: FastifyRequest,
  context: HttpContext,
  admitted: AdmittedRequest,
  schema: string,
): TableRequest {
  const { grants, signal } = admitted;
  const { table_name: name } = request.params as { table_name: string };
  Object.assign(factsOf(request), { schema, table: name });
  admitTable(grants, schema, name);
  const { statementTimeoutMs, lockTimeoutMs } = context.config.database;
  const transaction = { role: grants.role, statementTimeoutMs, lockTimeoutMs, signal };
  return { ...admitted, schema, name, transaction };
}

/** Checks the names of a table and of its schema. @throws AppError `invalid-parameter`, `schema-forbidden` */
export function admitTable(grants: Grants, schema: string, name: string): void {
  refuseDotSegment(name);
  checkTableName(schema, name);
  refuseSystemSchema(schema);
  requireSchema(grants, schema);
}

/** Returns the path of the table, for the header `Location` after its creation (RFC 9110 section 10.2.2). */
export function tableLocation({ schema, name }: { schema: string; name: string }): string {
  return `/api/v1/table/${encodeURIComponent(name)}?schema=${encodeURIComponent(schema)}`;
}

/**
 * Refuses the names `.` and `..`. In a path they mean folders (RFC 3986 section 5.2.4) in every encoding (WHATWG URL, "double-dot URL path
 * segment"), so clients that follow these standards could not address such a table.
 */
function refuseDotSegment(name: string): void {
  if (name !== '.' && name !== '..') return;
  const detail = `A table cannot be named "${name}" here: in a URL this means a folder, so most clients could not address the table.`;
  throw wrongParameter('table_name', detail, { code: 'invalid-name', value: name });
}

/** Returns a signal that is aborted when the client disconnects before the answer or the service stops. */
function abortSignalOf(
  reply: FastifyReply,
  stopping: AbortSignal,
): Pick<AdmittedRequest, 'signal' | 'cancel'> {
  const leaving = new AbortController();
  const { signal, release } = eitherSignal(stopping, leaving.signal);
  whenClosed(reply.raw, () => {
    release();
    if (!reply.raw.writableFinished) leaving.abort(new ClientGone());
  });
  return { signal, cancel: (reason) => leaving.abort(reason) };
}
