/** Finds the rows whose values cannot follow a change of types, before the change is made. */
import type { ClientBase } from 'pg';
import type { Problem } from '../../../core/errors.ts';
import { explainText } from '../../../encoding/encoders/explain-text.ts';
import { describeCellProblem, NOT_NULL } from '../../../encoding/problems/cell-problems.ts';
import { type Problems, shortenValue } from '../../../encoding/problems/problems.ts';
import { isKnownToCitus } from '../../../postgres/citus/sharded-tables.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import { countRows, keyOf, keyValues, type NamedRows } from '../change/named-rows.ts';
import { dropOwnInputCheck, makeInputCheck, ownInputCheck } from '../loading/input-check.ts';
import { type Conversion, convertedBy, type Loss, type ValueSql } from './conversion.ts';

/** Values that lose something, which the caller has allowed. */
export interface CountedLoss {
  column: string;
  loss: Loss;
  /** The number of rows. */
  rows: number;
}

/**
 * Adds a problem for each value that cannot be converted, or not exactly. It reads the table once for each conversion that `scans`, and has the time
 * limit of a statement for each. The table must still have the old types, and should be locked against writing.
 *
 * @param allowsLosses `allow=lossy_types` was sent: values that only lose what `Conversion.loss` says are no problem, and are counted
 * @returns the counts that are not 0
 * @throws AppError or PostgreSQL's error if the role may not read the column
 */
export async function findUnconvertible(
  client: ClientBase,
  rows: NamedRows,
  conversions: Conversion[],
  allowsLosses: boolean,
  problems: Problems,
): Promise<CountedLoss[]> {
  const scanned = conversions.filter(({ scans }) => scans);
  if (scanned.length === 0) return [];
  const inputCheck = await makeInputCheck(client);
  const losses: CountedLoss[] = [];
  const names = scanned.map(({ change }) => change.from.name);
  const read = inputCheck === ownInputCheck ? await copyIfSharded(client, rows, names) : rows;
  for (const conversion of scanned) {
    const lost = await findInColumn(client, read, { conversion, allowsLosses, inputCheck, problems });
    const column = conversion.change.from.name;
    if (lost > 0) losses.push({ column, loss: conversion.loss!, rows: lost });
  }
  if (read !== rows) await client.query(`DROP TABLE ${quoteQualified(read.schema, read.name)}`);
  if (inputCheck === ownInputCheck) await client.query(dropOwnInputCheck);
  return losses;
}

/**
 * Copies the columns of a table that Citus stores at its workers, which do not have the temporary function. The rows of a table without a
 * primary key are not shown, because their `ctid` is that of the copy.
 */
async function copyIfSharded(client: ClientBase, rows: NamedRows, columns: string[]): Promise<NamedRows> {
  const relation = quoteQualified(rows.schema, rows.name);
  const isSharded = isKnownToCitus('to_regclass($1)');
  const found = await client.query<{ isSharded: boolean }>(`SELECT ${isSharded} AS "isSharded"`, [relation]);
  if (!found.rows[0]!.isSharded) return rows;
  const hasKey = !rows.keyColumns.includes('ctid');
  const copied = [...new Set([...(hasKey ? rows.keyColumns : []), ...columns])].map(quoteIdentifier);
  const name = randomName('values');
  await client.query(
    `CREATE TEMPORARY TABLE ${quoteIdentifier(name)} ON COMMIT DROP AS SELECT ${copied.join(', ')} FROM ${relation}`,
  );
  return { ...rows, schema: 'pg_temp', name, areShown: rows.areShown && hasKey };
}

interface Search {
  conversion: Conversion;
  allowsLosses: boolean;
  inputCheck: string;
  problems: Problems;
}

/** A row with a problem. The texts are null if rows are not shown. */
interface FoundRow {
  key: string[] | null;
  /** One of the states below. */
  state: number;
  /** The value as text, shortened; null: NULL. */
  value: string | null;
  /** The converted value as text; null: it cannot be converted. */
  becomes: string | null;
}

const LOSES = 1;
const NOT_EXACT = 2;
const IMPOSSIBLE = 3;

/** Returns the number of rows that lose something. */
async function findInColumn(client: ClientBase, rows: NamedRows, search: Search): Promise<number> {
  const { conversion, problems } = search;
  try {
    const found = await countRows<FoundRow>(client, unconvertible(rows, search));
    addProblems(rows, conversion, found.listed, found.problems, problems);
    return found.losses;
  } catch (error) {
    // The check of a domain may call a function that fails, and a few types cannot read a text without an error.
    if (!isRefusalOfInput(error) || isLackOfPrivilege(error)) throw error;
    const detail = `PostgreSQL cannot convert the values: ${error.message}`;
    problems.add({ column: conversion.change.from.name, code: 'refused-by-postgresql', detail });
    return 0;
  }
}

/** The maximum number of characters of a value that is explained. */
const maxExplained = 4096;

function unconvertible(rows: NamedRows, { conversion, allowsLosses, inputCheck }: Search): string {
  const { change, path, loss } = conversion;
  const value = `t.${quoteIdentifier(change.from.name)}`;
  const sqlOf = (one: string): ValueSql => ({
    value: one,
    converted: convertedBy(one, path),
    isInput: (text, type) => `${inputCheck}(${text}, ${quoteLiteral(type)})`,
  });
  const { isPossible, isExact, refusesNull } = path;
  const sql = sqlOf(value);
  const state = `CASE WHEN ${value} IS NULL THEN ${refusesNull ? IMPOSSIBLE : 0}
    WHEN (${isPossible?.(sql) ?? 'true'}) IS NOT TRUE THEN ${IMPOSSIBLE}
    WHEN (${isExact?.(sql) ?? 'true'}) IS NOT TRUE THEN ${allowsLosses && loss !== undefined ? LOSES : NOT_EXACT} ELSE 0 END`;
  const shown = (text: string, length: number) => (rows.areShown ? `left(${text}::text, ${length})` : 'NULL');
  return `
SELECT s.key, s.state, s.state > ${LOSES} AS is_problem, ${shown('s.value', maxExplained + 1)} AS value,
  CASE WHEN s.state = ${NOT_EXACT} THEN ${shown(sqlOf('s.value').converted, 200)} END AS becomes
FROM (SELECT ${keyValues(rows, (column) => `t.${quoteIdentifier(column)}`)} AS key, ${value} AS value, ${state} AS state
  FROM ${quoteQualified(rows.schema, rows.name)} t OFFSET 0) AS s WHERE s.state > 0`;
}

/** @param count the number of all rows with a problem */
function addProblems(
  rows: NamedRows,
  conversion: Conversion,
  listed: FoundRow[],
  count: number,
  problems: Problems,
): void {
  const column = conversion.change.from.name;
  const described = listed.map((row) => problemOf(rows, conversion, row));
  if (described.length === 0) return;
  const first = new Set<string>();
  for (const problem of described) {
    // Without keys and values the problems of a column differ only in their codes.
    if (rows.areShown || !first.has(problem.code)) problems.add(problem);
    else problems.addUnlisted(1, column, problem.code);
    first.add(problem.code);
  }
  problems.addUnlisted(count - described.length, column, described.at(-1)!.code);
}

function problemOf(rows: NamedRows, conversion: Conversion, row: FoundRow): Problem {
  const column = conversion.change.from.name;
  const reason = row.state === NOT_EXACT ? notExact(conversion, row) : impossible(conversion, row);
  if (row.key === null) return { column, ...reason };
  const value = row.value === null ? {} : { value: shortenValue(row.value) };
  return { key: keyOf(rows, row.key), column, ...value, ...reason };
}

function notExact({ change, loss }: Conversion, { becomes }: FoundRow): Pick<Problem, 'code' | 'detail'> {
  const as = becomes === null ? '' : ` ${shortenValue(becomes)}`;
  const remedy =
    loss === undefined
      ? 'which is not the same: correct the value first'
      : `and lose its ${loss}: correct the value first, or send allow=lossy_types`;
  return {
    code: 'not-exact',
    detail: `as ${change.to.type.name} it would become${as || ' another value'}, ${remedy}`,
  };
}

function impossible({ change }: Conversion, { value, key }: FoundRow): Pick<Problem, 'code' | 'detail'> {
  const { type } = change.to;
  if (value === null && key !== null) return describeCellProblem(NOT_NULL);
  const explained = value === null || value.length > maxExplained ? undefined : explainText(value, type);
  if (explained !== undefined) return explained;
  if (type.kind === 'domain' && value !== null)
    return { code: 'check-violation', detail: `does not pass the checks of the domain ${type.name}` };
  return { code: 'invalid-input', detail: `cannot become a value of ${type.name}` };
}
