/** Reads the foreign keys of a definition, in both of their forms. */
import type { TObject } from 'typebox';
import { shorten } from '../../core/identifiers.ts';
import { forEachInTurns } from '../../core/pause-for-others.ts';
import {
  type ForeignKeyDefinition,
  type ForeignKeyPair,
  type ForeignKeyRules,
  ForeignKeySchema,
  WholeForeignKeySchema,
} from './foreign-keys.ts';
import {
  entriesOf,
  type Members,
  type Report,
  readColumnName,
  readMembers,
  readName,
} from './read-members.ts';

/** Reads the entries in turns. Entries of pairs with the same name become one foreign key. */
export async function parseForeignKeys(
  entries: unknown[],
  pointer: string,
  report: Report,
): Promise<ForeignKeyDefinition[]> {
  const keys: ForeignKeyDefinition[] = [];
  const byName = new Map<string, ForeignKeyDefinition>();
  const parse = (entry: unknown, index: number) => {
    const at = `${pointer}/${index}`;
    const isWhole = hasLists(entry);
    const key = parseForeignKey(entry, at, report);
    if (key === undefined) return;
    // Two keys in the form with lists are not joined if they have the same name. A later check reports this.
    const same = isWhole || key.name === undefined ? undefined : byName.get(key.name);
    if (same !== undefined) return joinPair(same, key, at, report);
    keys.push(key);
    if (!isWhole && key.name !== undefined) byName.set(key.name, key);
  };
  await forEachInTurns(entries, parse, weightOfEntry);
  return keys;
}

/** Reads one entry. Returns undefined if it is no foreign key, which is reported. */
export function parseForeignKey(
  entry: unknown,
  pointer: string,
  report: Report,
): ForeignKeyDefinition | undefined {
  return hasLists(entry) ? parseWholeKey(entry, pointer, report) : parsePair(entry, pointer, report);
}

function hasLists(entry: unknown): boolean {
  return Object.hasOwn(Object(entry), 'columns') || Object.hasOwn(Object(entry), 'reference_columns');
}

/** Returns how much work an entry is for `forEachInTurns`: its number of columns. */
export function weightOfEntry(entry: unknown): number {
  const columns = (entry as { columns?: unknown } | null)?.columns;
  return Array.isArray(columns) ? 1 + columns.length : 1;
}

function parsePair(value: unknown, pointer: string, report: Report): ForeignKeyDefinition | undefined {
  const key = readMembers(ForeignKeySchema, value, pointer, report);
  if (key === undefined) return undefined;
  const read = (member: 'column' | 'reference_column') =>
    readName(key(member), `${pointer}/${member}`, report) ?? '';
  const pair: ForeignKeyPair = {
    pointer,
    columnPointer: `${pointer}/column`,
    referencePointer: `${pointer}/reference_column`,
    column: read('column'),
    referenceColumn: read('reference_column'),
  };
  return { ...parseRest(key, pointer, report), pairs: [pair] };
}

function parseWholeKey(value: unknown, pointer: string, report: Report): ForeignKeyDefinition | undefined {
  const key = readMembers(WholeForeignKeySchema, value, pointer, report);
  if (key === undefined) return undefined;
  const read = (member: 'columns' | 'reference_columns') => {
    const list = key(member, ': ["id"]');
    const at = `${pointer}/${member}`;
    if (list?.length === 0) report(at, 'missing', 'the foreign key has no columns');
    return entriesOf(list, at, report).map((entry, index) => readColumnName(entry, `${at}/${index}`, report));
  };
  const columns = read('columns');
  const references = read('reference_columns');
  const rest = parseRest(key, pointer, report);
  if (columns.length === 0 || references.length === 0) return undefined;
  if (columns.length !== references.length) {
    const detail = `must be as many as the columns: ${columns.length}, not ${references.length}`;
    report(`${pointer}/reference_columns`, 'mixed-reference', detail);
    return undefined;
  }
  return {
    ...rest,
    pairs: columns.map((column, index) => ({
      pointer,
      columnPointer: `${pointer}/columns/${index}`,
      referencePointer: `${pointer}/reference_columns/${index}`,
      column,
      referenceColumn: references[index]!,
    })),
  };
}

function parseRest(
  key: Members<TObject<Omit<typeof ForeignKeySchema.properties, 'column' | 'reference_column'>>>,
  pointer: string,
  report: Report,
): Omit<ForeignKeyDefinition, 'pairs'> {
  const read = (member: 'name' | 'reference_schema' | 'reference_table') =>
    readName(key(member), `${pointer}/${member}`, report);
  return {
    name: read('name'),
    schema: read('reference_schema') ?? 'public',
    table: read('reference_table') ?? '',
    rules: {
      onDelete: key('on_delete') ?? undefined,
      onUpdate: key('on_update') ?? undefined,
      deferrable: key('deferrable') ?? undefined,
      notValid: key('not_valid') ?? undefined,
    },
  };
}

/** Adds a pair of columns to the foreign key with the same name. If the pair has no rule of its own, the rule of the other pairs applies. */
function joinPair(
  same: ForeignKeyDefinition,
  key: ForeignKeyDefinition,
  pointer: string,
  report: Report,
): void {
  same.pairs.push(...key.pairs);
  const refuse = (what: string) =>
    report(
      pointer,
      'mixed-reference',
      `the foreign key "${shorten(same.name!)}" ${what}; entries with the same name form one composite key`,
    );
  for (const rule of Object.keys(same.rules) as (keyof ForeignKeyRules)[]) {
    const [first, other] = [same.rules[rule], key.rules[rule]];
    if (first !== undefined && other !== undefined && first !== other)
      refuse(`has the rules "${first}" and "${other}"`);
    Object.assign(same.rules, { [rule]: first ?? other });
  }
  // An empty name marks a problem that is already reported, not another table.
  const hasTables = key.table !== '' && same.table !== '';
  if (hasTables && (same.table !== key.table || same.schema !== key.schema)) {
    refuse('refers to more than one table');
    // It is not clear which table is meant, so it is treated as unknown and is not checked further.
    same.table = '';
  }
}
