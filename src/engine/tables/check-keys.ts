/** Checks that the columns of keys can be compared, and that foreign keys refer to columns that they can refer to. */

import type { ClientBase } from 'pg';
import type { Problem } from '../../core/errors.ts';
import { isSystemSchema, nearestNames, shorten } from '../../core/identifiers.ts';
import { forEachInTurns, Pace } from '../../core/pause-for-others.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import type { TargetTable } from './catalog/look-up-definition.ts';
import { compareTypes } from './catalog/ordered-types.ts';
import { findSimilarTables, type SimilarTable } from './catalog/relations.ts';
import { type KeyDefinition, keysOf, type TableDefinition, weightOfKey } from './definition.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import { isAdmitted } from './dotted-name.ts';
import type { DefinitionDraft } from './draft-definition.ts';
import type { ForeignKeyPair } from './foreign-keys.ts';
import { type IndexDefinition, weightOfIndex } from './indexes/index-definition.ts';
import type { PreparedColumn, PreparedForeignKey } from './prepared-table.ts';

/**
 * Checks that the columns of a primary key or a unique constraint have an order (a default btree operator class). It works in
 * turns.
 */
export async function checkKeyTypes(
  definition: TableDefinition,
  columns: PreparedColumn[],
  problems: DefinitionProblems,
): Promise<void> {
  if (columns.every(({ type }) => type.isOrdered)) return;
  const byName = firstByName(columns);
  const checkKey = (key: KeyDefinition) => {
    for (const [index, name] of key.columns.entries()) {
      const column = byName.get(name);
      if (column === undefined || column.type.isOrdered || key.columns.indexOf(name) < index) continue;
      const detail = `the column "${name}" is of type ${column.type.display}, which cannot be in a key: PostgreSQL has no order for its values`;
      problems.add({ pointer: `${key.pointer}/columns/${index}`, code: 'type-not-indexable', detail });
    }
  };
  await forEachInTurns(keysOf(definition), checkKey, weightOfKey);
}

/**
 * Refuses indexes of the method `spgist` over texts. PostgreSQL splits a text into parts of 8 KB and copies the rest each time: for a text of 15 MB it
 * needs 20 GB.
 */
export async function checkTextTrees(
  { indexes }: TableDefinition,
  columns: PreparedColumn[],
  problems: DefinitionProblems,
): Promise<void> {
  const byName = firstByName(columns);
  const check = (index: IndexDefinition) => {
    for (const { column, expression, pointer } of index.method === 'spgist' ? index.columns : []) {
      if (!expression && !textTypes.has(byName.get(column)?.type.baseOid)) continue;
      const detail =
        'PostgreSQL needs too much memory for long texts in an index of the method spgist. Use the method btree, or gin with the operator class gin_trgm_ops';
      const member = expression ? 'expression' : 'column';
      problems.add({ pointer: `${pointer}/${member}`, code: 'type-not-indexable', detail });
    }
  };
  await forEachInTurns(indexes, check, weightOfIndex);
}

/** `text`, `bpchar` and `varchar` */
const textTypes = new Set<number | undefined>([25, 1042, 1043]);

/** Returns the columns by name. If several columns have the same name, which is a problem already, it returns the first one. */
function firstByName(columns: PreparedColumn[]): ReadonlyMap<string, PreparedColumn> {
  return new Map(columns.toReversed().map((column) => [column.name, column]));
}

interface TargetColumn {
  name: string;
  baseOid: number | undefined;
  isLimitedArray: boolean;
  type: string;
}

/** The table that a foreign key refers to: another table, or the table of the definition. */
interface Target {
  columns: Map<string, TargetColumn>;
  names: string[];
  /** The columns that the role has no privilege to refer to. */
  closedColumns: Set<string>;
  /** The columns of each key, as texts that `keyText` writes. */
  keys: Set<string>;
  /** The same for keys that are checked at the end of a transaction, to which no foreign key can refer. */
  deferrable: Set<string>;
}

/** Returns a text that is the same for the same columns in any order. */
function keyText(columns: string[]): string {
  return JSON.stringify(columns.toSorted());
}

/** A column and the column that it refers to, if their types differ. PostgreSQL must then decide whether they can be compared. */
interface TypePair {
  pointer: string;
  column: string;
  type: string;
  baseOid: number;
  reference: string;
  referenceType: string;
  referenceBaseOid: number;
}

/**
 * Checks what foreign keys refer to, in turns. Takes one more round trip if a column and the column that it refers to are of different
 * types.
 */
export async function checkReferences(
  client: ClientBase,
  draft: DefinitionDraft,
  keys: PreparedForeignKey[],
  columns: PreparedColumn[],
  found: (TargetTable | null)[],
): Promise<void> {
  if (keys.length === 0) return;
  const { definition, request, admitSchema, problems } = draft;
  const unlike: TypePair[] = [];
  const unknown: UnknownTable[] = [];
  const byName = firstByName(columns);
  const findTarget = await targetFinder(keys, definition, byName, request.targets, found);
  const checkKey = (key: PreparedForeignKey) => {
    if (key.table === '') return;
    const { target, table } = findTarget(key);
    if (!key.isSelf && !isReferable(key, target, table, draft, unknown)) return;
    if (target === undefined) return;
    const hasColumns = checkTargetColumns(key, target, problems);
    if (hasColumns) checkTargetKey(key, target, problems);
    for (const pair of key.pairs) {
      const own = byName.get(pair.column);
      const reference = target.columns.get(pair.referenceColumn);
      if (own === undefined || reference === undefined) continue;
      const limited = isLimitedArray(own) ? own.typeText : reference.isLimitedArray && reference.type;
      if (limited) problems.add(unsearchable(pair, limited));
      else collectUnlike(key, pair, own, reference, unlike);
    }
  };
  await forEachInTurns(keys, checkKey, ({ pairs }) => pairs.length);
  await suggestTables(client, unknown, admitSchema);
  if (unlike.length === 0) return;
  const { rows } = await client.query<{ comparable: boolean[] }>(
    compareTypes(unlike.map((pair) => [pair.baseOid, pair.referenceBaseOid])),
  );
  for (const [index, pair] of unlike.entries()) {
    if (rows[0]!.comparable[index]) continue;
    const detail = `the column "${pair.column}" is of type ${pair.type} and ${pair.reference} of type ${pair.referenceType}; they cannot be compared`;
    problems.add({ pointer: pair.pointer, code: 'reference-type-mismatch', detail });
  }
}

interface FoundTarget {
  /** Undefined: the table does not exist. */
  target: Target | undefined;
  /** The table in the catalogue; null: it does not exist, or it is the table of the definition itself. */
  table: TargetTable | null;
}

/** Returns a function that finds the table of a foreign key. Each table is prepared once, because thousands of keys may refer to it. */
async function targetFinder(
  keys: PreparedForeignKey[],
  definition: TableDefinition,
  columns: ReadonlyMap<string, PreparedColumn>,
  targets: { schema: string; table: string }[],
  found: (TargetTable | null)[],
): Promise<(key: PreparedForeignKey) => FoundTarget> {
  const own = keys.some((key) => key.isSelf) ? await ownTarget(definition, columns) : undefined;
  const others = new Map<string, FoundTarget>();
  const pace = new Pace();
  for (const [index, { schema, table }] of targets.entries()) {
    const facts = found[index] ?? null;
    others.set(tableText(schema, table), {
      target: facts === null ? undefined : otherTarget(facts),
      table: facts,
    });
    const pause = pace.pause(1 + (facts?.columns.length ?? 0) + (facts?.keys.length ?? 0));
    if (pause) await pause;
  }
  return (key) =>
    key.isSelf ? { target: own, table: null } : (others.get(tableText(key.schema, key.table)) ?? noTarget);
}

const noTarget: FoundTarget = { target: undefined, table: null };

function tableText(schema: string, table: string): string {
  return JSON.stringify([schema, table]);
}

async function ownTarget(
  definition: TableDefinition,
  columns: ReadonlyMap<string, PreparedColumn>,
): Promise<Target> {
  const names = definition.columns.map((column) => column.name);
  const sets = { closedColumns: new Set<string>(), keys: new Set<string>(), deferrable: new Set<string>() };
  const target: Target = { columns: new Map(), names, ...sets };
  for (const name of names) {
    const column = columns.get(name);
    target.columns.set(name, {
      ...{ name, baseOid: column?.type.baseOid, type: column?.type.display ?? '' },
      isLimitedArray: column !== undefined && isLimitedArray(column),
    });
  }
  // A foreign key cannot refer to a key that is checked at the end of a transaction.
  const add = ({ columns, options }: KeyDefinition) => {
    (options.deferrable ? target.deferrable : target.keys).add(keyText(columns));
  };
  await forEachInTurns(keysOf(definition), add, weightOfKey);
  return target;
}

function otherTarget({ columns, keys, deferrable }: TargetTable): Target {
  const names = new Map(columns.map((column) => [column.id, column.name]));
  const textsOf = (all: number[][]) => new Set(all.map((ids) => keyText(ids.map((id) => names.get(id)!))));
  return {
    columns: new Map(columns.map((column) => [column.name, column])),
    names: [...names.values()],
    closedColumns: new Set(columns.filter((column) => !column.mayRefer).map((column) => column.name)),
    keys: textsOf(keys),
    deferrable: textsOf(deferrable),
  };
}

/** Returns whether the foreign key can refer to the table, and adds a problem if it cannot. */
function isReferable(
  key: PreparedForeignKey,
  target: Target | undefined,
  table: TargetTable | null,
  { definition, problems }: DefinitionDraft,
  unknown: UnknownTable[],
): boolean {
  const pointer = `${key.pairs[0]!.pointer}/reference_table`;
  const shown = `"${key.schema}"."${key.table}"`;
  const refuse = (code: ProblemCode, detail: string) => {
    problems.add({ pointer, code, detail, value: key.table });
    return false;
  };
  if (isSystemSchema(key.schema)) return refuse('unknown-reference', `${shown} belongs to PostgreSQL itself`);
  if (table === null) {
    const detail = `there is no table ${shown}.${hintAtSchema(key.table)}`;
    const problem: Problem = { pointer, code: 'unknown-reference', detail, value: key.table };
    if (problems.add(problem)) unknown.push({ key, problem });
    return false;
  }
  if (table.kind !== 'r' && table.kind !== 'p') {
    return refuse('unknown-reference', `${shown} is not a table: only a table can be referred to`);
  }
  if (table.persistence !== 'p' && !definition.isUnlogged) {
    return refuse(
      'unknown-reference',
      `${shown} is an unlogged table, and only an unlogged table can refer to it`,
    );
  }
  if (key.pairs.some(({ referenceColumn }) => target?.closedColumns.has(referenceColumn))) {
    return refuse(
      'permission-denied',
      `the role lacks REFERENCES on the table ${shown}, or USAGE on its schema`,
    );
  }
  return true;
}

/** A table that a foreign key refers to, and that does not exist. */
interface UnknownTable {
  key: PreparedForeignKey;
  problem: Problem;
}

const maxSuggestions = 10;

/** Adds to each problem the names of tables that the caller may have meant, if the caller may see them. */
async function suggestTables(
  client: ClientBase,
  unknown: UnknownTable[],
  admitSchema: (schema: string) => void,
): Promise<void> {
  for (const { key, problem } of unknown.slice(0, maxSuggestions)) {
    const { rows } = await client.query<SimilarTable>(findSimilarTables(key.schema, key.table));
    const known = rows.filter(({ schema }) => isAdmitted(schema, admitSchema));
    const named = known.filter(({ table }) => table.toLowerCase() === key.table.toLowerCase());
    const near = nearestNames(
      key.table,
      known.filter(({ schema }) => schema === key.schema).map(({ table }) => table),
    ).map((table) => ({ schema: key.schema, table }));
    const meant = (named.length > 0 ? named : near).slice(0, 3);
    if (meant.length === 0) continue;
    const names = meant.map(({ schema, table }) => `"${schema}"."${table}"`);
    problem.detail += ` Did you mean ${names.join(' or ')}?`;
  }
}

function checkTargetColumns(key: PreparedForeignKey, target: Target, problems: DefinitionProblems): boolean {
  const seen = new Set<string>();
  const before = problems.count;
  for (const { referenceColumn, referencePointer: at } of key.pairs) {
    if (referenceColumn === '') return false;
    const value = referenceColumn;
    if (!target.columns.has(referenceColumn)) {
      const detail = `the table "${key.table}" has no column "${value}".`;
      const misspelling = { name: value, among: target.names };
      problems.add({ pointer: at, code: 'unknown-reference', detail, value }, misspelling);
    } else if (seen.has(referenceColumn)) {
      const detail = `the column "${value}" occurs twice in this foreign key`;
      problems.add({ pointer: at, code: 'repeated-column', detail, value });
    }
    seen.add(referenceColumn);
  }
  return problems.count === before;
}

/** Checks that the table has a key with exactly these columns, in any order (PostgreSQL 5.5.5). */
function checkTargetKey(key: PreparedForeignKey, target: Target, problems: DefinitionProblems): void {
  const wanted = key.pairs.map((pair) => pair.referenceColumn);
  if (target.keys.has(keyText(wanted))) return;
  const names = wanted.map((name) => `"${name}"`).join(', ');
  const detail = target.deferrable.has(keyText(wanted))
    ? `the key over ${names} of "${key.table}" is deferrable, and a foreign key cannot refer to such a key`
    : wanted.length === 1
      ? `the column ${names} of "${key.table}" is neither its primary key nor unique`
      : `the columns ${names} of "${key.table}" are together neither its primary key nor unique`;
  problems.add({
    pointer: key.pairs[0]!.referencePointer,
    code: 'reference-not-unique',
    detail,
  });
}

function isLimitedArray({ typeName }: PreparedColumn): boolean {
  return typeName.isArray && typeName.modifiers !== '';
}

/** PostgreSQL creates such a key with CREATE TABLE, and then no row with a value can be written: its search compares `anyarray` with the type. */
function unsearchable({ columnPointer: pointer }: ForeignKeyPair, type: string): Problem {
  const detail = `PostgreSQL cannot search for values of the type ${shorten(type)} in a foreign key, because it is an array whose elements have a modifier; leave the modifier out`;
  return { pointer, code: 'reference-type-mismatch', detail };
}

function collectUnlike(
  key: PreparedForeignKey,
  pair: ForeignKeyPair,
  { type }: PreparedColumn,
  reference: TargetColumn,
  unlike: TypePair[],
): void {
  if (reference.baseOid === undefined || type.baseOid === reference.baseOid) return;
  unlike.push({
    pointer: pair.columnPointer,
    column: pair.column,
    type: type.display,
    baseOid: type.baseOid,
    reference: `"${key.table}"."${pair.referenceColumn}"`,
    referenceType: reference.type,
    referenceBaseOid: reference.baseOid,
  });
}

/** Returns the advice for a referenced table whose name looks like `schema.table`; '' for other names. */
function hintAtSchema(table: string): string {
  const dot = table.indexOf('.');
  if (dot <= 0 || dot === table.length - 1) return '';
  return ` A dot is part of a name. Send "reference_schema": ${JSON.stringify(table.slice(0, dot))} and "reference_table": ${JSON.stringify(table.slice(dot + 1))}.`;
}
