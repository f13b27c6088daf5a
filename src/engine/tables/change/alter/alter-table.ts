/** Makes a table what a definition says, or creates it. */
import type { ClientBase, Pool } from 'pg';
import { AppError, type Problem } from '../../../../core/errors.ts';
import { quoteQualified } from '../../../../postgres/sql.ts';
import { inTransaction, type TransactionOptions } from '../../../../postgres/transaction.ts';
import { describeRelation, type TableFacts } from '../../catalog/describe-relation.ts';
import { admitBelow } from '../../catalog/partitions.ts';
import type { CountedLoss } from '../../conversion/find-unconvertible.ts';
import { createWithCare, hiddenTable } from '../../create-table.ts';
import * as ddl from '../../ddl.ts';
import type { TableDescription } from '../../definition.ts';
import { describeFound } from '../../describe-table.ts';
import { resolveDefinition } from '../../resolve-definition.ts';
import { changedMeanwhile as goneWhilePlanned, requireTable } from '../found-table.ts';
import { type Change, type Loss, losses } from './change.ts';
import { plain } from './column-changes.ts';
import { isObject } from './match-columns.ts';
import { type FoundTable, type Plan, planChanges } from './plan-changes.ts';
import { findTable, type RunOptions, runChanges } from './run-changes.ts';

export interface AlterOptions extends Omit<RunOptions, 'allowsLosses'> {
  /** What may be lost. */
  allow: ReadonlySet<Loss>;
  isDryRun: boolean;
  /** Throws if the caller may not create tables. */
  requireCreate: () => void;
  /** Throws if the caller may not read the table. */
  requireRead: () => void;
  /** Called with the table before it changes; undefined: there is none. It throws if the caller expects another one. */
  onFound: (table: TableDescription | undefined) => void;
  /** Called before the transaction ends. */
  onResult: (result: AlterResult) => void;
}

export interface AlterResult {
  table: TableDescription;
  changes: Change[];
  /** The numbers of values that were rounded or lost something. */
  counted: CountedLoss[];
  isCreated: boolean;
}

/** The maximum number of plans, because other sessions may change the table between the plan and the lock. */
const maxTries = 3;

/**
 * Plans the changes and, unless it is a dry run, makes them in a transaction of its own. A dry run locks nothing.
 *
 * @throws AppError `loses-data`, the errors of `planChanges` and `runChanges`, and those of Create Table if the table is missing
 */
export async function alterTable(
  pool: Pool,
  transaction: TransactionOptions,
  options: AlterOptions,
): Promise<AlterResult> {
  const { schema, name, isDryRun, onResult } = options;
  return inTransaction(
    pool,
    { ...transaction, rollback: isDryRun },
    async (client, { begun }) => {
      const facts: TableFacts | undefined = begun!.rows[0].found ?? undefined;
      if (facts?.maySee === false) throw hiddenTable(schema, name);
      const result =
        facts === undefined ? await create(client, options) : await alter(client, facts, options);
      onResult(result);
      return result;
    },
    describeRelation(schema, name),
  );
}

async function alter(client: ClientBase, facts: TableFacts, options: AlterOptions): Promise<AlterResult> {
  const { schema, name, extraFunctions = [], admitSchema = () => {}, allow } = options;
  await requireTable(client, schema, name, facts);
  let found: FoundTable | undefined = {
    oid: facts.oid,
    table: await describeFound(client, schema, name, facts, extraFunctions),
  };
  for (let tries = 1; ; tries++) {
    await admitBelow(client, quoteQualified(schema, name), admitSchema, 'inheriting');
    options.onFound(found.table);
    const plan = await planChanges(client, found, options).catch((error) => {
      throw goneWhilePlanned(error) ?? error;
    });
    const { changes } = plan;
    const { table } = found;
    if (options.isDryRun || changes.length === 0) return { table, changes, counted: [], isCreated: false };
    refuseLosses(changes, allow);
    if (changes.some((change) => asksRows(change, plan))) options.requireRead();
    const allowsLosses = allow.has('lossy_types');
    const changed = await runChanges(client, found, plan, { ...options, allowsLosses });
    if (changed !== undefined)
      return { table: changed.after.table, changes, counted: changed.losses, isCreated: false };
    found = await findTable(client, options);
    if (found === undefined || tries === maxTries) throw changedMeanwhile();
  }
}

/** Returns whether the caller has chosen a condition whose success tells something about the values of rows: a key, a check, an index, or an expression that may fail. */
function asksRows({ change, name, scans }: Change, { target }: Plan): boolean {
  if (change === 'add-column')
    return target.prepared.columns.some((column) => column.name === name && column.generated !== undefined);
  return scans && change !== 'change-type' && change !== 'set-not-null';
}

export function changedMeanwhile(): AppError {
  const detail = 'Other sessions change the table at the same time. Send the request again.';
  return new AppError('write-conflict', detail);
}

/** @throws AppError `loses-data` with everything that would be lost and is not allowed */
function refuseLosses(changes: Change[], allow: ReadonlySet<Loss>): void {
  // Whether values lose something is known only when they are read: each of them is then a problem.
  const lost = changes.filter(({ loses }) => loses && loses !== 'lossy_types' && !allow.has(loses));
  if (lost.length === 0) return;
  const errors = lost.map(({ name, detail, loses }): Problem => {
    return { value: name!, code: 'loses-data', detail: `${detail}. It needs allow=${loses}` };
  });
  const needed = losses.filter((loss) => allow.has(loss) || lost.some(({ loses }) => loses === loss));
  const detail = `The definition lacks parts of the table, which would be lost; see "errors". Send allow=${needed.join(',')} to drop them.`;
  throw new AppError('loses-data', detail, { errors: errors.slice(0, 100), errorCount: errors.length });
}

async function create(client: ClientBase, options: AlterOptions): Promise<AlterResult> {
  options.onFound(undefined);
  options.requireCreate();
  const { schema, name, extraFunctions = [], admitSchema = () => {} } = options;
  const table = withoutOldNames(options.table);
  const wanted = { schema, name, extraFunctions, admitSchema, table, ifNotExists: false };
  const resolved = await resolveDefinition(client, wanted);
  const statements = resolved.problems.count > 0 ? [] : await ddl.createWholeTable(resolved.table);
  const created = await createWithCare(client, resolved, wanted).catch((error) => {
    const isMade = error instanceof AppError && error.code === 'table-exists';
    throw isMade ? changedMeanwhile() : error;
  });
  const detail = `the table "${name}" is created`;
  const change: Change = { ...plain, change: 'create-table', detail, statements, pointer: '/table' };
  return { table: created.table, changes: [change], counted: [], isCreated: true };
}

/** Leaves out the old names of columns: a new table has none. */
function withoutOldNames(table: unknown): unknown {
  if (!isObject(table) || !Array.isArray(table.columns)) return table;
  const columns = table.columns.map((column) => {
    if (!isObject(column)) return column;
    const { renamed_from: _, ...rest } = column;
    return rest;
  });
  return { ...table, columns };
}
