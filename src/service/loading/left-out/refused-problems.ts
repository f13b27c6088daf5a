/** Describes the problems of rows that PostgreSQL refused one by one. */
import { type ClientBase, DatabaseError } from 'pg';
import type { Problem } from '../../../core/errors.ts';
import type { Problems } from '../../../encoding/problems/problems.ts';
import {
  completeName,
  hideLocalShard,
  hideShards,
  type NamesByHash,
  namesByHash,
} from '../../postgres/citus/worker-errors.ts';
import { cutError } from '../../postgres/cut-errors.ts';
import { repeatedKeyOf } from '../../postgres/server-internals.ts';
import { quoteQualified } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { rowProblem } from '../staged/row-problem.ts';
import { namesOf, type RowRule } from '../staged/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import {
  groupRefusedRows,
  type RefusedGroup,
  type RefusedRow,
  readRefusedRows,
} from './row-by-row-statements.ts';

/**
 * Adds the problems of the refused rows.
 *
 * @param count the number of refused rows
 */
export async function addRefusedRows(
  client: ClientBase,
  load: StagedLoad,
  rules: RowRule[],
  count: number,
  problems: Problems,
): Promise<void> {
  if (count === 0) return;
  const { rows } = await client.query<RefusedRow>(readRefusedRows(problems.maxFound));
  const names = load.isSharded ? await namesByHash(client, namesOf(rules)) : new Map();
  for (const row of rows) problems.add(problemOf(row, row.row, load, rules, names));
  if (count <= rows.length) return;
  const { rows: groups } = await client.query<RefusedGroup>(groupRefusedRows(rows.length));
  for (const group of groups) {
    const first = problemOf({ ...group, message: '', detail: null }, group.row, load, rules, names);
    problems.add(first);
    problems.addUnlisted(group.count - 1, first.column ?? '', first.code);
  }
}

type Refused = Omit<RefusedRow, 'row'>;

function problemOf(
  refused: Refused,
  row: number,
  load: StagedLoad,
  rules: RowRule[],
  names: NamesByHash,
): Problem {
  const error = errorOf(refused);
  if (load.isSharded) {
    hideLocalShard(error, load.relation);
    hideShards(error);
    completeName(error, names);
  }
  const rule = rules.find((one) => isBroken(one, error, load));
  if (rule === undefined) return rowProblem({ error, row }, load.places);
  const value = repeatedKeyOf(error)?.values ?? null;
  const violation = { rule, row, otherRow: null, mayBeEarlier: true, value, areRowsMissing: true };
  return rowProblem(violation, load.places);
}

function errorOf({ code, message, detail, column, constraint, table, schema }: Refused): DatabaseError {
  const error = new DatabaseError(message ?? '', 0, 'error');
  const known = Object.entries({ code, detail, column, constraint, table, schema });
  const fields = known.filter(([, value]) => value !== null);
  const refusal = Object.assign(error, { severity: 'ERROR' }, Object.fromEntries(fields));
  cutError(refusal);
  return refusal;
}

/** Returns whether the error is about this rule of the table. A trigger may write to another table, which has its own rules. */
function isBroken(rule: RowRule, error: DatabaseError, { relation, isSharded }: StagedLoad): boolean {
  const { constraint, table, schema } = error;
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
