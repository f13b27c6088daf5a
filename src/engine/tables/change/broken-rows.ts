/** Finds the rows of an existing table that break a rule which the table should get. */
import type { ClientBase } from 'pg';
import type { Problem } from '../../../core/errors.ts';
import { describeCellProblem, NOT_NULL } from '../../../encoding/problems/cell-problems.ts';
import { type Problems, shortenValue } from '../../../encoding/problems/problems.ts';
import { quoteIdentifier, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import {
  type CheckRule,
  type ForeignKeyRule,
  type RowRule,
  readRowRules,
  type UniqueRule,
} from '../rules/row-rules.ts';
import { allPresent, lacksReference, shownValue } from '../rules/rule-conditions.ts';
import { ruleProblem } from '../rules/rule-problem.ts';
import { countRows, type Key, keyOf, keyValues, type NamedRows } from './named-rows.ts';

/**
 * A rule that the table should get. A foreign key or a check must have been added to the table with NOT VALID in this transaction (in a savepoint),
 * because its operators and its expression are read from the catalogue. A primary key is a unique rule, and a rule `not null` for each of its columns.
 */
export type NewRule =
  | { kind: 'not null'; column: string }
  | { kind: 'unique'; name: string; columns: string[]; nullsNotDistinct: boolean }
  | { kind: 'foreign key' | 'check'; name: string };

/**
 * Adds a problem for each row that breaks one of the rules. It reads the table once for each rule. Call it after PostgreSQL has refused a rule, with the
 * new types of the columns.
 *
 * A rule that the role cannot check adds one problem without rows: row-level security or privileges may hide the referenced table.
 */
export async function findBrokenRows(
  client: ClientBase,
  rows: NamedRows,
  rules: NewRule[],
  problems: Problems,
): Promise<void> {
  const isNamed = rules.some(({ kind }) => kind === 'foreign key' || kind === 'check');
  const known = isNamed ? await readRowRules(client, rows.schema, rows.name) : [];
  for (const rule of rules) {
    if (rule.kind === 'not null') {
      await addNulls(client, rows, rule.column, problems);
      continue;
    }
    const full: RowRule | undefined =
      rule.kind === 'unique'
        ? { ...rule, isPrimary: false, isDeferrable: false }
        : known.find((one) => one.kind === rule.kind && one.name === rule.name && !isOfDomain(one));
    if (full !== undefined && isChecked(full)) await addBroken(client, rows, full, problems);
    else problems.add(unchecked(rule.kind, rule.name, full));
  }
}

type CheckedRule = UniqueRule | ForeignKeyRule | CheckRule;

/** A column's domain may have a check with the same name. */
function isOfDomain(rule: RowRule): boolean {
  return rule.kind === 'check' && rule.domainOf !== undefined;
}

/** Returns whether a query can check the rule. Foreign keys see rows that row-level security hides from the role. */
function isChecked(rule: RowRule): rule is CheckedRule {
  if (rule.kind === 'foreign key') return !rule.isHidden;
  return rule.kind === 'unique' || rule.kind === 'check';
}

/** Returns the problem of a rule that PostgreSQL has refused and that no query can check. */
function unchecked(
  kind: 'unique' | 'foreign key' | 'check',
  name: string,
  rule: RowRule | undefined,
): Problem {
  const columns = rule === undefined ? {} : { column: rule.columns.join(', ') };
  const detail = `rows of the table break the ${kind === 'unique' ? 'key' : kind} "${name}". The role of this request cannot find them`;
  return { ...columns, code: codes[kind], detail };
}

const codes = {
  unique: 'not-unique',
  'foreign key': 'no-such-reference',
  check: 'check-violation',
} as const;

/** A row that breaks a rule. The texts are null if rows are not shown. */
interface BrokenRow {
  key: string[] | null;
  value: string | null;
  /** For a key: the key of the first row with the same values. */
  other: string[] | null;
}

async function addNulls(
  client: ClientBase,
  rows: NamedRows,
  column: string,
  problems: Problems,
): Promise<void> {
  const query = brokenRows(rows, `${columnOf(column)} IS NULL`, []);
  const { problems: count, listed } = await countRows<BrokenRow>(client, query);
  const reason = describeCellProblem(NOT_NULL);
  addListed(rows, listed, count, problems, (row) => ({ ...keyOfProblem(rows, row.key), column, ...reason }));
}

async function addBroken(
  client: ClientBase,
  rows: NamedRows,
  rule: CheckedRule,
  problems: Problems,
): Promise<void> {
  const areRowsMissing = problems.count > 0;
  try {
    const { problems: count, listed } = await countRows<BrokenRow>(client, breaking(rows, rule));
    const column = rule.columns.length === 0 ? {} : { column: rule.columns.join(', ') };
    addListed(rows, listed, count, problems, ({ key, value, other }) => ({
      ...keyOfProblem(rows, key),
      ...column,
      ...(value !== null && value !== '' && { value: shortenValue(value) }),
      ...ruleProblem(rule, otherRow(rows, other), areRowsMissing),
    }));
  } catch (error) {
    // The function of a check may fail for a row, and the role may not be allowed to read the referenced table.
    if (!isLackOfPrivilege(error) && !isRefusalOfInput(error)) throw error;
    problems.add(unchecked(rule.kind, rule.name, rule));
  }
}

/** Adds the problems of the listed rows, or only one of them if rows are not shown, and counts the others. */
function addListed(
  { areShown }: NamedRows,
  listed: BrokenRow[],
  count: number,
  problems: Problems,
  toProblem: (row: BrokenRow) => Problem,
): void {
  const described = (areShown ? listed : listed.slice(0, 1)).map(toProblem);
  for (const problem of described) problems.add(problem);
  const last = described.at(-1);
  if (last !== undefined) problems.addUnlisted(count - described.length, last.column ?? '', last.code);
}

function keyOfProblem(rows: NamedRows, key: string[] | null): { key?: Key } {
  return key === null ? {} : { key: keyOf(rows, key) };
}

function otherRow(rows: NamedRows, other: string[] | null): string {
  if (other === null) return 'another row of the table has it';
  const parts = Object.entries(keyOf(rows, other)).map(([column, value]) => `${column} ${value}`);
  return `also in the row with ${parts.join(', ')}`;
}

function tableOf({ schema, name }: NamedRows): string {
  return quoteQualified(schema, name);
}

/** Returns the column of a row of the table, which is `t` in every query. */
function columnOf(name: string): string {
  return `t.${quoteIdentifier(name)}`;
}

function breaking(rows: NamedRows, rule: CheckedRule): string {
  switch (rule.kind) {
    case 'check':
      return brokenRows(rows, `NOT (${rule.expression})`, rule.columns);
    case 'foreign key': {
      const referenced = quoteQualified(rule.referencedSchema, rule.referencedTable);
      return brokenRows(rows, lacksReference('t', rule, [referenced]), rule.columns);
    }
    case 'unique':
      return repeatedKeys(rows, rule);
  }
}

function brokenRows(rows: NamedRows, condition: string, columns: string[]): string {
  const value = rows.areShown && columns.length > 0 ? shownValue('t', columns) : 'NULL';
  return `SELECT true AS is_problem, ${keyValues(rows, columnOf)} AS key, ${value} AS value, NULL::text[] AS other
FROM ${tableOf(rows)} t WHERE ${condition}`;
}

/** Returns a query of the rows that repeat the key of an earlier row. Texts are made only for the rows that it finds. */
function repeatedKeys(rows: NamedRows, { columns, nullsNotDistinct }: UniqueRule): string {
  // The table may have columns of any other name.
  const unlike = randomName('first');
  const place = quoteIdentifier(`${unlike} place`);
  const firstOf = (column: string) => quoteIdentifier(`${unlike} ${rows.keyColumns.indexOf(column)}`);
  const list = [
    ...[...new Set([...columns, ...rows.keyColumns])].map(columnOf),
    ...rows.keyColumns.map((column) => `first_value(${columnOf(column)}) OVER same AS ${firstOf(column)}`),
  ];
  return `SELECT true AS is_problem, ${keyValues(rows, columnOf)} AS key, ${rows.areShown ? shownValue('t', columns) : 'NULL'} AS value,
  ${keyValues(rows, (column) => `t.${firstOf(column)}`)} AS other
FROM (SELECT ${list.join(', ')}, row_number() OVER same AS ${place} FROM ${tableOf(rows)} t
  WHERE ${nullsNotDistinct ? 'true' : allPresent('t', columns)}
  WINDOW same AS (PARTITION BY ${columns.map(columnOf).join(', ')} ORDER BY ${rows.keyColumns.map(columnOf).join(', ')})) AS t
WHERE t.${place} > 1`;
}
