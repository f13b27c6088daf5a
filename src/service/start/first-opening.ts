/** Opens the database at the start of the service. If the database does not answer soon, the service starts to listen without it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../postgres/log.ts';
import { whenDatabaseIsThere } from '../../postgres/wait-for-database.ts';
import { AwayLog } from './life-log.ts';

/** How long the start waits for the database before the service listens without it. */
const firstAnswerMs = 10_000;

export class FirstOpening {
  /** Resolves when the database was opened. Rejects if the database refuses the service, or if the service ends before that. */
  readonly opened: Promise<void>;
  readonly #away: AwayLog;
  readonly #isEmbedded: boolean;

  /** @param open is called again and again while the database cannot be reached, until the signal is aborted. An embedded database is always there */
  constructor(
    open: () => Promise<void>,
    { isEmbedded, signal, log }: { isEmbedded: boolean; signal: AbortSignal; log: Log },
  ) {
    this.#isEmbedded = isEmbedded;
    this.#away = new AwayLog(log);
    const onAway = (error: Error): void => this.#away.note(error);
    this.opened = isEmbedded ? open() : whenDatabaseIsThere(open, { signal, onAway });
    // It may reject before anything waits for it, and would then end the process.
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

  /** Logs that the database can be reached, if the log had reported before that it could not. */
  logEnd(): void {
    this.#away.end();
  }
}
