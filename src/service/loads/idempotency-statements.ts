/** The statements for the table of idempotency keys. */

import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { refuseUnless } from '../../postgres/refuse-unless.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { asciiLiteral, bytesLiteral, type Statement } from '../../postgres/sql.ts';
import type { KeptAnswer } from './load-record.ts';
import { hasRenewed } from './process-statements.ts';

/** How long a key is kept. */
const keyHours = 24;

/** One claim of a key by a request. */
export interface ClaimedKeyRow {
  owner: Buffer;
  key: string;
  /** Identifies the claim. It is the id of the load, if the request is an upload. */
  claim: string;
}

const isOld = `known.created_at < clock_timestamp() - make_interval(hours => ${keyHours})`;

/**
 * Claims a key. It returns no row if another request has the key: an answered request that claimed it less than 24 hours ago, a
 * request in `running`, or a request of another process whose lease has not expired. It does not wait for a locked row, because a
 * transaction of the other request may be storing its answer, and its COMMIT may take long if the table has slow triggers.
 *
 * @param lease the lease of the process in which the request runs
 * @param running the claims of the requests that run in this process
 */
export function claimKey(
  { quoted }: ServiceSchema,
  { owner, key, claim }: ClaimedKeyRow,
  { process, seconds }: { process: string; seconds: number },
  running: string[],
): Statement {
  return {
    text: `WITH found AS MATERIALIZED (SELECT FROM ${quoted}.idempotency_keys WHERE owner = $1 AND key = $2),
        unlocked AS MATERIALIZED (
          SELECT FROM ${quoted}.idempotency_keys WHERE owner = $1 AND key = $2 FOR UPDATE SKIP LOCKED)
      INSERT INTO ${quoted}.idempotency_keys AS known (owner, key, process, load)
      SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM found) OR EXISTS (SELECT FROM unlocked)
      ON CONFLICT (owner, key) DO UPDATE SET process = excluded.process, load = excluded.load, fingerprint = NULL,
        created_at = clock_timestamp(), answer_status = NULL, answer_headers = NULL, answer_body = NULL
      WHERE CASE WHEN known.answer_status IS NOT NULL THEN ${isOld}
        WHEN known.process = $3 THEN known.load <> ALL ($6::uuid[])
        ELSE NOT ${isAlive(quoted, '$5')} END
      RETURNING key`,
    values: [owner, key, process, claim, seconds, running],
  };
}

/** Reads the answer of a key. */
export function readKey({ quoted }: ServiceSchema, owner: Buffer, key: string): Statement {
  return {
    text: `SELECT fingerprint, answer_status AS status, answer_headers AS headers, answer_body AS body
      FROM ${quoted}.idempotency_keys WHERE owner = $1 AND key = $2`,
    values: [owner, key],
  };
}

/**
 * Returns the statement that stores the answer of a key. It has no values and only ASCII characters. If the request no longer has
 * the key, the statement fails, and its transaction with it.
 */
export function answerKey(
  { quoted }: ServiceSchema,
  { owner, key, claim }: ClaimedKeyRow,
  fingerprint: Buffer,
  { status, headers, body }: KeptAnswer,
): CallersStatement {
  return qualified`WITH written AS (
    UPDATE ${quoted}.idempotency_keys SET fingerprint = ${bytesLiteral(fingerprint)}, answer_status = ${Math.trunc(status)},
      answer_headers = ${asciiLiteral(JSON.stringify(headers))}::pg_catalog.jsonb, answer_body = ${bytesLiteral(body)}
    WHERE owner OPERATOR(pg_catalog.=) ${bytesLiteral(owner)} AND key OPERATOR(pg_catalog.=) ${asciiLiteral(key)}
      AND load OPERATOR(pg_catalog.=) '${claim}'::pg_catalog.uuid AND answer_status IS NULL RETURNING key)
  ${refuseUnless('EXISTS (SELECT FROM written)', 'another request has the idempotency key')}`;
}

/** Replaces the body of a stored answer. */
export function amendKey(
  { quoted }: ServiceSchema,
  { owner, key, claim }: ClaimedKeyRow,
  body: Buffer,
): Statement {
  return {
    text: `UPDATE ${quoted}.idempotency_keys SET answer_body = $4 WHERE owner = $1
      AND key = $2 AND load = $3 AND answer_status IS NOT NULL`,
    values: [owner, key, claim, body],
  };
}

/** Releases a key that has no answer. */
export function releaseKey({ quoted }: ServiceSchema, { owner, key, claim }: ClaimedKeyRow): Statement {
  return {
    text: `DELETE FROM ${quoted}.idempotency_keys WHERE owner = $1 AND key = $2
      AND load = $3 AND answer_status IS NULL`,
    values: [owner, key, claim],
  };
}

/**
 * Removes keys whose retention time has passed, unless their requests still run. There is a maximum for one statement. It returns
 * `RemovedRows`, whose `last` is a time.
 */
export function removeOldKeys(
  { quoted }: ServiceSchema,
  leaseSeconds: number,
  atMost: number,
  from: string,
): Statement {
  return {
    text: `WITH removed AS (DELETE FROM ${quoted}.idempotency_keys WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${quoted}.idempotency_keys known
      WHERE known.created_at >= $3 AND ${isOld} AND (answer_status IS NOT NULL OR NOT ${isAlive(quoted, '$1')})
      ORDER BY known.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING created_at)
      SELECT count(*)::int4 AS count, max(created_at)::text AS last FROM removed`,
    values: [leaseSeconds, atMost, from],
  };
}

/** Returns the condition that the process that has the key has renewed its lease in time. */
function isAlive(quoted: string, leaseSeconds: string): string {
  return `EXISTS (SELECT FROM ${quoted}.processes p
    WHERE p.id = known.process AND ${hasRenewed('p', `secs => ${leaseSeconds}`)})`;
}
