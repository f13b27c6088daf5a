/**
 * A connection to PostgreSQL that ends if a statement gets no answer. PostgreSQL itself limits the time of statements, but this limit
 * does not work if the server hangs or the network drops all packets.
 */
import type pg from 'pg';
import { sendCancelRequest } from './cancel-request.ts';
import { GuardedClient, internalsOf } from './driver-internals.ts';
import { ownLimits, type TransactionSettings } from './transaction-settings.ts';

/** How long a cancel request may take. */
const cancelMs = 1000;

/**
 * Returns a client class with a time limit for answers.
 *
 * @param answerMs how long a statement may wait for its answer, and how long a COPY may take no rows; 0: no limit
 */
export function deadlineClient(answerMs: number): typeof GuardedClient {
  if (answerMs === 0) return GuardedClient;
  return class DeadlineClient extends GuardedClient {
    override readonly answerMs = answerMs;
    #unanswered = 0;
    #timer: NodeJS.Timeout | undefined;

    // biome-ignore lint/suspicious/noExplicitAny: the method of pg has many forms, and all are passed on
    override query(...args: any[]): any {
      const callback = args.at(-1);
      if (typeof callback === 'function') {
        const onAnswer = this.#awaitAnswer();
        args[args.length - 1] = (...answer: unknown[]) => {
          onAnswer();
          callback(...answer);
        };
      }
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const sent = (super.query as any)(...args);
      const answered: unknown =
        sent instanceof Promise ? sent : (sent as { answered?: unknown } | undefined)?.answered;
      if (answered instanceof Promise) {
        const onAnswer = this.#awaitAnswer();
        answered.then(onAnswer, onAnswer);
      }
      return sent;
    }

    override noteTaken(): void {
      this.#timer?.refresh();
    }

    /**
     * Starts the time limit for an answer.
     *
     * @returns a function to call when the answer has arrived
     */
    #awaitAnswer(): () => void {
      this.#unanswered++;
      this.#timer ??= setTimeout(() => giveUp(this), answerMs);
      this.#timer.refresh();
      return () => {
        this.#unanswered--;
        if (this.#unanswered > 0) {
          this.#timer?.refresh();
          return;
        }
        clearTimeout(this.#timer);
        this.#timer = undefined;
      };
    }
  };
}

/**
 * Cancels the statement and ends the connection. Without the cancel request, the server process would work or wait for a lock until the statement
 * ends, because it notices only then that the connection is closed.
 */
function giveUp(client: pg.ClientBase): void {
  // The stream is paused so that an answer that arrives now does not give the connection back to its pool.
  internalsOf(client).connection.stream.pause();
  void sendCancelRequest(client, cancelMs).finally(() => breakConnection(client));
}

/** Returns the time limits of a transaction of the service itself. They are shorter than the client's limit, so the server ends a statement before the client gives up (`deadlineClient`). */
export function limitsFor(
  client: pg.ClientBase,
): Pick<TransactionSettings, 'statementTimeoutMs' | 'lockTimeoutMs'> {
  const { answerMs = 0 } = client as Partial<GuardedClient>;
  if (answerMs === 0) return ownLimits;
  return { ...ownLimits, statementTimeoutMs: Math.min(ownLimits.statementTimeoutMs, answerMs / 2) };
}

/** Ends the connection at once. Statements that wait for an answer fail, and the connection is not used again. */
export function breakConnection(client: pg.ClientBase): void {
  const { connection } = internalsOf(client);
  connection.stream.destroy(new Error('Connection terminated: the database did not answer in time'));
}
