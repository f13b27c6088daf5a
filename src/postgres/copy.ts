/**
 * Writes bytes to `COPY … FROM STDIN`, with the backpressure of the socket (PostgreSQL 54.2.6).
 *
 * It is a `Submittable` of pg and not a stream, because a stream completes a write when it has *queued* the bytes. The caller could then
 * never reuse the buffer safely. Here a completed write means that the kernel has the bytes.
 */

import type { Socket } from 'node:net';
import type { ClientBase, Connection, Submittable } from 'pg';
import { type DriverConnection, GuardedClient } from './driver-internals.ts';

export interface CopyWriter {
  /**
   * Sends bytes of COPY data, which may end anywhere in a row. Usually it returns undefined: the kernel has the bytes. If the
   * socket is full, it returns a promise, which the caller must await before the next write. After that the buffer may be used
   * again. The promise rejects with PostgreSQL's error if PostgreSQL has refused a row of this write or an earlier one, or if the
   * connection breaks.
   */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Ends the COPY and returns the number of rows. Rejects with PostgreSQL's error. */
  end(): Promise<number>;
  /**
   * Makes the COPY and its transaction fail, and waits until PostgreSQL has answered. Later calls reject with the cause.
   * Does nothing if the COPY has already failed or ended.
   */
  abort(cause: Error): Promise<void>;
}

/**
 * Starts a COPY. The text may contain other short statements before and after it. If the COPY cannot start, the first `write` or `end`
 * rejects with the error.
 */
export function copyFrom(client: ClientBase, sql: string): CopyWriter {
  const copy = new Copy(sql, client instanceof GuardedClient ? client : undefined);
  client.query(copy);
  return copy;
}

/**
 * Sends a text with one COPY and the rows of that COPY at once, so that no round trip passes between them. If a statement before the COPY
 * fails, PostgreSQL ignores the rows (PostgreSQL 54.2.6).
 *
 * @param rows all bytes of the COPY data
 */
export function copyAtOnce(client: ClientBase, sql: string, rows: Buffer): CopyAtOnce {
  const copy = new Copy(sql, client instanceof GuardedClient ? client : undefined, rows);
  client.query(copy);
  return copy;
}

export interface CopyAtOnce {
  /** Resolves when PostgreSQL begins the COPY. Rejects with the same errors as `answered`. */
  started: Promise<void>;
  /** The number of rows that PostgreSQL stored. Rejects with PostgreSQL's error. */
  answered: Promise<number>;
  /** Whether the first statement of the text has succeeded. */
  readonly hasSucceeded: boolean;
}

/** The limit for a message. PostgreSQL keeps each message in memory and refuses one of more than 1 GiB. A message may end inside a row. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
const COPY_DATA = 'd'.charCodeAt(0);
const COPY_DONE = Buffer.from([...Buffer.from('c'), 0, 0, 0, 4]);
const copyFail = message('f', 'cancelled by Tablewright\0');

class Copy implements CopyWriter, CopyAtOnce, Submittable {
  /** Settles when PostgreSQL has answered the COPY. */
  readonly answered: Promise<number>;
  readonly #sql: string;
  readonly #client: GuardedClient | undefined;
  /** All rows, if they are sent together with the text (`copyAtOnce`). */
  readonly #rows: Buffer | undefined;
  readonly #started = Promise.withResolvers<void>();
  readonly started = this.#started.promise;
  readonly #finished = Promise.withResolvers<number>();
  #socket: Socket | undefined;
  #isFinished = false;
  #failure: Error | undefined;
  #rowCount = 0;
  hasSucceeded = false;
  /** The number of writes whose bytes the kernel does not have completely yet. */
  #unsentCount = 0;
  #flushed: PromiseWithResolvers<void> | undefined;

  constructor(sql: string, client: GuardedClient | undefined, rows?: Buffer) {
    this.#sql = sql;
    this.#client = client;
    this.#rows = rows;
    this.answered = this.#finished.promise;
    // The next call rejects with the error. Without a handler here the process would end before that call.
    this.#started.promise.catch(() => {});
    this.#finished.promise.catch(() => {});
  }

  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const socket = this.#socket;
    if (socket === undefined) return this.#started.promise.then(() => this.write(chunk));
    if (chunk.length === 0) return undefined;

    // `noteSent` needs the length of the longest row, and gets the length of the chunk. Rows are sent as soon as they have about 64 KiB, or
    // 2 MiB if they have several shapes (encoding-sink.ts), so a much longer chunk contains a long row.
    this.#client?.noteSent(chunk.length);
    socket.cork();
    for (let start = 0; start < chunk.length; start += MAX_MESSAGE_BYTES) {
      const end = Math.min(start + MAX_MESSAGE_BYTES, chunk.length);
      const header = Buffer.allocUnsafe(5);
      header[0] = COPY_DATA;
      header.writeUInt32BE(end - start + 4, 1);
      this.#unsentCount++;
      socket.write(header);
      socket.write(end - start === chunk.length ? chunk : chunk.subarray(start, end), this.#onSent);
    }
    socket.uncork();
    // Zero means that the kernel has all bytes already. The callback would report this only later.
    if (socket.writableLength === 0) {
      this.#client?.noteTaken();
      return undefined;
    }
    if (this.#flushed === undefined) {
      this.#flushed = Promise.withResolvers();
      this.#flushed.promise.catch(() => {});
    }
    return this.#flushed.promise;
  }

  async end(): Promise<number> {
    await this.#started.promise;
    if (this.#failure !== undefined) throw this.#failure;
    this.#socket!.write(COPY_DONE);
    return this.#finished.promise;
  }

  async abort(cause: Error): Promise<void> {
    if (this.#isFinished) return;
    this.#failure ??= cause;
    try {
      await this.#started.promise;
      if (!this.#isFinished) this.#socket!.write(copyFail);
      await this.#finished.promise;
    } catch {
      // The COPY was aborted: this error is PostgreSQL's expected answer to CopyFail.
    }
  }

  readonly #onSent = (): void => {
    this.#unsentCount--;
    if (this.#unsentCount > 0) return;
    this.#client?.noteTaken();
    this.#flushed?.resolve();
    this.#flushed = undefined;
  };

  #fail(error: Error): void {
    this.#isFinished = true;
    this.#failure ??= error;
    this.#started.reject(error);
    this.#finished.reject(error);
    this.#flushed?.reject(error);
    this.#flushed = undefined;
  }

  // The following methods are called by pg.

  submit(connection: Connection): void {
    const { stream } = connection;
    stream.cork();
    (connection as DriverConnection).query(this.#sql);
    if (this.#rows !== undefined) {
      this.#socket = stream as Socket;
      this.write(this.#rows);
      stream.write(COPY_DONE);
    }
    stream.uncork();
  }

  handleCopyInResponse(connection: { stream: Socket }): void {
    this.#socket = connection.stream;
    this.#started.resolve();
  }

  handleCommandComplete(completed: { text: string }): void {
    this.hasSucceeded = true;
    const [, rowCount] = /^COPY (\d+)/.exec(completed.text) ?? [];
    if (rowCount !== undefined) this.#rowCount = Number(rowCount);
  }

  // The results of the other statements in the text are ignored.
  handleRowDescription(): void {}
  handleDataRow(): void {}

  handleReadyForQuery(): void {
    this.#isFinished = true;
    this.#finished.resolve(this.#rowCount);
  }

  handleError(error: Error): void {
    this.#fail(error);
  }
}

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`);
  bytes.writeUInt32BE(bytes.length - 1, 1);
  return bytes;
}
