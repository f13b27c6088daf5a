/**
 * A body kept for reading more than once: in memory while it is small, then in one temporary file that loses its
 * name as soon as it is open, so that whatever ends the process leaves no bytes behind.
 */

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import { limitExceeded } from '../limit-exceeded.ts';

export interface SpoolOptions {
  /** Most bytes the spool takes. */
  maxBytes: number;
  /** Bytes kept in memory; the file begins beyond. Default 256 KiB. */
  memoryBytes?: number;
}

const INITIAL_BYTES = 16 * 1024;
const READ_BYTES = 128 * 1024;

/** When to try again after the disk was full: other uploads give their room back when they end. */
const retryAfterSeconds = 30;

/** One writer at a time; any number of reads, also between writes. */
export class Spool {
  readonly #maxBytes: number;
  readonly #memoryBytes: number;
  /** The bytes from `#fileBytes` on; all before them are in the file. */
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

  /** Bytes taken so far. */
  get size(): number {
    return this.#fileBytes + this.#tailBytes;
  }

  /**
   * Appends a copy of the chunk. Where a promise comes back, the chunk must stay as it is and nothing more may be
   * written until it is fulfilled.
   *
   * @throws AppError `limit-exceeded` beyond `maxBytes`; `storage-full` (as a rejection) when the disk is
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
   * Fills `target` from `position` on as far as there are bytes.
   *
   * @returns the bytes read: fewer than `target` holds only at the end of the spool, 0 beyond it
   */
  async read(target: Buffer, position: number): Promise<number> {
    this.#refuseClosed();
    let filled = 0;
    while (filled < target.length) {
      const at = position + filled;
      // Asked anew in every turn: a write may have moved the tail into the file meanwhile.
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
   * One pass over the bytes from `start` (included) to `end` (excluded; default: the size at the call). A chunk is
   * valid only until the next is asked for.
   */
  async *chunks(start = 0, end = this.size): AsyncGenerator<Buffer, void, undefined> {
    const bufferBytes = Math.max(0, Math.min(READ_BYTES, end - start));
    let current = Buffer.allocUnsafe(bufferBytes);
    let ahead = Buffer.allocUnsafe(bufferBytes);
    let position = start;
    const readAhead = () => this.read(ahead.subarray(0, Math.min(bufferBytes, end - position)), position);

    // The disk works on the next chunk while the consumer is at the one before.
    let reading: Promise<number> | undefined = position < end ? readAhead() : undefined;
    try {
      while (reading !== undefined) {
        const length = await reading;
        reading = undefined;
        if (length === 0) return;
        [current, ahead] = [ahead, current];
        position += length;
        if (position < end) reading = readAhead();
        // It is awaited only after the yield; a failure before that is not unhandled.
        reading?.catch(() => {});
        yield current.subarray(0, length);
      }
    } finally {
      await reading?.catch(() => {});
    }
  }

  /** Gives memory and file back, after a write or read under way has ended. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  async #release(): Promise<void> {
    // Its failure is the writer's to handle.
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

  /** Moves the tail to the file, then what of the chunk did not fit into a fresh tail. */
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

  /** Writes behind the file's end. The caller moves the end, in the same turn as the tail: `size` never lies. */
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
  // O_EXCL: a file or link that somebody put there first is refused, not followed.
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
