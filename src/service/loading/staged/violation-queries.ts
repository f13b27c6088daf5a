/** The queries that find the rows of a relation that violate a rule. */
import { qualified } from '../../postgres/callers-statement.ts';
import { inCallersPath } from '../../postgres/search-path.ts';
import {
  quoteIdentifier,
  quoteLiteral,
  quoteQualified,
  randomName,
  type Statement,
} from '../../postgres/sql.ts';
import { type ConflictKey, type ConflictRule, nameOfKey } from './conflict-rule.ts';
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

/**
 * The result of a query for each row that violates the rule. Rows are identified by their numbers in the relation
 * (`Numbering`).
 */
export interface FoundViolation {
  number: number;
  /** The row with the same key; null: a row that was in the table before, or the rule is not a key. */
  other: number | null;
  /** The value that violates the rule, shortened. */
  value: string | null;
  /** The number of all violations of the rule, including those over the limit. */
  total: number;
}

export interface ViolationQuery {
  rule: RowRule;
  /** true: the query finds keys that the existing table has. */
  isOfExisting?: boolean;
  statement: Statement;
}

/** The numbers of the rows of a relation, in the order in which the rows were sent. */
export interface Numbering {
  /** An SQL expression that gives the number of a row of the relation. */
  expression: string;
  /** Returns the data row with the number; undefined: it is not known anymore. */
  rowOf: (number: number) => number | undefined;
}

/** The numbering of the staging table, and of queries over it that have its leading columns. */
export const byRowNumber: Numbering = { expression: rowNumber, rowOf: (number) => number };

/**
 * Returns the numbering of a table that only COPY has filled, in this transaction. The order of `ctid` is the order in which
 * the rows were sent.
 *
 * @param rowOf returns the data row of the n-th row that was sent, from 0
 */
export function byPlace(rowOf: (ordinal: number) => number | undefined): Numbering {
  return { expression: 'row_number() OVER (ORDER BY ctid) - 1', rowOf };
}

export interface SentRows {
  /** The quoted name, or a query in parentheses. */
  relation: string;
  numbering: Numbering;
  /**
   * The quoted name of the target table, if its rows count, too: a key must be unique among both, and a foreign key to the table itself
   * may refer to both. undefined: only the rows of `relation` count.
   */
  existing?: string | undefined;
  /** Copies of the rows of `existing` that have the keys of the rows of `relation`, by `nameOfKey`. See sharded-copies.ts. */
  copies?: Map<string, string>;
  /**
   * Returns the shapes whose rows cannot be checked by a rule over these columns, because PostgreSQL will set one of the
   * columns. undefined: the relation is not a staging table.
   */
  shapesWithout?: (columns: string[]) => number[];
  /** Rows that will be replaced are left out: the surplus rows and, with `skip`, rows whose key exists in the table. */
  conflict?: ConflictRule | undefined;
  /** true: the rows are a copy of those of a sharded table. So the tables that they refer to must be copied, too. */
  isCopied?: boolean;
  /** true: all rows are checked, because it is not known yet which of them are surplus. */
  judgesSurplusRows?: boolean;
}

/** The maximum number of rows that a query returns; `ALL`: no limit. */
export type Limit = number | 'ALL';

export function violationQueries(sent: SentRows, rules: RowRule[], limit: Limit): ViolationQuery[] {
  const { existing } = sent;
  const queries: ViolationQuery[] = [];
  for (const rule of rules) {
    switch (rule.kind) {
      case 'unique':
        queries.push({ rule, statement: repeatedKeys(sent, rule, limit) });
        if (existing)
          queries.push({ rule, isOfExisting: true, statement: existingKeys(sent, existing, rule, limit) });
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
 * Returns the statements that run a violation query. The last but one returns the result.
 *
 * Checks, policies and domains may call functions that expect the callers' search path, even while PostgreSQL plans the query.
 * But names in the query itself must not be looked up in that path. So the query becomes a view in the service's own path,
 * because a view keeps the functions and operators that were found when it was created. Queries for keys and references among
 * the rows of a new table call no such functions, so they need no view and no right to create temporary objects.
 */
export function runQuery({ rule, statement }: ViolationQuery, { existing }: SentRows): string[] {
  const runsCode = existing !== undefined || rule.kind === 'check' || rule.kind === 'input';
  if (!runsCode) return [statement.text, 'SELECT'];
  const view = `pg_temp.${quoteIdentifier(randomName('violations'))}`;
  return [`CREATE TEMPORARY VIEW ${view} AS ${statement.text}`, inCallersPath(qualified`TABLE ${view}`)];
}

/**
 * Does what `runQuery` does, and stores the answer in a temporary table.
 *
 * @param table quoted
 */
export function storeAnswer({ statement }: ViolationQuery, table: string): string[] {
  const name = quoteIdentifier(randomName('violations'));
  const view = `pg_temp.${name}`;
  return [
    `CREATE TEMPORARY VIEW ${view} AS ${statement.text}`,
    inCallersPath(qualified`CREATE TEMPORARY TABLE ${table} ON COMMIT DROP AS TABLE ${view}`),
    // Citus does not find a view by the name pg_temp. The name is random, and the service's own path ends with this schema.
    `DROP VIEW ${name}`,
  ];
}

export interface LargestKey {
  number: number;
  value: string | null;
  /** The stored size in bytes. */
  size: number;
}

/** Finds the row with the largest key. */
export function findLargestKey(sent: SentRows, rule: UniqueRule): Statement {
  const sizes = rule.columns.map((column) => `coalesce(pg_column_size(s.${quoteIdentifier(column)}), 0)`);
  return {
    text: `SELECT s.${number}::int AS number, ${shownValue('s', rule.columns)} AS value, ${sizes.join(' + ')} AS size
FROM ${numbered({ relation: sent.relation, numbering: sent.numbering })} s ORDER BY size DESC LIMIT 1`,
  };
}

const number = quoteIdentifier(`tablewright number ${unlike}`);
const first = quoteIdentifier(`tablewright first ${unlike}`);

/**
 * Returns the rows with their numbers, without replaced rows.
 *
 * @param checked the columns that the rule reads; rows in which PostgreSQL sets one of them are left out, too
 */
function numbered(
  { relation, numbering, conflict, shapesWithout, judgesSurplusRows }: SentRows,
  checked: string[] = [],
): string {
  const without = shapesWithout?.(checked) ?? [];
  const rows = `SELECT ${numbering.expression} AS ${number}, * FROM ${relation} sent`;
  const conditions = [
    ...(conflict && !judgesSurplusRows ? [`NOT ${isSurplus('sent')}`] : []),
    ...(without.length > 0 ? [`${shapeNumber} NOT IN (${without.join(', ')})`] : []),
  ];
  if (conditions.length === 0) return `(${rows})`;
  // Without OFFSET, PostgreSQL would search the surplus rows last. It expects that the other search finds only one row, and would read
  // the whole surplus table for each row that is found.
  return `(${rows} WHERE ${conditions.join(' AND ')} OFFSET 0)`;
}

/** Returns a condition for rows that are not skipped. For rows that are skipped, PostgreSQL checks only the key. */
function isNotSkipped(alias: string, sent: SentRows): string {
  const { existing, conflict } = sent;
  if (!existing || conflict?.action !== 'skip') return '';
  const { key, shapes } = conflict;
  return ` AND NOT (${hasShape(alias, shapes)} AND ${existsWithKey(withKey(sent, existing, key), alias, key)})`;
}

/** Returns the relation with the existing rows that have the key of a sent row. */
function withKey({ copies }: SentRows, existing: string, key: Pick<ConflictKey, 'columns'>): string {
  return copies?.get(nameOfKey(key)) ?? existing;
}

/**
 * Returns the condition that a row of the table has the key.
 *
 * @param more a further condition on that row, which is `t`
 */
function existsWithKey(table: string, alias: string, key: ConflictKey, more = ''): string {
  const exists = (condition: string) => `EXISTS (SELECT FROM ${table} t WHERE ${condition}${more})`;
  const equals = exists(sameKey('t', alias, { ...key, nullsNotDistinct: false }));
  if (!key.nullsNotDistinct) return equals;
  // PostgreSQL can use an index only for the equality, so rows without NULL use only that comparison.
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
  return `left(concat_ws(', ', ${texts.join(', ')}), 200)`;
}

function answer(alias: string, other: string, value: string): string {
  return `${alias}.${number}::int AS number, ${other} AS other, ${value} AS value, count(*) OVER ()::int AS total`;
}

function repeatedKeys(sent: SentRows, rule: UniqueRule, limit: Limit): Statement {
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

function existingKeys(sent: SentRows, existing: string, rule: UniqueRule, limit: Limit): Statement {
  const { conflict } = sent;
  // The predicate names columns without a table, so SQL takes them from the innermost query. Within EXISTS they are columns of the
  // existing row, and after it of the sent row.
  const isCovered = rule.predicate ? ` AND (${rule.predicate})` : '';
  // The row that is updated may keep its own values.
  const isOther =
    conflict?.action === 'update'
      ? ` AND (${hasShape('s', conflict.shapes)} AND ${sameKey('t', 's', conflict.key)}) IS NOT TRUE`
      : '';
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))}
FROM ${numbered(sent, columnsRead(rule))} s
WHERE ${existsWithKey(withKey(sent, existing, rule), 's', rule, `${isCovered}${isOther}`)}${isCovered}${isNotSkipped('s', sent)}
ORDER BY 1 LIMIT ${limit}`,
  };
}

function missingReferences(sent: SentRows, rule: ForeignKeyRule, limit: Limit): Statement {
  const same = rule.columns.map((column, index) => {
    const referenced = `r.${quoteIdentifier(rule.referencedColumns[index]!)}`;
    return equal(referenced, `s.${quoteIdentifier(column)}`, rule.equals, index);
  });
  // The referenced table is not searched for a reference of a new table to itself: until the end of the load, the new table has another
  // name or no rows.
  const places = [
    ...(rule.isSelf ? [numbered(sent)] : []),
    ...(rule.isSelf && !sent.existing
      ? []
      : [rule.referencedCopy ?? quoteQualified(rule.referencedSchema, rule.referencedTable)]),
  ];
  // Both places are searched in one query. PostgreSQL expects only one row without a match in the first place, so with two
  // searches it would read the whole second place for each such row.
  const referenced = rule.referencedColumns.map(quoteIdentifier).join(', ');
  const all = places.map((place) => `SELECT ${referenced} FROM ${place} place`).join(' UNION ALL ');
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))}
FROM ${numbered(sent, rule.columns)} s
WHERE ${allPresent('s', rule.columns)} AND NOT EXISTS (SELECT FROM (${all}) r WHERE ${same.join(' AND ')})${isNotSkipped('s', sent)}
ORDER BY 1 LIMIT ${limit}`,
  };
}

function halfReferences(sent: SentRows, rule: HalfReferenceRule, limit: Limit): Statement {
  const isMissing = `num_nulls(${rule.columns.map((column) => `s.${quoteIdentifier(column)}`).join(', ')})`;
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))} FROM ${numbered(sent, rule.columns)} s
WHERE ${isMissing} > 0 AND ${isMissing} < ${rule.columns.length}${isNotSkipped('s', sent)} ORDER BY 1 LIMIT ${limit}`,
  };
}

function failedChecks(sent: SentRows, rule: CheckRule, limit: Limit): Statement {
  const { domainOf, columns, expression } = rule;
  const shown = domainOf === undefined ? columns : ['value'];
  const value = shown.length === 0 ? 'NULL' : shownValue('s', shown);
  const source = domainOf === undefined ? numbered(sent, columns) : checkedValues(sent, rule);
  return {
    text: `SELECT ${answer('s', 'NULL::int', value)} FROM ${source} s
WHERE NOT (${expression}) ORDER BY 1 LIMIT ${limit}`,
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

function invalidInputs(sent: SentRows, rule: InputRule, limit: Limit): Statement {
  const column = `s.${quoteIdentifier(rule.columns[0]!)}`;
  return {
    text: `SELECT ${answer('s', 'NULL::int', shownValue('s', rule.columns))} FROM ${numbered(sent)} s
WHERE ${column} IS NOT NULL AND NOT ${rule.inputCheck}(${column}, ${quoteLiteral(rule.typeSql)}) ORDER BY 1 LIMIT ${limit}`,
  };
}

function allPresent(alias: string, columns: string[]): string {
  return columns.map((column) => `${alias}.${quoteIdentifier(column)} IS NOT NULL`).join(' AND ');
}
