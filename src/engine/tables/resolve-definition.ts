/**
 * Looks up all names in a definition, in one round trip, and changes the definition into a table that can be created. It
 * collects all problems. `try-columns.ts` finds the problems that PostgreSQL reports only when it tries a type or a default.
 */
import type { ClientBase } from 'pg';
import { firstOwnOid } from '../../encoding/columns/load-column.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import type { Statement } from '../../postgres/sql.ts';
import { noteKeptBytes, noteTable } from '../../postgres/transaction.ts';
import { type LookUpResult, lookUpDefinition } from './catalog/look-up-definition.ts';
import type { TakenName } from './catalog/relations.ts';
import { checkKeyTypes, checkReferences, checkTextTrees } from './check-keys.ts';
import type { CatalogType } from './column-types.ts';
import { completeLookUp, type Found, namesOfFunctions } from './complete-look-up.ts';
import { keysOf, type TableDefinition } from './definition.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import { choosePlacement, refuseDistribution } from './distribution/choose-placement.ts';
import type { Placement } from './distribution/placement.ts';
import { type DefinitionDraft, draftDefinition, type PrepareOptions } from './draft-definition.ts';
import { resolveExpressions } from './expressions/resolve-expressions.ts';
import { checkGivenNames, chooseFreeNames, chooseNamesAgain } from './free-names.ts';
import { asKey } from './indexes/index-definition.ts';
import { findOperatorClasses, refuseTableMethods } from './indexes/operator-classes.ts';
import { lacksCreate, schemaNotFound } from './loading/find-load-target.ts';
import { noNames } from './object-names.ts';
import type { ExistingObject, PreparedColumn, PreparedForeignKey, PreparedTable } from './prepared-table.ts';
import { byKey, resolveColumns } from './resolve-columns.ts';
import { bytesOfZones, type ColumnTrial } from './try-columns.ts';
import { explainUnknownTypes } from './type-problems.ts';
import { makeTypes } from './types/make-types.ts';

export interface ResolvedDefinition {
  /** The table can be created if there are no problems and the trials succeed. */
  table: PreparedTable;
  trials: ColumnTrial[];
  problems: DefinitionProblems;
  /** See `PrepareOptions`. */
  extraFunctions: readonly string[];
  /** The pointers of the expressions that were read with PostgreSQL's parser. A default that is a simple call is read without it. */
  parsed: ReadonlySet<string>;
  /**
   * Checks that the caller may take numbers from the sequences in the defaults. Call it before the table is created.
   *
   * @throws AppError `schema-forbidden`
   */
  admitSequences: () => void;
}

/**
 * Drafts a definition, looks up all names in it, and completes it.
 *
 * The types of the definition that are missing are made. Roll this back if the table is not created.
 *
 * @param before a statement that is sent in the same round trip, before the catalogue is read
 * @throws the errors of `draftDefinition` and `resolveDraft`
 */
export async function resolveDefinition(
  client: ClientBase,
  options: PrepareOptions,
  before: Statement[] = [],
): Promise<ResolvedDefinition> {
  const draft = await draftDefinition(options);
  const isMaking = draft.definition.types.length > 0;
  if (isMaking) {
    if (before.length > 0) await pipeline(client, before);
    await makeTypes(client, draft);
  }
  const statements = [...(isMaking ? [] : before), await lookUpDefinition(draft.request)];
  const results = await pipeline(client, statements);
  const { found } = results.at(-1)!.rows[0] as { found: LookUpResult };
  return resolveDraft(client, draft, found);
}

/**
 * Completes the definition with what was found in the catalogue. It works in turns.
 *
 * @throws AppError `schema-not-found`, `permission-denied`
 */
export async function resolveDraft(
  client: ClientBase,
  draft: DefinitionDraft,
  answer: LookUpResult,
): Promise<ResolvedDefinition> {
  const { schema, name, definition, problems, request } = draft;
  const found = await completeLookUp(client, answer);
  refuseMissingSchema(schema, found);
  const resolution = await resolveColumns(draft, found);
  const { columns, trials, warnings, unknownTypes } = resolution;
  await resolveExpressions(client, draft.expressions, definition, resolution);
  noteKeptBytes(client, bytesOfZones(trials));
  noteTable(client, { columns: columns.length, rules: rulesOf(definition) });
  await explainUnknownTypes(client, unknownTypes, draft.admitSchema);
  const existing = found.existing ?? undefined;
  const sequences = new Set(found.sequences.map((sequence) => sequence?.oid));
  const isFreed = (taken: TakenName) => isFreedBy(existing, sequences, taken);
  const relations = await byKey(request.relations, found.relations, (name) => name);
  const named = { schema, name, definition, isFreed };
  for (const problem of checkGivenNames(named, relations)) problems.add(problem);
  await checkKeyTypes(definition, columns, problems);
  await checkTextTrees(definition, columns, problems);
  const foreignKeys = definition.foreignKeys.map((key) => ({
    ...key,
    isSelf: key.schema === schema && key.table === name,
  }));
  await checkReferences(client, draft, foreignKeys, columns, found.targets);
  const { primaryKey, unique, checks, indexes, saysIndexes, comment, isUnlogged } = definition;
  await findOperatorClasses(client, indexes, problems);
  await refuseTableMethods(client, indexes, problems);
  const placement = await placementOf(client, draft, found, columns, foreignKeys);
  const names = problems.count > 0 ? noNames : await chooseFreeNames(client, named, relations);
  return {
    table: {
      schema,
      name,
      columns,
      primaryKey,
      unique,
      foreignKeys,
      checks,
      indexes,
      saysIndexes,
      comment,
      isUnlogged,
      placement,
      distribution: definition.distribution,
      names,
      ...codeOf(draft, found, trials),
      chooseNamesAgain: (client, made) => chooseNamesAgain(client, named, made),
      existing,
      warnings,
    },
    trials,
    problems,
    extraFunctions: draft.extraFunctions,
    parsed: new Set(draft.expressions.map(({ pointer }) => pointer)),
    admitSequences: () => admitSequences(draft, found),
  };
}

/** Returns what the proof of the expressions needs. A default that is a literal calls no function. */
function codeOf({ expressions }: DefinitionDraft, found: Found, trials: ColumnTrial[]) {
  const isOwn = (type: CatalogType | null) => type !== null && type.oid >= firstOwnOid && !type.isOfExtension;
  const hasOwnTypes = found.types.some(isOwn);
  const isPlain =
    expressions.length === 0 && !(hasOwnTypes && trials.some((trial) => trial.default?.isComputed));
  return { needsProof: hasOwnTypes && !isPlain, allowedCode: isPlain ? undefined : namesOfFunctions(found) };
}

function rulesOf(definition: TableDefinition): number {
  const { foreignKeys, indexes, checks } = definition;
  return keysOf(definition).length + foreignKeys.length + indexes.length + checks.length;
}

/**
 * Returns where Citus puts the table. Takes a round trip if the database has Citus.
 *
 * @throws AppError `distribution-unavailable`
 */
async function placementOf(
  client: ClientBase,
  { schema, name, definition, problems, request }: DefinitionDraft,
  found: Found,
  columns: PreparedColumn[],
  foreignKeys: PreparedForeignKey[],
): Promise<Placement | undefined> {
  const { distribution } = definition;
  if (!found.schema!.isCitus) {
    refuseDistribution(distribution);
    return undefined;
  }
  const { targets } = request;
  const keys = [...keysOf(definition), ...definition.indexes.filter(({ isUnique }) => isUnique).map(asKey)];
  const table = { schema, name, distribution, columns, keys, foreignKeys, targets };
  return choosePlacement(client, table, problems);
}

/** @throws AppError `schema-not-found`; `permission-denied` if the table does not exist and the role may not create it */
function refuseMissingSchema(schema: string, found: Found): void {
  if (found.schema === null) throw schemaNotFound(schema);
  const { role, mayCreate } = found.schema;
  if (mayCreate || found.existing !== null) return;
  throw lacksCreate(role, schema);
}

/** @throws AppError `schema-forbidden` */
function admitSequences({ request, admitSchema }: DefinitionDraft, found: Found): void {
  for (const [index, { schema: written }] of request.sequences.entries()) {
    const schema = written ?? found.sequences[index]?.schema;
    if (schema !== undefined) admitSchema(schema);
  }
}

/**
 * Returns whether a name becomes free when a table is replaced. The names of its indexes and sequences become free, except for
 * sequences that the new table continues to use.
 *
 * @param usedSequences the object identifiers of the sequences in the new table's defaults
 */
function isFreedBy(
  existing: ExistingObject | undefined,
  usedSequences: ReadonlySet<number | undefined>,
  taken: TakenName,
): boolean {
  return existing !== undefined && taken.owner === existing.oid && !usedSequences.has(taken.oid);
}
