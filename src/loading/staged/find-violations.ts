/**
 * Finds every row that violates a rule of the table, with one query for each rule. PostgreSQL itself reports only the first.
 */

import type { ClientBase, QueryResult } from 'pg';
import type { Problem } from '../../errors.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../postgres/sqlstate.ts';
import { maxListedProblems, type Problems } from '../problems.ts';
import { columnsRead, type RowRule } from './row-rules.ts';
import type { CellPlaces } from './staged-load.ts';
import { type Violation, violationProblem } from './violation-problems.ts';
import {
  type FoundViolation,
  type Numbering,
  runQuery,
  type SentRows,
  violationQueries,
} from './violation-queries.ts';

/**
 * Adds every row that violates a rule to the problems.
 *
 * @param isReal returns whether PostgreSQL refuses the row that was found; undefined: it refuses every such row
 * @returns the names of the rules that were not checked for all rows, because the role may not read the tables that they need,
 * or because PostgreSQL will set a value that they need. The name is '' for a rule that fails for some row, for example a CHECK
 * that divides by zero
 */
export async function findViolations(
  client: ClientBase,
  sent: SentRows,
  rules: RowRule[],
  places: CellPlaces,
  problems: Problems,
  isReal?: (rule: RowRule, violation: Violation) => Promise<boolean>,
): Promise<string[]> {
  const isHidden = (rule: RowRule) => rule.kind === 'foreign key' && rule.isHidden;
  const unchecked = rules.filter(isHidden).map((rule) => rule.name);
  const areRowsMissing = problems.count > 0;
  for (const query of violationQueries(
    sent,
    rules.filter((rule) => !isHidden(rule)),
    // Each row must be tried if a trigger may fix it, so only the first ones are found.
    isReal ? maxListedProblems : problems.maxFound,
  )) {
    const { rule } = query;
    const found = await readViolations(client, runQuery(query, sent));
    if (found === 'failed') unchecked.push('');
    if (found === 'unreadable') unchecked.push(rule.name);
    if (typeof found === 'string') continue;
    if (found.length === 0 && sent.shapesWithout?.(columnsRead(rule)).length) unchecked.push(rule.name);
    let real = 0;
    let last: Problem | undefined;
    for (const one of found) {
      const violation = inOrder(one, sent.numbering);
      if (isReal && !(await isReal(rule, violation))) continue;
      last = violationProblem(rule, violation, places, areRowsMissing);
      problems.add(last);
      real += 1;
    }
    // If PostgreSQL accepts some of the listed rows, it may also accept some of the rows that are not listed. So these are
    // counted only if it refuses all listed rows.
    if (found[0] && last && real === found.length) {
      problems.addUnlisted(found[0].total - found.length, last.column ?? '', last.code);
    }
  }
  return unchecked;
}

/**
 * Returns the violations. Returns `unreadable` if the role lacks a privilege, and `failed` if the rule itself fails for a row.
 */
async function readViolations(
  client: ClientBase,
  statements: string[],
): Promise<FoundViolation[] | 'unreadable' | 'failed'> {
  try {
    const text = ['SAVEPOINT "rule"', ...statements, 'RELEASE SAVEPOINT "rule"'].join(';\n');
    const results = (await client.query(text)) as unknown as QueryResult<FoundViolation>[];
    return results.at(-3)!.rows;
  } catch (error) {
    if (!isLackOfPrivilege(error) && !isRefusalOfInput(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT "rule"; RELEASE SAVEPOINT "rule"');
    return isLackOfPrivilege(error) ? 'unreadable' : 'failed';
  }
}

/**
 * Orders the two rows of a violation by their data row numbers, because rows of a later COPY may come earlier in the data. The
 * problem belongs to the later data row.
 */
export function inOrder({ number, other, value }: FoundViolation, { rowOf }: Numbering): Violation {
  const row = rowOf(number);
  if (other === null) return { row, otherRow: null, value };
  const otherRow = rowOf(other);
  return (otherRow ?? 0) < (row ?? 0) ? { row, otherRow, value } : { row: otherRow, otherRow: row, value };
}
