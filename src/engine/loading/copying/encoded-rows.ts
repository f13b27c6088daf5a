/** Keeps the encoded rows of a small upload, so that they can be sent in one message after all of them are encoded. */
import type { RowOutput } from '../../../encoding/sink/encoding-sink.ts';
import { copyHeader, copyTrailer, maxHeldBytes } from './copy-session.ts';

/** The maximum number of bytes that are kept. */
const maxBytes = 1024 * 1024;

export class EncodedRows implements RowOutput {
  /** The columns of all rows, as indexes; undefined: there is no row. */
  columns: readonly number[] | undefined;
  /** The rows cannot be sent by one COPY, because they have different columns, no columns at all, or are too long. The upload is then loaded by `loadTable`. */
  needsUsualWay = false;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  readonly #mostRows: number;
  #heldBytes = 0;
  #rows = 0;

  /** @param mostRows see `mostUnmeasuredRows` */
  constructor(mostRows: number) {
    this.#mostRows = mostRows;
  }

  async write(columns: readonly number[], rows: Buffer, count: number, heldBytes: number): Promise<void> {
    this.columns ??= columns;
    this.#bytes += rows.length;
    this.#heldBytes += heldBytes;
    this.#rows += count;
    const isLong = this.#bytes > maxBytes || this.#heldBytes > maxHeldBytes || this.#rows > this.#mostRows;
    this.needsUsualWay ||= columns !== this.columns || columns.length === 0 || isLong;
    // The chunk is copied, because the caller reuses its buffer.
    if (!this.needsUsualWay) this.#chunks.push(Buffer.from(rows));
  }

  /** Returns the data of the COPY. */
  toCopyData(): Buffer {
    return Buffer.concat([copyHeader, ...this.#chunks, copyTrailer]);
  }
}
