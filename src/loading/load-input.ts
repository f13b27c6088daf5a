/**
 * The content of an upload: a definition, rows, or both. After this interface, JSON and spreadsheets are treated alike.
 */
import type { CellSink } from '../sources/cell-sink.ts';
import type { RowSource } from '../sources/row-source.ts';

export interface LoadInput extends RowSource {
  /** Reads until it is known whether there is a definition before the rows. */
  open(): Promise<void>;

  /** The value of `table`; undefined: there is none, or it was not read yet because it comes after the rows. */
  readonly definition: unknown;

  /**
   * Pushes every row into the sink and keeps the rows, so that they can be read again. Rows that were not kept can be read only once.
   */
  readAndKeep(sink: CellSink, signal: AbortSignal): Promise<void>;

  /** Receives the rest of the upload, so that `read` does not wait for the sender. */
  keep(signal: AbortSignal): Promise<void>;

  /** Releases what the input holds: files and memory. */
  close(): Promise<void>;
}
