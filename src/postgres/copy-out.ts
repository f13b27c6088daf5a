/**
 * Reads the rows of `COPY … TO STDOUT` with backpressure: while the reader does not want rows, the socket is not read, and PostgreSQL waits (PostgreSQL
 * 54.2.6). Like `copy.ts` it is a `Submittable` of pg.
 */
import type { Socket } from 'node:net';
import type { ClientBase, Connection, Submittable } from 'pg';
import { type DriverConnection, GuardedClient } from './driver-internals.ts';

export interface CopyReader {
  /** Settles when PostgreSQL has ended the COPY: with the number of rows, or with its error. */
  readonly ended: Promise<number>;
  /** Stops reading. Some rows may still arrive. */
  pause(): void;
  resume(): void;
}

export interface CopyOutOptions {
  /**
   * Gets each message of the COPY, which is a row, or the parts of a long one. The first one may be a header. The bytes are valid only during the call. It
   * must not throw.
   */
  onRow: (part: Buffer, isLast: boolean) => void;
  /** How long PostgreSQL may send nothing while rows are wanted; 0: no limit. A limit for the whole statement would also count the time in which a client reads. */
  idleMs: number;
  onIdle: () => void;
}

/**
 * Starts a COPY. The text may contain other short statements before and after it. To end the COPY early, the caller cancels the statement and goes on
 * reading until it has ended.
 */
export function copyTo(client: ClientBase, sql: string, options: CopyOutOptions): CopyReader {
  const copy = new CopyOut(sql, client instanceof GuardedClient ? client : undefined, options);
  client.query(copy);
  return copy;
}

class CopyOut implements CopyReader, Submittable {
  readonly ended: Promise<number>;
  readonly #sql: string;
  readonly #client: GuardedClient | undefined;
  readonly #onRow: CopyOutOptions['onRow'];
  readonly #finished = Promise.withResolvers<number>();
  readonly #timer: NodeJS.Timeout | undefined;
  #socket: Socket | undefined;
  #isPaused = false;
  #hasReceived = false;
  #rowCount = 0;

  constructor(sql: string, client: GuardedClient | undefined, { onRow, idleMs, onIdle }: CopyOutOptions) {
    this.#sql = sql;
    this.#client = client;
    this.#onRow = onRow;
    this.ended = this.#finished.promise;
    // The reader awaits it later. Without a handler here the process would end before that.
    this.ended.catch(() => {});
    if (idleMs === 0) return;
    this.#timer = setInterval(() => {
      if (!this.#hasReceived && !this.#isPaused) onIdle();
      this.#hasReceived = false;
    }, idleMs);
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#hasReceived = true;
    this.#socket?.resume();
  }

  // The following methods are called by pg.

  submit(connection: Connection): void {
    this.#socket = connection.stream as Socket;
    if (this.#client) this.#client.takeLongRow = (part, isLast) => this.#take(part, isLast);
    (connection as DriverConnection).query(this.#sql);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#take(chunk, true);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [, rowCount] = /^COPY (\d+)/.exec(text) ?? [];
    if (rowCount !== undefined) this.#rowCount = Number(rowCount);
  }

  // The results of the other statements in the text are ignored.
  handleRowDescription(): void {}
  handleDataRow(): void {}

  handleReadyForQuery(): void {
    this.#end();
    this.#finished.resolve(this.#rowCount);
  }

  handleError(error: Error): void {
    this.#end();
    this.#finished.reject(error);
  }

  #take(part: Buffer, isLast: boolean): void {
    this.#hasReceived = true;
    this.#onRow(part, isLast);
  }

  /** The socket must not stay paused, because the connection is used again. */
  #end(): void {
    clearInterval(this.#timer);
    if (this.#client) this.#client.takeLongRow = undefined;
    this.resume();
  }
}
