/**
 * Every row that breaks a key, a reference or a check, as problems of the upload.
 *
 * PostgreSQL stops at the first; so where it refuses the rows they are looked through with one query per rule.
 */
import type { ClientBase, QueryResult } from 'pg';
import type { Problem } from '../../errors.ts';
import {
  copyLineOf,
  isSecondUpdate,
  maxRowsStoredTogether,
  partitionKeyOf,
  rowSizes,
  storesRowsTogether,
} from '../../postgres/server-internals.ts';
import { conditionOf, isLackOfPrivilege, isRefusalOfInput } from '../../postgres/sqlstate.ts';
import type { LocateCell } from '../../sources/cell-sink.ts';
import { describeCellProblem, NOT_NULL } from '../cell-problems.ts';
import { maxListedProblems, type Problems, shortenValue } from '../problems.ts';
import type { RowNumbers } from '../row-numbers.ts';
import { columnsRead, type RowRule } from './row-rules.ts';
import {
  findLargestKey,
  type LargestKey,
  runQuery,
  type SentRows,
  type Violation,
  violationQueries,
} from './violation-queries.ts';

/** How a problem's place is found from the ordinal of a row. */
export interface RowPlaces {
  rowNumbers: RowNumbers;
  locate: LocateCell;
  /** The data's column that goes into the table's column; -1: none. */
  sourceColumn: (name: string) => number;
}

/**
 * Adds every row that breaks a rule to the problems.
 *
 * @param isReal tells whether PostgreSQL refuses the row that was found; undefined: it does
 * @returns the names of the rules that were not looked at, or not for all rows: the role may not read the tables they speak
 *   of, or PostgreSQL is to give the rows values of theirs; '' for one that cannot say of a row whether it is broken: a CHECK
 *   that divides by zero, or raises
 */
export async function findViolations(
  client: ClientBase,
  sent: SentRows,
  rules: RowRule[],
  places: RowPlaces,
  problems: Problems,
  isReal?: (rule: RowRule, violation: Violation) => Promise<boolean>,
): Promise<string[]> {
  const isHidden = (rule: RowRule) => rule.kind === 'foreign key' && rule.isHidden;
  const unread = rules.filter(isHidden).map((rule) => rule.name);
  const judged = rules.filter((rule) => !isHidden(rule));
  const areRowsMissing = problems.count > 0;
  for (const query of violationQueries(sent, judged, maxListedProblems)) {
    const { rule } = query;
    const rows = await readViolations(client, runQuery(query, sent));
    if (rows === 'refused') unread.push('');
    if (rows === 'unreadable') unread.push(rule.name);
    if (typeof rows === 'string') continue;
    if (rows.length === 0 && sent.shapesWithout?.(columnsRead(rule)).length) unread.push(rule.name);
    let real = 0;
    for (const violation of rows) {
      if (isReal && !(await isReal(rule, violation))) continue;
      problems.add(problemOf(rule, violation, places, areRowsMissing));
      real += 1;
    }
    // Of the rows that are not listed nobody knows whether PostgreSQL refuses them, if it takes some of those that are.
    if (rows[0] && real === rows.length) problems.addUnlisted(rows[0].total - rows.length);
  }
  return unread;
}

/** `unreadable` where the role lacks a privilege, `refused` where the rule itself fails over a row. */
async function readViolations(
  client: ClientBase,
  statements: string[],
): Promise<Violation[] | 'unreadable' | 'refused'> {
  try {
    const text = ['SAVEPOINT "rule"', ...statements].join(';\n');
    const results = (await client.query(text)) as unknown as QueryResult<Violation>[];
    return results.at(-2)!.rows;
  } catch (error) {
    if (!isLackOfPrivilege(error) && !isRefusalOfInput(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT "rule"');
    return isLackOfPrivilege(error) ? 'unreadable' : 'refused';
  }
}

/** PostgreSQL's refusal of a row in a COPY, for rules that no query knows (triggers, exclusion, partitions, sizes). */
export function refusedRow(error: Error, rowsBefore: number, places: RowPlaces): Problem {
  const copied = copyLineOf(error);
  if (copied === undefined) return refusal(error, undefined, undefined, places);
  const { line, column } = copied;
  // The end of the data counts as a line.
  const last = Math.min(rowsBefore + line, places.rowNumbers.count) - 1;
  const row = places.rowNumbers.rowOf(last);
  if (!storesRowsTogether(error)) return refusal(error, row, column, places);
  // Rows are stored some at a time: the line is the last one of them.
  const first = Math.max(rowsBefore, last - maxRowsStoredTogether);
  const firstRow = places.rowNumbers.rowOf(first);
  if (first === last || firstRow === undefined) return refusal(error, row, column, places);
  const problem = refusal(error, undefined, column, places);
  const from = places.locate(firstRow, -1, '').cell ?? firstRow;
  const to = places.locate(row!, -1, '').cell ?? row;
  return { ...problem, detail: `${problem.detail}: one of the rows ${from} to ${to}` };
}

/** The same for a row on its way from the staging table. */
export function refusedStagedRow(error: Error, row: number | undefined, places: RowPlaces): Problem {
  return refusal(error, row, undefined, places);
}

/**
 * PostgreSQL's refusal of a key over all rows that none of them is guilty of by its rule: an index takes no value of more
 * than some 2,700 bytes, and the row with the largest one is named.
 */
export async function largestKey(
  client: ClientBase,
  error: Error,
  relation: string,
  rules: RowRule[],
  places: RowPlaces,
): Promise<Problem> {
  let largest: (LargestKey & { rule: RowRule }) | undefined;
  for (const rule of conditionOf(error) === 'program_limit_exceeded' ? rules : []) {
    if (rule.kind !== 'unique') continue;
    const { rows } = await client.query<LargestKey>(findLargestKey(relation, rule));
    if (rows[0] && rows[0].size > (largest?.size ?? 0)) largest = { ...rows[0], rule };
  }
  const problem = refusal(error, undefined, undefined, places);
  return largest ? { ...placeOf(largest.rule, largest, places), ...problem } : problem;
}

/** What a `pg.DatabaseError` may have. */
interface DatabaseFields {
  column?: string;
  constraint?: string;
}

/** One statement would change a row twice, although the keys of the rows that were sent looked different. */
const sameInTheTable =
  'two rows have the same key in the table: by the default of a column that they do not bring, or by a trigger; send every column of the key, as the table holds it';

/** PostgreSQL's words, or ours where these do not say what to do. */
function messageOf(error: Error): string {
  if (isSecondUpdate(error)) return sameInTheTable;
  const sizes = rowSizes(error);
  if (sizes === undefined) return error.message;
  return `the row has too many values: they take ${sizes.size} bytes, and PostgreSQL stores a row in at most ${sizes.max} (long texts apart); load fewer columns, or split them over several tables`;
}

function refusal(
  error: Error,
  row: number | undefined,
  copyColumn: string | undefined,
  places: RowPlaces,
): Problem {
  const { column = copyColumn, constraint } = error as DatabaseFields;
  const key = partitionKeyOf(error);
  const name = key ? key.columns : column;
  const isNamed = constraint === undefined || error.message.includes(`"${constraint}"`);
  const message = messageOf(error);
  if (conditionOf(error) === 'not_null_violation' && name !== undefined)
    return missingValue(name, row, places);
  return {
    ...(row !== undefined && { ...places.locate(row, -1, ''), row }),
    ...(name !== undefined && { column: name }),
    ...(key && { value: shortenValue(key.values) }),
    code: 'refused-by-postgresql',
    detail: isNamed ? message : `${message} (constraint "${constraint}")`,
  };
}

/** PostgreSQL found the NULL: a trigger or a default might have given a value. */
function missingValue(column: string, row: number | undefined, places: RowPlaces): Problem {
  return {
    ...(row !== undefined && { ...places.locate(row, places.sourceColumn(column), column), row }),
    column,
    ...describeCellProblem(NOT_NULL),
  };
}

function problemOf(rule: RowRule, found: Violation, places: RowPlaces, areRowsMissing: boolean): Problem {
  const violation = inOrder(found, places);
  return { ...placeOf(rule, violation, places), ...reasonOf(rule, violation, places, areRowsMissing) };
}

/** Rows with other keys went through another COPY, perhaps before those that they follow: the later one is at fault. */
function inOrder(violation: Violation, { rowNumbers }: RowPlaces): Violation {
  const { ordinal, other } = violation;
  if (other === null || (rowNumbers.rowOf(other) ?? 0) < (rowNumbers.rowOf(ordinal) ?? 0)) return violation;
  return { ...violation, ordinal: other, other: ordinal };
}

function placeOf(
  rule: RowRule,
  violation: Pick<Violation, 'ordinal' | 'value'>,
  places: RowPlaces,
): Omit<Problem, 'code' | 'detail'> {
  const row = places.rowNumbers.rowOf(violation.ordinal);
  const [column] = rule.columns;
  const place =
    row === undefined || column === undefined ? {} : places.locate(row, places.sourceColumn(column), column);
  return {
    ...place,
    ...(row !== undefined && { row }),
    ...(rule.columns.length > 0 && { column: rule.columns.join(', ') }),
    ...(violation.value !== null && { value: shortenValue(violation.value) }),
  };
}

/** A row in the caller's own terms: the cell of a spreadsheet, else the number of the data row. */
function nameOfPlace(row: number | undefined, column: string | undefined, places: RowPlaces): string {
  if (row === undefined) return 'a row whose number is not known';
  const source = column === undefined ? -1 : places.sourceColumn(column);
  return places.locate(row, source, column ?? '').cell ?? `row ${row}`;
}

function reasonOf(
  rule: RowRule,
  violation: Violation,
  places: RowPlaces,
  areRowsMissing: boolean,
): Pick<Problem, 'code' | 'detail'> {
  switch (rule.kind) {
    case 'unique': {
      const where =
        violation.other === null
          ? 'the table already has it'
          : `also in ${nameOfPlace(places.rowNumbers.rowOf(violation.other), rule.columns[0], places)}`;
      const scope = rule.predicate ? ` among the rows where ${rule.predicate}` : '';
      return { code: 'not-unique', detail: `must be unique${scope}: ${where}` };
    }
    case 'foreign key':
      return {
        code: 'no-such-reference',
        detail: `has no match in ${rule.referencedSchema}.${rule.referencedTable} (${rule.referencedColumns.join(', ')})${
          rule.isSelf && areRowsMissing ? ', where rows with problems of their own do not count' : ''
        }`,
      };
    case 'half reference':
      return {
        code: 'no-such-reference',
        detail: 'needs a value in every column of the foreign key or in none, because it is MATCH FULL',
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
