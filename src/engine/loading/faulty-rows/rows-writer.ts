import type { Chunks } from '../../tables/export/chunks.ts';
import type { SentRowReader } from './sent-rows.ts';

/** Writes rows in a file format. */
export interface RowsWriter {
  begin(out: Chunks): void;
  row(row: SentRowReader, out: Chunks): void;
  end(out: Chunks): void;
}
