/** Plans the changes that make a table what a definition says. It changes nothing. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../../core/errors.ts';
import type { LoadColumn } from '../../../../encoding/columns/load-column.ts';
import { runAndUndo } from '../../../../postgres/savepoints.ts';
import { quoteQualified } from '../../../../postgres/sql.ts';
import { type AddedValues, addedValues, readDefaultsWithEffects } from '../../added-bytes.ts';
import { admitChanges, readShape } from '../../change-memory.ts';
import { describeAlone } from '../../compare-definition.ts';
import type { Conversion, NoConversion } from '../../conversion/conversion.ts';
import {
  ownTypesOf,
  readCastFacts,
  readTargetColumns,
  readTemporaryColumns,
} from '../../conversion/conversion-facts.ts';
import { planConversion } from '../../conversion/plan-conversion.ts';
import { literalDefault } from '../../defaults.ts';
import type { TableDescription } from '../../definition.ts';
import { DefinitionProblems } from '../../definition-problems.ts';
import type { PrepareOptions } from '../../draft-definition.ts';
import { readLoadColumns } from '../../loading/read-load-columns.ts';
import { checkDefinition, throwIfAny } from '../../prepare-table.ts';
import { dependentObjects } from '../../replace/refuse-dependents.ts';
import { resolveDefinition } from '../../resolve-definition.ts';
import { goneMeanwhile } from '../found-table.ts';
import {
  findDependents,
  type Reading,
  readAlterFacts,
  readOnce,
  renameInDescription,
} from './alter-facts.ts';
import type { Change } from './change.ts';
import { changedTypes, type Target } from './column-changes.ts';
import { type CostlyColumn, costlyColumns } from './costly-values.ts';
import { type Comparison, diffDefinition } from './diff-definition.ts';
import { type MatchedColumns, matchColumns } from './match-columns.ts';
import { type FoundDefaults, readOwnDefaults } from './own-defaults.ts';
import { refuseInCitus } from './refuse-in-citus.ts';
import { completeSent, type SentColumn } from './sent-definition.ts';

/** The table as it was found. */
export interface FoundTable {
  oid: number;
  table: TableDescription;
}

export interface Plan {
  /** The changes in the order in which they can be made. */
  changes: Change[];
  comparison: Comparison;
  target: Target;
  /** The columns whose values are measured before the changes. */
  costly: CostlyColumn[];
  /** What the new columns and indexes add to the rows. */
  added: AddedValues;
  readings: Reading[];
  /** What the types of columns were that get another type. Statements name types, and the lock of the table does not prevent that a name gets another type. */
  types: Reading[];
}

/**
 * Plans the changes.
 *
 * @throws AppError `permission-denied` if the role does not own the table; `invalid-definition`, also for changes that are not possible;
 *   `dependent-objects` with the names of all objects in the way; the errors of `resolveDefinition`
 */
export async function planChanges(
  client: ClientBase,
  { oid, table }: FoundTable,
  options: PrepareOptions,
): Promise<Plan> {
  const problems = new DefinitionProblems();
  const matched = matchColumns(table, options.table, problems);
  const readings: Reading[] = [];
  const facts = await readAlterFacts(client, oid, matched.dropped, readings);
  if (!facts.isOwner) throw ownedByOther({ ...table, owner: facts.owner });
  const relation = quoteQualified(table.schema, table.name);
  // The names change in a copy of the table first.
  await admitChanges(client, relation, { changes: matched.renames.length });
  const existing = await renameInDescription(client, table, matched.renames);
  const { fallenBelow } = facts;
  const fallen = new Set(facts.fallen);
  const sent = completeSent(existing, options.table, matched, fallen, problems);
  const comparison = { existing, matched, sent, fallen, fallenBelow };
  const types: Reading[] = [];
  const target = await readTarget(client, oid, comparison, options, { readings, types, problems });
  const changes = diffDefinition(comparison, target, problems);
  refuseInCitus(table, changes, target, matched, problems);
  await throwIfAny(problems);
  const isBelowToo = facts.notOwned !== null && changes.some((change) => changesTablesBelow(change, table));
  if (isBelowToo) throw ownedByOther(facts.notOwned!);
  const remembered = changes.filter(({ change }) => !forgotten.includes(change));
  const added = changes.filter(({ change }) => change === 'add-column').length;
  await admitChanges(client, relation, { changes: remembered.length, added, addedTrees: target.addedTrees });
  await refuseDependentsOf(client, table, changes, comparison, readings);
  return { changes, comparison, target, costly: target.costly, added: target.added, readings, types };
}

/** The changes that leave the columns and checks of the table as they are. */
const forgotten: readonly Change['change'][] = ['set-comment', 'add-index', 'drop-index', 'rename-index'];

/** The changes that PostgreSQL makes in the tables below, too. */
const inherited: readonly Change['change'][] = [
  'rename-column',
  'drop-column',
  'add-column',
  'change-type',
  'drop-expression',
  'set-default',
  'drop-default',
  'set-not-null',
  'drop-not-null',
];

/** Returns whether PostgreSQL makes the change in the tables below, too: in columns with their defaults, and in checks. */
function changesTablesBelow({ change, name, trial, statements }: Change, { constraints }: TableDescription) {
  const isOfCheck =
    /^(drop|rename)-constraint$/.test(change) && constraints.checks?.some((one) => one.name === name);
  const endsDefault = statements.some((statement) => statement.endsWith(' DROP DEFAULT'));
  return inherited.includes(change) || trial?.kind === 'check' || isOfCheck || endsDefault;
}

function ownedByOther(table: { schema: string; name: string; owner: string }): AppError {
  const detail = `Only the owner of the table "${table.schema}"."${table.name}", the role "${table.owner}", can change it.`;
  return new AppError('permission-denied', detail);
}

/** Lets PostgreSQL read the definition. Adds the problems to `problems`, and throws them if the definition itself has some. */
async function readTarget(
  client: ClientBase,
  oid: number,
  comparison: Comparison,
  options: PrepareOptions,
  { readings, types, problems }: { readings: Reading[]; types: Reading[]; problems: DefinitionProblems },
): Promise<Target & { addedTrees: number; costly: CostlyColumn[]; added: AddedValues }> {
  const { sent, matched } = comparison;
  const before = await readLoadColumns(client, options.schema, options.name);
  const read = async (table: unknown) => {
    const resolved = await resolveDefinition(client, { ...options, table });
    for (const problem of await problems.list()) resolved.problems.add(problem);
    const prepared = await checkDefinition(client, resolved);
    resolved.admitSequences();
    let addedTrees = 0;
    let costly: CostlyColumn[] = [];
    let added: AddedValues | undefined;
    const measure = async (relation: string, temporaryName: string) => {
      addedTrees = (await readShape(client, relation)).trees;
      const after = await readTemporaryColumns(client, temporaryName);
      costly = costlyColumns(before, after, matched.oldNames);
      const withEffects = await readDefaultsWithEffects(client, relation);
      added = addedValues(before, after, matched.oldNames, prepared, withEffects);
    };
    const described = await describeAlone(client, prepared, options.extraFunctions ?? [], measure);
    return { prepared, described, addedTrees, costly, added: added! };
  };
  let target = await read(sent.definition);
  const retyped = changedTypes(sent.columns, target.described);
  const names = retyped.map(({ name }) => name);
  const conversions = await readConversions(client, { ...target, types }, names, before, matched);
  const { described } = target;
  const found = await readOwnDefaults(client, oid, comparison, { described, conversions }, readings);
  const kept = retyped.filter(({ keepsDefault, existing }) => keepsDefault && existing!.default !== null);
  if (kept.length > 0) target = await read(withDefaults(sent.definition, kept, conversions, found));
  for (const problem of found.problems) problems.add(problem);
  return { ...target, conversions, ownDefaults: found.below };
}

/** Returns the definition with the defaults that stay, because they must be valid for the new types. Those that have a problem are left out. */
function withDefaults(
  definition: unknown,
  kept: SentColumn[],
  conversions: Target['conversions'],
  { constants, problems }: FoundDefaults,
): unknown {
  const byName = new Map(kept.map((column) => [column.name, column]));
  const refused = new Set(problems.map(({ pointer }) => pointer));
  const whole = definition as { columns: { name: string }[] };
  const columns = whole.columns.map((column) => {
    const { pointer, existing } = byName.get(column.name) ?? {};
    if (existing === undefined || 'refused' in conversions.get(column.name)!) return column;
    const constant = constants.get(column.name);
    if (constant !== undefined) return { ...column, default: literalDefault(constant) };
    if (refused.has(`${pointer}/default`)) return column;
    const { default: text, default_is_expression } = existing;
    return { ...column, default: text, ...(default_is_expression && { default_is_expression }) };
  });
  return { ...whole, columns };
}

async function readConversions(
  client: ClientBase,
  { prepared, types }: Pick<Target, 'prepared'> & Pick<Plan, 'types'>,
  names: string[],
  before: LoadColumn[],
  { oldNames }: MatchedColumns,
): Promise<Map<string, Conversion | NoConversion>> {
  if (names.length === 0) return new Map();
  const from = new Map(before.map((column) => [column.name, column]));
  const columns = names.map((name) => prepared.columns.find((column) => column.name === name)!);
  const to = await runAndUndo(client, 'types', () => readTargetColumns(client, columns));
  // The columns are renamed before their types change.
  const changes = names.map((name, place) => {
    const old = from.get(oldNames.get(name)!);
    if (old === undefined) throw goneMeanwhile();
    return { from: { ...old, name }, to: to[place]! };
  });
  const ownTypes = ownTypesOf(changes);
  if (ownTypes) await readOnce(client, ownTypes, types);
  const facts = await readCastFacts(client, changes);
  return new Map(changes.map((change, place) => [names[place]!, planConversion(change, facts)]));
}

async function refuseDependentsOf(
  client: ClientBase,
  { schema, name }: TableDescription,
  changes: Change[],
  { matched: { oldNames }, fallenBelow }: Comparison,
  readings: Reading[],
): Promise<void> {
  const namesOf = (kind: Change['change']) =>
    changes.filter(({ change, isBelow }) => change === kind && !isBelow).map((change) => change.name!);
  const gone = {
    columns: namesOf('drop-column'),
    retyped: namesOf('change-type').map((column) => oldNames.get(column)!),
    constraints: namesOf('drop-constraint'),
    indexes: namesOf('drop-index'),
    below: fallenBelow,
  };
  const found = await findDependents(client, quoteQualified(schema, name), gone, readings);
  if (found.length === 0) return;
  const detail = `The table "${schema}"."${name}" cannot be changed: other objects need a part of it that would be dropped or get another type. Drop them first.`;
  throw dependentObjects(
    detail,
    found.map((dependent) => ({ dependent })),
    'depends on',
  );
}
