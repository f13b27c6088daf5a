/**
 * Bounds what a change of types to `char(n)` adds to the stored rows. PostgreSQL pads each value to n characters: a value of 5 MB that widens a
 * column of `char(3)` would write 5 MB for each row of the table, and an array of 100,000 elements would take all memory that an array can have.
 */
import type { ClientBase } from 'pg';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { ColumnType } from '../../encoding/columns/load-column.ts';
import { quoteIdentifier } from '../../postgres/sql.ts';
import type { TypeChange } from './conversion/conversion.ts';

/** The limits are those of definitions (padded-width.ts) and of uploads (expanded-bytes.ts, MAX_UNPACK_RATIO). */
const maxRowBytes = 16 * 1024 * 1024;
const freeBytes = 64 * 1024 * 1024;
const maxRatio = 250;
/** What PostgreSQL stores of each row besides its values. */
const headerBytes = 28;
const remedy = 'Use varchar(n) or text, which are not padded.';

/**
 * Refuses new types that would pad a row, or all rows together, too much. The table must still have the old types.
 *
 * @param relation the name of the table, quoted
 * @throws AppError `limit-exceeded`
 */
export async function admitPadding(
  client: ClientBase,
  relation: string,
  changes: TypeChange[],
): Promise<void> {
  const padded = changes.filter(({ from, to }) => paddedBytes(to.type) > paddedBytes(from.type));
  if (padded.length === 0) return;
  const names = padded.map(({ from }) => quoteIdentifier(from.name));
  const stored = names.map((name) => `coalesce(pg_column_size(${name}), 0)`);
  const { rows } = await client.query<{ widest: number; all: number; most: number }>(`
SELECT coalesce(max(padded), 0) AS widest, coalesce(sum(padded), 0) AS all, ${maxRatio}::float8 * coalesce(sum(stored), 0) AS most
FROM (SELECT ${padded.map(paddedValue).join(' + ')} AS padded, ${headerBytes} + ${stored.join(' + ')} AS stored FROM ${relation}) AS rows`);
  const { widest, all, most } = rows[0]!;
  const limit = Math.max(freeBytes, most);
  const what = 'With the new lengths of char(n), PostgreSQL would pad';
  if (widest > maxRowBytes) throw limitExceeded(`${what} a row too much`, maxRowBytes, 'bytes', remedy);
  if (all > limit) throw limitExceeded(`${what} the rows of the table too much`, limit, 'bytes', remedy);
}

const CHAR = 1042;

function paddedBytes(type: ColumnType): number {
  // A type to which a column is widened was not read from the catalogue.
  return type.paddedBytes ?? ((type.element ?? type).oid === CHAR ? type.typmod - 4 : 0);
}

/** Returns the bytes to which the value is padded, as SQL. */
function paddedValue({ from, to }: TypeChange): string {
  const name = quoteIdentifier(from.name);
  const bytes = `${paddedBytes(to.type)}::float8`;
  const [before, after] = [from.type.base ?? from.type, to.type.base ?? to.type];
  if (before.kind === 'array') return `${bytes} * coalesce(cardinality(${name}), 0)`;
  if (after.kind !== 'array') return `CASE WHEN ${name} IS NULL THEN 0 ELSE ${bytes} END`;
  // A text can contain at most as many elements as commas, and one more.
  const text = `format('%s', ${name})`;
  return `${bytes} * (1 + octet_length(${text}) - octet_length(replace(${text}, ',', '')))`;
}
