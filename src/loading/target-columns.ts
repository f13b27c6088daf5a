/**
 * A table's columns made ready for encoding: each with its encoder and with what a missing cell gets.
 */
import type { ClientBase } from 'pg';
import { readDefaultValues } from '../tables/default-values.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import { columnEncoder, sheetEncoder, stagedEncoder } from './encoders/column-encoder.ts';
import type { TargetColumn } from './encoding-sink.ts';

/** A longer default is left to PostgreSQL: repeated in every row it would make a large upload of a small one. */
const maxFillBytes = 256;

const nullField = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/**
 * @param relation quoted; the table that the columns are of
 * @param isSheet the rows are those of a sheet
 * @param fillsMissing false: a row leaves out what it does not bring, whatever the default
 */
export async function targetColumns(
  client: ClientBase,
  relation: string,
  columns: LoadColumn[],
  isSheet: boolean,
  fillsMissing: boolean,
): Promise<TargetColumn[]> {
  const encoderOf = isSheet ? sheetEncoder : columnEncoder;
  const targets = columns.map((column) => ({ column, encoder: encoderOf(column.type) }));
  const isFilled = (target: (typeof targets)[number], byDefault: LoadColumn['default']) =>
    fillsMissing && target.column.default === byDefault;
  const defaulted = targets.filter(
    (target) => isFilled(target, 'stable') && target.encoder !== undefined && !target.column.isGenerated,
  );
  const values = await readDefaultValues(
    client,
    relation,
    defaulted.map(({ column }) => column.id),
  );
  return targets.map((target) => {
    const { column, encoder = stagedEncoder(target.column.type) } = target;
    if (isFilled(target, 'none')) return { column, encoder, fill: nullField };
    const value = values.get(column.id);
    const isFillable = value !== undefined && (value?.length ?? 0) <= maxFillBytes;
    return { column, encoder, fill: isFillable ? fieldOf(value) : undefined };
  });
}

/** A type without a binary encoder: its values travel as text, through the staging table. */
export function isStagedAsText(column: LoadColumn): boolean {
  return columnEncoder(column.type) === undefined;
}

/** A field of binary COPY: its length, then the value as the type's send function writes it. */
function fieldOf(value: Buffer | null): Buffer {
  if (value === null) return nullField;
  const field = Buffer.alloc(4 + value.length);
  field.writeInt32BE(value.length);
  value.copy(field, 4);
  return field;
}
