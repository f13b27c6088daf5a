/**
 * A table's columns made ready for encoding: each with its encoder and with what a missing cell gets.
 */
import type { ClientBase } from 'pg';
import { readDefaultValues } from '../tables/default-values.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import { columnEncoder, textEncoder } from './encoders/column-encoder.ts';
import type { TargetColumn } from './encoding-sink.ts';

const nullField = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/** @param relation quoted; the table that the columns are of */
export async function targetColumns(
  client: ClientBase,
  relation: string,
  columns: LoadColumn[],
): Promise<TargetColumn[]> {
  const defaulted = columns.filter((column) => column.default === 'stable' && !column.isGenerated);
  const values = await readDefaultValues(
    client,
    relation,
    defaulted.map((column) => column.id),
  );
  return columns.map((column) => ({
    column,
    encoder: columnEncoder(column.type) ?? textEncoder,
    fill: fieldOf(values.get(column.id) ?? null),
  }));
}

/** A field of binary COPY: its length, then the value as the type's send function writes it. */
function fieldOf(value: Buffer | null): Buffer {
  if (value === null) return nullField;
  const field = Buffer.alloc(4 + value.length);
  field.writeInt32BE(value.length);
  value.copy(field, 4);
  return field;
}
