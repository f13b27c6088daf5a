/**
 * Prepares the columns of a table for encoding: each gets its encoder and the fill for missing cells.
 */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { columnEncoder, sheetEncoder, stagedEncoder } from '../../../encoding/encoders/column-encoder.ts';
import type { TargetColumn } from '../../../encoding/sink/target-column.ts';
import { readConstants } from '../../tables/loading/default-values.ts';

/**
 * The longest default that the service itself writes into the rows. PostgreSQL evaluates a longer one, because repeating it in
 * every row would make a small upload large.
 */
const maxFillBytes = 256;
/**
 * The maximum number of bytes of defaults that the service itself writes into one row. If the defaults are longer in all, PostgreSQL
 * evaluates them, because thousands of rows `{}` come in one slice of the input and are in memory at the same time.
 */
const maxFillBytesOfRow = 4096;

const nullField = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/**
 * Returns the columns with their encoders and fills.
 *
 * @param isSheet the rows are those of a sheet
 * @param mayFill false: a row without the column leaves it out, whatever its default is
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
    // COPY must not name a generated column.
    const isNull = mayFill(column) && column.default === 'none' && !column.isGenerated;
    const fill = isNull ? nullField : fills.get(column);
    return { column, encoder: encoderOf(column.type) ?? stagedEncoder(column.type), fill };
  });
}

function isFillable(column: LoadColumn): boolean {
  // PostgreSQL pads the value itself: one letter may become 10 MiB. Such a default is not written into the rows.
  const isPadded = column.type.paddedBytes !== undefined;
  // The digits that expressions make of a long number count in rows that leave the column out.
  const hasDigits = column.ownDigits !== undefined;
  return column.default === 'constant' && !isPadded && !hasDigits && !isStagedAsText(column);
}

/** Returns whether the service has no binary encoder for the column's type. The values are then sent as text to the staging table, and PostgreSQL converts them. */
export function isStagedAsText(column: LoadColumn): boolean {
  return columnEncoder(column.type) === undefined;
}

/** Returns the value as a field of binary COPY: its length and its bytes; undefined: the value is NULL or too long to be repeated in every row. */
function fillOf(value: Buffer | null): Buffer | undefined {
  if (value === null || value.length > maxFillBytes) return undefined;
  const field = Buffer.alloc(4 + value.length);
  field.writeInt32BE(value.length);
  value.copy(field, 4);
  return field;
}
