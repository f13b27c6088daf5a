/**
 * Finds the differences between an existing table and a definition. Types and defaults have more than one spelling, so PostgreSQL
 * itself reads the definition: its columns are created as a temporary table, described, and rolled back.
 */

import { isDeepStrictEqual } from 'node:util';
import type { ClientBase } from 'pg';
import type { Problem } from '../../core/errors.ts';
import { shorten } from '../../core/identifiers.ts';
import { forEachInTurns } from '../../core/pause-for-others.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import { runAndUndo } from '../../postgres/savepoints.ts';
import { apartInCallersPath } from '../../postgres/search-path.ts';
import { quoteQualified, randomName } from '../../postgres/sql.ts';
import { asLackOfTemporary } from '../../postgres/temporary-privilege.ts';
import { createTemporaryTable } from './ddl.ts';
import {
  type ColumnDescription,
  type DistributionDefinition,
  type DistributionDescription,
  distributionPointer,
  type KeyDefinition,
  type TableDescription,
  weightOfKey,
} from './definition.ts';
import { describeTable, readTable, toDescription } from './describe-table.ts';
import type { PrepareOptions } from './draft-definition.ts';
import type { CheckDefinition, CheckDescription } from './expressions/checks.ts';
import { compareIndexes } from './indexes/compare-indexes.ts';
import { createIndex } from './indexes/create-index.ts';
import type { IndexDescription } from './indexes/index-definition.ts';
import { describeKeyOptions } from './key-options.ts';
import { describeNumbering } from './numbering.ts';
import { checkDefinition } from './prepare-table.ts';
import type { PreparedForeignKey, PreparedTable } from './prepared-table.ts';
import { resolveDefinition } from './resolve-definition.ts';
import { saysTypes } from './types/make-types.ts';

/** `same`: every difference counts. `fits`: a difference counts only if rows that fit the definition may not fit the table. */
export type Strictness = 'same' | 'fits';

/**
 * Finds where the definition of a load conflicts with the existing table. Columns and constraints that only the table has are not
 * conflicts.
 *
 * @param isPartial the definition may leave out columns that its constraints name
 * @throws AppError `invalid-definition` with every problem, `table-not-found`, and the errors of `resolveDefinition`
 */
export async function compareWithExisting(
  client: ClientBase,
  options: PrepareOptions,
  isPartial = false,
): Promise<Problem[]> {
  const existing = await describeTable(client, options.schema, options.name, options.extraFunctions);
  const table = isPartial ? withColumnsOf(existing, options.table) : options.table;
  const compare = async () => {
    const prepared = await checkDefinition(client, await resolveDefinition(client, { ...options, table }));
    return compareDefinition(client, prepared, existing, 'fits', options.extraFunctions);
  };
  return saysTypes(table) ? runAndUndo(client, 'made types', compare) : compare();
}

/** Adds the table's other columns to the definition, because its constraints may name them. */
function withColumnsOf(existing: TableDescription, sent: unknown): unknown {
  const { columns = [] } = (sent ?? {}) as { columns?: unknown };
  if (typeof sent !== 'object' || sent === null || !Array.isArray(columns)) return sent;
  const names = new Set(columns.map((column: { name?: unknown } | null) => column?.name));
  const others = existing.columns
    .filter(({ name }) => !names.has(name))
    .map(({ id: _, ...column }) => column);
  return { ...sent, columns: [...columns, ...others] };
}

/**
 * Returns the differences between a definition and the existing table. Takes four round trips. Needs the privilege to create temporary
 * tables (TEMPORARY on the database).
 */
export async function compareDefinition(
  client: ClientBase,
  prepared: PreparedTable,
  existing: TableDescription,
  strictness: Strictness,
  extraFunctions: readonly string[] = [],
): Promise<Problem[]> {
  const { columns, constraints, indexes = [] } = await describeAlone(client, prepared, extraFunctions);
  const differences: Problem[] = [];
  const report: Report = (pointer, detail, code = 'differs') => differences.push({ pointer, code, detail });
  await compareColumns(columns, existing.columns, strictness, report);
  await compareKeys(prepared, existing, strictness, report);
  await compareForeignKeys(prepared.foreignKeys, existing, strictness, report);
  compareChecks(
    prepared.checks,
    constraints.checks ?? [],
    existing.constraints.checks ?? [],
    strictness,
    report,
  );
  compareDistribution(prepared.distribution, existing.distribution, strictness, report);
  if (strictness === 'same') {
    compareComments(prepared, existing, report);
    compareStorage(prepared, existing, report);
    const { saysIndexes } = prepared;
    const others = existing.constraints.others ?? [];
    if (saysIndexes) compareAllIndexes(prepared, indexes, existing, report);
    for (const { name } of others.filter(({ definition }) => saysIndexes || !isIndex(definition))) {
      report('/table/constraints', `the table has "${name}", which a definition cannot express`);
    }
  }
  return differences;
}

/** Returns whether the text in which PostgreSQL writes a constraint or an index is the text of an index. */
function isIndex(definition: string): boolean {
  return definition.startsWith('CREATE ');
}

/** @param made PostgreSQL's descriptions of the indexes of the definition, except those that it made with something that no definition can say */
function compareAllIndexes(
  { indexes }: PreparedTable,
  made: IndexDescription[],
  existing: TableDescription,
  report: Report,
): void {
  if (made.length < indexes.length) {
    const reason =
      'PostgreSQL would make them with a tablespace or an operator class that a definition cannot name';
    report('/table/indexes', `the indexes cannot be compared: ${reason}`);
    return;
  }
  const wanted = indexes.map((index, place) => ({ index, description: made[place]! }));
  for (const { pointer, detail } of compareIndexes(wanted, existing.indexes ?? [])) report(pointer, detail);
}

/** Compares the comments that the definition has. */
function compareComments(prepared: PreparedTable, existing: TableDescription, report: Report): void {
  const compare = (pointer: string, wanted: string | undefined, found: string | undefined, what: string) => {
    if (wanted === undefined || wanted === found) return;
    const shown = found === undefined ? 'has no comment' : `has the comment "${shorten(found)}"`;
    report(`${pointer}/comment`, `${what} ${shown}`);
  };
  compare('/table', prepared.comment, existing.comment, 'the table');
  const comments = new Map(existing.columns.map(({ name, comment }) => [name, comment]));
  for (const [index, { name, comment }] of prepared.columns.entries())
    if (comments.has(name))
      compare(`/table/columns/${index}`, comment, comments.get(name), `the column "${name}"`);
}

/** Compares whether the table is unlogged, and how its sequences count. */
function compareStorage(prepared: PreparedTable, existing: TableDescription, report: Report): void {
  if (prepared.isUnlogged !== (existing.unlogged ?? false))
    report('/table/unlogged', `the table is ${existing.unlogged ? '' : 'not '}unlogged`);
  const columns = new Map(existing.columns.map((column) => [column.name, column]));
  for (const { pointer, name, numbering, ...column } of prepared.columns) {
    const found = columns.get(name)?.numbering;
    const wanted = describeNumbering(numbering, column.sequenceType ?? column.type.display);
    if (JSON.stringify(wanted) === JSON.stringify(found)) continue;
    const how = found === undefined ? 'from 1 on' : JSON.stringify(found);
    report(`${pointer}/numbering`, `the column "${name}" is numbered in another way: ${how}`);
  }
}

type Report = (pointer: string, detail: string, code?: ProblemCode) => void;

/**
 * Describes the columns, the checks and the indexes of the definition as PostgreSQL reads them. The checks are named after their places.
 *
 * @param onMade called with the temporary table of the definition
 */
export async function describeAlone(
  client: ClientBase,
  prepared: PreparedTable,
  extraFunctions: readonly string[],
  onMade: (relation: string, temporaryName: string) => Promise<void> = async () => {},
): Promise<TableDescription> {
  const temporaryName = randomName('comparison');
  try {
    return await runAndUndo(client, 'comparison', async () => {
      const relation = quoteQualified('pg_temp', temporaryName);
      const indexes = prepared.indexes.map((index) => createIndex(relation, index, undefined));
      const statements = [createTemporaryTable(prepared, temporaryName), ...indexes];
      await pipeline(client, apartInCallersPath(...statements));
      await onMade(relation, temporaryName);
      const facts = await readTable(client, 'pg_temp', temporaryName, true);
      const { schema, name } = prepared;
      const description = await toDescription(schema, name, facts!, extraFunctions, undefined);
      // In the temporary table, numbered columns are identity columns. The description must show that they own a sequence.
      for (const [place, { identity }] of prepared.columns.entries())
        if (identity === 'sequence') description.columns[place]!.sequence = { name: '' };
      return description;
    });
  } catch (error) {
    throw await asLackOfTemporary(client, error);
  }
}

async function compareColumns(
  wanted: ColumnDescription[],
  existing: ColumnDescription[],
  strictness: Strictness,
  report: Report,
): Promise<void> {
  const existingByName = new Map(existing.map((column) => [column.name, column]));
  await forEachInTurns(wanted, (column, index) => {
    const pointer = `/table/columns/${index}`;
    const other = existingByName.get(column.name);
    if (other === undefined) report(`${pointer}/name`, `the table has no column "${column.name}"`);
    else compareColumn(column, other, pointer, report);
  });
  if (strictness === 'fits') return;
  const names = new Set(wanted.map((column) => column.name));
  const extra = existing.filter((column) => !names.has(column.name));
  for (const { name } of extra)
    report('/table/columns', `the table has the column "${name}", which the definition does not have`);
  const shared = existing.filter((column) => names.has(column.name)).map((column) => column.name);
  const inOrder = [...names].filter((name) => existingByName.has(name));
  if (shared.some((name, index) => name !== inOrder[index])) {
    report('/table/columns', 'the columns of the table are in another order');
  }
}

function compareColumn(
  wanted: ColumnDescription,
  existing: ColumnDescription,
  pointer: string,
  report: Report,
): void {
  const { name } = wanted;
  if (wanted.type !== existing.type) {
    report(`${pointer}/type`, `the column "${name}" is of type ${existing.type}, not ${wanted.type}`);
  }
  if (wanted.is_nullable !== existing.is_nullable) {
    report(`${pointer}/is_nullable`, `the column "${name}" is ${existing.is_nullable ? '' : 'not '}nullable`);
  }
  if (wanted.sequence !== undefined && existing.sequence === undefined && existing.type === wanted.type) {
    report(`${pointer}/sequence`, `the column "${name}" is an identity column`);
  }
  if ((wanted.identity ?? null) !== (existing.identity ?? null)) {
    const shown = existing.identity === 'always' ? '' : 'not ';
    report(`${pointer}/identity`, `the column "${name}" is ${shown}GENERATED ALWAYS AS IDENTITY`);
  }
  if (wanted.generated !== existing.generated || wanted.generated_kind !== existing.generated_kind) {
    const kind = existing.generated_kind ?? 'stored';
    const how = `is generated from other columns (${kind}): ${shorten(existing.generated ?? '')}`;
    report(`${pointer}/generated`, `the column "${name}" ${existing.generated ? how : 'is not generated'}`);
  } else if (constantOf(wanted.default) !== constantOf(existing.default)) {
    const shown = existing.default === null ? 'no default' : `the default ${shorten(existing.default)}`;
    report(`${pointer}/default`, `the column "${name}" has ${shown}`);
  }
}

/**
 * Checks are equal if PostgreSQL writes their expressions in the same way. A name counts if the definition gives it.
 *
 * @param described how PostgreSQL describes the checks of the definition, which are named after their places
 */
function compareChecks(
  wanted: CheckDefinition[],
  described: CheckDescription[],
  existing: CheckDescription[],
  strictness: Strictness,
  report: Report,
): void {
  const namesByExpression = new Map<string, string[]>();
  for (const { name, expression } of existing)
    namesByExpression.set(expression, [...(namesByExpression.get(expression) ?? []), name]);
  const notValid = new Set(existing.filter((check) => check.not_valid).map((check) => check.name));
  for (const [index, { pointer, name, expression: text, ...check }] of wanted.entries()) {
    const expression = described.find((check) => check.name === String(index))?.expression ?? '';
    const names = namesByExpression.get(expression);
    const found = names?.includes(name ?? '') ? name : names?.[0];
    if (names === undefined || found === undefined) {
      report(pointer, `the table has no check ${shorten(expression || text)}`);
      continue;
    }
    names.splice(names.indexOf(found), 1);
    if (strictness === 'same' && name !== undefined && name !== found)
      report(`${pointer}/name`, `the check is named "${found}" in the table`);
    if (strictness === 'same' && notValid.has(found) !== (check.notValid ?? false))
      report(`${pointer}/not_valid`, `the check "${found}" has not_valid ${!check.notValid}`);
  }
  if (strictness === 'fits') return;
  for (const name of [...namesByExpression.values()].flat())
    report(
      '/table/constraints/checks',
      `the table has the check "${name}", which the definition does not have`,
    );
}

/** Makes two spellings of a constant equal. In columns of the same type, `'0'::bigint` and `0` are equal. */
export function constantOf(text: string | null): string | null {
  const literal = text === null ? null : /^'((?:[^']|'')*)'(?:::[^()']+(?:\([^()']*\)[^()']*)?)?$/.exec(text);
  return literal === null ? text : `constant ${literal[1]}`.replace(/^constant (-?[\d.]+)$/, '$1');
}

async function compareKeys(
  prepared: PreparedTable,
  existing: TableDescription,
  strictness: Strictness,
  report: Report,
): Promise<void> {
  const { primary_key: primaryKey, unique } = existing.constraints;
  const at = '/table/constraints/primary_key';
  if (
    prepared.primaryKey !== undefined &&
    !isDeepStrictEqual(prepared.primaryKey.columns, primaryKey.columns)
  ) {
    const columns = quoteNames(primaryKey.columns);
    report(
      `${at}/columns`,
      columns === '' ? 'the table has no primary key' : `the primary key of the table is ${columns}`,
    );
  } else if (prepared.primaryKey === undefined) {
    if (strictness === 'same' && primaryKey.columns.length > 0) report(at, 'the table has a primary key');
  } else if (strictness === 'same') {
    compareName(prepared.primaryKey, primaryKey.name, report);
    const options = inWords(primaryKey);
    if (options !== inWords(describeKeyOptions(prepared.primaryKey.options)))
      report(at, `the primary key of the table ${options || 'has no options'}`);
  }
  // Table and definition may each have thousands of keys, so equal keys are found with a map. Options prevent no row from being loaded.
  const contentOf = (columns: string[], options: KeyOptionsDescription) =>
    JSON.stringify(strictness === 'fits' ? columns : [columns, inWords(options)]);
  const namesByContent = new Map<string, string>();
  const addFirst = ({ name, columns, ...options }: UniqueDescription) => {
    const text = contentOf(columns, options);
    if (!namesByContent.has(text)) namesByContent.set(text, name);
  };
  await forEachInTurns(unique, addFirst, ({ columns }) => columns.length);
  const wanted = new Set<string>();
  const compareKey = (key: KeyDefinition) => {
    const options = describeKeyOptions(key.options);
    const content = contentOf(key.columns, options);
    const name = namesByContent.get(content);
    wanted.add(content);
    const shown = [quoteNames(key.columns), strictness === 'same' && inWords(options)]
      .filter(Boolean)
      .join(' that ');
    if (name === undefined) report(key.pointer, `the table has no unique constraint over ${shown}`);
    else if (strictness === 'same') compareName(key, name, report);
  };
  await forEachInTurns(prepared.unique, compareKey, weightOfKey);
  if (strictness === 'fits') return;
  const reportExtra = ({ name, columns, ...options }: UniqueDescription) => {
    if (wanted.has(contentOf(columns, options))) return;
    report(
      '/table/constraints/unique',
      `the table has the unique constraint "${name}", which the definition does not have`,
    );
  };
  await forEachInTurns(unique, reportExtra, ({ columns }) => columns.length);
}

type UniqueDescription = TableDescription['constraints']['unique'][number];
type KeyOptionsDescription = Omit<UniqueDescription, 'name' | 'columns'>;

/** Says which options a key has: "includes "a", is initially deferred". */
function inWords({ include, deferrable, nulls_not_distinct: isOneNull }: KeyOptionsDescription): string {
  const words = [
    include && `includes ${quoteNames(include)}`,
    deferrable && `is deferrable, ${deferrable}`,
    isOneNull && 'has nulls_not_distinct',
  ];
  return words.filter(Boolean).join(', ');
}

/** Compares the distributions, if the definition says one or the table has another one than its schema would give it. */
function compareDistribution(
  wanted: DistributionDefinition | undefined,
  existing: DistributionDescription | undefined,
  strictness: Strictness,
  report: Report,
): void {
  if (existing === undefined) return;
  const { kind, column, shards } = existing;
  const shown = kind === 'column' ? `distributed by the column "${column}"` : `of the kind "${kind}"`;
  if (wanted === undefined) {
    const isBySchema = kind === 'schema' || kind === 'local';
    if (strictness === 'same' && !isBySchema) report(distributionPointer, `the table is ${shown}`);
  } else if (wanted.kind !== kind || wanted.column !== column) {
    report(distributionPointer, `the table is ${shown}`);
  } else if (strictness === 'same' && wanted.shards !== undefined && wanted.shards !== shards) {
    report(`${distributionPointer}/shards`, `the table has ${shards} shards`);
  }
}

function compareName(key: Pick<KeyDefinition, 'pointer' | 'name'>, name: string, report: Report): void {
  if (key.name === undefined || key.name === name) return;
  report(`${key.pointer}/name`, `the constraint is named "${name}" in the table`);
}

interface ExistingForeignKey {
  name: string;
  /** The target and the pairs of columns, as a text that can be compared. */
  reference: string;
  /** The first pair of columns. Its members ON DELETE, ON UPDATE and so on apply to the whole key. */
  pair: TableDescription['constraints']['foreign_keys'][number];
}

async function compareForeignKeys(
  wanted: PreparedForeignKey[],
  existing: TableDescription,
  strictness: Strictness,
  report: Report,
): Promise<void> {
  const keys = existingForeignKeys(existing);
  const existingKeys = new Map(keys.toReversed().map((key) => [key.reference, key]));
  const references = new Set<string>();
  await forEachInTurns(wanted, (key) => {
    const columns = key.pairs.map((pair) => [pair.column, pair.referenceColumn]);
    const reference = JSON.stringify([key.schema, key.table, columns]);
    const { pointer } = key.pairs[0]!;
    const other = existingKeys.get(reference);
    references.add(reference);
    if (other === undefined) report(pointer, `the table has no foreign key from ${describeReference(key)}`);
    else if (strictness === 'same') {
      compareName({ pointer, name: key.name }, other.name, report);
      compareRules(key, other, report);
    }
  });
  if (strictness === 'fits') return;
  for (const { name, reference } of keys) {
    if (references.has(reference)) continue;
    report(
      '/table/constraints/foreign_keys',
      `the table has the foreign key "${name}", which the definition does not have`,
    );
  }
}

function compareRules({ pairs, rules }: PreparedForeignKey, other: ExistingForeignKey, report: Report): void {
  const { pointer } = pairs[0]!;
  const compare = (
    member: 'on_delete' | 'on_update' | 'deferrable' | 'not_valid',
    wanted: string | boolean | undefined,
    none: string,
  ) => {
    const existing = other.pair[member] ?? none;
    if ((wanted ?? none) === existing) return;
    report(`${pointer}/${member}`, `the foreign key "${other.name}" has ${member} ${existing}`);
  };
  compare('on_delete', rules.onDelete, 'no action');
  compare('on_update', rules.onUpdate, 'no action');
  compare('deferrable', rules.deferrable, 'null');
  compare('not_valid', rules.notValid || undefined, 'false');
}

function existingForeignKeys(existing: TableDescription): ExistingForeignKey[] {
  const byName = Object.groupBy(existing.constraints.foreign_keys, (pair) => pair.name);
  return Object.entries(byName).map(([name, pairs]) => {
    const { reference_schema: schema, reference_table: table } = pairs![0]!;
    const columns = pairs!.map((pair) => [pair.column, pair.reference_column]);
    return { name, reference: JSON.stringify([schema, table, columns]), pair: pairs![0]! };
  });
}

function describeReference({ schema, table, pairs }: PreparedForeignKey): string {
  const own = quoteNames(pairs.map((pair) => pair.column));
  return `${own} to ${quoteNames(pairs.map((pair) => pair.referenceColumn))} of "${schema}"."${table}"`;
}

function quoteNames(names: string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
