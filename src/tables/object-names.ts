/**
 * The names of everything that a table consists of: its constraints and the sequences of its identity columns.
 *
 * The caller may leave names empty. They are chosen here, in the way of PostgreSQL (`makeObjectName` and
 * `ChooseRelationName` in its source), and not by PostgreSQL itself, because that would choose others for CREATE TABLE
 * than for ALTER TABLE, and could choose a name that the definition gives to another constraint.
 */
import { serialBase } from './column-types.ts';
import type { TableDefinition } from './definition.ts';
import { maxIdentifierBytes } from './identifiers.ts';

export interface ObjectNames {
  /** Undefined: the table has no primary key. */
  primaryKey: string | undefined;
  /** In the order of the definition. */
  unique: string[];
  foreignKeys: string[];
  /** By column. Only identity columns have a sequence. */
  sequences: Map<string, string>;
  /** By column. PostgreSQL 18 has a constraint for each NOT NULL; older versions ignore its name. */
  notNull: Map<string, string>;
}

/** A name to be chosen: the first one that is free of `name(0)`, `name(1)`, … */
export interface NameSeries {
  name(attempt: number): string;
}

/**
 * Chooses a name for everything that the definition does not name. No two names are equal, and none is the table's.
 *
 * @param isFree whether the schema has no relation of the name, the attempt of a series. Indexes and sequences are
 *   relations; foreign keys and NOT NULL constraints are not, so their names need only be unique in the table.
 */
export function chooseNames(
  table: string,
  definition: TableDefinition,
  isFree: (series: NameSeries, attempt: number) => boolean,
): ObjectNames {
  const { columns, primaryKey, unique, foreignKeys } = definition;
  const used = new Set([table, ...givenNames(definition)]);
  // Thousands of keys may differ only in what is cut off: none of them begins with the first attempt again.
  const nextAttempts = new Map<string, number>();
  const choose = (series: NameSeries, isRelation: boolean): string => {
    const stem = series.name(0);
    for (let attempt = nextAttempts.get(stem) ?? 0; ; attempt++) {
      const name = series.name(attempt);
      if (used.has(name) || (isRelation && !isFree(series, attempt))) continue;
      nextAttempts.set(stem, attempt + 1);
      used.add(name);
      return name;
    }
  };
  const sequences = new Map<string, string>();
  for (const { name, type } of columns) {
    if (serialBase(type) !== undefined) sequences.set(name, choose(nameSeries(table, [name], 'seq'), true));
  }
  const names: ObjectNames = {
    primaryKey: primaryKey && (primaryKey.name ?? choose(nameSeries(table, [], 'pkey'), true)),
    unique: unique.map((key) => key.name ?? choose(nameSeries(table, key.columns, 'key'), true)),
    foreignKeys: foreignKeys.map((key) => {
      const own = key.pairs.map((pair) => pair.column);
      return key.name ?? choose(nameSeries(table, own, 'fkey'), false);
    }),
    sequences,
    notNull: new Map(),
  };
  for (const { name, isNullable } of columns) {
    const isNotNull = !isNullable || sequences.has(name) || primaryKey?.columns.includes(name);
    if (isNotNull) names.notNull.set(name, choose(nameSeries(table, [name], 'not_null'), false));
  }
  return names;
}

/** The names of indexes and sequences, which no other relation of the schema can have. */
export function relationNames({ primaryKey, unique, sequences }: ObjectNames): string[] {
  return [...(primaryKey === undefined ? [] : [primaryKey]), ...unique, ...sequences.values()];
}

/** The same names, but the relations have names of their own: for a table that is built beside another one of the same names. */
export function namesAside(names: ObjectNames, aside: string): ObjectNames {
  let count = 0;
  const next = () => `${aside} ${++count}`;
  return {
    ...names,
    primaryKey: names.primaryKey === undefined ? undefined : next(),
    unique: names.unique.map(next),
    sequences: new Map([...names.sequences.keys()].map((column) => [column, next()])),
  };
}

function givenNames({ primaryKey, unique, foreignKeys }: TableDefinition): string[] {
  const named = [...(primaryKey === undefined ? [] : [primaryKey]), ...unique, ...foreignKeys];
  return named.map((constraint) => constraint.name).filter((name) => name !== undefined);
}

function nameSeries(table: string, columns: string[], label: string): NameSeries {
  const second = columns.length === 0 ? undefined : columns.join('_');
  return { name: (attempt) => objectName(table, second, attempt === 0 ? label : `${label}${attempt}`) };
}

/** PostgreSQL's `makeObjectName`: of a name that is too long, the longer part is cut first, never within a character. */
export function objectName(first: string, second: string | undefined, label: string): string {
  const whole = second === undefined ? `${first}_${label}` : `${first}_${second}_${label}`;
  if (whole.length * 3 <= maxIdentifierBytes || Buffer.byteLength(whole) <= maxIdentifierBytes) return whole;
  const available = maxIdentifierBytes - label.length - (second === undefined ? 1 : 2);
  let firstBytes = Buffer.byteLength(first);
  let secondBytes = Buffer.byteLength(second ?? '');
  while (firstBytes + secondBytes > available) {
    if (firstBytes > secondBytes) firstBytes--;
    else secondBytes--;
  }
  const start = cutBytes(first, firstBytes);
  return second === undefined ? `${start}_${label}` : `${start}_${cutBytes(second, secondBytes)}_${label}`;
}

function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // 10xxxxxx is not the first byte of a character.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
