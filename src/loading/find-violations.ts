/**
 * Every row that breaks a key, a reference or a check, as problems of the upload.
 *
 * PostgreSQL stops at the first; so where it refuses the rows they are looked through with one query per rule.
 */
import type { ClientBase } from 'pg';
import type { Problem } from '../errors.ts';
import type { LocateCell } from '../sources/cell-sink.ts';
import type { RowRule } from '../tables/row-constraints.ts';
import { type Violation, violationQueries } from '../tables/violations.ts';
import { maxListedProblems, type Problems, shortenValue } from './problems.ts';
import type { RowNumbers } from './row-numbers.ts';

/** How a problem's place is found from the ordinal of a row. */
export interface RowPlaces {
  rowNumbers: RowNumbers;
  locate: LocateCell;
  /** The data's column that goes into the table's column; -1: none. */
  sourceColumn: (name: string) => number;
}

/**
 * @param relation quoted; holds the rows that were sent, in the order in which they were
 * @param existing the table whose rows count too; absent where `relation` is the table itself
 */
export async function findViolations(
  client: ClientBase,
  relation: string,
  existing: { quoted: string; schema: string; name: string } | undefined,
  rules: RowRule[],
  places: RowPlaces,
  problems: Problems,
): Promise<void> {
  for (const { rule, statement } of violationQueries(relation, existing, rules, maxListedProblems)) {
    const { rows } = await client.query<Violation>(statement);
    for (const violation of rows) problems.add(problemOf(rule, violation, places));
    if (rows[0]) problems.addUnlisted(rows[0].total - rows.length);
  }
}

/** The problem of the row that PostgreSQL itself named: for rules that no query knows (triggers, exclusion, sizes). */
export function refusedRow(error: Error, rowsBefore: number, places: RowPlaces): Problem {
  const {
    where = '',
    column,
    constraint,
  } = error as { where?: string; column?: string; constraint?: string };
  const line = /\bline (\d+)/.exec(where);
  const row = line ? places.rowNumbers.rowOf(rowsBefore + Number(line[1]) - 1) : undefined;
  const name = column ?? /\bline \d+, column ([^:]+)/.exec(where)?.[1];
  return {
    ...(row !== undefined && { ...places.locate(row, -1, ''), row }),
    ...(name !== undefined && { column: name }),
    code: 'refused-by-postgresql',
    detail: `${error.message}${constraint ? ` (constraint "${constraint}")` : ''}`,
  };
}

function problemOf(rule: RowRule, violation: Violation, places: RowPlaces): Problem {
  const row = places.rowNumbers.rowOf(violation.ordinal);
  const [column] = rule.columns;
  const place =
    row === undefined || column === undefined ? {} : places.locate(row, places.sourceColumn(column), column);
  return {
    ...place,
    ...(row !== undefined && { row }),
    ...(rule.columns.length > 0 && { column: rule.columns.join(', ') }),
    ...(violation.value !== null && { value: shortenValue(violation.value) }),
    ...reasonOf(rule, violation, places),
  };
}

function reasonOf(rule: RowRule, violation: Violation, places: RowPlaces): Pick<Problem, 'code' | 'detail'> {
  switch (rule.kind) {
    case 'unique': {
      const other = violation.other === null ? undefined : places.rowNumbers.rowOf(violation.other);
      const where =
        violation.other === null ? 'the table already has it' : `also in row ${other ?? '(unknown)'}`;
      return { code: 'not-unique', detail: `must be unique: ${where}` };
    }
    case 'foreign key':
      return {
        code: 'no-such-reference',
        detail: `has no match in ${rule.referencedSchema}.${rule.referencedTable} (${rule.referencedColumns.join(', ')})`,
      };
    case 'input':
      return { code: 'invalid-input', detail: `not a value that PostgreSQL reads as ${rule.type}` };
    case 'check':
      return {
        code: 'check-violation',
        detail: `does not pass the check "${rule.name}": ${rule.expression}`,
      };
  }
}
