/**
 * Where a standing table is not what a definition says. What the definition's columns would be, PostgreSQL itself says:
 * they are made as a temporary table, described and undone, because types and defaults have more than one spelling.
 */
import type { ClientBase } from 'pg';
import type { Problem } from '../errors.ts';
import { queryInCallersPath } from '../postgres/search-path.ts';
import { randomName } from '../postgres/sql.ts';
import { createTemporaryTable } from './ddl.ts';
import type { ColumnDescription, KeyDefinition, TableDescription } from './definition.ts';
import { describeTable, readTable, toDescription } from './describe-table.ts';
import { shorten } from './identifiers.ts';
import { checkDefinition } from './prepare-table.ts';
import type { PreparedForeignKey, PreparedTable } from './prepared-table.ts';
import type { PrepareOptions } from './resolve-definition.ts';
import { resolveDefinition } from './resolve-definition.ts';

/** What a difference may be: all of them, or those that keep rows made for the definition from fitting the table. */
export type Strictness = 'same' | 'fits';

/**
 * For a load into a table that stands: where the definition sent does not agree with it. What the table has beyond the
 * definition (columns, constraints) is no disagreement.
 *
 * @param isPartial the definition may name only some of the columns that its constraints name
 * @throws AppError `invalid-definition` with every fault, `table-not-found`, and whatever `resolveDefinition` throws
 */
export async function compareWithStanding(
  client: ClientBase,
  options: PrepareOptions,
  isPartial = false,
): Promise<Problem[]> {
  const standing = await describeTable(client, options.schema, options.name, options.extraFunctions);
  const table = isPartial ? withColumnsOf(standing, options.table) : options.table;
  const prepared = await checkDefinition(client, await resolveDefinition(client, { ...options, table }));
  return compareDefinition(client, prepared, standing, 'fits', options.extraFunctions);
}

/** Adds the columns of the table that the definition does not name, so that its constraints may. */
function withColumnsOf(standing: TableDescription, sent: unknown): unknown {
  const { columns = [] } = (sent ?? {}) as { columns?: unknown };
  if (typeof sent !== 'object' || sent === null || !Array.isArray(columns)) return sent;
  const names = columns.map((column: { name?: unknown } | null) => column?.name);
  const others = standing.columns
    .filter(({ name }) => !names.includes(name))
    .map(({ id: _, ...column }) => column);
  return { ...sent, columns: [...columns, ...others] };
}

/** Four round trips. Needs the right to make temporary tables (TEMPORARY on the database). */
export async function compareDefinition(
  client: ClientBase,
  prepared: PreparedTable,
  standing: TableDescription,
  strictness: Strictness,
  extraFunctions: readonly string[] = [],
): Promise<Problem[]> {
  const columns = await describeColumns(client, prepared, extraFunctions);
  const differences: Problem[] = [];
  const tell: Tell = (pointer, detail, code = 'differs') => differences.push({ pointer, code, detail });
  compareColumns(columns, standing.columns, strictness, tell);
  compareKeys(prepared, standing, strictness, tell);
  compareForeignKeys(prepared.foreignKeys, standing, strictness, tell);
  if (strictness === 'same') {
    for (const { name } of standing.constraints.others ?? []) {
      tell('/table/constraints', `the table has a constraint "${name}" that a definition cannot say`);
    }
  }
  return differences;
}

type Tell = (pointer: string, detail: string, code?: string) => void;

async function describeColumns(
  client: ClientBase,
  prepared: PreparedTable,
  extraFunctions: readonly string[],
): Promise<ColumnDescription[]> {
  const temporaryName = randomName('comparison');
  await client.query('SAVEPOINT "comparison"');
  try {
    await queryInCallersPath(client, createTemporaryTable(prepared, temporaryName).text);
    const facts = await readTable(client, 'pg_temp', temporaryName);
    return toDescription(prepared.schema, prepared.name, facts!, extraFunctions).columns;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT "comparison"; RELEASE SAVEPOINT "comparison"');
  }
}

function compareColumns(
  wanted: ColumnDescription[],
  standing: ColumnDescription[],
  strictness: Strictness,
  tell: Tell,
): void {
  for (const [index, column] of wanted.entries()) {
    const pointer = `/table/columns/${index}`;
    const other = standing.find((candidate) => candidate.name === column.name);
    if (other === undefined) tell(`${pointer}/name`, `the table has no column "${column.name}"`);
    else compareColumn(column, other, pointer, tell);
  }
  if (strictness === 'fits') return;
  const names = wanted.map((column) => column.name);
  const extra = standing.filter((column) => !names.includes(column.name));
  for (const { name } of extra)
    tell('/table/columns', `the table has a column "${name}" beside those of the definition`);
  const shared = standing.filter((column) => names.includes(column.name)).map((column) => column.name);
  const inOrder = names.filter((name) => shared.includes(name));
  if (shared.some((name, index) => name !== inOrder[index])) {
    tell('/table/columns', 'the columns of the table stand in another order');
  }
}

function compareColumn(
  wanted: ColumnDescription,
  standing: ColumnDescription,
  pointer: string,
  tell: Tell,
): void {
  const { name } = wanted;
  if (wanted.type !== standing.type) {
    tell(`${pointer}/type`, `the column "${name}" is of type ${standing.type}, not ${wanted.type}`);
  }
  if (wanted.is_nullable !== standing.is_nullable) {
    tell(`${pointer}/is_nullable`, `the column "${name}" is ${standing.is_nullable ? '' : 'not '}nullable`);
  }
  if ((wanted.identity ?? null) !== (standing.identity ?? null)) {
    const kind = standing.identity === 'always' ? 'always' : 'only by default';
    tell(`${pointer}/identity`, `the column "${name}" is numbered by PostgreSQL ${kind}`);
  }
  if (standing.generated) {
    tell(`${pointer}/generated`, `the column "${name}" is generated from others`);
  } else if (constantOf(wanted.default) !== constantOf(standing.default)) {
    const shown = standing.default === null ? 'no default' : `the default ${shorten(standing.default)}`;
    tell(`${pointer}/default`, `the column "${name}" has ${shown}`);
  }
}

/** `'0'::bigint` and `0` are the same constant of a column whose type is the same. */
function constantOf(text: string | null): string | null {
  const literal = text === null ? null : /^'((?:[^']|'')*)'(?:::[^()']+(?:\([^()']*\))?[^()']*)?$/.exec(text);
  return literal === null ? text : `constant ${literal[1]}`.replace(/^constant (-?[\d.]+)$/, '$1');
}

function compareKeys(
  prepared: PreparedTable,
  standing: TableDescription,
  strictness: Strictness,
  tell: Tell,
): void {
  const { primary_key: primaryKey, unique } = standing.constraints;
  const at = '/table/constraints/primary_key';
  if (prepared.primaryKey !== undefined && !sameList(prepared.primaryKey.columns, primaryKey.columns)) {
    const columns = quoteNames(primaryKey.columns);
    tell(
      `${at}/columns`,
      columns === '' ? 'the table has no primary key' : `the primary key of the table is ${columns}`,
    );
  } else if (prepared.primaryKey === undefined) {
    if (strictness === 'same' && primaryKey.columns.length > 0) tell(at, 'the table has a primary key');
  } else if (strictness === 'same') compareName(prepared.primaryKey, primaryKey.name, tell);
  for (const key of prepared.unique) {
    const other = unique.find((candidate) => sameList(candidate.columns, key.columns));
    if (other === undefined)
      tell(key.pointer, `the table has no unique constraint over ${quoteNames(key.columns)}`);
    else if (strictness === 'same') compareName(key, other.name, tell);
  }
  if (strictness === 'fits') return;
  for (const { name, columns } of unique) {
    if (prepared.unique.some((key) => sameList(key.columns, columns))) continue;
    tell(
      '/table/constraints/unique',
      `the table has a unique constraint "${name}" beside those of the definition`,
    );
  }
}

function compareName(key: KeyDefinition, name: string, tell: Tell): void {
  if (key.name === undefined || key.name === name) return;
  tell(`${key.pointer}/name`, `the constraint is named "${name}" in the table`);
}

interface StandingForeignKey {
  name: string;
  /** Comparable as a text: target and pairs. */
  reference: string;
}

function compareForeignKeys(
  wanted: PreparedForeignKey[],
  standing: TableDescription,
  strictness: Strictness,
  tell: Tell,
): void {
  const keys = standingForeignKeys(standing);
  const references = wanted.map((key) =>
    JSON.stringify([key.schema, key.table, key.pairs.map((pair) => [pair.column, pair.referenceColumn])]),
  );
  for (const [index, key] of wanted.entries()) {
    const { pointer } = key.pairs[0]!;
    const other = keys.find((candidate) => candidate.reference === references[index]);
    if (other === undefined) tell(pointer, `the table has no foreign key from ${describeReference(key)}`);
    else if (strictness === 'same') compareName({ pointer, name: key.name, columns: [] }, other.name, tell);
  }
  if (strictness === 'fits') return;
  for (const { name, reference } of keys) {
    if (references.includes(reference)) continue;
    tell(
      '/table/constraints/foreign_keys',
      `the table has a foreign key "${name}" beside those of the definition`,
    );
  }
}

function standingForeignKeys(standing: TableDescription): StandingForeignKey[] {
  const byName = Object.groupBy(standing.constraints.foreign_keys, (pair) => pair.name);
  return Object.entries(byName).map(([name, pairs]) => {
    const { reference_schema: schema, reference_table: table } = pairs![0]!;
    const columns = pairs!.map((pair) => [pair.column, pair.reference_column]);
    return { name, reference: JSON.stringify([schema, table, columns]) };
  });
}

function describeReference({ schema, table, pairs }: PreparedForeignKey): string {
  const own = quoteNames(pairs.map((pair) => pair.column));
  return `${own} to ${quoteNames(pairs.map((pair) => pair.referenceColumn))} of "${schema}"."${table}"`;
}

function quoteNames(names: string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

function sameList(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}
