/** The queries that find the staged rows that violate a rule. */
import { qualified } from '../../../postgres/callers-statement.ts';
import { inCallersPath } from '../../../postgres/search-path.ts';
import {
  quoteIdentifier,
  quoteLiteral,
  quoteQualified,
  randomName,
  type Statement,
} from '../../../postgres/sql.ts';
import { allEqual } from '../../tables/rules/equality.ts';
import {
  type CheckRule,
  columnsRead,
  type ForeignKeyRule,
  type HalfReferenceRule,
  type InputRule,
  type RowRule,
  type UniqueRule,
} from '../../tables/rules/row-rules.ts';
import {
  allPresent,
  columnsOf,
  isHalfReference,
  lacksReference,
  shownValue,
} from '../../tables/rules/rule-conditions.ts';
import { type ConflictKey, type ConflictRule, nameOfKey } from '../staged/conflict-rule.ts';
import { hasShape, rowNumber, shapeNumber, stagingTable, unlike } from '../staged/staging-table.ts';
import { isSurplus } from '../staged/surplus-rows.ts';
import { isUnchanged } from '../staged/unchanged-rows.ts';
import type { Violation } from './row-problem.ts';
import { temporaryTable } from './staged-statements.ts';

/** The result of a query for each row that violates the rule. */
export interface FoundViolation {
  /** The number of the data row. */
  number: number;
  /** The row with the same key; null: a row that was in the table before, or the rule is not a key. */
  other: number | null;
  /** The value that violates the rule, shortened. */
  value: string | null;
}

export interface ViolationQuery {
  rule: RowRule;
  /** true: the query finds keys that the existing table has. */
  isOfExisting?: boolean;
  /** Returns the query. It is called only when the query runs, because the list of shapes in it may be long. */
  statement: () => Statement;
}

export interface SentRows {
  /** The staging table, or a query over it in parentheses that has its leading columns. */
  relation: string;
  /**
   * The quoted name of the target table, if its rows count, too: a key must be unique among both, and a foreign key to the table itself
   * may refer to both. undefined: only the rows of `relation` count.
   */
  existing?: string | undefined;
  /** Copies of the rows of `existing` that have the keys of the rows of `relation`, by `nameOfKey`. See sharded-copies.ts. */
  copies?: Map<string, string>;
  /**
   * Returns the shapes whose rows cannot be checked by a rule over these columns, because PostgreSQL will set one of the
   * columns. undefined: there are none.
   */
  shapesWithout?: (columns: string[]) => number[];
  /** If this is set, rows that are not loaded are not checked: surplus rows and, with `skip`, rows whose key exists in the table. */
  conflict?: ConflictRule | undefined;
  /** true: surplus rows are checked, too, because it is not known yet which rows are surplus. */
  judgesSurplusRows?: boolean;
  /** true: unchanged rows are not checked. They must have been found. */
  leavesUnchanged?: boolean;
}

/** Returns the violation of a row that a query has found. */
export function toViolation(
  rule: RowRule,
  { number: row, other: otherRow, value }: FoundViolation,
  areRowsMissing: boolean,
): Violation {
  return { rule, row, otherRow, value, areRowsMissing };
}

/** Returns whether row-level security may hide the rows to which a foreign key refers, so that no query can check it. */
export function isHidden(rule: RowRule): boolean {
  return rule.kind === 'foreign key' && rule.isHidden;
}

export function violationQueries(sent: SentRows, rules: RowRule[]): ViolationQuery[] {
  const { existing } = sent;
  const queries: ViolationQuery[] = [];
  for (const rule of rules) {
    switch (rule.kind) {
      case 'unique':
        queries.push({ rule, statement: () => repeatedKeys(sent, rule) });
        if (existing)
          queries.push({ rule, isOfExisting: true, statement: () => existingKeys(sent, existing, rule) });
        break;
      case 'foreign key':
        queries.push({ rule, statement: () => missingReferences(sent, rule) });
        if (rule.isFull) {
          const half: HalfReferenceRule = { kind: 'half reference', name: rule.name, columns: rule.columns };
          queries.push({ rule: half, statement: () => halfReferences(sent, half) });
        }
        break;
      case 'half reference':
        queries.push({ rule, statement: () => halfReferences(sent, rule) });
        break;
      case 'check':
        queries.push({ rule, statement: () => failedChecks(sent, rule) });
        break;
      case 'input':
        queries.push({ rule, statement: () => invalidInputs(sent, rule) });
    }
  }
  return queries;
}

/**
 * A temporary table for the answers of many queries, and the view through which each of them runs in turn. PostgreSQL holds the locks of each new
 * table and view until the end of the transaction, so a table and a view for each rule could fill the lock table of the whole server.
 */
export interface Answers {
  /** Quoted, with the schema. */
  table: string;
  /** Quoted, without a schema: Citus does not find a view by the name pg_temp. The name is random, and the service's own path ends with this schema. */
  view: string;
}

export function newAnswers(): Answers {
  return { table: temporaryTable('found rows'), view: quoteIdentifier(randomName('view')) };
}

/** Returns the statements that create the table and the view. The index finds the first rows of one query. */
export function createAnswers({ table, view }: Answers): string {
  return `CREATE TEMPORARY VIEW pg_temp.${view} AS SELECT 0 AS number, 0 AS other, ''::text COLLATE "C" AS value;
CREATE TEMPORARY TABLE ${table} ON COMMIT DROP AS SELECT 0 AS query, * FROM pg_temp.${view} WITH NO DATA;
CREATE INDEX ON ${table} (query, number)`;
}

export function dropView({ view }: Answers): string {
  return `DROP VIEW ${view}`;
}

/**
 * Returns the statements that store the answer of a query. Checks, policies and domains may call functions that expect the callers' search path.
 * See `throughView`.
 *
 * @param index the number of the query
 * @param among the quoted name of a table with a column `data_row`; undefined: the answer has all rows that violate the rule
 */
export function storeAnswer(
  { statement }: ViolationQuery,
  index: number,
  { table, view }: Answers,
  among?: string,
): string[] {
  const isAmong = among === undefined ? '' : ` WHERE number IN (SELECT data_row FROM ${among})`;
  const answer = `SELECT number, other, value COLLATE "C" AS value FROM (${statement().text}) found${isAmong}`;
  return [
    `CREATE OR REPLACE TEMPORARY VIEW pg_temp.${view} AS ${answer}`,
    inCallersPath(qualified`INSERT INTO ${table} SELECT ${index}, * FROM pg_temp.${view}`),
  ];
}

/** Returns a query of the key of a staged row: `value` is the key as text, shortened, and `size` is the number of bytes in which it is stored. */
export function keyOfRow(rule: UniqueRule, row: number): Statement {
  const sizes = rule.columns.map((column) => `coalesce(pg_column_size(s.${quoteIdentifier(column)}), 0)`);
  return {
    text: `SELECT ${shownValue('s', rule.columns)} AS value, ${sizes.join(' + ')} AS size FROM ${stagingTable} s WHERE ${rowNumber} = $1`,
    values: [row],
  };
}

const number = quoteIdentifier(`tablewright number ${unlike}`);
const first = quoteIdentifier(`tablewright first ${unlike}`);

/**
 * Returns the rows with their numbers, without surplus, unchanged and skipped rows.
 *
 * @param checked the columns that the rule reads; rows in which PostgreSQL sets one of them are left out, too
 */
function numbered(
  { relation, conflict, shapesWithout, judgesSurplusRows, leavesUnchanged }: SentRows,
  checked: string[] = [],
): string {
  const without = shapesWithout?.(checked) ?? [];
  const rows = `SELECT ${rowNumber} AS ${number}, * FROM ${relation} sent`;
  const conditions = [
    ...(conflict && !judgesSurplusRows ? [`NOT ${isSurplus('sent')}`] : []),
    ...(leavesUnchanged ? [`NOT ${isUnchanged('sent')}`] : []),
    ...(without.length > 0 ? [`${shapeNumber} NOT IN (${without.join(', ')})`] : []),
  ];
  if (conditions.length === 0) return `(${rows})`;
  // OFFSET 0 keeps PostgreSQL from searching the surplus rows last: it would expect that the other search finds only one row, and
  // would read the whole surplus table for\neach row that it finds.
  return `(${rows} WHERE ${conditions.join(' AND ')} OFFSET 0)`;
}

/** Returns a condition for rows that are not skipped. For rows that are skipped, PostgreSQL checks only the key. */
function isNotSkipped(alias: string, sent: SentRows): string {
  const { existing, conflict } = sent;
  if (!existing || conflict?.action !== 'skip') return '';
  const { key, shapes } = conflict;
  return ` AND NOT (${hasShape(alias, shapes)} AND ${existsWithKey(withKey(sent, existing, key), alias, key)})`;
}

/** Returns the relation that has the existing rows with the keys of the sent rows: a copy for a sharded table, or the table itself. */
function withKey({ copies }: SentRows, existing: string, key: Pick<ConflictKey, 'columns'>): string {
  return copies?.get(nameOfKey(key)) ?? existing;
}

/**
 * Returns the condition that a row of the table has the key.
 *
 * @param more a further condition on that row, which is `t`
 */
function existsWithKey(table: string, alias: string, key: ConflictKey, more = ''): string {
  const exists = (areNullsEqual: boolean) =>
    `EXISTS (SELECT FROM ${table} t WHERE ${sameKey(alias, key, areNullsEqual)}${more})`;
  if (!key.nullsNotDistinct) return exists(false);
  // PostgreSQL can use an index only for a plain equality, so keys without NULL are compared with it.
  const isPresent = allPresent(alias, key.columns);
  return `(${isPresent} AND ${exists(false)} OR NOT (${isPresent}) AND ${exists(true)})`;
}

/** Returns the condition that the row has the key of the row `t`. */
function sameKey(
  alias: string,
  { columns, equals, nullsNotDistinct }: ConflictKey,
  areNullsEqual = nullsNotDistinct,
): string {
  return allEqual(columnsOf('t', columns), columnsOf(alias, columns), equals, areNullsEqual);
}

function answer(alias: string, other: string, value: string): string {
  return `${alias}.${number}::int AS number, ${other} AS other, ${value} AS value`;
}

function repeatedKeys(sent: SentRows, rule: UniqueRule): Statement {
  const keys = rule.columns.map(quoteIdentifier).join(', ');
  const present = rule.nullsNotDistinct ? 'true' : allPresent('s', rule.columns);
  const isCovered = rule.predicate ? ` AND (${rule.predicate})` : '';
  return {
    text: `SELECT ${answer('k', `k.${first}::int`, shownValue('k', rule.columns))}
FROM (SELECT s.*, first_value(s.${number}) OVER (PARTITION BY ${keys} ORDER BY s.${number}) AS ${first}
      FROM ${numbered(sent, columnsRead(rule))} s WHERE ${present}${isCovered}${isNotSkipped('s', sent)}) k
WHERE k.${number} <> k.${first}`,
  };
}

function existingKeys(sent: SentRows, existing: string, rule: UniqueRule): Statement {
  const { conflict } = sent;
  // The predicate of a partial index names columns without a table, so SQL takes them from the innermost query. Inside EXISTS they
  // are columns of the existing row, and\noutside they are columns of the sent row.
  const isCovered = rule.predicate ? ` AND (${rule.predicate})` : '';
  // With `update`, the row that will be updated does not count as another row with the same key.
  const isOther =
    conflict?.action === 'update'
      ? ` AND (${hasShape('s', conflict.shapes)} AND ${sameKey('s', conflict.key)}) IS NOT TRUE`
      : '';
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))}
FROM ${numbered(sent, columnsRead(rule))} s
WHERE ${existsWithKey(withKey(sent, existing, rule), 's', rule, `${isCovered}${isOther}`)}${isCovered}${isNotSkipped('s', sent)}`,
  };
}

function missingReferences(sent: SentRows, rule: ForeignKeyRule): Statement {
  // The referenced table is not searched for a reference of a new table to itself: until the end of the load, the new table has another
  // name or no rows.
  const places = [
    ...(rule.isSelf ? [numbered(sent)] : []),
    ...(rule.isSelf && !sent.existing
      ? []
      : [rule.referencedCopy ?? quoteQualified(rule.referencedSchema, rule.referencedTable)]),
  ];
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))}
FROM ${numbered(sent, rule.columns)} s
WHERE ${lacksReference('s', rule, places)}${isNotSkipped('s', sent)}`,
  };
}

function halfReferences(sent: SentRows, rule: HalfReferenceRule): Statement {
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))} FROM ${numbered(sent, rule.columns)} s
WHERE ${isHalfReference('s', rule)}${isNotSkipped('s', sent)}`,
  };
}

function failedChecks(sent: SentRows, rule: CheckRule): Statement {
  const { domainOf, columns, expression } = rule;
  const shown = domainOf === undefined ? columns : ['value'];
  const value = shown.length === 0 ? 'NULL' : shownValue('s', shown);
  const source = domainOf === undefined ? numbered(sent, columns) : checkedValues(sent, rule);
  return {
    text: `SELECT ${answer('s', 'NULL::int', value)} FROM ${source} s
WHERE NOT (${expression})`,
  };
}

/**
 * Returns the values that the check of a domain uses as VALUE, in a column `value`. For an array it is the first element that
 * fails.
 */
function checkedValues(sent: SentRows, { domainOf, columns, expression }: CheckRule): string {
  const rows = numbered(sent, columns);
  const column = `s.${quoteIdentifier(columns[0]!)}`;
  if (domainOf === 'column') return `(SELECT ${number}, ${column} AS value FROM ${rows} s)`;
  return `(SELECT ${number}, failing.value FROM ${rows} s CROSS JOIN LATERAL (
SELECT value FROM unnest(${column}) AS elements(value) WHERE NOT (${expression}) LIMIT 1) failing)`;
}

function invalidInputs(sent: SentRows, rule: InputRule): Statement {
  const column = `s.${quoteIdentifier(rule.columns[0]!)}`;
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))} FROM ${numbered(sent)} s
WHERE ${column} IS NOT NULL AND NOT ${rule.inputCheck}(${column}, ${quoteLiteral(rule.typeSql)})`,
  };
}
