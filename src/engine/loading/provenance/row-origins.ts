/** Makes the fields that say where each row of an upload came from. */
import { wrongParameter } from '../../../core/errors.ts';
import { type OriginField, RowOrigin } from '../../../encoding/sink/row-origin.ts';
import type { TargetColumn } from '../../../encoding/sink/target-column.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { Origin, Provenance } from './provenance.ts';

/** The most characters of a name. A longer one could make a small file fill the disk of PostgreSQL, because every row repeats it. */
const maxNameLength = 255;

/**
 * Returns the fields for the columns of a relation.
 *
 * @throws AppError `invalid-parameter` if a column cannot have the value
 */
export function rowOrigins(
  provenance: Provenance,
  targets: readonly TargetColumn[],
  input: LoadInput,
): RowOrigin {
  const fields = [...provenance.columns].map(([origin, name]): OriginField => {
    const target = targets.findIndex(({ column }) => column.name === name);
    const { type, isNullable } = targets[target]!.column;
    const value = originValue(origin, provenance, input, type.name === 'integer');
    if (value === null && !isNullable)
      throw wrongParameter('provenance', `The column "${name}" is NOT NULL, and the rows have no ${origin}.`);
    return { target, value, isRowNumber: origin === 'source_row' };
  });
  return new RowOrigin(fields, () => input.rowsBefore ?? 0);
}

function originValue(
  origin: Origin,
  { loadId, loadedAt }: Provenance,
  { reading }: LoadInput,
  isInteger: boolean,
): Buffer | null {
  switch (origin) {
    case 'load_id':
      return Buffer.from(loadId.replaceAll('-', ''), 'hex');
    case 'loaded_at':
      return timestampOf(loadedAt);
    case 'source_file':
      return nameOf(origin, reading?.fileName);
    case 'source_sheet':
      return nameOf(origin, reading?.sheet);
    case 'source_row':
      return Buffer.alloc(isInteger ? 4 : 8);
  }
}

/** Returns the microseconds since 2000-01-01, as PostgreSQL stores them. */
function timestampOf(time: Date): Buffer {
  const value = Buffer.alloc(8);
  value.writeBigInt64BE(BigInt(time.getTime() - Date.UTC(2000, 0, 1)) * 1000n);
  return value;
}

function nameOf(origin: Origin, name = ''): Buffer | null {
  if (name.length > maxNameLength)
    throw wrongParameter('provenance', `The name for ${origin} is longer than ${maxNameLength} characters.`);
  if (name.includes('\0') || !name.isWellFormed())
    throw wrongParameter(
      'provenance',
      `The name for ${origin} has a character that PostgreSQL cannot store.`,
    );
  return name === '' ? null : Buffer.from(name);
}
