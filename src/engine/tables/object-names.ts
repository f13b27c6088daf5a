/**
 * Chooses the names of a table's constraints and of the sequences of its identity columns.
 *
 * The caller may leave names empty. The service then chooses them by PostgreSQL's rules (`makeObjectName` and `ChooseRelationName` in
 * its source). PostgreSQL itself cannot choose them: it would choose different names in CREATE TABLE and in ALTER TABLE, and might
 * choose a name that the definition gives to another constraint.
 */

import { maxIdentifierBytes } from '../../core/identifiers.ts';
import { forEachInTurns, mapInTurns } from '../../core/pause-for-others.ts';
import { serialBase } from './column-types.ts';
import { type TableDefinition, weightOfKey } from './definition.ts';
import { columnsOfIndex, weightOfIndex } from './indexes/index-definition.ts';

export interface ObjectNames {
  /** Undefined: the table has no primary key. */
  primaryKey: string | undefined;
  /** The names in the order of the definition, as those of `foreignKeys`, `indexes` and `checks`. */
  unique: string[];
  foreignKeys: string[];
  indexes: string[];
  checks: string[];
  /** The name of the sequence of each numbered column, by column. */
  sequences: Map<string, string>;
  /** The name of each NOT NULL constraint, by column. Versions before PostgreSQL 18 ignore the name. */
  notNull: Map<string, string>;
}

/** Candidates for one name: `name(0)`, `name(1)` and so on. The first free one is chosen. */
export interface NameSeries {
  name(attempt: number): string;
}

/**
 * Chooses a name for everything that the definition does not name. All names differ from each other and from the table's name. It
 * works in turns.
 *
 * @param isFree returns whether no relation of the schema has the name, which is that of an attempt of a series. It is asked only
 *   for indexes and sequences, because they are relations. The names of foreign keys and NOT NULL constraints need to be unique in
 *   their table only.
 */
export async function chooseNames(
  table: string,
  definition: TableDefinition,
  isFree: (name: string, series: NameSeries, attempt: number) => boolean,
): Promise<ObjectNames> {
  const { columns, primaryKey, unique, foreignKeys, indexes, checks } = definition;
  const used = new Set([table, ...givenNames(definition)]);
  // Thousands of long names may be equal after they are cut. So a later search in the same series continues where the last one ended.
  const nextAttempts = new Map<string, number>();
  const choose = (series: NameSeries, isRelation: boolean): string => {
    const stem = series.name(0);
    for (let attempt = nextAttempts.get(stem) ?? 0; ; attempt++) {
      const name = attempt === 0 ? stem : series.name(attempt);
      if (used.has(name) || (isRelation && !isFree(name, series, attempt))) continue;
      nextAttempts.set(stem, attempt + 1);
      used.add(name);
      return name;
    }
  };
  const sequences = new Map<string, string>();
  await forEachInTurns(columns, ({ name, type, sequence }) => {
    if (serialBase(type) === undefined) return;
    sequences.set(name, sequence?.name ?? choose(nameSeries(table, [name], 'seq'), true));
  });
  const keyName = primaryKey && (primaryKey.name ?? choose(nameSeries(table, [], 'pkey'), true));
  const uniqueNames = await mapInTurns(
    unique,
    (key) => key.name ?? choose(nameSeries(table, [...key.columns, ...key.options.include], 'key'), true),
    weightOfKey,
  );
  const indexNames = await mapInTurns(
    indexes,
    (index) => index.name ?? choose(nameSeries(table, columnsOfIndex(index), 'idx'), true),
    weightOfIndex,
  );
  const foreignKeyNames = await mapInTurns(foreignKeys, (key) => {
    const own = key.pairs.map((pair) => pair.column);
    return key.name ?? choose(nameSeries(table, own, 'fkey'), false);
  });
  // PostgreSQL names a check after its column if it has only one.
  const checkNames = checks.map(
    ({ name, columns: own }) =>
      name ?? choose(nameSeries(table, own.length === 1 ? own : [], 'check'), false),
  );
  const notNull = new Map<string, string>();
  await forEachInTurns(columns, ({ name, isNullable }) => {
    const isNotNull = !isNullable || sequences.has(name) || primaryKey?.columns.includes(name);
    if (isNotNull) notNull.set(name, choose(nameSeries(table, [name], 'not_null'), false));
  });
  return {
    primaryKey: keyName,
    unique: uniqueNames,
    foreignKeys: foreignKeyNames,
    indexes: indexNames,
    checks: checkNames,
    sequences,
    notNull,
  };
}

/** Returns the names of indexes and sequences, which no other relation of the schema can have. */
export function relationNames({ primaryKey, unique, indexes, sequences }: ObjectNames): string[] {
  return [...(primaryKey === undefined ? [] : [primaryKey]), ...unique, ...indexes, ...sequences.values()];
}

/** Returns the names with temporary names for indexes and sequences. A table that will replace another one has these names while both tables exist. */
export function namesAside(names: ObjectNames, aside: string): ObjectNames {
  let count = 0;
  const next = () => `${aside} ${++count}`;
  return {
    ...names,
    primaryKey: names.primaryKey === undefined ? undefined : next(),
    unique: names.unique.map(next),
    indexes: names.indexes.map(next),
    sequences: new Map([...names.sequences.keys()].map((column) => [column, next()])),
  };
}

function givenNames(definition: TableDefinition): string[] {
  const { columns, primaryKey, unique, foreignKeys, indexes, checks } = definition;
  const keys = [...(primaryKey === undefined ? [] : [primaryKey]), ...unique];
  const named = [...keys, ...foreignKeys, ...indexes, ...checks];
  const sequences = columns.map(({ sequence }) => sequence?.name);
  return [...named.map((constraint) => constraint.name), ...sequences].filter((name) => name !== undefined);
}

function nameSeries(table: string, columns: string[], label: string): NameSeries {
  const second = columns.length === 0 ? undefined : columns.join('_');
  return { name: (attempt) => objectName(table, second, attempt === 0 ? label : `${label}${attempt}`) };
}

/** Makes a name like PostgreSQL's `makeObjectName`. If the name is too long, it cuts the longer part first, and never inside a character. */
function objectName(first: string, second: string | undefined, label: string): string {
  const whole = second === undefined ? `${first}_${label}` : `${first}_${second}_${label}`;
  if (whole.length * 3 <= maxIdentifierBytes || Buffer.byteLength(whole) <= maxIdentifierBytes) return whole;
  const available = maxIdentifierBytes - label.length - (second === undefined ? 1 : 2);
  let firstBytes = Buffer.byteLength(first);
  // If the second part is longer than the first one and than the space for both, it is cut to this length in any case. Beginning with this length keeps the loop short.
  let secondBytes = Math.min(Buffer.byteLength(second ?? ''), Math.max(firstBytes, available) + 1);
  while (firstBytes + secondBytes > available) {
    if (firstBytes > secondBytes) firstBytes--;
    else secondBytes--;
  }
  const start = cutBytes(first, firstBytes);
  return second === undefined ? `${start}_${label}` : `${start}_${cutBytes(second, secondBytes)}_${label}`;
}

function cutBytes(text: string, maxBytes: number): string {
  // A character of UTF-16 has at least one byte of UTF-8.
  const bytes = Buffer.from(text.slice(0, maxBytes + 1));
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // A byte 10xxxxxx is not the first byte of a character.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** The names of a table that has no keys, indexes or sequences. */
export const noNames: ObjectNames = {
  primaryKey: undefined,
  unique: [],
  foreignKeys: [],
  indexes: [],
  checks: [],
  sequences: new Map(),
  notNull: new Map(),
};
