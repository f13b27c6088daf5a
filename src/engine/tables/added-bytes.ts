/**
 * Bounds what a change adds to the stored rows of a table. PostgreSQL pads each value to the n characters of `char(n)`: a value of 5 MB that widens
 * a column of `char(3)` would write 5 MB for each row, and an array of 100,000 elements would take all memory that an array can have. As text, the
 * ten bytes of `1e131071` have 131,072 digits. And each row gets the default or the generated value of a new column, and entries in new indexes.
 */
import type { ClientBase } from 'pg';
import { longestNumber } from '../../core/cells/number-lengths.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { ColumnType, LoadColumn } from '../../encoding/columns/load-column.ts';
import { MOST_COPIED_DIGITS, MOST_MADE_DIGITS } from '../../encoding/columns/reading-cost.ts';
import { ownUnitsOf } from '../../encoding/encoders/row-cost.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { maxTreeBytes, treeBytes } from '../../postgres/expression-trees.ts';
import { runAndUndo } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { quoteIdentifier } from '../../postgres/sql.ts';
import type { Conversion, TypeChange } from './conversion/conversion.ts';
import type { IndexDefinition } from './indexes/index-definition.ts';
import { bytesOfEntry } from './loading/use-facts.ts';
import type { PreparedTable } from './prepared-table.ts';
import { leastDigits, leastText, numbersOf } from './value-lengths.ts';
import { admitElements } from './written-elements.ts';

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
  await admitElements(client, relation, changes);
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
  /** The columns whose numbers the expressions read, by their names before the changes. */
  numbers: readonly NumberColumn[];
  /** The digits that expressions make of new defaults. */
  ownDigits: number;
  /** The digits that expressions may make of a row if they read long numbers from texts, or compute them. */
  madeDigits: number;
  computed: ComputedValues;
}

type Prepared = Pick<PreparedTable, 'columns' | 'indexes'>;

interface NumberColumn {
  name: string;
  type: ColumnType;
  /** How many values with the digits of a number all expressions make, and how many more of them are stored than before. */
  copies: number;
  stored: number;
}

/**
 * Compares a table with what it becomes.
 *
 * @param oldNames the names before the changes, by the new ones; new columns are missing
 * @param withEffects the columns whose defaults must not be evaluated besides those of the rows (`readDefaultsWithEffects`)
 * @throws AppError `limit-exceeded` (`ownUnitsOf`)
 */
export function addedValues(
  before: LoadColumn[],
  after: LoadColumn[],
  oldNames: ReadonlyMap<string, string>,
  prepared: Prepared,
  withEffects: ReadonlySet<string>,
): AddedValues {
  const existing = new Map(before.map((column) => [column.name, column]));
  const copies = new Map<string, number>();
  const numbers: NumberColumn[] = [];
  let bytes = Math.max(0, (after[0]?.indexBytes ?? 0) - (before[0]?.indexBytes ?? 0));
  for (const { name, type, defaultBytes = 0, storedCopies = 0 } of after) {
    const old = existing.get(oldNames.get(name) ?? '');
    if (old === undefined) bytes += defaultBytes;
    else copies.set(old.name, Math.max(0, storedCopies - (old.storedCopies ?? 0)));
    const { digitCopies = 0, storedDigits = 0 } = type;
    if (old === undefined || digitCopies <= (old.type.digitCopies ?? 0)) continue;
    const stored = Math.max(0, storedDigits - (old.type.storedDigits ?? 0));
    numbers.push({ name: old.name, type: old.type, copies: digitCopies, stored });
  }
  ownUnitsOf(after);
  const ownDigits = after.reduce((sum, column) => sum + (column.ownDigits ?? 0), 0);
  const madeDigits = after[0]?.madeDigits ?? 0;
  const computed = computedOf(before, after, oldNames, prepared, withEffects);
  return { bytes, copies, numbers, ownDigits, madeDigits, computed };
}

/**
 * Returns the columns whose defaults call `nextval`, which takes a number, or volatile functions that were created in the database, which may do anything.
 *
 * @param relation the name of a table that was created from the definition, quoted
 */
export async function readDefaultsWithEffects(client: ClientBase, relation: string): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT a.attname AS name FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
WHERE d.adrelid = $1::regclass AND a.attgenerated = '' AND ${treeBytes('d.adbin')} <= ${maxTreeBytes} AND EXISTS (
  SELECT FROM regexp_matches(d.adbin::text, 'funcid (\\d+) ', 'g') m JOIN pg_proc p ON p.oid = m[1]::oid
  WHERE p.provolatile = 'v' AND (p.oid >= 16384 OR p.proname IN ('nextval', 'setval')))`,
    [relation],
  );
  return new Set(rows.map(({ name }) => name));
}

function computedOf(
  before: LoadColumn[],
  after: LoadColumn[],
  oldNames: ReadonlyMap<string, string>,
  prepared: Prepared,
  withEffects: ReadonlySet<string>,
): ComputedValues {
  const existing = new Map(before.map((column) => [column.name, column]));
  const isNew = ({ name }: LoadColumn) => !oldNames.has(name);
  const added = after.filter((column) => isNew(column) && (column.computedDigits ?? 0) > 0);
  const retyped = after.filter(({ name, type }) => {
    const old = existing.get(oldNames.get(name) ?? '')?.type;
    return old !== undefined && (old.oid !== type.oid || old.typmod !== type.typmod);
  });
  const moreInIndexes = Math.max(0, (after[0]?.indexDigits ?? 0) - (before[0]?.indexDigits ?? 0));
  const digits = added.reduce((sum, { computedDigits = 0 }) => sum + computedDigits, 0);
  const generated = generatedIn(prepared, (name) => !oldNames.has(name));
  const expressions = [
    ...added.map(({ name }) => quoteIdentifier(name)),
    ...(moreInIndexes > 0 ? prepared.indexes.flatMap(expressionsOf) : []),
  ];
  const read = namesIn([...expressions, ...generated.values()]);
  const kept = after.filter((column) => !isNew(column)).map(({ name }) => name);
  const defaults = prepared.columns.filter(({ name }) => !oldNames.has(name) && !generated.has(name));
  const values = defaults
    .filter(({ name }) => read.has(quoteIdentifier(name)))
    .map(({ name, typeSql, defaultSql, identity }) => {
      const hasEffects = identity !== 'none' || withEffects.has(name);
      const isEvaluated = defaultSql !== undefined && !hasEffects;
      const type = after.find((column) => column.name === name)?.type;
      const value = isEvaluated ? `(${defaultSql})` : hasEffects && isCounted(type) ? rowNumber : 'NULL';
      // A domain may not be NULL.
      const sql = value === 'NULL' ? (type?.base?.sqlName ?? typeSql) : typeSql;
      return `${value}::${sql} AS ${quoteIdentifier(name)}`;
    });
  return {
    kept: new Map(kept.map((name) => [name, oldNames.get(name)!])),
    isOfNewTypes: retyped.some(({ name }) => read.has(quoteIdentifier(name))),
    values,
    generated,
    expressions,
    bytes: (digits + moreInIndexes) / 2,
  };
}

/** A number of the row stands for the value that a sequence would give. */
const rowNumber = '(pg_catalog.row_number() OVER ())';
/** The oids of the types to which such a number can be converted: integers, `numeric` and `text`. */
const countedTypes = new Set([20, 21, 23, 25, 1700]);

function isCounted(type: ColumnType | undefined): boolean {
  return type !== undefined && countedTypes.has((type.base ?? type).oid);
}

/** Returns the SQL of the generated columns by their names. */
function generatedIn(
  { columns }: Pick<Prepared, 'columns'>,
  isWanted: (name: string) => boolean,
): Map<string, string> {
  const found = columns.filter(({ name, generated }) => generated?.sql !== undefined && isWanted(name));
  return new Map(found.map(({ name, typeSql, generated }) => [name, `(${generated!.sql})::${typeSql}`]));
}

/** Returns the names in expressions, quoted. They may include names that are not of columns. */
function namesIn(expressions: readonly string[]): Set<string> {
  return new Set(expressions.flatMap((sql) => sql.match(/"(?:[^"]|"")+"/g) ?? []));
}

/** Returns the SQL of the expressions of an index. They are NULL for rows that the index does not have, for which they may fail. */
function expressionsOf({ columns, whereSql }: IndexDefinition): string[] {
  const expressions = columns.flatMap(({ expressionSql }) => expressionSql ?? []);
  if (whereSql === undefined) return expressions;
  return expressions.map((sql) => `CASE WHEN ${whereSql} THEN ${sql} END`);
}

/**
 * Refuses indexes of a new table whose expressions would make too long values of its rows.
 *
 * @param stored the columns of the table
 * @throws as `admitComputed`
 */
export async function admitIndexes(
  client: ClientBase,
  relation: string,
  { indexes }: Prepared,
  stored: readonly LoadColumn[],
): Promise<void> {
  // The indexes do not exist yet, so PostgreSQL cannot say which expressions may make long numbers.
  const long = stored.filter(({ computedDigits = 0 }) => computedDigits > 0);
  const longNames = new Set(long.map(({ name }) => quoteIdentifier(name)));
  const expressions = indexes
    .flatMap(expressionsOf)
    .filter((sql) => makesNumbers.test(sql) || !namesIn([sql]).isDisjointFrom(longNames));
  const computed = {
    kept: new Map(stored.map(({ name }) => [name, name])),
    isOfNewTypes: false,
    values: [],
    generated: new Map(),
    expressions,
    bytes: expressions.length * bytesOfEntry,
  };
  await admitComputed(client, relation, computed, async () => {});
}

/** A type or a function of numbers or documents, or a cast to a type that is not PostgreSQL's own. Names of columns are not qualified. */
const makesNumbers = /\."[^"]*(?:numeric|json)|::"(?!pg_catalog")/;

/**
 * Refuses new columns and indexes whose values are too long for a row, or for all rows together. The table must still have its old columns.
 *
 * @param limitTime limits the time of the next statement
 * @throws AppError `limit-exceeded`
 */
export async function admitAdded(
  client: ClientBase,
  relation: string,
  added: AddedValues,
  limitTime: () => Promise<void>,
): Promise<void> {
  await limitTime();
  await admitDefaults(client, relation, added.bytes);
  await limitTime();
  await admitCopies(client, relation, added.copies);
  await limitTime();
  await admitDigits(client, relation, added, limitTime);
  if (added.computed.isOfNewTypes) return;
  await limitTime();
  await admitComputed(client, relation, added.computed, limitTime);
}

/**
 * Refuses the values that expressions compute of columns with new types. The columns must have their new names, and still their old types.
 *
 * @throws as `admitAdded`
 */
export async function admitConverted(
  client: ClientBase,
  relation: string,
  { computed }: AddedValues,
  limitTime: () => Promise<void>,
  conversions: readonly Conversion[],
): Promise<void> {
  if (!computed.isOfNewTypes) return;
  await limitTime();
  await admitComputed(client, relation, computed, limitTime, conversions);
}

/** Refuses expressions that would make numbers with too many digits of the stored ones, as uploads do (encoding/encoders/row-cost.ts). */
async function admitDigits(
  client: ClientBase,
  relation: string,
  added: AddedValues,
  limitTime: () => Promise<void>,
): Promise<void> {
  const { numbers, ownDigits, madeDigits } = added;
  const remedy = 'Round the numbers, for example by the type numeric(p,s), or use fewer expressions.';
  const sumOf = (times: 'copies' | 'stored') =>
    numbers.map((number) => `${number[times]}::float8 * coalesce(${digitsOf(number)}, 0)`).join(' + ');
  const mostCopies = numbers.reduce((most, { copies }) => most + copies, 0);
  let copied = ownDigits;
  if (mostCopies * longestNumber > MOST_COPIED_DIGITS) {
    const { rows } = await client.query<{ digits: number }>(
      `SELECT coalesce(max(${sumOf('copies')}), 0) AS digits FROM ${relation}`,
    );
    copied += rows[0]!.digits;
  }
  const what = 'The expressions make too many digits of a row';
  if (copied > MOST_COPIED_DIGITS) throw limitExceeded(what, MOST_COPIED_DIGITS, 'digits', remedy);
  if (madeDigits > MOST_MADE_DIGITS) throw limitExceeded(what, MOST_MADE_DIGITS, 'digits', remedy);
  if (!numbers.some(({ stored }) => stored > 0)) return;
  const stored = numbers.map(({ name }) => bytesOf(name)).join(' + ');
  await limitTime();
  const words = { what: 'The digits of numbers in new generated columns and indexes lengthen', remedy };
  await admitSum(client, relation, { added: sumOf('stored'), stored }, words);
}

/** Returns the digits of the numbers in a value, as SQL. */
function digitsOf({ name, type }: NumberColumn): string {
  const numbers = numbersOf((type.base ?? type).oid, quoteIdentifier(name));
  return numbers === undefined ? '0' : `coalesce(${leastDigits(numbers)}, 0)`;
}

/** Values that expressions will compute of the rows. */
interface ComputedValues {
  /** The columns that the rows have already, with their names before the changes. */
  kept: ReadonlyMap<string, string>;
  /** An expression reads a column that gets another type, so the values can be computed only when those of this column can be converted. */
  isOfNewTypes: boolean;
  /** The defaults of new columns that the expressions read, as SQL with the names of the columns. */
  values: readonly string[];
  /** The SQL of new generated columns, by their names. */
  generated: ReadonlyMap<string, string>;
  /** The SQL of what is measured: new generated columns and expressions of indexes. */
  expressions: readonly string[];
  /** The maximum number of bytes that the values of a row have. */
  bytes: number;
}

/**
 * Refuses expressions whose values would lengthen the rows too much. If they may, PostgreSQL computes all of them once without storing them.
 *
 * @param relation the name of the table, quoted
 * @param conversions the conversions of the columns that get another type; undefined: the table still has the old names
 * @throws AppError `limit-exceeded`; PostgreSQL's error if an expression fails
 */
async function admitComputed(
  client: ClientBase,
  relation: string,
  computed: ComputedValues,
  limitTime: () => Promise<void>,
  conversions?: readonly Conversion[],
): Promise<void> {
  const { expressions, bytes } = computed;
  if (bytes === 0 || expressions.length === 0) return;
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM (SELECT FROM ${relation} LIMIT ${Math.floor(freeBytes / bytes) + 1}) AS rows`,
  );
  if (rows[0]!.count * bytes <= freeBytes) return;
  await limitTime();
  const statement = sizesOf(relation, computed, conversions);
  // A function that an expression calls may write something.
  const { rows: sums } = await runAndUndo(client, 'sizes', () =>
    queryInCallersPath<Pick<Added, 'widest' | 'all' | 'most'>>(client, statement),
  );
  const what = 'The values of new generated columns and indexes lengthen';
  refuseOver({ what, ...sums[0]!, remedy: 'Round the numbers, for example by the type numeric(p,s).' });
}

/** Returns a query of the bytes that the expressions add to the rows. The conversions are those of `admitComputed`. */
function sizesOf(
  relation: string,
  { kept, values, generated, expressions }: ComputedValues,
  conversions: readonly Conversion[] | undefined,
): CallersStatement {
  const converted = new Map(conversions?.map((conversion) => [conversion.change.from.name, conversion]));
  const old = [...kept].map(([name, before]) => {
    const { using, typeSql } = converted.get(name) ?? {};
    const value = quoteIdentifier(conversions === undefined ? before : name);
    return `${typeSql === undefined ? value : `(${using ?? value})::${typeSql}`} AS ${quoteIdentifier(name)}`;
  });
  const made = [...generated].map(([name, sql]) => `, ${sql} AS ${quoteIdentifier(name)}`);
  const sizes = (of: readonly string[]) =>
    of.map((value) => `coalesce(pg_catalog.pg_column_size(${value}), 0)::pg_catalog.float8`);
  const sum = (parts: string[]) => ['0::pg_catalog.float8', ...parts].join(' OPERATOR(pg_catalog.+) ');
  const stored = sum([`${headerBytes}`, ...sizes([...kept.keys()].map(quoteIdentifier))]);
  return qualified`
SELECT pg_catalog.max(added) AS widest, pg_catalog.sum(added) AS all, ${maxRatio} OPERATOR(pg_catalog.*) pg_catalog.sum(stored) AS most
FROM (SELECT ${sum(sizes(expressions))} AS added, ${stored} AS stored FROM (
  SELECT t.*${made.join('')} FROM (SELECT ${[...old, ...values].join(', ')} FROM ${relation}) AS t) AS t) AS rows`;
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
