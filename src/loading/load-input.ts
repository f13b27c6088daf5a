/**
 * What an upload brings: perhaps a definition, perhaps rows. JSON and spreadsheets look the same from here on.
 */
import type { CellSink } from '../sources/cell-sink.ts';
import type { RowSource } from '../sources/row-source.ts';

export interface LoadInput extends RowSource {
  /** Reads as far as it takes to know whether a definition stands before the rows. */
  open(): Promise<void>;

  /** The value of `table`; undefined: none sent, or none read yet (it may stand after the rows). */
  readonly definition: unknown;

  /**
   * Pushes every row into the sink and keeps them, so that they can be read again. Without this, `read` can be called
   * once.
   */
  readAndKeep(sink: CellSink, signal: AbortSignal): Promise<void>;

  /** Takes in all that is still to come, so that `read` need not wait for the sender. */
  keep(signal: AbortSignal): Promise<void>;

  /** Releases what the input holds: files and memory. */
  close(): Promise<void>;
}
