/** Logs why the service is not ready at its start, that it stops, and how that ended. */

import type { Log } from '../../postgres/log.ts';
import type { TableServer } from '../http/server.ts';
import { reasonAndRemedy } from './start-failure.ts';

/** The message of the log line about an error that nothing has handled. */
export const unhandledError = 'An error was not handled. The service stops, because its state is unknown';

/** How often the log repeats that the database cannot be reached, if the reason has not changed. */
const sameReasonMs = 60_000;

/** Logs why the service waits for its database: each new reason, and the same reason from time to time. */
export class AwayLog {
  /** Resolves when the database could not be reached for the first time. */
  readonly first: Promise<void>;
  isAway = false;
  readonly #log: Log;
  readonly #beganAtMs = performance.now();
  readonly #noteFirst: () => void;
  #reason = '';
  #loggedAtMs = 0;

  constructor(log: Log) {
    this.#log = log;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.first = promise;
    this.#noteFirst = resolve;
  }

  note(error: Error): void {
    this.isAway = true;
    this.#noteFirst();
    const { reason, remedy } = reasonAndRemedy(error);
    const now = performance.now();
    if (reason === this.#reason && now - this.#loggedAtMs < sameReasonMs) return;
    this.#reason = reason;
    this.#loggedAtMs = now;
    this.#log.warn(
      { reason, remedy },
      'The database cannot be used. The service waits for it, and answers 503 meanwhile',
    );
  }

  /** Call this when the database can be reached. */
  end(): void {
    if (!this.isAway) return;
    this.isAway = false;
    const seconds = Math.round((performance.now() - this.#beganAtMs) / 1000);
    this.#log.info({ seconds }, 'The database can be used. The service is ready');
  }
}

/** Logs that the service stops, and how that ended. */
export class StopLog {
  readonly #log: Log;
  readonly #server: Pick<TableServer, 'runningRequests'>;
  readonly #beganAtMs = performance.now();
  #endedEarly = 0;

  constructor(
    log: Log,
    server: Pick<TableServer, 'runningRequests'>,
    { cause, graceMs }: { cause: string | undefined; graceMs: number },
  ) {
    this.#log = log;
    this.#server = server;
    log.info({ cause, running: server.runningRequests(), graceMs }, 'The service is stopping');
  }

  /** Call this when the grace period is over and the requests that still run are stopped. */
  graceEnded(): void {
    this.#endedEarly = this.#server.runningRequests();
    if (this.#endedEarly === 0) return;
    this.#log.warn(
      { running: this.#endedEarly },
      'SHUTDOWN_GRACE_MS has passed. The requests that still run are rolled back',
    );
  }

  /** @param connectionsHaveEnded false: the database did not answer in time */
  ended(connectionsHaveEnded: boolean): void {
    const durationMs = Math.round(performance.now() - this.#beganAtMs);
    const facts = { durationMs, rolledBack: this.#endedEarly };
    if (connectionsHaveEnded) this.#log.info(facts, 'The service has stopped');
    else
      this.#log.warn(
        facts,
        'The service has stopped. Connections to the database did not end in time and were closed',
      );
  }
}
