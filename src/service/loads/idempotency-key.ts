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
import type { Lease } from './lease.ts';
import type { KeptAnswer } from './load-record.ts';

/** The key of a request, and what is kept under it. */
export interface RequestKey extends ClaimedKeyRow {
  /** Returns the digest of the request; undefined: its body has not been read to its end. */
  digest: { fingerprint(): Buffer | undefined };
  /** The headers that are kept with every answer. */
  headers?: Record<string, string>;
}

/** Keeps the answer of a request under its key. */
export interface AnswerKeeper {
  /** Returns the statements that keep the answer, for the transaction that does the work. */
  commitStatements(answer: () => KeptAnswer): CallersStatement[];
  /** Keeps the answer of a request that has changed nothing. */
  keep(answer: KeptAnswer): Promise<void>;
  /** Replaces the body of the answer that the transaction has kept, because something became known only after the commit. */
  amend(answer: KeptAnswer): Promise<void>;
}

/** Keeps nothing, because the request has no key. */
export const noKey: AnswerKeeper = {
  commitStatements: () => [],
  keep: async () => {},
  amend: async () => {},
};

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
export class ClaimedKey implements AnswerKeeper {
  readonly #pool: Pool;
  readonly #schema: ServiceSchema;
  readonly #key: RequestKey;

  constructor(pool: Pool, schema: ServiceSchema, key: RequestKey) {
    this.#pool = pool;
    this.#schema = schema;
    this.#key = key;
  }

  /** Whether the body of the request was read to its end. Otherwise no answer can be kept. */
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
   * Makes the key free, so that the request can be sent again. It has no effect on a key with an answer. If the database does not answer,
   * more attempts follow later.
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
