/** The first opening of the database: the service listens without it if it is not there soon. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../postgres/log.ts';
import { whenDatabaseIsThere } from '../postgres/wait-for-database.ts';
import { AwayLog } from './life-log.ts';

/** The longest time at the start before the service listens although the database has not answered. */
const firstAnswerMs = 10_000;

export class FirstOpening {
  /** Resolves when the database was opened. Rejects if it refuses the service, or if the service ends before. */
  readonly opened: Promise<void>;
  readonly #away: AwayLog;
  readonly #isEmbedded: boolean;

  /** @param open is called again while the database is away, until the signal is aborted. An embedded database is never away */
  constructor(
    open: () => Promise<void>,
    { isEmbedded, signal, log }: { isEmbedded: boolean; signal: AbortSignal; log: Log },
  ) {
    this.#isEmbedded = isEmbedded;
    this.#away = new AwayLog(log);
    const onAway = (error: Error): void => this.#away.note(error);
    this.opened = isEmbedded ? open() : whenDatabaseIsThere(open, { signal, onAway });
    // It may fail before anybody waits for it.
    this.opened.catch(() => {});
  }

  /** Waits for a first answer. Returns false if the database is away, or does not answer. @throws the error of a database that refuses the service */
  async succeedsSoon(): Promise<boolean> {
    if (this.#isEmbedded) {
      await this.opened;
      return true;
    }
    const timer = new AbortController();
    const late = sleep(firstAnswerMs, undefined, { signal: timer.signal }).then(
      () => this.#away.note(new Error(`it has not answered for ${firstAnswerMs / 1000} seconds`)),
      () => {},
    );
    try {
      await Promise.race([this.opened, this.#away.first, late]);
    } finally {
      timer.abort();
    }
    return !this.#away.isAway;
  }

  /** Says in the log that the database is there, if the log has said that it was away. */
  logEnd(): void {
    this.#away.end();
  }
}
