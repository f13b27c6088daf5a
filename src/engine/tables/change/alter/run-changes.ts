/** Makes planned changes under a lock of the table, and checks the result. */
import type { ClientBase, DatabaseError } from 'pg';
import { AppError, type Problem } from '../../../../core/errors.ts';
import { shorten } from '../../../../core/identifiers.ts';
import { Problems } from '../../../../encoding/problems/problems.ts';
import { type CallersStatement, qualified } from '../../../../postgres/callers-statement.ts';
import { pipeline } from '../../../../postgres/pipeline.ts';
import { rollBackAndRelease } from '../../../../postgres/savepoints.ts';
import { apartInCallersPath } from '../../../../postgres/search-path.ts';
import { quoteQualified } from '../../../../postgres/sql.ts';
import {
  type Condition,
  conditionOf,
  isDatabaseError,
  isRefusalOfData,
} from '../../../../postgres/sqlstate.ts';
import { admitAdded, admitConverted, admitTypes } from '../../added-bytes.ts';
import { describeRelation, type TableFacts } from '../../catalog/describe-relation.ts';
import { isWholeKey } from '../../catalog/keys-of-partitions.ts';
import type { Conversion } from '../../conversion/conversion.ts';
import { readCastFacts } from '../../conversion/conversion-facts.ts';
import { type CountedLoss, findUnconvertible } from '../../conversion/find-unconvertible.ts';
import { planConversion } from '../../conversion/plan-conversion.ts';
import { DefinitionProblems } from '../../definition-problems.ts';
import { describeFound, readTable } from '../../describe-table.ts';
import { workSequentially } from '../../distribution/place-table.ts';
import type { PrepareOptions } from '../../draft-definition.ts';
import { type LockOptions, LockTries } from '../../lock-tries.ts';
import { throwIfAny } from '../../prepare-table.ts';
import { dependentObjects } from '../../replace/refuse-dependents.ts';
import { findBrokenRows, type NewRule } from '../broken-rows.ts';
import { changedMeanwhile } from '../found-table.ts';
import { readNamedRows } from '../named-rows.ts';
import { type Change, locks, mergeStatements } from './change.ts';
import { findCostlyRows } from './costly-rows.ts';
import { findCostlyValues } from './costly-values.ts';
import { differencesAfter } from './diff-definition.ts';
import { matchColumns } from './match-columns.ts';
import type { FoundTable, Plan } from './plan-changes.ts';

export interface RunOptions extends PrepareOptions, LockOptions {
  /** Values may be rounded or lose precision or the time of day (`allow=lossy_types`). */
  allowsLosses: boolean;
  /** The maximum time for which the table stays locked; undefined: only the time limit of a statement. */
  maxLockMs: number | undefined;
  /** The time limit of a statement; 0: none. */
  statementTimeoutMs: number;
  /** The token may read the table, so that problems may show its values. */
  mayRead: boolean;
}

export interface ChangedTable {
  after: FoundTable;
  losses: CountedLoss[];
}

/**
 * Makes the changes. The lock is tried in short attempts, and everything else happens under it.
 *
 * @returns undefined: another session has changed the table since the plan was made, and nothing was changed
 * @throws AppError `invalid-data` with the rows that cannot follow; `lock-too-long`, `database-busy`, `write-conflict`, `dependent-objects`,
 *   `invalid-definition` if PostgreSQL refuses a change, or if the table does not become what the definition says
 */
export async function runChanges(
  client: ClientBase,
  before: FoundTable,
  plan: Plan,
  options: RunOptions,
): Promise<ChangedTable | undefined> {
  // Otherwise Citus cannot add a foreign key after another change or a search in the rows.
  if (isDistributed(before)) await client.query(workSequentially);
  const run = new Run(client, before, plan, options);
  try {
    return await run.all();
  } catch (error) {
    if (!(error instanceof Stale)) throw await run.refusalOf(error);
    await rollBackAndRelease(client, 'lock', error);
    return undefined;
  }
}

function isEqual(now: unknown, before: unknown): boolean {
  return JSON.stringify(now) === JSON.stringify(before);
}

function isDistributed({ table: { distribution } }: FoundTable): boolean {
  return distribution !== undefined && distribution.kind !== 'local';
}

/** Reports that the table is no longer the one for which the plan was made. */
class Stale extends Error {}

class Run {
  readonly #client: ClientBase;
  readonly #before: FoundTable;
  readonly #plan: Plan;
  readonly #changes: Change[];
  readonly #options: RunOptions;
  readonly #relation: string;
  #lockedAt = 0;
  /** What the changes add to the rows is within the limits, so they may be made. */
  #isAdmitted = false;
  /** The time limit of the running statement is that of the lock. */
  #isLimitOfLock = false;

  constructor(client: ClientBase, before: FoundTable, plan: Plan, options: RunOptions) {
    this.#client = client;
    this.#before = before;
    this.#plan = plan;
    this.#changes = plan.changes;
    this.#options = options;
    this.#relation = quoteQualified(options.schema, options.name);
  }

  all(): Promise<ChangedTable> {
    return this.#underLock(async () => {
      await this.#refuseCostlyValues();
      const { added } = this.#plan;
      await admitAdded(this.#client, this.#relation, added, () => this.#limitTime());
      this.#isAdmitted = !added.computed.isOfNewTypes;
      const firstType = this.#changes.findIndex(({ conversion }) => conversion !== undefined);
      await this.#make(this.#changes.slice(0, Math.max(firstType, 0)));
      const losses = firstType === -1 ? [] : await this.#checkValues();
      await this.#make(this.#changes.slice(Math.max(firstType, 0)));
      const last = this.#changes.flatMap(({ ownStatements = [] }) => ownStatements);
      await this.#limitTime();
      if (last.length > 0) await pipeline(this.#client, last);
      await this.#checkTypes();
      const after = await this.#verify();
      await this.#endLimit();
      return { after, losses };
    });
  }

  /** Runs the work after the table was locked and found unchanged. */
  #underLock<Result>(work: () => Promise<Result>): Promise<Result> {
    const weights = this.#changes.map(({ lock }) => locks.indexOf(lock));
    const lock = `LOCK TABLE ${this.#relation} IN ${locks[Math.max(...weights)]} MODE`;
    return new LockTries(this.#client, [this.#relation], this.#options).run(async (first) => {
      const { schema, name } = this.#options;
      const readings = [...this.#plan.readings, ...this.#plan.types];
      const again = readings.map(({ query }) => query);
      const results = await pipeline(this.#client, [
        ...first,
        lock,
        describeRelation(schema, name),
        ...again,
      ]);
      this.#lockedAt = performance.now();
      const [described, ...found] = results.slice(-1 - again.length);
      const now = await toFound(this.#client, this.#options, described!.rows[0].found ?? undefined);
      if (now === undefined || !isEqual(now, this.#before)) throw new Stale();
      if (readings.some(({ rows }, place) => !isEqual(rows, found[place]!.rows))) throw new Stale();
      return work();
    });
  }

  async #make(changes: Change[]): Promise<void> {
    const alter = (clauses: string[]) => qualified`ALTER TABLE ${this.#relation} ${clauses.join(', ')}`;
    const statements = mergeStatements(changes, alter, isDistributed(this.#before));
    // With a limit each statement may take what the ones before it have left. Otherwise one round trip is enough.
    if (this.#options.maxLockMs === undefined) await this.#send(...statements);
    else for (const statement of statements) await this.#send(statement);
  }

  async #send(...statements: CallersStatement[]): Promise<void> {
    if (statements.length === 0) return;
    await this.#limitTime();
    await pipeline(this.#client, apartInCallersPath(...statements));
  }

  /** Limits the next statements to the time for which the table may stay locked. */
  async #limitTime(): Promise<void> {
    const { maxLockMs, statementTimeoutMs, signal } = this.#options;
    signal.throwIfAborted();
    if (maxLockMs === undefined) return;
    const leftMs = Math.ceil(maxLockMs - (performance.now() - this.#lockedAt));
    if (leftMs <= 0) throw lockTooLong(maxLockMs);
    this.#isLimitOfLock = statementTimeoutMs === 0 || leftMs < statementTimeoutMs;
    const limitMs = this.#isLimitOfLock ? leftMs : statementTimeoutMs;
    await this.#client.query(`SET LOCAL statement_timeout = ${limitMs}`);
  }

  /** The COMMIT has the ordinary time limit, because it must not fail when everything is done. */
  async #endLimit(): Promise<void> {
    const { maxLockMs, statementTimeoutMs } = this.#options;
    if (maxLockMs !== undefined)
      await this.#client.query(`SET LOCAL statement_timeout = ${statementTimeoutMs}`);
  }

  /** @throws AppError `invalid-data` */
  async #refuseCostlyValues(): Promise<void> {
    const { costly } = this.#plan;
    if (costly.length === 0) return;
    const problems = new Problems();
    const rows = await this.#readNamedRows();
    for (const column of costly) {
      await this.#limitTime();
      await findCostlyValues(this.#client, rows, column, problems);
    }
    problems.throwIfAny();
    if (costly.length === 1) return;
    await this.#limitTime();
    await findCostlyRows(this.#client, rows, costly, problems);
    problems.throwIfAny();
  }

  /** Finds the values that cannot follow their types. @throws AppError `invalid-data` */
  async #checkValues(): Promise<CountedLoss[]> {
    const conversions = this.#changes.flatMap(({ conversion }) => conversion ?? []);
    const problems = new Problems();
    await this.#checkCasts(conversions);
    const types = conversions.map(({ change }) => change);
    await admitTypes(this.#client, this.#relation, types);
    const rows = await this.#readNamedRows();
    const { allowsLosses } = this.#options;
    const losses: CountedLoss[] = [];
    for (const conversion of conversions) {
      await this.#limitTime();
      losses.push(...(await findUnconvertible(this.#client, rows, [conversion], allowsLosses, problems)));
    }
    problems.throwIfAny();
    await this.#checkCasts(conversions);
    const { added } = this.#plan;
    await admitConverted(this.#client, this.#relation, added, () => this.#limitTime(), conversions);
    this.#isAdmitted = true;
    return losses;
  }

  /** The lock of the table does not prevent the owner of a type from making a cast. A new plan then refuses the change. */
  async #checkCasts(conversions: Conversion[]): Promise<void> {
    await this.#limitTime();
    const changes = conversions.map(({ change }) => change);
    const facts = await readCastFacts(this.#client, changes);
    if (changes.some((change) => 'refused' in planConversion(change, facts))) throw new Stale();
  }

  /** A type may have got its name after the plan, also while values were checked. */
  async #checkTypes(): Promise<void> {
    const { types } = this.#plan;
    if (types.length === 0) return;
    const found = await pipeline(
      this.#client,
      types.map(({ query }) => query),
    );
    if (types.some(({ rows }, place) => !isEqual(rows, found[place]!.rows))) throw new Stale();
  }

  #readNamedRows() {
    const { schema, name, mayRead } = this.#options;
    return readNamedRows(this.#client, schema, name, mayRead);
  }

  /** Checks that the table is what the definition says, and that nothing else was lost. */
  async #verify(): Promise<FoundTable> {
    const after = (await findTable(this.#client, this.#options))!;
    const problems = new DefinitionProblems();
    const matched = matchColumns(after.table, this.#options.table, problems);
    const { comparison, target } = this.#plan;
    const found = differencesAfter(comparison, target, after.table, matched, problems);
    await throwIfAny(problems);
    const differences = found.map(({ pointer, detail }): Problem => {
      return { pointer, code: 'differs', detail: `the definition says: ${detail}` };
    });
    const names = new Set(namesOf(after));
    const gone = this.#changes.filter(({ change }) => /^(drop|rename)-(constraint|index)$/.test(change));
    const expected = new Set(gone.filter(({ isBelow }) => !isBelow).map(({ name }) => name));
    for (const name of namesOf(this.#before)) {
      if (names.has(name) || expected.has(name)) continue;
      const detail = `the constraint or index "${name}" would be lost`;
      differences.push({ pointer: '/table', code: 'differs', detail });
    }
    if (differences.length === 0) return after;
    const detail =
      'The changes would not make the table what the definition says; see "errors". Nothing was changed.';
    throw new AppError('invalid-definition', detail, {
      errors: differences.slice(0, 100),
      errorCount: differences.length,
    });
  }

  /** Returns the error for the caller. */
  async refusalOf(error: unknown): Promise<unknown> {
    const { maxLockMs } = this.#options;
    const condition = conditionOf(error);
    if (condition === 'query_canceled' && maxLockMs !== undefined && this.#isLimitOfLock)
      return lockTooLong(maxLockMs, error);
    if (!isDatabaseError(error)) return error;
    if (condition === 'dependent_objects_still_exist') return dependentsIn(error);
    if (isRefusalOfData(error) && this.#isAdmitted)
      return (await this.#explainRows(error)) ?? notPossible(error) ?? error;
    return notPossible(error) ?? changedMeanwhile(error) ?? error;
  }

  /** Searches the rows that break a new rule, with the new types. */
  async #explainRows(error: DatabaseError): Promise<unknown> {
    const added = this.#changes.find(
      ({ change, name, rule }) => change === 'add-column' && rule && name === error.column,
    );
    if (added !== undefined) return noValue(added.name!);
    await rollBackAndRelease(this.#client, 'lock', error);
    const problems = new Problems();
    const isRule = ({ rule, trial }: Change) => rule !== undefined || trial !== undefined;
    if (!this.#changes.some(isRule)) return undefined;
    try {
      await this.#underLock(async () => {
        const made = this.#changes.filter((change) => change.change !== 'add-index' && !isRule(change));
        await this.#make(made);
        const rules: NewRule[] = [];
        for (const { rule, trial } of this.#changes) {
          if (rule !== undefined) rules.push(rule);
          if (trial === undefined) continue;
          await this.#send(trial.statement);
          rules.push({ kind: trial.kind, name: await this.#lastConstraint() });
        }
        const found = await this.#readNamedRows();
        // Rows that were written anew have other places than those that stay after the rollback.
        const isMoved = made.some(({ rewrites }) => rewrites) && found.keyColumns.includes('ctid');
        const rows = isMoved ? { ...found, areShown: false } : found;
        for (const rule of rules) {
          await this.#limitTime();
          await findBrokenRows(this.#client, rows, [rule], problems);
        }
      });
      problems.throwIfAny();
    } catch (failure) {
      return failure instanceof Stale || isRefusalOfData(failure) ? undefined : failure;
    }
    return undefined;
  }

  async #lastConstraint(): Promise<string> {
    const { rows } = await this.#client.query<{ name: string }>(
      `SELECT conname AS name FROM pg_constraint k WHERE conrelid = to_regclass($1) AND NOT convalidated AND ${isWholeKey('k')} ORDER BY oid DESC LIMIT 1`,
      [this.#relation],
    );
    return rows[0]!.name;
  }
}

/** Returns the table with its name and its identifier; undefined: there is none. */
export async function findTable(
  client: ClientBase,
  { schema, name, extraFunctions = [] }: PrepareOptions,
): Promise<FoundTable | undefined> {
  return toFound(client, { schema, name, extraFunctions }, await readTable(client, schema, name));
}

async function toFound(
  client: ClientBase,
  { schema, name, extraFunctions = [] }: Pick<PrepareOptions, 'schema' | 'name' | 'extraFunctions'>,
  facts: TableFacts | undefined,
): Promise<FoundTable | undefined> {
  if (facts === undefined) return undefined;
  return { oid: facts.oid, table: await describeFound(client, schema, name, facts, extraFunctions) };
}

function namesOf({ table: { constraints, indexes = [] } }: FoundTable): string[] {
  const {
    primary_key: primaryKey,
    unique,
    foreign_keys: foreignKeys,
    checks = [],
    others = [],
  } = constraints;
  const all = [primaryKey, ...unique, ...foreignKeys, ...checks, ...others, ...indexes];
  return all.map(({ name }) => name).filter((name) => name !== '');
}

function noValue(column: string): AppError {
  const detail = `The table has rows, and the new column "${column}" has no default and accepts no NULL. Send a default, or let it accept NULL.`;
  return new AppError('invalid-data', detail, { errors: [{ column, code: 'null-not-allowed', detail }] });
}

function lockTooLong(maxLockMs: number, cause?: unknown): AppError {
  const detail = `The changes would lock the table for more than ${maxLockMs} ms (max_lock_ms), so nothing was changed. dry_run=true shows which of them write or read all rows.`;
  return new AppError('lock-too-long', detail, { cause });
}

const conditionsOfImpossible = new Set<Condition | undefined>([
  'feature_not_supported',
  'invalid_parameter_value',
  'datatype_mismatch',
  'cannot_coerce',
  'wrong_object_type',
  'invalid_table_definition',
  // A check or an index that stays has no operator for the new type.
  'undefined_function',
  // The access method of an index that stays has no operator class for the new type.
  'undefined_object',
]);

/** Returns the error for a change that PostgreSQL refuses whatever the rows are; undefined: the error has another cause. */
function notPossible(error: DatabaseError): AppError | undefined {
  if (!conditionsOfImpossible.has(conditionOf(error))) return undefined;
  const detail = `PostgreSQL cannot make a change: ${shorten(error.message)}`;
  const errors: Problem[] = [{ pointer: '/table', code: 'not-supported', detail }];
  return new AppError('invalid-definition', detail, { errors, cause: error });
}

/** PostgreSQL names in its detail the dependents that the plan did not find, because another session made them meanwhile. */
function dependentsIn(error: DatabaseError): AppError {
  const found = (error.detail ?? error.message).split('\n').map((dependent) => ({ dependent }));
  return dependentObjects(
    'Other objects need a part of the table that would be dropped. Drop them first.',
    found,
    'needs a part of',
  );
}
