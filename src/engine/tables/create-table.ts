/** Creates a table from a definition, or describes how the existing table differs from it. */
import type { ClientBase, Pool, QueryResult } from 'pg';
import { AppError, type Warning } from '../../core/errors.ts';
import { isNameClash } from '../../postgres/named-objects.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import { rollBackTo, runWithSavepoint, setSavepoint } from '../../postgres/savepoints.ts';
import { apartInCallersPath } from '../../postgres/search-path.ts';
import { isStatementError } from '../../postgres/sqlstate.ts';
import type { LastStatement } from '../../postgres/transaction.ts';
import { inTransaction, type TransactionEdges, type TransactionOptions } from '../../postgres/transaction.ts';
import type { TableFacts } from './catalog/describe-relation.ts';
import { type LookUpResult, lookUpDefinition } from './catalog/look-up-definition.ts';
import { findRelation, kindInWords } from './catalog/relations.ts';
import { compareDefinition } from './compare-definition.ts';
import * as ddl from './ddl.ts';
import type { TableDescription } from './definition.ts';
import { describeFound, describeTable, isTable, readTable, toDescription } from './describe-table.ts';
import { needsStatementsApart } from './distribution/placement.ts';
import { warnOfDottedName } from './dotted-name.ts';
import { draftDefinition, type PrepareOptions } from './draft-definition.ts';
import { proofOf, refuseOthersCode } from './expressions/prove-expressions.ts';
import { mayGrowTooLong } from './expressions/written-expressions.ts';
import { isOfGist } from './indexes/operator-classes.ts';
import { lastOfCreation } from './plain-creation.ts';
import { checkDefinition } from './prepare-table.ts';
import type { ExistingObject, PreparedTable } from './prepared-table.ts';
import { type ResolvedDefinition, resolveDefinition, resolveDraft } from './resolve-definition.ts';
import { isTriedByCreation, trialBeforeCreation } from './try-columns.ts';
import { saysTypes } from './types/make-types.ts';

export interface CreateOptions extends PrepareOptions {
  /** An existing table remains unchanged, and its differences from the definition are reported. */
  ifNotExists: boolean;
  /** Called with the result before the transaction ends. A creation with this option takes one round trip more. */
  onResult?: ((result: CreateResult) => void) | undefined;
  /** Returns statements to run before the commit, as those of `TransactionOptions`, if the table is created with this distribution. */
  beforeCommit?: ((distribution: TableDescription['distribution']) => LastStatement[]) | undefined;
}

export interface CreateResult {
  table: TableDescription;
  /** The differences between the existing table and the definition; undefined: the table was created. */
  differences: string[] | undefined;
  /** The warnings; empty if the table already existed. */
  warnings: Warning[];
}

/**
 * Checks the definition and creates the table, in a separate transaction with two round trips. It takes no lock: when two
 * sessions create the same table, PostgreSQL makes the second one wait.
 *
 * @throws AppError `table-exists`, `invalid-definition` with every problem, and the errors of `draftDefinition` and
 * `resolveDraft`
 */
export async function createTable(
  pool: Pool,
  transaction: TransactionOptions,
  options: CreateOptions,
): Promise<CreateResult> {
  const { schema, name, extraFunctions = [], onResult } = options;
  const draft = await draftDefinition(options);
  let created: { distribution?: TableDescription['distribution'] | undefined } | undefined;
  const beforeCommit = () => [
    ...(transaction.beforeCommit?.() ?? []),
    ...(created === undefined ? [] : (options.beforeCommit?.(created.distribution) ?? [])),
  ];
  const within = { ...transaction, beforeCommit };
  const note = async (creating: Promise<CreateResult>) => {
    created = undefined;
    const result = await creating;
    if (result.differences === undefined) created = result.table;
    onResult?.(result);
    return result;
  };
  const create = async (client: ClientBase, { begun, endWith }: TransactionEdges): Promise<CreateResult> => {
    const { found } = begun!.rows[0] as { found: LookUpResult };
    const resolved = await resolveDraft(client, draft, found);
    const { table, problems, admitSequences } = resolved;
    if (
      table.existing !== undefined ||
      problems.count > 0 ||
      needsStatementsApart(table.placement) ||
      isLong(table) ||
      mustBeTried(resolved)
    )
      return note(createWithCare(client, resolved, options));
    admitSequences();
    const warnings = await warningsOf(client, table, options);
    const { after, describe, runsNoCode } = lastOfCreation(draft, found, table);
    const statements = [[...(await creation(resolved)), ...after].join(';\n'), describe];
    const toResult = async (results: QueryResult[]): Promise<CreateResult> => {
      const facts: TableFacts | null = results.at(-1)!.rows[0].found;
      // If the caller's transaction continues, this error rolls back the table. Otherwise the table is committed already, which the error must say.
      if (facts === null)
        throw onResult === undefined ? renamedMeanwhile(schema, name) : changedMeanwhile(schema, name);
      const description = await toDescription(schema, name, facts, extraFunctions, undefined);
      return { table: description, differences: undefined, warnings };
    };
    if (onResult !== undefined) return note(pipeline(client, statements).then(toResult));
    created = {};
    return toResult(await endWith(statements, runsNoCode));
  };
  try {
    if (draft.definition.types.length === 0)
      return await inTransaction(pool, within, create, await lookUpDefinition(draft.request));
  } catch (error) {
    if (!isStatementError(error) && !isDroppedMeanwhile(error)) throw error;
  }
  return createAgain(options, () =>
    inTransaction(pool, within, (client) => note(createTableWithin(client, options))),
  );
}

/** Creates the table, and tries again whenever another session drops an existing table before it could be described. */
async function createAgain(
  { schema, name }: CreateOptions,
  create: () => Promise<CreateResult>,
): Promise<CreateResult> {
  for (let tries = 1; ; tries++) {
    try {
      return await create();
    } catch (error) {
      if (!isDroppedMeanwhile(error)) throw error;
      if (tries === maxTries) throw changedMeanwhile(schema, name, error);
    }
  }
}

/**
 * Returns whether the defaults may be too long to be described, as PostgreSQL stores them: an array element of one byte can take
 * 200. Such a table is described before it is committed, so that it is not created if the description fails.
 */
function isLong({ columns }: PreparedTable): boolean {
  const length = columns.reduce((sum, { defaultSql }) => sum + (defaultSql?.length ?? 0), 0);
  return length > lengthOfShortDefaults;
}

const lengthOfShortDefaults = 32 * 1024;

/** Returns whether the definition may have problems that PostgreSQL does not find when it creates the table. */
function mustBeTried(resolved: ResolvedDefinition): boolean {
  const { needsProof, indexes } = resolved.table;
  return needsProof === true || mayGrowTooLong(resolved) || indexes.some(isOfGist);
}

/**
 * Returns the error for a created table that cannot be described because its name is not found. Other sessions cannot see the table
 * yet, so only the schema can have been renamed. The table has been created then.
 */
function renamedMeanwhile(schema: string, name: string): AppError {
  const detail = `The table "${name}" was created, but another session renamed the schema "${schema}" at the same moment.`;
  return new AppError('write-conflict', detail, { isOutcomeUnknown: true });
}

/** Returns whether another session dropped the table after it was found and before it was described. */
function isDroppedMeanwhile(error: unknown): boolean {
  return error instanceof AppError && error.code === 'table-not-found';
}

function changedMeanwhile(schema: string, name: string, cause?: unknown): AppError {
  const detail = `Other sessions change the table "${name}" or the schema "${schema}" at the same time. Send the request again.`;
  return new AppError('write-conflict', detail, { cause });
}

/**
 * Checks the definition and creates the table inside a transaction that continues afterwards. This takes more round trips than
 * `createTable`, and finds every problem.
 *
 * @throws the errors of `createTable`
 */
export async function createTableWithin(client: ClientBase, options: CreateOptions): Promise<CreateResult> {
  const create = async () => createWithCare(client, await resolveDefinition(client, options), options);
  if (!saysTypes(options.table)) return create();
  await setSavepoint(client, 'made types');
  const result = await create();
  // An existing table does not need the types that were made to compare it.
  if (result.differences !== undefined) await rollBackTo(client, 'made types');
  return result;
}

/** Creates the table, or throws all problems of the definition. */
export async function createWithCare(
  client: ClientBase,
  resolved: ResolvedDefinition,
  options: CreateOptions,
): Promise<CreateResult> {
  const { schema, name, ifNotExists, extraFunctions } = options;
  const { table, problems, admitSequences } = resolved;
  let { existing } = table;
  if (existing === undefined) admitSequences();
  if (existing !== undefined || problems.count > 0 || mustBeTried(resolved))
    await checkDefinition(client, resolved);
  existing ??= await tryCreate(client, resolved);
  if (existing === undefined) {
    const description = await describeTable(client, schema, name, extraFunctions);
    return { table: description, differences: undefined, warnings: await warningsOf(client, table, options) };
  }
  if (!ifNotExists || !isTable(existing.kind))
    throw tableExists(schema, name, existing, 'if_not_exists=true');
  const facts = await readTable(client, schema, name);
  if (facts?.maySee === false) throw hiddenTable(schema, name);
  const description = await describeFound(client, schema, name, facts, extraFunctions ?? []);
  const differences = await compareDefinition(client, table, description, 'same', extraFunctions);
  return {
    table: description,
    differences: differences.map((difference) => difference.detail),
    warnings: [],
  };
}

async function warningsOf(
  client: ClientBase,
  table: PreparedTable,
  { schema, name, admitSchema = () => {} }: CreateOptions,
): Promise<Warning[]> {
  return [...(await warnOfDottedName(client, schema, name, admitSchema)), ...table.warnings];
}

/**
 * Returns the answer for a table that the role may not see. The answer must say that the name is used, but only roles with a
 * privilege on the table may see its definition.
 */
export function hiddenTable(schema: string, name: string): AppError {
  const detail = `The table "${schema}"."${name}" exists, and the role has no privilege on it.`;
  return new AppError('permission-denied', detail);
}

/**
 * Returns the error for a table that exists.
 *
 * @param remedies the parameters to send in order to use the existing table, if there are any
 */
export function tableExists(
  schema: string,
  name: string,
  existing: Pick<ExistingObject, 'kind'>,
  remedies?: string,
): AppError {
  const kind = kindInWords(existing.kind).replace(/^an? (.)/, (_, first: string) => first.toUpperCase());
  const what = `${kind} "${schema}"."${name}" already exists.`;
  const remedy =
    remedies === undefined
      ? 'Use another name.'
      : isTable(existing.kind)
        ? `Send ${remedies}, or use another name.`
        : 'It is not a table, so no rows can be loaded into it. Use another name.';
  return new AppError('table-exists', `${what} ${remedy}`);
}

/** The `remedies` that `tableExists` names to an upload. */
export const uploadRemedies = 'if_exists=append, truncate or replace';

/** The maximum number of attempts with other names, if another session creates an object with a chosen name at the same moment. */
const maxTries = 3;

/** Returns the statements that first try modifiers and defaults and then create the table. */
async function creation({ table, trials }: ResolvedDefinition): Promise<string[]> {
  const create = await ddl.createWholeTable(table);
  const tried = trials.filter((trial) => !isTriedByCreation(trial));
  const tries = tried.length === 0 ? [] : [await trialBeforeCreation(tried)];
  return [...apartInCallersPath(...tries, ...create), ...proofOf(table, table.name)];
}

/**
 * Tries to create the table.
 *
 * @returns the object that has the name, if another session created it first; undefined: the table was created
 * @throws AppError `invalid-definition` if a trial fails
 */
async function tryCreate(
  client: ClientBase,
  resolved: ResolvedDefinition,
): Promise<ExistingObject | undefined> {
  const { table } = resolved;
  for (let tries = 1; ; tries++) {
    const statements = await creation(resolved);
    try {
      await runWithSavepoint(client, 'tablewright', statements, needsStatementsApart(table.placement));
      return undefined;
    } catch (error) {
      if (!isStatementError(error)) throw error;
      refuseOthersCode(error);
      if (!isNameClash(error)) {
        await checkDefinition(client, resolved);
        throw error;
      }
      const { rows } = await client.query<ExistingObject>(findRelation(table.schema, table.name));
      if (rows[0] !== undefined) return rows[0];
      table.names = await table.chooseNamesAgain(client);
      if (tries === maxTries) throw nameConflict(error);
    }
  }
}

/** Returns the error for a request if all attempts failed because other sessions used one of the chosen names first. */
export function nameConflict(cause: unknown): AppError {
  const detail =
    'Other sessions created objects with names that this table needs at the same moment. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
}
