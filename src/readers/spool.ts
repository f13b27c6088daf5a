/**
 * Keeps a body so that it can be read more than once. A small body is kept in memory, and a larger one in a temporary file. The name of the
 * file is removed as soon as the file is open, so that no bytes remain however the process ends.
 */

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { limitExceeded } from '../core/limit-exceeded.ts';

export interface SpoolOptions {
  /** The most bytes that the spool accepts. */
  maxBytes: number;
  /** The most bytes kept in memory. Later bytes go into the file. Default: 256 KiB. */
  memoryBytes?: number;
}

const INITIAL_BYTES = 1024;
const READ_BYTES = 128 * 1024;

/** The seconds after which a client should retry if the disk was full. Other uploads free their space when they end. */
const retryAfterSeconds = 30;

/** Allows one writer at a time and any number of reads, also between writes. */
export class Spool {
  readonly #maxBytes: number;
  readonly #memoryBytes: number;
  /** The bytes from `#fileBytes` on. All bytes before them are in the file. */
  #tail = Buffer.allocUnsafe(0);
  #tailBytes = 0;
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor({ maxBytes, memoryBytes = 256 * 1024 }: SpoolOptions) {
    this.#maxBytes = maxBytes;
    this.#memoryBytes = memoryBytes;
  }

  /** Returns the number of bytes written so far. */
  get size(): number {
    return this.#fileBytes + this.#tailBytes;
  }

  /**
   * Appends a copy of the chunk. If this returns a promise, the chunk must remain unchanged and nothing more may be written until the
   * promise is fulfilled.
   *
   * @throws AppError `limit-exceeded` beyond `maxBytes`; `storage-full` (as a rejection) if the disk is full
   */
  write(chunk: Buffer): Promise<void> | undefined {
    this.#refuseClosed();
    if (this.#writing !== undefined) throw new Error('The write before is still under way');
    if (this.size + chunk.length > this.#maxBytes) {
      throw limitExceeded('The upload is too long', this.#maxBytes, { setting: 'MAX_BODY_BYTES' });
    }
    if (this.#tailBytes + chunk.length <= this.#memoryBytes) {
      this.#append(chunk);
      return undefined;
    }
    this.#writing = this.#overflow(chunk).finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /**
   * Reads bytes from `position` on into `target`.
   *
   * @returns the bytes read: fewer than fit into `target` only at the end of the spool, 0 beyond it
   */
  async read(target: Buffer, position: number): Promise<number> {
    this.#refuseClosed();
    let filled = 0;
    while (filled < target.length) {
      const at = position + filled;
      // This is checked in every turn, because a write may have moved the tail into the file meanwhile.
      if (at >= this.#fileBytes) {
        const from = at - this.#fileBytes;
        if (from < this.#tailBytes) filled += this.#tail.copy(target, filled, from, this.#tailBytes);
        break;
      }
      const length = Math.min(target.length - filled, this.#fileBytes - at);
      const { bytesRead } = await this.#file!.read(target, filled, length, at);
      if (bytesRead === 0) throw new Error('The spool file is shorter than what was written to it');
      filled += bytesRead;
      this.#refuseClosed();
    }
    return filled;
  }

  /**
   * Yields the bytes from `start` (included) to `end` (excluded; default: the size at the call). A chunk is valid only until the next one
   * is requested.
   */
  async *chunks(start = 0, end = this.size): AsyncGenerator<Buffer, void, undefined> {
    const bufferBytes = Math.max(0, Math.min(READ_BYTES, end - start));
    let current = Buffer.allocUnsafe(bufferBytes);
    let ahead = Buffer.allocUnsafe(bufferBytes);
    let position = start;
    const readAhead = () => this.read(ahead.subarray(0, Math.min(bufferBytes, end - position)), position);

    // The next chunk is read from the disk while the consumer works on the current one.
    let reading: Promise<number> | undefined = position < end ? readAhead() : undefined;
    try {
      while (reading !== undefined) {
        const length = await reading;
        reading = undefined;
        if (length === 0) return;
        [current, ahead] = [ahead, current];
        position += length;
        if (position < end) reading = readAhead();
        // The read is awaited only after the yield. This keeps a failure before that from being an unhandled rejection.
        reading?.catch(() => {});
        yield current.subarray(0, length);
      }
    } finally {
      await reading?.catch(() => {});
    }
  }

  /** Releases memory and file after the current write or read has ended. It may be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  async #release(): Promise<void> {
    // The writer handles a failure of the write.
    await this.#writing?.catch(() => {});
    const file = this.#file;
    this.#file = undefined;
    this.#tail = Buffer.allocUnsafe(0);
    await file?.close();
  }

  #append(chunk: Buffer): void {
    const needed = this.#tailBytes + chunk.length;
    if (needed > this.#tail.length) {
      const grown = Buffer.allocUnsafeSlow(
        Math.min(this.#memoryBytes, Math.max(INITIAL_BYTES, needed, this.#tail.length * 2)),
      );
      this.#tail.copy(grown, 0, 0, this.#tailBytes);
      this.#tail = grown;
    }
    chunk.copy(this.#tail, this.#tailBytes);
    this.#tailBytes = needed;
  }

  /** Moves the tail to the file, and then the part of the chunk that does not fit into a new tail. */
  async #overflow(chunk: Buffer): Promise<void> {
    try {
      this.#file ??= await openUnlinked(tmpdir());
      const room = this.#memoryBytes - this.#tailBytes;
      this.#append(chunk.subarray(0, room));
      await this.#flush(this.#tail.subarray(0, this.#tailBytes));
      this.#fileBytes += this.#tailBytes;
      this.#tailBytes = 0;
      const rest = chunk.subarray(room);
      if (rest.length <= this.#memoryBytes) {
        this.#append(rest);
      } else {
        await this.#flush(rest);
        this.#fileBytes += rest.length;
      }
    } catch (error) {
      if (!isStorageFull(error)) throw error;
      throw new AppError('storage-full', 'There is no room left to keep the upload; try again later.', {
        cause: error,
        headers: { 'retry-after': String(retryAfterSeconds) },
      });
    }
  }

  /** Writes at the end of the file. The caller updates `#fileBytes` and the tail in the same turn, so that `size` is always right. */
  async #flush(bytes: Buffer): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      this.#refuseClosed();
      const { bytesWritten } = await this.#file!.write(
        bytes,
        written,
        bytes.length - written,
        this.#fileBytes + written,
      );
      written += bytesWritten;
    }
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw new Error('The spool is closed');
  }
}

async function openUnlinked(directory: string): Promise<FileHandle> {
  const path = join(directory, `tablewright-${randomUUID()}`);
  // O_EXCL refuses a file or link that somebody else has created at this path.
  const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    await unlink(path);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

function isStorageFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
