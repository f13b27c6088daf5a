/**
 * Finds every row that violates a rule of the table, with one query for each rule. PostgreSQL itself reports only the first.
 */

import type { ClientBase } from 'pg';
import { maxListedProblems, type Problem } from '../../../core/errors.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { queryWithSavepoint } from '../../postgres/savepoints.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../postgres/sqlstate.ts';
import { rowProblem, type Violation } from './row-problem.ts';
import { columnsRead, type RowRule } from './row-rules.ts';
import {
  type FoundViolation,
  type Numbering,
  runQuery,
  type SentRows,
  violationQueries,
} from './violation-queries.ts';

export interface ViolationReport {
  places: CellPlaces;
  problems: Problems;
  /** Returns whether PostgreSQL refuses the row that was found; undefined: it refuses every such row. */
  isReal?: ((violation: Violation) => Promise<boolean>) | undefined;
}

/**
 * Adds every row that violates a rule to the problems.
 *
 * @returns the names of the rules that were not checked for all rows, because the role may not read the tables that they need,
 * or because PostgreSQL will set a value that they need. The name is '' for a rule that fails for some row, for example a CHECK
 * that divides by zero
 */
export async function findViolations(
  client: ClientBase,
  sent: SentRows,
  rules: RowRule[],
  { places, problems, isReal }: ViolationReport,
): Promise<string[]> {
  const unchecked = rules.filter(isHidden).map((rule) => rule.name);
  const areRowsMissing = problems.count > 0;
  // If a trigger may fix a row, PostgreSQL must try each row that is found. So only the first ones are searched for.
  const limit = isReal ? maxListedProblems : problems.maxFound;
  const checked = rules.filter((rule) => !isHidden(rule));
  for (const query of violationQueries(sent, checked, limit)) {
    const { rule } = query;
    const found = await readViolations(client, runQuery(query, sent));
    if (found === 'failed') unchecked.push('');
    if (found === 'unreadable') unchecked.push(rule.name);
    if (typeof found === 'string') continue;
    if (found.length === 0 && sent.shapesWithout?.(columnsRead(rule)).length) unchecked.push(rule.name);
    const violations = found.map((one) => toViolation(rule, one, sent.numbering, areRowsMissing));
    const real = isReal ? await filterInTurn(violations, isReal) : violations;
    // If PostgreSQL accepts some of the listed rows, it may also accept some of the rows that are not listed. So these are
    // counted only if it refuses all listed rows.
    const total = found[0] && real.length === found.length ? found[0].total : real.length;
    addViolations(real, total, places, problems);
  }
  return unchecked;
}

/** Returns whether row-level security may hide the rows to which a foreign key refers, so that no query can check it. */
export function isHidden(rule: RowRule): boolean {
  return rule.kind === 'foreign key' && rule.isHidden;
}

/**
 * Adds violations of one rule to the problems.
 *
 * @param total the number of all violations; `violations` has the first of them
 */
export function addViolations(
  violations: Violation[],
  total: number,
  places: CellPlaces,
  problems: Problems,
): void {
  let last: Problem | undefined;
  for (const violation of violations) {
    last = rowProblem(violation, places);
    problems.add(last);
  }
  if (last) problems.addUnlisted(total - violations.length, last.column ?? '', last.code);
}

/**
 * Orders the two rows of a violation by their data row numbers, because rows of a later COPY may come earlier in the data. The
 * problem belongs to the later data row.
 */
export function toViolation(
  rule: RowRule,
  { number, other, value }: FoundViolation,
  { rowOf }: Numbering,
  areRowsMissing: boolean,
): Violation {
  const one = rowOf(number);
  const otherRow = other === null ? null : rowOf(other);
  const isLater = otherRow === null || (otherRow ?? 0) < (one ?? 0);
  const rows = isLater ? { row: one, otherRow } : { row: otherRow, otherRow: one };
  return { rule, ...rows, value, areRowsMissing };
}

async function filterInTurn(
  violations: Violation[],
  isReal: (violation: Violation) => Promise<boolean>,
): Promise<Violation[]> {
  const real: Violation[] = [];
  for (const violation of violations) if (await isReal(violation)) real.push(violation);
  return real;
}

/**
 * Returns the violations. Returns `unreadable` if the role lacks a privilege, and `failed` if the rule itself fails for a row.
 */
async function readViolations(
  client: ClientBase,
  statements: string[],
): Promise<FoundViolation[] | 'unreadable' | 'failed'> {
  try {
    const results = await queryWithSavepoint(client, 'rule', statements);
    return results.at(-2)!.rows;
  } catch (error) {
    if (isLackOfPrivilege(error)) return 'unreadable';
    if (isRefusalOfInput(error)) return 'failed';
    throw error;
  }
}
