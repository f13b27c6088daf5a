/** Checks that the columns of keys can be compared, and that foreign keys refer to columns that they can refer to. */

import type { ClientBase } from 'pg';
import type { Problem } from '../errors.ts';
import type { ProblemCode } from '../problem-codes.ts';
import type { SimilarTable, TargetTable } from './catalog.ts';
import { compareTypes, findSimilarTables } from './catalog.ts';
import type { ForeignKeyPair, TableDefinition } from './definition.ts';
import { isAdmitted } from './dotted-name.ts';
import { didYouMean, isSystemSchema, nearestNames } from './identifiers.ts';
import type { PreparedColumn, PreparedForeignKey } from './prepared-table.ts';

/** Columns of a primary key or a unique constraint need an order (a default btree operator class). */
export function checkKeyTypes(
  definition: TableDefinition,
  columns: PreparedColumn[],
  problems: Problem[],
): void {
  const keys = definition.primaryKey ? [definition.primaryKey, ...definition.unique] : definition.unique;
  for (const key of keys) {
    for (const [index, name] of key.columns.entries()) {
      const column = columns.find((candidate) => candidate.name === name);
      if (column === undefined || column.type.isOrdered || key.columns.indexOf(name) < index) continue;
      const detail = `the column "${name}" is of type ${column.type.display}, which cannot be in a key: PostgreSQL has no order for its values`;
      problems.push({ pointer: `${key.pointer}/columns/${index}`, code: 'type-not-indexable', detail });
    }
  }
}

/** The table that a foreign key refers to: another table, or the table of the definition. */
interface Target {
  columns: { name: string; baseOid: number | undefined; type: string }[];
  keys: string[][];
}

/** A pair of columns of different types. PostgreSQL must say whether they can be compared. */
interface TypePair {
  pointer: string;
  column: string;
  type: string;
  baseOid: number;
  reference: string;
  referenceType: string;
  referenceBaseOid: number;
}

/** Checks what foreign keys refer to. Takes one more round trip if a column and the column that it refers to are of different types. */
export async function checkReferences(
  client: ClientBase,
  keys: PreparedForeignKey[],
  definition: TableDefinition,
  columns: PreparedColumn[],
  targets: { schema: string; table: string }[],
  found: (TargetTable | null)[],
  admitSchema: (schema: string) => void,
  problems: Problem[],
): Promise<void> {
  const unlike: TypePair[] = [];
  const unknown: UnknownTable[] = [];
  for (const key of keys) {
    if (key.table === '') continue;
    const index = targets.findIndex((target) => target.schema === key.schema && target.table === key.table);
    const target = key.isSelf
      ? ownTarget(definition, columns)
      : checkedTarget(key, found[index] ?? null, problems, unknown);
    if (target === undefined) continue;
    const hasColumns = checkTargetColumns(key, target, problems);
    if (hasColumns) checkTargetKey(key, target, problems);
    for (const pair of key.pairs) collectUnlike(key, pair, target, columns, unlike);
  }
  await suggestTables(client, unknown, admitSchema);
  if (unlike.length === 0) return;
  const { rows } = await client.query<{ comparable: boolean[] }>(
    compareTypes(unlike.map((pair) => [pair.baseOid, pair.referenceBaseOid])),
  );
  for (const [index, pair] of unlike.entries()) {
    if (rows[0]!.comparable[index]) continue;
    const detail = `the column "${pair.column}" is of type ${pair.type} and ${pair.reference} of type ${pair.referenceType}; they cannot be compared`;
    problems.push({ pointer: pair.pointer, code: 'reference-type-mismatch', detail });
  }
}

function ownTarget(definition: TableDefinition, columns: PreparedColumn[]): Target {
  const keys = definition.primaryKey ? [definition.primaryKey, ...definition.unique] : definition.unique;
  return {
    columns: definition.columns.map(({ name }) => {
      const column = columns.find((candidate) => candidate.name === name);
      return { name, baseOid: column?.type.baseOid, type: column?.type.display ?? '' };
    }),
    keys: keys.map((key) => key.columns),
  };
}

function checkedTarget(
  key: PreparedForeignKey,
  table: TargetTable | null,
  problems: Problem[],
  unknown: UnknownTable[],
): Target | undefined {
  const pointer = `${key.pairs[0]!.pointer}/reference_table`;
  const shown = `"${key.schema}"."${key.table}"`;
  const refuse = (code: ProblemCode, detail: string) => {
    problems.push({ pointer, code, detail, value: key.table });
    return undefined;
  };
  if (isSystemSchema(key.schema)) return refuse('unknown-reference', `${shown} belongs to PostgreSQL itself`);
  if (table === null) {
    refuse('unknown-reference', `there is no table ${shown}.`);
    unknown.push({ key, problem: problems.at(-1)! });
    return undefined;
  }
  if (table.kind !== 'r' && table.kind !== 'p') {
    return refuse('unknown-reference', `${shown} is not a table: only a table can be referred to`);
  }
  if (table.persistence !== 'p') {
    return refuse(
      'unknown-reference',
      `${shown} is an unlogged table, and only an unlogged table can refer to it`,
    );
  }
  const wanted = new Set(key.pairs.map((pair) => pair.referenceColumn));
  if (table.columns.some((column) => wanted.has(column.name) && !column.mayRefer)) {
    return refuse(
      'permission-denied',
      `the role lacks REFERENCES on the table ${shown}, or USAGE on its schema`,
    );
  }
  const names = new Map(table.columns.map((column) => [column.id, column.name]));
  return { columns: table.columns, keys: table.keys.map((ids) => ids.map((id) => names.get(id)!)) };
}

/** A table that a foreign key refers to and that does not exist. */
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

function checkTargetColumns(key: PreparedForeignKey, target: Target, problems: Problem[]): boolean {
  const names = target.columns.map((column) => column.name);
  const seen = new Set<string>();
  const before = problems.length;
  for (const { referenceColumn, pointer } of key.pairs) {
    if (referenceColumn === '') return false;
    const at = `${pointer}/reference_column`;
    const value = referenceColumn;
    if (!names.includes(referenceColumn)) {
      const detail = `the table "${key.table}" has no column "${value}".${didYouMean(value, names, problems.length)}`;
      problems.push({ pointer: at, code: 'unknown-reference', detail, value });
    } else if (seen.has(referenceColumn)) {
      const detail = `the column "${value}" occurs twice in this foreign key`;
      problems.push({ pointer: at, code: 'repeated-column', detail, value });
    }
    seen.add(referenceColumn);
  }
  return problems.length === before;
}

/** Checks that the table has a key with exactly these columns, in any order (PostgreSQL 5.5.5). */
function checkTargetKey(key: PreparedForeignKey, target: Target, problems: Problem[]): void {
  const wanted = key.pairs.map((pair) => pair.referenceColumn);
  const fits = (columns: string[]) =>
    columns.length === wanted.length && wanted.every((name) => columns.includes(name));
  if (target.keys.some(fits)) return;
  const names = wanted.map((name) => `"${name}"`).join(', ');
  const detail =
    wanted.length === 1
      ? `the column ${names} of "${key.table}" is neither its primary key nor unique`
      : `the columns ${names} of "${key.table}" are together neither its primary key nor unique`;
  problems.push({
    pointer: `${key.pairs[0]!.pointer}/reference_column`,
    code: 'reference-not-unique',
    detail,
  });
}

function collectUnlike(
  key: PreparedForeignKey,
  pair: ForeignKeyPair,
  target: Target,
  columns: PreparedColumn[],
  unlike: TypePair[],
): void {
  const column = columns.find((candidate) => candidate.name === pair.column);
  const reference = target.columns.find((candidate) => candidate.name === pair.referenceColumn);
  if (column === undefined || reference?.baseOid === undefined) return;
  if (column.type.baseOid === reference.baseOid) return;
  unlike.push({
    pointer: `${pair.pointer}/column`,
    column: pair.column,
    type: column.type.display,
    baseOid: column.type.baseOid,
    reference: `"${key.table}"."${pair.referenceColumn}"`,
    referenceType: reference.type,
    referenceBaseOid: reference.baseOid,
  });
}
