/** The states of a service: it starts, perhaps waits for its database, is ready, and ends. */
import { AppError } from '../../core/errors.ts';

export class ServiceState {
  #phase: 'starting' | 'waiting' | 'ready' | 'ending' = 'starting';
  readonly #ready = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<string>();
  readonly #ending = new AbortController();
  readonly #stopping = new AbortController();

  /** False while the service starts and ends. */
  get isReady(): boolean {
    return this.#phase === 'ready';
  }

  /** True while the service listens, but waits for its database. */
  get isWaiting(): boolean {
    return this.#phase === 'waiting';
  }

  /** Resolves when the service has completely started. */
  get whenReady(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves with the reason when no request can succeed any more. */
  get whenFailed(): Promise<string> {
    return this.#failed.promise;
  }

  /** Aborted when the end of the service begins. Requests may continue for the grace period. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Aborted when the service must end the running requests. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  waitForDatabase(): void {
    this.#phase = 'waiting';
  }

  /** Call this when the database is ready. Requests are accepted from now on. */
  acceptRequests(): void {
    this.#phase = 'ready';
  }

  /** Resolves `whenReady`. */
  announceReady(): void {
    this.#ready.resolve();
  }

  /** Resolves `whenFailed`. */
  fail(reason: string): void {
    this.#failed.resolve(reason);
  }

  /** Accepts no more requests. */
  beginEnd(): void {
    this.#phase = 'ending';
    this.#ending.abort(shuttingDown());
  }

  /** Ends the requests and the asynchronous loads that still run. It can be called again. */
  endRequests(): void {
    this.#stopping.abort(shuttingDown());
  }
}

function shuttingDown(): AppError {
  const detail = 'The service is stopping; nothing was changed. Send the request again later.';
  return new AppError('shutting-down', detail, { headers: { 'retry-after': '10' } });
}
