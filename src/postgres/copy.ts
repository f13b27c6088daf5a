/**
 * `COPY … FROM STDIN` as bytes that are pushed in, with the socket's backpressure (PostgreSQL 54.2.6).
 *
 * A `Submittable` of pg's own kind rather than a stream: a stream answers a write when it has *queued* the bytes, so their
 * buffer could never be used again safely; here the answer means that the kernel has them.
 */

import type { Socket } from 'node:net';
import type { ClientBase, Connection, Submittable } from 'pg';

export interface CopyWriter {
  /**
   * Sends bytes of COPY data, cut anywhere. Undefined: sent, the common case. A promise: the socket is full, wait for it
   * before the next write. Either way the buffer may be used again afterwards.
   * Rejects with PostgreSQL's error as soon as it refuses a row, also of an earlier write, or the connection breaks.
   */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Ends the COPY and answers the number of rows. Rejects with PostgreSQL's error. */
  end(): Promise<number>;
  /**
   * Ends the COPY as failed, which fails the transaction, and waits until that is so; later calls reject with the cause.
   * Does nothing where the COPY has failed or ended already.
   */
  abort(cause: Error): Promise<void>;
}

/**
 * Starts a COPY. There may be other statements in the text before and after it, which take no time. An error in its start is told by the first `write` or `end`. */
export function copyFrom(client: ClientBase, sql: string): CopyWriter {
  const copy = new Copy(sql);
  client.query(copy);
  return copy;
}

/** PostgreSQL holds each message whole, and takes none of more than 1 GiB; where one ends means nothing to it. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
const COPY_DATA = 'd'.charCodeAt(0);
const COPY_DONE = Buffer.from([...Buffer.from('c'), 0, 0, 0, 4]);
const copyFail = message('f', 'given up by Tablewright\0');

class Copy implements CopyWriter, Submittable {
  /** Settles when PostgreSQL has answered the whole COPY. */
  readonly answered: Promise<number>;
  readonly #sql: string;
  readonly #started = Promise.withResolvers<void>();
  readonly #finished = Promise.withResolvers<number>();
  #socket: Socket | undefined;
  #isFinished = false;
  #failure: Error | undefined;
  #rowCount = 0;
  /** Writes that the kernel does not have yet. */
  #unsentCount = 0;
  #flushed: PromiseWithResolvers<void> | undefined;

  constructor(sql: string) {
    this.#sql = sql;
    this.answered = this.#finished.promise;
    // The error is told by the call that comes next, which may be late.
    this.#started.promise.catch(() => {});
    this.#finished.promise.catch(() => {});
  }

  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const socket = this.#socket;
    if (socket === undefined) return this.#started.promise.then(() => this.write(chunk));
    if (chunk.length === 0) return undefined;

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
    // Zero: the kernel took everything at once, which is known now and told to the callback only later.
    if (socket.writableLength === 0) return undefined;
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
      // PostgreSQL's answer to being told so.
    }
  }

  readonly #onSent = (): void => {
    this.#unsentCount--;
    if (this.#unsentCount > 0) return;
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

  // What pg calls.

  submit(connection: Connection): void {
    (connection as unknown as { query(sql: string): void }).query(this.#sql);
  }

  handleCopyInResponse(connection: { stream: Socket }): void {
    this.#socket = connection.stream;
    this.#started.resolve();
  }

  handleCommandComplete(completed: { text: string }): void {
    const [, rowCount] = /^COPY (\d+)/.exec(completed.text) ?? [];
    if (rowCount !== undefined) this.#rowCount = Number(rowCount);
  }

  // Other statements in the same text have results of their own.
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
