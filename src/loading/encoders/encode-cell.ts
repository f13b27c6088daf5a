import { NULL } from '../../sources/cell-kind.ts';
import { encodeArray } from './arrays.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { encodeScalar } from './encode-scalar.ts';
import { ARRAY } from './type-codes.ts';

/**
 * Writes one field of a binary COPY row: its length and its value, -1 for NULL (COPY, "Binary Format").
 *
 * @param kind one of cell-kind.ts from `NULL` to `ARRAY`, as `CellSink.cell` gets it, with its bytes
 * @returns 0, or a number of cell-problems.ts: then something may have been written, and the caller rewinds
 */
export function encodeCell(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind === NULL) {
    out.ensure(4);
    out.int32(-1);
    return 0;
  }
  if (encoder.code === ARRAY) return encodeArray(out, encoder, kind, bytes, start, end);
  return encodeScalar(out, encoder, kind, bytes, start, end);
}
