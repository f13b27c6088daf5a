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
  /** The maximum number of bytes that the spool accepts. */
  maxBytes: number;
  /** The size of each of the two buffers that keep bytes in memory. Later bytes go into the file. Default: 256 KiB. */
  memoryBytes?: number;
}

const INITIAL_BYTES = 1024;
const READ_BYTES = 128 * 1024;

/** The seconds after which a client should retry if the disk is full, because other uploads free their space when they end. */
const retryAfterSeconds = 30;

/**
 * Allows one writer at a time and any number of reads, also between writes. While one buffer is written to the file, another one takes the
 * next bytes. So the writer waits only if it is faster than the disk.
 */
export class Spool {
  readonly #maxBytes: number;
  readonly #memoryBytes: number;
  /** The bytes that were written last. They are not in the file. */
  #tail = Buffer.allocUnsafe(0);
  #tailBytes = 0;
  /** The bytes before the tail, which are being written to the file. They begin at `#fileBytes`. Everything before them is in the file. */
  #full = Buffer.allocUnsafe(0);
  #fullBytes = 0;
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #writing: Promise<void> | undefined;
  /** Settled when `#full` is in the file. It never rejects. */
  #flushing: Promise<void> | undefined;
  /** The error with which writing `#full` has failed. The next write throws it. */
  #failure: unknown;
  #closing: Promise<void> | undefined;

  constructor({ maxBytes, memoryBytes = 256 * 1024 }: SpoolOptions) {
    this.#maxBytes = maxBytes;
    this.#memoryBytes = memoryBytes;
  }

  /** Returns the number of bytes written so far. */
  get size(): number {
    return this.#fileBytes + this.#fullBytes + this.#tailBytes;
  }

  /**
   * Appends a copy of the chunk. If this returns a promise, the chunk must remain unchanged and nothing more may be written until the
   * promise is fulfilled.
   *
   * @throws AppError `limit-exceeded` beyond `maxBytes`; `storage-full`, also as a rejection, if the disk is full
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
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#flushing === undefined && chunk.length <= this.#memoryBytes) {
      const room = this.#memoryBytes - this.#tailBytes;
      this.#append(chunk.subarray(0, room));
      this.#beginFlush();
      this.#append(chunk.subarray(room));
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
      // This is checked again each time, because a write may have moved the tail into the file meanwhile.
      if (at >= this.#fileBytes) {
        let from = at - this.#fileBytes;
        if (from < this.#fullBytes) {
          filled += this.#full.copy(target, filled, from, this.#fullBytes);
          continue;
        }
        from -= this.#fullBytes;
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
    // A failure of the running write is ignored, because the writer gets it.
    await this.#writing?.catch(() => {});
    await this.#flushing;
    const file = this.#file;
    this.#file = undefined;
    this.#tail = Buffer.allocUnsafe(0);
    this.#full = Buffer.allocUnsafe(0);
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

  /** Appends a chunk piece by piece, as the tail has room. Before each further piece, the previous bytes must be in the file. */
  async #overflow(chunk: Buffer): Promise<void> {
    for (let at = 0; ; ) {
      const end = Math.min(chunk.length, at + this.#memoryBytes - this.#tailBytes);
      this.#append(chunk.subarray(at, end));
      at = end;
      if (at === chunk.length) return;
      await this.#flushing;
      if (this.#failure !== undefined) throw this.#failure;
      this.#beginFlush();
    }
  }

  /** Starts to write the tail to the file. A new, empty tail takes the next bytes. */
  #beginFlush(): void {
    [this.#full, this.#tail] = [this.#tail, this.#full];
    this.#fullBytes = this.#tailBytes;
    this.#tailBytes = 0;
    this.#flushing = this.#flush()
      .catch((error: unknown) => {
        this.#failure = isStorageFull(error) ? storageFull(error) : error;
      })
      .finally(() => {
        this.#flushing = undefined;
      });
  }

  async #flush(): Promise<void> {
    this.#file ??= await openUnlinked(tmpdir());
    const bytes = this.#full;
    const length = this.#fullBytes;
    let written = 0;
    while (written < length) {
      this.#refuseClosed();
      const position = this.#fileBytes + written;
      const { bytesWritten } = await this.#file.write(bytes, written, length - written, position);
      written += bytesWritten;
    }
    this.#fileBytes += length;
    this.#fullBytes = 0;
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw new Error('The spool is closed');
  }
}

async function openUnlinked(directory: string): Promise<FileHandle> {
  const path = join(directory, `tablewright-${randomUUID()}`);
  // With O_EXCL the file is not opened if somebody else has created a file or link at this path.
  const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    await unlink(path);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

function storageFull(cause: unknown): AppError {
  return new AppError('storage-full', 'There is no room left to keep the upload; try again later.', {
    cause,
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}

function isStorageFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
