/** The messages between the primary process and its workers. */

/** The facts that a worker gets from the primary process before it starts the service. */
export interface StartFacts {
  /** The number of the worker, from 1 on. A worker that replaces another one has the same number. */
  number: number;
  /** The URL of the embedded PostgreSQL, which the primary process has started; undefined: DATABASE_URL names the database. */
  databaseUrl: string | undefined;
  /** The ids of the leases of dead workers, so that the new worker can end these leases. */
  deadLeases: string[];
}

export interface ListeningFacts {
  url: string;
  /** The worker listens, but waits for its database. */
  isWaiting: boolean;
}

export type ToWorker =
  | ({ kind: 'start' } & StartFacts)
  | { kind: 'read-metrics'; request: number }
  | { kind: 'stop'; cause: string | undefined };

export type ToPrimary =
  /** The worker can receive messages. */
  | { kind: 'begun' }
  | ({ kind: 'listening' } & ListeningFacts)
  /** The worker is ready. `lease` is the id of its lease, if the service keeps records. */
  | { kind: 'ready'; lease: string | undefined }
  | { kind: 'metrics'; request: number; text: string }
  /** The worker cannot start or continue, for a reason that would stop every worker. It ends. */
  | { kind: 'failed'; detail: string };
