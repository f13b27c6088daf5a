/** The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): reads it, and answers repeated requests. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import type { ClaimedKey, KeyClaim } from '../../loads/idempotency-key.ts';
import { isLostKey } from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import { uuidV7 } from '../../loads/uuid-v7.ts';
import { requireRecords } from '../answers/load-answers.ts';
import { asAppError, keptProblem } from '../answers/problem-json.ts';
import type { HttpContext } from '../context.ts';
import type { BodyDigest } from '../wire/body-digest.ts';
import { ClientGone } from '../wire/request-body.ts';

const replayedHeader = 'idempotency-replayed';
const maxKeyLength = 255;

/**
 * Returns the key of the request; undefined: it has none.
 *
 * @throws AppError `invalid-parameter`; `not-enabled` if the service cannot keep keys
 */
export function idempotencyKeyOf({ headers }: FastifyRequest, context: HttpContext): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return undefined;
  requireRecords(context.loads);
  return checkedKey('Idempotency-Key', 'header', String(header));
}

/**
 * Returns the key that a header or a parameter of the query has.
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

/**
 * Answers a request whose key another request has.
 *
 * @param readBody reads the whole body into the digest
 * @throws AppError `idempotency-key-in-use`, `idempotency-key-reused`
 */
export async function answerRepeated(
  request: FastifyRequest,
  reply: FastifyReply,
  answered: KeyClaim['answered'],
  digest: BodyDigest,
  readBody: () => Promise<void>,
): Promise<Buffer> {
  if (answered === undefined) throw keyInUse();
  await readBody();
  if (digest.fingerprint(request)?.equals(answered.fingerprint) !== true) {
    throw new AppError(
      'idempotency-key-reused',
      'Another request was answered under this Idempotency-Key. Send a new key for a new request.',
    );
  }
  return replyWith(reply.header(replayedHeader, 'true'), answered.answer);
}

function keyInUse(): AppError {
  return new AppError(
    'idempotency-key-in-use',
    'A request with this Idempotency-Key is still running. Send the request again later to get its answer.',
    { headers: { 'retry-after': '1' } },
  );
}

/**
 * The codes of refusals that depend on the request alone, or that the caller must decide about. A repeated request gets the same
 * answer.
 */
const keptCodes = new Set(['table-exists', 'dependent-objects']);
const keptStatuses = new Set([400, 413, 422]);

/**
 * Keeps the answer to a failed request, or makes its key free. A request whose body was not read to its end is not kept. If the database does
 * not answer, the key stays with this process until its lease expires.
 *
 * @param headers more headers of the answer
 */
export async function endKey(
  key: ClaimedKey,
  error: unknown,
  requestId: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const known = error instanceof ClientGone ? undefined : asAppError(error);
  const isKept = known && (keptStatuses.has(known.status) || keptCodes.has(known.code));
  if (!isKept || key.fingerprint === undefined) {
    await key.release();
    return;
  }
  const answer = keptProblem(known, requestId);
  await key.keep({ ...answer, headers: { ...answer.headers, ...headers } }).catch(() => {});
}

/**
 * Does the work of a request with a key once, and answers.
 *
 * @param work gets the key, whose `commitStatement` its transaction must run
 */
export async function answerOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  { owner, key, digest }: { owner: Buffer; key: string; digest: BodyDigest },
  work: (key: ClaimedKey) => Promise<KeptAnswer>,
): Promise<Buffer> {
  const loads = requireRecords(context.loads);
  return loads.withKey(owner, key, uuidV7(), async ({ claimed, answered }) => {
    if (claimed === undefined) return answerRepeated(request, reply, answered, digest, async () => {});
    claimed.fingerprint = digest.fingerprint(request);
    try {
      return replyWith(reply, await work(claimed));
    } catch (thrown) {
      const error = asKeyError(thrown);
      await endKey(claimed, error, request.id);
      throw error;
    }
  });
}

/**
 * Sets the status and the headers of an answer that is kept, and returns its body for the handler to return. A handler that returned the
 * reply would end only when the client has read the answer, and would hold its key and its place in a line until then.
 */
export function replyWith(reply: FastifyReply, { status, headers, body }: KeptAnswer): Buffer {
  reply.code(status).headers(headers);
  return body;
}

/** Returns the error for the caller if the request lost its key, and every other error unchanged. */
export function asKeyError(error: unknown): unknown {
  return isLostKey(error) ? keyInUse() : error;
}
