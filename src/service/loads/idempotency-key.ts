/** A request with an idempotency key does its work once, however often it is sent. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { CallersStatement } from '../postgres/callers-statement.ts';
import { wasRefused } from '../postgres/refuse-unless.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { runStatement, runStatements } from '../postgres/transaction.ts';
import {
  amendKey,
  answerKey,
  type ClaimedKeyRow,
  claimKey,
  readKey,
  releaseKey,
} from './idempotency-statements.ts';
import type { KeptAnswer } from './load-record.ts';

/** The result of a request for a key. */
export type KeyClaim =
  | { claimed: ClaimedKey; answered?: undefined }
  /** Another request with the key still runs. */
  | { claimed?: undefined; answered?: undefined }
  /** Another request with the key was answered. */
  | { claimed?: undefined; answered: { fingerprint: Buffer; answer: KeptAnswer } };

/** The pauses before more attempts to make a key free, if the database does not answer. */
const releasePausesMs = [1000, 5000, 30_000, 300_000];

/**
 * Claims a key for a request.
 *
 * @param running the claims of the requests that run in this process, with this one
 * @throws PostgreSQL's errors
 */
export async function claimIdempotencyKey(
  pool: Pool,
  schema: ServiceSchema,
  row: ClaimedKeyRow,
  leaseSeconds: number,
  running: string[],
): Promise<KeyClaim> {
  const statements = [
    // If PostgreSQL crashes and loses the claim, the work of the request is lost, too.
    'SET LOCAL synchronous_commit TO off',
    claimKey(schema, row, leaseSeconds, running),
    readKey(schema, row.owner, row.key),
  ];
  const [claimed, found] = (await runStatements(pool, statements)).slice(-2);
  if (claimed!.rows.length > 0) return { claimed: new ClaimedKey(pool, schema, row) };
  const [known] = found!.rows;
  // At this moment the other request was answered with an error that is not kept. The caller may try again at once.
  if (known === undefined || known.status === null) return {};
  const { fingerprint, status, headers, body } = known;
  return { answered: { fingerprint, answer: { status, headers, body } } };
}

/** Returns whether a transaction was refused because its request no longer has the key. */
export function isLostKey(error: unknown): boolean {
  return wasRefused(error, 'another request has the idempotency key');
}

/** The key of a request that runs. */
export class ClaimedKey {
  /** The digest of the request, as soon as its body has arrived. */
  fingerprint: Buffer | undefined;
  readonly #pool: Pool;
  readonly #schema: ServiceSchema;
  readonly #row: ClaimedKeyRow;

  constructor(pool: Pool, schema: ServiceSchema, row: ClaimedKeyRow) {
    this.#pool = pool;
    this.#schema = schema;
    this.#row = row;
  }

  /** Returns the statement that keeps the answer, for the transaction that does the work. */
  commitStatement(answer: KeptAnswer): CallersStatement {
    if (this.fingerprint === undefined) throw new Error('the body has not arrived');
    return answerKey(this.#schema, this.#row, this.fingerprint, answer);
  }

  /** Keeps the answer of a request that has changed nothing. */
  async keep(answer: KeptAnswer): Promise<void> {
    await runStatements(this.#pool, [this.commitStatement(answer)]);
  }

  /** Replaces the body of the answer that the transaction has kept, because something became known only after the commit. */
  async amend({ body }: KeptAnswer): Promise<void> {
    await runStatement(this.#pool, amendKey(this.#schema, this.#row, body));
  }

  /**
   * Makes the key free, so that the request can be sent again. It has no effect on a key with an answer. If the database does not answer,
   * more attempts follow later.
   */
  async release(): Promise<void> {
    await this.#tryToRelease().catch(() => {
      void this.#releaseLater();
    });
  }

  async #tryToRelease(): Promise<void> {
    await runStatements(this.#pool, [releaseKey(this.#schema, this.#row)]);
  }

  async #releaseLater(): Promise<void> {
    for (const pauseMs of releasePausesMs) {
      await sleep(pauseMs, undefined, { ref: false });
      const isFree = await this.#tryToRelease().then(
        () => true,
        () => false,
      );
      if (isFree) return;
    }
  }
}
