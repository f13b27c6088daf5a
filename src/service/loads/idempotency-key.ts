/** A request with an idempotency key does its work once, however often it is sent. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { CallersStatement } from '../../postgres/callers-statement.ts';
import { wasRefused } from '../../postgres/refuse-unless.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { runStatement, runStatements } from '../../postgres/transaction.ts';
import {
  amendKey,
  answerKey,
  type ClaimedKeyRow,
  claimKey,
  readKey,
  releaseKey,
} from './idempotency-statements.ts';
import type { Lease } from './lease.ts';
import type { KeptAnswer } from './load-record.ts';

/** The key of a request, and what is stored under it. */
export interface RequestKey extends ClaimedKeyRow {
  /** Returns the digest of the request; undefined: its body was not read to its end. */
  digest: { fingerprint(): Buffer | undefined };
  /** The headers that are stored with every answer. */
  headers?: Record<string, string>;
}

/** Stores the answer of a request under its key. */
export interface AnswerKeeper {
  /** Returns the statements that store the answer. They run in the transaction that does the work. */
  commitStatements(answer: () => KeptAnswer): CallersStatement[];
  /** Stores the answer of a request that has changed nothing. */
  keep(answer: KeptAnswer): Promise<void>;
  /** Replaces the body of the answer that the transaction has stored, because a warning was found only after the COMMIT. */
  amend(answer: KeptAnswer): Promise<void>;
}

/** Stores nothing, because the request has no key. */
export const noKey: AnswerKeeper = {
  commitStatements: () => [],
  keep: async () => {},
  amend: async () => {},
};

/** The result of a request for a key. */
export type KeyClaim =
  | { claimed: ClaimedKey; answered?: undefined }
  /** Another request with the key is still running, or has just ended with an error that is not stored. */
  | { claimed?: undefined; answered?: undefined }
  /** Another request with the key was answered already. */
  | { claimed?: undefined; answered: { fingerprint: Buffer; answer: KeptAnswer } };

/** The pauses before further attempts to release a key, if the database does not answer. */
const releasePausesMs = [1000, 5000, 30_000, 300_000];

/**
 * Claims a key for a request, so that no other request with the key can run at the same time.
 *
 * @param running the claims of all requests that run in this process, including this one
 * @throws PostgreSQL's errors
 */
export async function claimIdempotencyKey(
  pool: Pool,
  schema: ServiceSchema,
  key: RequestKey,
  lease: Pick<Lease, 'process' | 'seconds'>,
  running: string[],
): Promise<KeyClaim> {
  const statements = [
    // If PostgreSQL crashes and loses the claim, the work of the request is lost, too.
    'SET LOCAL synchronous_commit TO off',
    claimKey(schema, key, lease, running),
    readKey(schema, key.owner, key.key),
  ];
  const [claimed, found] = (await runStatements(pool, statements)).slice(-2);
  if (claimed!.rows.length > 0) return { claimed: new ClaimedKey(pool, schema, key) };
  const [known] = found!.rows;
  // Between the two statements, the other request ended with an error that is not stored. The caller may try again at once.
  if (known === undefined || known.status === null) return {};
  const { fingerprint, status, headers, body } = known;
  return { answered: { fingerprint, answer: { status, headers, body } } };
}

/** Returns whether a transaction was refused because its request no longer has the key. */
export function isLostKey(error: unknown): boolean {
  return wasRefused(error, 'another request has the idempotency key');
}

/** The key of a request that runs. */
export class ClaimedKey implements AnswerKeeper {
  readonly #pool: Pool;
  readonly #schema: ServiceSchema;
  readonly #key: RequestKey;

  constructor(pool: Pool, schema: ServiceSchema, key: RequestKey) {
    this.#pool = pool;
    this.#schema = schema;
    this.#key = key;
  }

  /** Whether the body of the request was read to its end. Otherwise the request has no digest, and its answer cannot be stored. */
  get isBodyRead(): boolean {
    return this.#key.digest.fingerprint() !== undefined;
  }

  commitStatements(answer: () => KeptAnswer): CallersStatement[] {
    const fingerprint = this.#key.digest.fingerprint();
    if (fingerprint === undefined) throw new Error('the body has not arrived');
    const kept = answer();
    const headers = { ...kept.headers, ...this.#key.headers };
    return [answerKey(this.#schema, this.#key, fingerprint, { ...kept, headers })];
  }

  async keep(answer: KeptAnswer): Promise<void> {
    await runStatements(
      this.#pool,
      this.commitStatements(() => answer),
    );
  }

  async amend({ body }: KeptAnswer): Promise<void> {
    await runStatement(this.#pool, amendKey(this.#schema, this.#key, body));
  }

  /**
   * Releases the key, so that the request can be sent again. It has no effect on a key with an answer. If the database does not
   * answer, it is tried again later.
   */
  async release(): Promise<void> {
    await this.#tryToRelease().catch(() => {
      void this.#releaseLater();
    });
  }

  async #tryToRelease(): Promise<void> {
    await runStatements(this.#pool, [releaseKey(this.#schema, this.#key)]);
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
