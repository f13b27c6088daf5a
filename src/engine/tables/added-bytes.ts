/**
 * Bounds what a change adds to the stored rows of a table. PostgreSQL pads each value to the n characters of `char(n)`: a value of 5 MB that widens
 * a column of `char(3)` would write 5 MB for each row, and an array of 100,000 elements would take all memory that an array can have. As text, the
 * ten bytes of `1e131071` have 131,072 digits. And each row gets the default or the generated value of a new column, and entries in new indexes.
 */
import type { ClientBase } from 'pg';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { ColumnType, LoadColumn } from '../../encoding/columns/load-column.ts';
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
  const stored = longer.map(({ from }) => bytesOf(from.name)).join(' + ');
  const sum = added.filter((bytes) => bytes !== undefined).join(' + ');
  const remedy =
    'PostgreSQL pads char(n), which varchar(n) and text avoid, and writes all digits of a number as text.';
  await admitSum(client, relation, { added: sum, stored }, { what: 'The new types lengthen', remedy });
}

/** Compares the bytes that are added to the values of a row (`added`, as SQL) with those that the values have (`stored`). */
async function admitSum(
  client: ClientBase,
  relation: string,
  { added, stored }: { added: string; stored: string },
  words: Pick<Added, 'what' | 'remedy'>,
): Promise<void> {
  const { rows } = await client.query<Pick<Added, 'widest' | 'all' | 'most'>>(`
SELECT coalesce(max(added), 0) AS widest, coalesce(sum(added), 0) AS all, ${maxRatio}::float8 * coalesce(sum(stored), 0) AS most
FROM (SELECT ${added} AS added, ${headerBytes} + ${stored} AS stored FROM ${relation}) AS rows`);
  refuseOver({ ...words, ...rows[0]! });
}

/** Returns the bytes of a stored value, as SQL. */
const bytesOf = (name: string) => `coalesce(pg_column_size(${quoteIdentifier(name)}), 0)`;

/** What new columns and indexes add to each row. */
export interface AddedValues {
  /** The length of the defaults, and of what generated columns and indexes add to the values of other columns. */
  bytes: number;
  /** How often generated columns and indexes store the values of columns again, by their names before the changes. */
  copies: ReadonlyMap<string, number>;
}

/**
 * Compares a table with what it becomes.
 *
 * @param oldNames the names before the changes, by the new ones; new columns are missing
 */
export function addedValues(
  before: LoadColumn[],
  after: LoadColumn[],
  oldNames: ReadonlyMap<string, string>,
): AddedValues {
  const existing = new Map(before.map((column) => [column.name, column]));
  const copies = new Map<string, number>();
  let bytes = Math.max(0, (after[0]?.indexBytes ?? 0) - (before[0]?.indexBytes ?? 0));
  for (const { name, defaultBytes = 0, storedCopies = 0 } of after) {
    const old = existing.get(oldNames.get(name) ?? '');
    if (old === undefined) bytes += defaultBytes;
    else copies.set(old.name, Math.max(0, storedCopies - (old.storedCopies ?? 0)));
  }
  return { bytes, copies };
}

/**
 * Refuses new columns and indexes whose values are too long for a row, or for all rows together. The table must still have its old columns.
 *
 * @throws AppError `limit-exceeded`
 */
export async function admitAdded(client: ClientBase, relation: string, added: AddedValues): Promise<void> {
  await admitDefaults(client, relation, added.bytes);
  await admitCopies(client, relation, added.copies);
}

async function admitCopies(
  client: ClientBase,
  relation: string,
  copies: AddedValues['copies'],
): Promise<void> {
  if (Math.max(0, ...copies.values()) <= maxRatio) return;
  const longer = [...copies].filter(([, times]) => times > 0);
  const added = longer.map(([name, times]) => `${times}::float8 * ${bytesOf(name)}`).join(' + ');
  const stored = [...copies.keys()].map(bytesOf).join(' + ');
  await admitSum(
    client,
    relation,
    { added, stored },
    {
      what: 'The new generated columns and indexes lengthen',
      remedy: 'Use fewer of them on one column.',
    },
  );
}

/**
 * Refuses values that are too long whatever is in the rows. A constant counts like a computed value, because PostgreSQL writes it into all rows when the
 * table is next written anew.
 *
 * @param bytes the length of the values together
 */
async function admitDefaults(client: ClientBase, relation: string, bytes: number): Promise<void> {
  const mostOfRow = maxRatio * headerBytes;
  if (bytes <= mostOfRow) return;
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM (SELECT FROM ${relation} LIMIT ${Math.ceil(freeBytes / mostOfRow)}) AS rows`,
  );
  const { count } = rows[0]!;
  const remedy = 'Use shorter defaults and expressions, or add the columns without them.';
  const all = { widest: count > 0 ? bytes : 0, all: count * bytes, most: 0 };
  refuseOver({
    what: 'The defaults and the expressions of the new columns and indexes lengthen',
    ...all,
    remedy,
  });
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
