/** Collects encoded rows into chunks of about the same length. */

const chunkBytes = 128 * 1024;
/** Bytes of this length are a chunk without being copied. */
const longBytes = 1024 * 1024;

export class Chunks {
  /** The current chunk. A writer calls `reserve`, writes at `length` and moves `length` forward. */
  bytes: Buffer = Buffer.allocUnsafeSlow(chunkBytes);
  length = 0;
  /** The number of bytes of the full chunks that were not taken. */
  readyBytes = 0;
  /** The number of bytes of all full chunks so far. */
  allBytes = 0;
  readonly #ready: Buffer[] = [];

  /** Makes room for this many bytes. It may replace `bytes` and set `length` to 0. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    this.flush(Math.max(count, chunkBytes));
  }

  /** Appends bytes. Long ones must not change any more. */
  append(source: Buffer): void {
    if (source.length >= longBytes) {
      this.flush();
      this.#push(source);
      return;
    }
    this.reserve(source.length);
    source.copy(this.bytes, this.length);
    this.length += source.length;
  }

  /** Makes the current chunk a full one. @param nextBytes the length of the next one */
  flush(nextBytes = chunkBytes): void {
    if (this.length > 0) {
      this.#push(this.bytes.subarray(0, this.length));
    }
    this.bytes = Buffer.allocUnsafeSlow(nextBytes);
    this.length = 0;
  }

  #push(chunk: Buffer): void {
    this.#ready.push(chunk);
    this.readyBytes += chunk.length;
    this.allBytes += chunk.length;
  }

  /** Returns the oldest full chunk; undefined: there is none. */
  take(): Buffer | undefined {
    const chunk = this.#ready.shift();
    if (chunk !== undefined) this.readyBytes -= chunk.length;
    return chunk;
  }
}
