/**
 * Bounds what a change adds to the stored rows of a table. PostgreSQL pads each value to the n characters of `char(n)`: a value of 5 MB that widens
 * a column of `char(3)` would write 5 MB for each row, and an array of 100,000 elements would take all memory that an array can have. As text, the
 * ten bytes of `1e131071` have 131,072 digits. And each row gets the default of a new column.
 */
import type { ClientBase } from 'pg';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { ColumnType } from '../../encoding/columns/load-column.ts';
import { quoteIdentifier } from '../../postgres/sql.ts';
import type { TypeChange } from './conversion/conversion.ts';
import { leastDigits, leastText, numbersOf } from './value-lengths.ts';

/** The limits are those of definitions (padded-width.ts) and of uploads (expanded-bytes.ts, MAX_UNPACK_RATIO). */
const maxRowBytes = 16 * 1024 * 1024;
const freeBytes = 64 * 1024 * 1024;
const maxRatio = 250;
/** What PostgreSQL stores of each row besides its values. */
const headerBytes = 28;

/**
 * Refuses new types that would lengthen a row, or all rows together, too much. The table must still have the old types.
 *
 * @param relation the name of the table, quoted
 * @throws AppError `limit-exceeded`
 */
export async function admitTypes(client: ClientBase, relation: string, changes: TypeChange[]): Promise<void> {
  const added = changes.map((change) => addedBytes(change));
  const longer = changes.filter((_, place) => added[place] !== undefined);
  if (longer.length === 0) return;
  const stored = longer.map(({ from }) => `coalesce(pg_column_size(${quoteIdentifier(from.name)}), 0)`);
  const sum = added.filter((bytes) => bytes !== undefined).join(' + ');
  const { rows } = await client.query<{ widest: number; all: number; most: number }>(`
SELECT coalesce(max(added), 0) AS widest, coalesce(sum(added), 0) AS all, ${maxRatio}::float8 * coalesce(sum(stored), 0) AS most
FROM (SELECT ${sum} AS added, ${headerBytes} + ${stored.join(' + ')} AS stored FROM ${relation}) AS rows`);
  const { widest, all, most } = rows[0]!;
  const remedy =
    'PostgreSQL pads char(n), which varchar(n) and text avoid, and writes all digits of a number as text.';
  refuseOver({ what: 'The new types lengthen', widest, all, most, remedy });
}

/**
 * Refuses new columns whose defaults are too long for a row, or for all rows together. A constant counts like a computed value, because PostgreSQL writes
 * it into all rows when the table is next written anew.
 *
 * @param bytes the length of the defaults together
 * @throws AppError `limit-exceeded`
 */
export async function admitDefaults(client: ClientBase, relation: string, bytes: number): Promise<void> {
  const mostOfRow = maxRatio * headerBytes;
  if (bytes <= mostOfRow) return;
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM (SELECT FROM ${relation} LIMIT ${Math.ceil(freeBytes / mostOfRow)}) AS rows`,
  );
  const { count } = rows[0]!;
  const remedy = 'Use shorter defaults, or add the columns without defaults.';
  const all = { widest: count > 0 ? bytes : 0, all: count * bytes, most: 0 };
  refuseOver({ what: 'The defaults of the new columns lengthen', ...all, remedy });
}

interface Added {
  what: string;
  /** The bytes that the change adds to one row, and to all rows. */
  widest: number;
  all: number;
  /** The most that it may add to all rows; at least `freeBytes`. */
  most: number;
  remedy: string;
}

function refuseOver({ what, widest, all, most, remedy }: Added): void {
  const limit = Math.max(freeBytes, most);
  if (widest > maxRowBytes) throw limitExceeded(`${what} a row too much`, maxRowBytes, 'bytes', remedy);
  if (all > limit) throw limitExceeded(`${what} the rows of the table too much`, limit, 'bytes', remedy);
}

/** Returns the bytes that a change adds to a value, as SQL; undefined: none, or few. */
function addedBytes({ from, to }: TypeChange): string | undefined {
  if (paddedBytes(to.type) > paddedBytes(from.type)) return paddedValue({ from, to });
  const [before, after] = [from.type.base ?? from.type, to.type.base ?? to.type];
  if (!isText(after.element ?? after) || isText(before.element ?? before)) return undefined;
  const name = quoteIdentifier(from.name);
  const numbers = numbersOf(before.oid, name);
  if (numbers === undefined && !bits.has(before.oid)) return undefined;
  const length = numbers === undefined ? leastText(before.oid, name) : leastDigits(numbers);
  // An ordinary number or eight bits have at most eight characters for each byte.
  return `greatest(coalesce(${length}, 0) - 8 * coalesce(pg_column_size(${name}), 0), 0)::float8`;
}

const CHAR = 1042;
const JSON_TEXT = 114;
/** The oids of `bit` and `varbit`, and of their arrays. */
const bits = new Set([1560, 1561, 1562, 1563]);

function isText({ category, oid }: ColumnType): boolean {
  return category === 'S' || oid === JSON_TEXT;
}

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
