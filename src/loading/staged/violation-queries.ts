/**
 * The queries that find the rows of a relation which break a rule.
 */
import { inCallersPath } from '../../postgres/search-path.ts';
import {
  quoteIdentifier,
  quoteLiteral,
  quoteQualified,
  randomName,
  type Statement,
} from '../../postgres/sql.ts';
import type { ConflictKey, ConflictRule } from './conflict-rule.ts';
import { equal } from './equality.ts';
import {
  type CheckRule,
  columnsRead,
  type ForeignKeyRule,
  type HalfReferenceRule,
  type InputRule,
  type RowRule,
  type UniqueRule,
} from './row-rules.ts';
import { hasShape, rowNumber, shapeNumber, unlike } from './staging-table.ts';
import { isSurplus } from './surplus-rows.ts';

/** What a query answers for each row that breaks the rule. Rows are named by their numbers in the relation (`Numbering`). */
export interface FoundViolation {
  number: number;
  /** The row that has the same key; null: a row that was in the table before, or the rule is no key. */
  other: number | null;
  /** The offending value, shortened. */
  value: string | null;
  /** All violations of the rule, also those over the limit. */
  total: number;
}

export interface ViolationQuery {
  rule: RowRule;
  statement: Statement;
}

/** How the rows of a relation are numbered in the order in which they were sent. */
export interface Numbering {
  /** An SQL expression over a row of the relation. */
  expression: string;
  /** Returns the data row that has the number; undefined: it is not known any more. */
  rowOf: (number: number) => number | undefined;
}

/** The staging table, and the queries over it that keep its leading columns. */
export const byRowNumber: Numbering = { expression: rowNumber, rowOf: (number) => number };

/**
 * A table that COPY alone filled, in this transaction: the order of `ctid` is the order in which the rows were sent.
 *
 * @param rowOf returns the data row of the n-th row that was sent, from 0
 */
export function byPlace(rowOf: (ordinal: number) => number | undefined): Numbering {
  return { expression: 'row_number() OVER (ORDER BY ctid) - 1', rowOf };
}

export interface SentRows {
  /** Quoted, or a query in parentheses. */
  relation: string;
  numbering: Numbering;
  /**
   * Quoted: a table whose rows count, too. Keys must be unique among them, and a key that references its own table may
   * reference them. undefined: `relation` is the table itself.
   */
  existing?: string | undefined;
  /**
   * For the staging table: the shapes whose rows a rule over these columns cannot be judged by, because PostgreSQL will
   * give one of the columns its value.
   */
  shapesWithout?: (columns: string[]) => number[];
  /** Replaced rows are left out: the surplus rows and, with `skip`, rows whose key the table has. */
  conflict?: ConflictRule | undefined;
}

export function violationQueries(sent: SentRows, rules: RowRule[], limit: number): ViolationQuery[] {
  const { existing } = sent;
  const queries: ViolationQuery[] = [];
  for (const rule of rules) {
    switch (rule.kind) {
      case 'unique':
        queries.push({ rule, statement: repeatedKeys(sent, rule, limit) });
        if (existing) queries.push({ rule, statement: takenKeys(sent, existing, rule, limit) });
        break;
      case 'foreign key':
        queries.push({ rule, statement: missingReferences(sent, rule, limit) });
        if (rule.isFull) {
          const half: HalfReferenceRule = { kind: 'half reference', name: rule.name, columns: rule.columns };
          queries.push({ rule: half, statement: halfReferences(sent, half, limit) });
        }
        break;
      case 'half reference':
        queries.push({ rule, statement: halfReferences(sent, rule, limit) });
        break;
      case 'check':
        queries.push({ rule, statement: failedChecks(sent, rule, limit) });
        break;
      case 'input':
        queries.push({ rule, statement: invalidInputs(sent, rule, limit) });
    }
  }
  return queries;
}

/**
 * The statements that run a violation query, which the last but one of them answers.
 *
 * Checks, policies and domains may run functions that expect the callers' search path, already while PostgreSQL plans the
 * query. But the names in the query must not be looked up in that path. So the query becomes a view in the service's own
 * path: a view keeps the functions and operators that were found when it was made. Keys and references among the rows of a new
 * table run no such functions, and need no right to make a temporary view.
 */
export function runQuery({ rule, statement }: ViolationQuery, { existing }: SentRows): string[] {
  const runsCode = existing !== undefined || rule.kind === 'check' || rule.kind === 'input';
  if (!runsCode) return [statement.text, 'SELECT'];
  const view = `pg_temp.${quoteIdentifier(randomName('violations'))}`;
  return [`CREATE TEMPORARY VIEW ${view} AS ${statement.text}`, inCallersPath(`TABLE ${view}`)];
}

export interface LargestKey {
  number: number;
  value: string | null;
  /** In bytes, as stored. */
  size: number;
}

/** Finds the row with the largest key. */
export function findLargestKey(sent: SentRows, rule: UniqueRule): Statement {
  const sizes = rule.columns.map(
    (column) => `coalesce(pg_catalog.pg_column_size(s.${quoteIdentifier(column)}), 0)`,
  );
  return {
    text: `SELECT s.${number}::int AS number, ${shownValue('s', rule.columns)} AS value, ${sizes.join(' + ')} AS size
FROM ${numbered({ relation: sent.relation, numbering: sent.numbering })} s ORDER BY size DESC LIMIT 1`,
  };
}

const number = quoteIdentifier(`tablewright number ${unlike}`);
const first = quoteIdentifier(`tablewright first ${unlike}`);

/**
 * Returns the rows with their numbers, without those that gave way to others.
 *
 * @param judged the columns that the rule reads: rows to which PostgreSQL gives a value in one of them are left out, too
 */
function numbered({ relation, numbering, conflict, shapesWithout }: SentRows, judged: string[] = []): string {
  const without = shapesWithout?.(judged) ?? [];
  const rows = `SELECT ${numbering.expression} AS ${number}, * FROM ${relation} sent`;
  const conditions = [
    ...(conflict ? [`NOT ${isSurplus('sent')}`] : []),
    ...(without.length > 0 ? [`${shapeNumber} NOT IN (${without.join(', ')})`] : []),
  ];
  if (conditions.length === 0) return `(${rows})`;
  // OFFSET keeps PostgreSQL from looking for surplus rows last: after a search that it expects to find one row, it would
  // read the whole surplus table for each row that is found.
  return `(${rows} WHERE ${conditions.join(' AND ')} OFFSET 0)`;
}

/** PostgreSQL checks nothing but the key in rows that are skipped. */
function isNotSkipped(alias: string, { existing, conflict }: SentRows): string {
  if (!existing || conflict?.action !== 'skip') return '';
  const { key, shapes } = conflict;
  return ` AND NOT (${hasShape(alias, shapes)} AND ${existsWithKey(existing, alias, key)})`;
}

/** A row of the table has the key. @param more a further condition on that row, which is `t` */
function existsWithKey(table: string, alias: string, key: ConflictKey, more = ''): string {
  const exists = (condition: string) => `EXISTS (SELECT FROM ${table} t WHERE ${condition}${more})`;
  const equals = exists(sameKey('t', alias, { ...key, nullsNotDistinct: false }));
  if (!key.nullsNotDistinct) return equals;
  // An index serves only the equality: rows without NULL must not wait for the other comparison.
  const isPresent = allPresent(alias, key.columns);
  return `(${isPresent} AND ${equals} OR NOT (${isPresent}) AND ${exists(sameKey('t', alias, key))})`;
}

function sameKey(left: string, right: string, { columns, equals, nullsNotDistinct }: ConflictKey): string {
  const pairs = columns.map(quoteIdentifier).map((name, index) => {
    const [one, other] = [`${left}.${name}`, `${right}.${name}`];
    const isEqual = equal(one, other, equals, index);
    return nullsNotDistinct ? `(${isEqual} OR ${one} IS NULL AND ${other} IS NULL)` : isEqual;
  });
  return pairs.join(' AND ');
}

function shownValue(alias: string, columns: string[]): string {
  const texts = columns.map((column) => `${alias}.${quoteIdentifier(column)}::text`);
  return `pg_catalog.left(pg_catalog.concat_ws(', ', ${texts.join(', ')}), 200)`;
}

function answer(alias: string, other: string, value: string): string {
  return `${alias}.${number}::int AS number, ${other} AS other, ${value} AS value, count(*) OVER ()::int AS total`;
}

function repeatedKeys(sent: SentRows, rule: UniqueRule, limit: number): Statement {
  const keys = rule.columns.map(quoteIdentifier).join(', ');
  const present = rule.nullsNotDistinct ? 'true' : allPresent('s', rule.columns);
  const isCovered = rule.predicate ? ` AND (${rule.predicate})` : '';
  return {
    text: `SELECT ${answer('k', `k.${first}::int`, shownValue('k', rule.columns))}
FROM (SELECT s.*, first_value(s.${number}) OVER (PARTITION BY ${keys} ORDER BY s.${number}) AS ${first}
      FROM ${numbered(sent, columnsRead(rule))} s WHERE ${present}${isCovered}${isNotSkipped('s', sent)}) k
WHERE k.${number} <> k.${first} ORDER BY 1 LIMIT ${limit}`,
  };
}

function takenKeys(sent: SentRows, existing: string, rule: UniqueRule, limit: number): Statement {
  const { conflict } = sent;
  // Names without a table mean the innermost one: first the existing row, then the row sent.
  const isCovered = rule.predicate ? ` AND (${rule.predicate})` : '';
  // The row that is updated may keep what it has.
  const isOther =
    conflict?.action === 'update'
      ? ` AND (${hasShape('s', conflict.shapes)} AND ${sameKey('t', 's', conflict.key)}) IS NOT TRUE`
      : '';
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))}
FROM ${numbered(sent, columnsRead(rule))} s
WHERE ${existsWithKey(existing, 's', rule, `${isCovered}${isOther}`)}${isCovered}${isNotSkipped('s', sent)}
ORDER BY 1 LIMIT ${limit}`,
  };
}

function missingReferences(sent: SentRows, rule: ForeignKeyRule, limit: number): Statement {
  const same = rule.columns.map((column, index) => {
    const referenced = `r.${quoteIdentifier(rule.referencedColumns[index]!)}`;
    return equal(referenced, `s.${quoteIdentifier(column)}`, rule.equals, index);
  });
  // Until the end a new table has another name, or none of the rows.
  const places = [
    ...(rule.isSelf ? [numbered(sent)] : []),
    ...(rule.isSelf && !sent.existing ? [] : [quoteQualified(rule.referencedSchema, rule.referencedTable)]),
  ];
  // The two places are searched as one. PostgreSQL expects that only one row has no match in the first place. With two
  // searches it would read the whole second place for each row that has none.
  const referenced = rule.referencedColumns.map(quoteIdentifier).join(', ');
  const all = places.map((place) => `SELECT ${referenced} FROM ${place} place`).join(' UNION ALL ');
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))}
FROM ${numbered(sent, rule.columns)} s
WHERE ${allPresent('s', rule.columns)} AND NOT EXISTS (SELECT FROM (${all}) r WHERE ${same.join(' AND ')})${isNotSkipped('s', sent)}
ORDER BY 1 LIMIT ${limit}`,
  };
}

function halfReferences(sent: SentRows, rule: HalfReferenceRule, limit: number): Statement {
  const isMissing = `num_nulls(${rule.columns.map((column) => `s.${quoteIdentifier(column)}`).join(', ')})`;
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))} FROM ${numbered(sent, rule.columns)} s
WHERE ${isMissing} > 0 AND ${isMissing} < ${rule.columns.length}${isNotSkipped('s', sent)} ORDER BY 1 LIMIT ${limit}`,
  };
}

function failedChecks(sent: SentRows, rule: CheckRule, limit: number): Statement {
  const { domainOf, columns, expression } = rule;
  const shown = domainOf === undefined ? columns : ['value'];
  const value = shown.length === 0 ? 'NULL' : shownValue('s', shown);
  const source = domainOf === undefined ? numbered(sent, columns) : checkedValues(sent, rule);
  return {
    text: `SELECT ${answer('s', 'NULL::int', value)} FROM ${source} s
WHERE NOT (${expression}) ORDER BY 1 LIMIT ${limit}`,
  };
}

/** Returns the values that the check of a domain reads as VALUE, in a column of that name. For an array it is the first element that fails. */
function checkedValues(sent: SentRows, { domainOf, columns, expression }: CheckRule): string {
  const rows = numbered(sent, columns);
  const column = `s.${quoteIdentifier(columns[0]!)}`;
  if (domainOf === 'column') return `(SELECT ${number}, ${column} AS value FROM ${rows} s)`;
  return `(SELECT ${number}, failing.value FROM ${rows} s CROSS JOIN LATERAL (
SELECT value FROM unnest(${column}) AS elements(value) WHERE NOT (${expression}) LIMIT 1) failing)`;
}

function invalidInputs(sent: SentRows, rule: InputRule, limit: number): Statement {
  const column = `s.${quoteIdentifier(rule.columns[0]!)}`;
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))} FROM ${numbered(sent)} s
WHERE ${column} IS NOT NULL AND NOT ${rule.inputCheck}(${column}, ${quoteLiteral(rule.typeSql)}) ORDER BY 1 LIMIT ${limit}`,
  };
}

function allPresent(alias: string, columns: string[]): string {
  return columns.map((column) => `${alias}.${quoteIdentifier(column)} IS NOT NULL`).join(' AND ');
}
