/** The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): reads it, and answers repeated requests. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import {
  type AnswerKeeper,
  type ClaimedKey,
  isLostKey,
  noKey,
  type RequestKey,
} from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { Records } from '../../loads/records.ts';
import { uuidV7 } from '../../loads/uuid-v7.ts';
import { asAppError, keptProblem } from '../answers/problem-json.ts';
import type { Grants } from '../tokens/auth.ts';
import { BodyDigest } from '../wire/body-digest.ts';
import { ClientGone } from '../wire/request-body.ts';

const replayedHeader = 'idempotency-replayed';
const maxKeyLength = 255;

/** A key with the digest that the body of its request computes while it is read. */
export type DigestedKey = RequestKey & { digest: BodyDigest };

/**
 * Returns the key of the request; undefined: it has none.
 *
 * @param also what belongs to the request besides its URL and body
 * @throws AppError `invalid-parameter`; `not-enabled` if the service cannot store keys
 */
export function requestKeyOf(
  request: FastifyRequest,
  records: Records,
  grants: Grants,
  claimed: Omit<RequestKey, 'key' | 'digest' | 'owner'>,
  also = '',
): DigestedKey | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  records.require();
  const key = checkedKey('Idempotency-Key', 'header', String(header));
  return { ...claimed, owner: grants.owner, key, digest: new BodyDigest(request, also + rightsOf(grants)) };
}

/**
 * Returns the rights that decide which values of a table an answer shows. They belong to the request, so a token of the same subject with
 * other rights does not get its answer. Nothing is added for `table:read` without the claims `role` and `schemas`, so that keys of older
 * versions remain valid.
 */
function rightsOf({ scopes, role, schemas }: Grants): string {
  return [
    scopes.has('table:read') ? '' : '\0without table:read',
    role === undefined ? '' : `\0role ${role}`,
    schemas === undefined ? '' : `\0schemas ${[...schemas].sort().join()}`,
  ].join('');
}

/**
 * Checks a key from a header or a query parameter, and returns it without quotes.
 *
 * @throws AppError `invalid-parameter`
 */
export function checkedKey(name: string, place: 'header' | 'query parameter', value: string): string {
  // The draft requires a string in quotes (RFC 9651 section 3.3.3). Most clients send the key without quotes.
  const key = value.replace(/^"(.*)"$/, '$1');
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= maxKeyLength) return key;
  const detail = `The ${place} ${name} must be 1 to ${maxKeyLength} visible ASCII characters, such as a UUID.`;
  throw wrongParameter(name, detail, { value: key });
}

function keyReused(): AppError {
  return new AppError(
    'idempotency-key-reused',
    'Another request was answered under this Idempotency-Key, or the same one with other rights (table:read, role, schemas). Send a new key for a new request.',
  );
}

function keyInUse(): AppError {
  return new AppError(
    'idempotency-key-in-use',
    'A request with this Idempotency-Key is still running. Send the request again later to get its answer.',
    { headers: { 'retry-after': '1' } },
  );
}

/**
 * The codes of refusals whose answers are stored, so that a repeated request gets the same answer: those that depend on the request
 * alone, or that the caller must decide about.
 */
const keptCodes = new Set(['table-exists', 'dependent-objects']);
const keptStatuses = new Set([400, 413, 422]);

/** The codes of refusals that depend on the password. Their answers are not stored: the password is not part of the digest, so the same key must allow another password. */
const passwordCodes = new Set(['password-required', 'wrong-password']);

/**
 * Stores the answer to a failed request, or releases its key. Nothing is stored if the body was not read to its end. If the
 * database does not answer, the key remains in use until the lease of this process expires.
 */
async function endKey(key: ClaimedKey, error: unknown, requestId: string): Promise<void> {
  const known = error instanceof ClientGone ? undefined : asAppError(error);
  const isKept = known && (keptStatuses.has(known.status) || keptCodes.has(known.code));
  const canKeep = isKept && !passwordCodes.has(known.code) && key.isBodyRead;
  if (canKeep) await key.keep(keptProblem(known, requestId)).catch(() => {});
  else await key.release();
}

/** A request that does its work once, however often it is sent. */
export interface RequestOnce {
  /** undefined: it has no key, so it does its work each time. */
  key: DigestedKey | undefined;
  requestId: string;
  /** Reads the whole body, if the request is a repeated one, to compute its digest. */
  readBody: () => Promise<void>;
}

/**
 * Does the work of a request once, and answers. If another request has used the key, it returns the answer to that request.
 *
 * @param work its transaction must run the statements of the keeper
 * @throws AppError `idempotency-key-in-use`, `idempotency-key-reused`; the errors of the work
 */
export async function answerOnce(
  reply: FastifyReply,
  records: Records,
  { key, requestId, readBody }: RequestOnce,
  work: (keeper: AnswerKeeper) => Promise<KeptAnswer>,
): Promise<Buffer> {
  if (key === undefined) return replyWith(reply, await work(noKey));
  return records.require().loads.withKey(key, async ({ claimed, answered }) => {
    if (claimed === undefined) {
      if (answered === undefined) throw keyInUse();
      await readBody();
      if (key.digest.fingerprint()?.equals(answered.fingerprint) !== true) throw keyReused();
      return replyWith(reply.header(replayedHeader, 'true'), answered.answer);
    }
    try {
      return replyWith(reply, await work(claimed));
    } catch (thrown) {
      const error = asKeyError(thrown);
      await endKey(claimed, error, requestId);
      throw error;
    }
  });
}

/** Answers a request whose body `text` is known once, as `answerOnce` does. */
export function answerTextOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  records: Records,
  { grants, text }: { grants: Grants; text: Buffer },
  work: (keeper: AnswerKeeper) => Promise<KeptAnswer>,
): Promise<Buffer> {
  const key = requestKeyOf(request, records, grants, { claim: uuidV7() });
  key?.digest.addWhole(text);
  return answerOnce(reply, records, { key, requestId: request.id, readBody: async () => {} }, work);
}

/**
 * Sets the status and the headers of a stored answer, and returns its body for the handler to return. A handler that returned the
 * reply itself would end only when the client has read the answer, and would hold its key and its place in a line until then.
 */
function replyWith(reply: FastifyReply, { status, headers, body }: KeptAnswer): Buffer {
  reply.code(status).headers(headers);
  return body;
}

/** Returns the error for the caller if the request has lost its key to another request; otherwise the same error. */
export function asKeyError(error: unknown): unknown {
  return isLostKey(error) ? keyInUse() : error;
}
