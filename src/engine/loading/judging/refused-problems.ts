/** Describes the problems of rows that PostgreSQL refused one by one. */
import { DatabaseError } from 'pg';
import type { Problem } from '../../../core/errors.ts';
import { mapInTurns, Pace } from '../../../core/pause-for-others.ts';
import {
  completeName,
  hideLocalShard,
  hideShards,
  type NamesByHash,
  namesByHash,
} from '../../../postgres/citus/worker-errors.ts';
import { cutError } from '../../../postgres/cut-errors.ts';
import { markMissingPartition, repeatedKeyOf } from '../../../postgres/server-internals.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { conditionOf } from '../../../postgres/sqlstate.ts';
import { namesOf, type RowRule } from '../../tables/rules/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import {
  groupRefusedRows,
  type RefusedGroup,
  type RefusedRow,
  readRefusedRows,
  refusedRows,
} from './block-statements.ts';
import { areAllSent, isDecidedByRows } from './decided-by-rows.ts';
import { failingDefault } from './failing-default.ts';
import { generatedKey } from './generated-key.ts';
import type { Judgement } from './judgement.ts';
import { findAll, readFound, sentRows } from './remove-violations.ts';
import {
  type FailingDefault,
  type GeneratedKey,
  type LongKey,
  rowProblem,
  type Violation,
} from './row-problem.ts';
import { keyOfRow, toViolation, violationQueries } from './violation-queries.ts';

/**
 * Adds the problems of the refused rows.
 *
 * @param count the number of refused rows
 */
export async function addRefusedRows(judgement: Judgement, count: number): Promise<void> {
  if (count === 0) return;
  const { client, load, rules, problems } = judgement;
  const { rows } = await client.query<RefusedRow>(readRefusedRows(problems.maxFound));
  const names = load.isSharded ? await namesByHash(client, namesOf(rules)) : new Map();
  const refused = await mapInTurns(rows, (row) => toRefused(row, judgement, names));
  const describe = new Describer(judgement, await findKnown(judgement, refused));
  const pace = new Pace();
  for (const one of refused) {
    for (const problem of await describe.problemsOf(one)) problems.add(problem);
    await pace.pause();
  }
  if (count <= rows.length) return;
  const { rows: groups } = await client.query<RefusedGroup>(groupRefusedRows(rows.length));
  for (const group of groups) {
    const one = toRefused({ ...group, message: '', detail: null }, judgement, names);
    const [first] = await describe.problemsOf(one);
    problems.add(first!);
    problems.addUnlisted(group.count - 1, first!.column ?? '', first!.code);
  }
}

/** A row that PostgreSQL refused, and the rule of the table that the error is about; undefined: the error is about something else. */
interface Refused {
  row: number;
  shape: number;
  error: DatabaseError;
  rule: RowRule | undefined;
}

function toRefused(refused: RefusedRow, { load, rules }: Judgement, names: NamesByHash): Refused {
  const { row, shape } = refused;
  const error = errorOf(refused);
  if (load.isSharded) {
    hideLocalShard(error, load.relation);
    hideShards(error);
    completeName(error, names);
  }
  return { row, shape, error, rule: rules.find((one) => isBroken(one, error, load)) };
}

/** For each refused row: the violations that queries over the staged rows have found. */
interface Known {
  violations: Map<number, Violation[]>;
  areAllChecked: boolean;
}

/**
 * Runs the queries for the rules over the refused rows, to find the value that violates a rule, and the other row that has the same
 * key. The queries do not read the target table, because the good rows were already moved into it.
 */
async function findKnown(judgement: Judgement, refused: Refused[]): Promise<Known> {
  const broken = new Set(refused.flatMap(({ rule }) => rule ?? []));
  const hasKey = refused.some(({ error }) => isRepeatedKey(error));
  const rules = judgement.rules.filter(
    (rule) =>
      isDecidedByRows(rule, judgement.load) && (broken.has(rule) || (hasKey && rule.kind === 'unique')),
  );
  const queries = violationQueries({ ...sentRows(judgement), existing: undefined }, rules);
  const { found, areAllChecked } = await findAll(judgement, queries, refusedRows);
  const violations: Known['violations'] = new Map();
  for (const one of found) {
    for (const row of await readFound(judgement.client, one, one.count)) {
      const ofRow = violations.get(row.number) ?? [];
      violations.set(row.number, [...ofRow, toViolation(one.rule, row, true)]);
    }
  }
  return { violations, areAllChecked };
}

/** Makes the problems of refused rows. It remembers which defaults fail, so that it evaluates each of them only once. */
class Describer {
  readonly #judgement: Judgement;
  readonly #known: Known;
  /** The key of the map is the shape of the row and the SQLSTATE. */
  readonly #defaults = new Map<string, Promise<FailingDefault | undefined>>();

  constructor(judgement: Judgement, known: Known) {
    this.#judgement = judgement;
    this.#known = known;
  }

  async problemsOf(refused: Refused): Promise<Problem[]> {
    const { places } = this.#judgement.load;
    const violations = this.#violationsOf(refused);
    if (violations.length > 0) return violations.map((violation) => rowProblem(violation, places));
    const { error, row, rule } = refused;
    const cause =
      (await this.#defaultOf(refused)) ??
      (await this.#generatedKeyOf(refused)) ??
      (await this.#longKeyOf(refused)) ??
      (rule ? this.#breach(refused, rule) : { error, row });
    return [rowProblem(cause, places)];
  }

  /** Returns the violations of the rule that PostgreSQL names. If it names a key, those of all keys are returned, because the key of a partition has another name. */
  #violationsOf({ row, error, rule }: Refused): Violation[] {
    const all = this.#known.violations.get(row) ?? [];
    return all.filter(
      (one) => one.rule.name === rule?.name || (one.rule.kind === 'unique' && isRepeatedKey(error)),
    );
  }

  async #defaultOf({ row, shape, error, rule }: Refused): Promise<FailingDefault | undefined> {
    if (rule !== undefined && rule.kind !== 'check') return undefined;
    const { client, target, load } = this.#judgement;
    const key = `${shape} ${error.code}`;
    const sentColumns = load.shapes.all[shape]!;
    if (!this.#defaults.has(key))
      this.#defaults.set(key, failingDefault(client, target, { error, sentColumns }));
    const found = await this.#defaults.get(key);
    return found && { ...found, error, row };
  }

  async #generatedKeyOf({ row, shape, error }: Refused): Promise<GeneratedKey | undefined> {
    const sentColumns = this.#judgement.load.shapes.all[shape]!;
    return generatedKey(this.#judgement, { error, row, sentColumns });
  }

  async #longKeyOf({ row, error }: Refused): Promise<LongKey | undefined> {
    if (conditionOf(error) !== 'program_limit_exceeded') return undefined;
    const { client, rules } = this.#judgement;
    let largest: (LongKey['largest'] & { size: number }) | undefined;
    for (const rule of rules.filter((one) => one.kind === 'unique')) {
      const { rows } = await client.query<{ value: string; size: number }>(keyOfRow(rule, row));
      if (rows[0] && rows[0].size > (largest?.size ?? 0)) largest = { rule, row, ...rows[0] };
    }
    return largest && { error, largest };
  }

  #breach({ row, error }: Refused, rule: RowRule): Violation {
    const { load } = this.#judgement;
    const mayBeEarlier = load.changesRows || !this.#known.areAllChecked || !areAllSent(rule, load);
    const value = repeatedKeyOf(error)?.values ?? null;
    return { rule, row, otherRow: null, mayBeEarlier, value, areRowsMissing: true };
  }
}

function isRepeatedKey(error: DatabaseError): boolean {
  return conditionOf(error) === 'unique_violation';
}

function errorOf({ code, message, detail, column, constraint, table, schema }: RefusedRow): DatabaseError {
  const error = new DatabaseError(message ?? '', 0, 'error');
  const known = Object.entries({ code, detail, column, constraint, table, schema });
  const fields = known.filter(([, value]) => value !== null);
  const refusal = Object.assign(error, { severity: 'ERROR' }, Object.fromEntries(fields));
  // A check has a name. A check violation without a name means that the table has no partition for the row.
  if (conditionOf(error) === 'check_violation' && constraint === null) markMissingPartition(refusal);
  cutError(refusal);
  return refusal;
}

/** Returns whether the error is about this rule of the table. A trigger may write to another table, which has its own rules. */
export function isBroken(rule: RowRule, error: Error, { relation, isSharded }: StagedLoad): boolean {
  const { constraint, table, schema } = error as Partial<DatabaseError>;
  const condition = conditionOf(error);
  const isOfKind =
    (rule.kind === 'unique' && condition === 'unique_violation') ||
    (rule.kind === 'foreign key' && condition === 'foreign_key_violation') ||
    (rule.kind === 'check' && condition === 'check_violation');
  if (!isOfKind || rule.name !== constraint) return false;
  // The errors of a worker have no schema, and a sharded table has no triggers that write to other tables.
  if (isSharded) return true;
  if (schema === undefined) return false;
  // The error about the check of a domain names no table.
  if (rule.kind === 'check' && rule.domainOf !== undefined) return table === undefined;
  return table !== undefined && quoteQualified(schema, table) === relation;
}
