/**
 * Prepares the columns of a table for encoding: each gets its encoder and the fill for missing cells.
 */
import type { ClientBase } from 'pg';
import { readConstants } from '../tables/default-values.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import { columnEncoder, sheetEncoder, stagedEncoder } from './encoders/column-encoder.ts';
import type { TargetColumn } from './encoding-sink.ts';

/** PostgreSQL evaluates a longer default, because repeating it in every row would make a small upload large. */
const maxFillBytes = 256;
/** PostgreSQL evaluates the defaults of a row beyond this sum, because thousands of rows `{}` come in one slice of the input and are held at once. */
const maxFillBytesOfRow = 4096;

const nullField = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/**
 * @param isSheet the rows are those of a sheet
 * @param mayFill false for a column: a row leaves it out if it does not bring it, whatever the default
 */
export async function targetColumns(
  client: ClientBase,
  columns: LoadColumn[],
  isSheet: boolean,
  mayFill: (column: LoadColumn) => boolean,
): Promise<TargetColumn[]> {
  const encoderOf = isSheet ? sheetEncoder : columnEncoder;
  const constants = columns.filter((column) => mayFill(column) && isFillable(column));
  const values = await readConstants(client, constants);
  let fillBytes = 0;
  const fills = new Map<LoadColumn, Buffer | undefined>();
  for (const [index, column] of constants.entries()) {
    const fill = fillOf(values[index]!);
    fillBytes += fill?.length ?? 0;
    fills.set(column, fillBytes > maxFillBytesOfRow ? undefined : fill);
  }
  return columns.map((column) => {
    // No COPY may name a generated column.
    const isNull = mayFill(column) && column.default === 'none' && !column.isGenerated;
    const fill = isNull ? nullField : fills.get(column);
    return { column, encoder: encoderOf(column.type) ?? stagedEncoder(column.type), fill };
  });
}

function isFillable(column: LoadColumn): boolean {
  // A default that PostgreSQL pads is counted where it is left out.
  const isPadded = column.type.paddedBytes !== undefined;
  return column.default === 'constant' && !isPadded && !isStagedAsText(column);
}

/** Returns whether the column's type has no binary encoder. Its values are then sent as text through the staging table. */
export function isStagedAsText(column: LoadColumn): boolean {
  return columnEncoder(column.type) === undefined;
}

/** Returns a field of binary COPY: the length of the value and the value as the type's send function writes it. */
function fillOf(value: Buffer | null): Buffer | undefined {
  if (value === null || value.length > maxFillBytes) return undefined;
  const field = Buffer.alloc(4 + value.length);
  field.writeInt32BE(value.length);
  value.copy(field, 4);
  return field;
}
