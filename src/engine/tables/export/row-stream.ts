/** Turns the rows of a COPY into the bytes of a file, at the pace of the reader and in bounded memory. */
import type { ClientBase } from 'pg';
import { type CopyReader, copyTo } from '../../../postgres/copy-out.ts';
import { Chunks } from './chunks.ts';

/** Writes the rows of a COPY in a file format. It may throw, for example if the format cannot have a value. */
export interface RowWriter {
  /** Writes what is before the rows. */
  begin?(out: Chunks): void;
  /** @param part a message of the COPY, or a part of a long one */
  row(part: Buffer, out: Chunks, isLast: boolean): void;
  /** Writes what is after the rows. */
  end?(out: Chunks): void;
}

export interface RowWatch {
  /** How long PostgreSQL may send nothing while rows are wanted; 0: no limit. */
  idleMs: number;
  onIdle: () => void;
}

/** The socket of PostgreSQL is not read while so many bytes wait for the reader. */
const maxReadyBytes = 256 * 1024;

export class RowStream {
  readonly #copy: CopyReader;
  readonly #writer: RowWriter;
  readonly #out = new Chunks();
  readonly #settled: Promise<void>;
  #failure: unknown;
  #isClosed = false;
  #wake = (): void => {};
  hasEnded = false;
  rowCount = 0;

  constructor(client: ClientBase, sql: string, writer: RowWriter, watch: RowWatch) {
    this.#writer = writer;
    writer.begin?.(this.#out);
    this.#copy = copyTo(client, sql, { onRow: (part, isLast) => this.#write(part, isLast), ...watch });
    this.#settled = this.#copy.ended
      .then((rowCount) => {
        this.rowCount = rowCount;
      })
      .catch((error) => this.#fail(error))
      .then(() => {
        this.hasEnded = true;
        this.#wake();
      });
  }

  /** Yields the bytes. Throws PostgreSQL's error or that of the writer. */
  async *chunks(): AsyncGenerator<Buffer> {
    for (;;) {
      const chunk = this.#out.take();
      if (chunk !== undefined) yield chunk;
      else if (this.#failure !== undefined) throw this.#failure;
      else if (this.hasEnded) break;
      else await this.#more();
    }
    this.#writer.end?.(this.#out);
    this.#out.flush();
    for (let chunk = this.#out.take(); chunk !== undefined; chunk = this.#out.take()) yield chunk;
  }

  /** Ignores further rows, and resolves when PostgreSQL has ended the COPY. If it should end early, it must be cancelled before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#copy.resume();
    await this.#settled;
  }

  #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    this.#copy.resume();
    return promise;
  }

  #write(part: Buffer, isLast: boolean): void {
    if (this.#isClosed || this.#failure !== undefined) return;
    try {
      this.#writer.row(part, this.#out, isLast);
    } catch (error) {
      this.#fail(error);
    }
    if (this.#out.readyBytes === 0) return;
    if (this.#out.readyBytes >= maxReadyBytes) this.#copy.pause();
    this.#wake();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }
}
