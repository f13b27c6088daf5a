/** The lease of this process in the database. As long as the process renews it, other processes leave its loads and keys alone. */
import { randomUUID } from 'node:crypto';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import type { Statement } from '../postgres/sql.ts';
import { renewLease } from './process-statements.ts';

export class Lease {
  /** Identifies this process. */
  readonly process = randomUUID();
  /** How long other processes assume that this process runs after it has renewed its lease. */
  readonly ms: number;
  readonly #schema: ServiceSchema;
  #renewedAtMs = Number.NEGATIVE_INFINITY;

  constructor(schema: ServiceSchema, ms: number) {
    this.#schema = schema;
    this.ms = ms;
  }

  get seconds(): number {
    return this.ms / 1000;
  }

  /** Whether it is time to renew the lease. */
  get isDue(): boolean {
    return performance.now() - this.#renewedAtMs > this.ms / 3;
  }

  /** Returns the statement that renews the lease. */
  renewal(): Statement {
    return renewLease(this.#schema, this.process);
  }

  /** Call this when the statement has been executed. @param sinceMs when it was sent */
  renewed(sinceMs: number): void {
    this.#renewedAtMs = sinceMs;
  }
}
