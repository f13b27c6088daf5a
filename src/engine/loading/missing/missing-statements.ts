/**
 * The statements that find the missing rows of a table, and delete or mark them. While they run, no other session may write to the table, so the place
 * of a row (`tableoid` and `ctid`) names it.
 */
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier, quoteLiteral, type Statement } from '../../../postgres/sql.ts';
import { allEqual, type Equality, equal } from '../../tables/rules/equality.ts';
import type { ReferringKey } from '../../tables/rules/referring-keys.ts';
import type { InputRule } from '../../tables/rules/row-rules.ts';
import { allPresent, anyNull, columnsOf } from '../../tables/rules/rule-conditions.ts';
import { textOf } from '../difference/text-of-value.ts';
import { hasShape, rowNumber } from '../staged/staging-table.ts';

const missingTable = 'pg_temp."tablewright missing rows"';

/** Columns by which rows of the table and rows of the upload are compared. */
export interface Compared {
  columns: readonly string[];
  equals: Equality[] | undefined;
  /** NULL equals NULL. Otherwise a row with NULL in one of the columns equals no other row. */
  areNullsEqual: boolean;
  /** The shapes of the rows of the upload that have all of the columns. */
  shapes: readonly number[];
}

/** The column in which missing rows are marked. */
export interface Mark {
  column: string;
  isBoolean: boolean;
}

export interface Search {
  /** The table, quoted, with ONLY unless it is partitioned: a key does not hold for the tables that inherit from the table. */
  from: string;
  /** The staging table, `typedStagingTable`, or the table of faulty-keys.ts. */
  sent: string;
  key: Compared;
  /** The columns of the key with their types. */
  keyColumns: LoadColumn[];
  /** undefined: all rows of the table are compared. */
  within: Compared | undefined;
  mark: Mark | undefined;
}

/** Finds the missing rows. The number of affected rows is their number. */
export function findMissingRows({ from, sent, key, within, mark }: Search): CallersStatement {
  const conditions = [
    ...(key.areNullsEqual ? [] : [allPresent('t', key.columns)]),
    ...(mark ? [`NOT ${isMarked(mark)}`] : []),
    ...(within ? [`(${occurs(within, sent).join(' OR ')})`] : []),
    ...occurs(key, sent).map((condition) => `NOT (${condition})`),
  ];
  const keys = key.columns.map((name, index) => `, t.${quoteIdentifier(name)} AS key_${index}`);
  return qualified`CREATE TEMPORARY TABLE ${missingTable} ON COMMIT DROP AS
SELECT t.tableoid AS in_table, t.ctid AS place${keys.join('')} FROM ${from} t WHERE ${conditions.join(' AND ')}`;
}

/** The most columns for which each combination of NULLs has a condition of its own. */
const maxNullColumns = 4;

/**
 * Returns conditions of which one is true if a row of the upload equals the row `t` of the table. PostgreSQL can hash a condition that only has
 * equalities with `t`, so NULLs have conditions of their own. With many columns there would be too many, and rows with NULL are compared one by one.
 */
function occurs({ columns, equals, areNullsEqual, shapes }: Compared, sent: string): string[] {
  const names = columns.map(quoteIdentifier);
  const same = names.map((name, index) => equal(`t.${name}`, `s.${name}`, equals, index));
  const sentRow = (condition: string) =>
    `EXISTS (SELECT FROM ${sent} s WHERE ${hasShape('s', shapes)} AND ${condition})`;
  if (!areNullsEqual) return [sentRow(same.join(' AND '))];
  if (columns.length <= maxNullColumns) {
    return Array.from({ length: 2 ** columns.length }, (_, nulls) => {
      const isNull = (at: number) => (nulls & (1 << at)) !== 0;
      const inTable = names.filter((_name, at) => isNull(at)).map((name) => `t.${name} IS NULL AND `);
      const inUpload = names.map((name, at) => (isNull(at) ? `s.${name} IS NULL` : same[at]));
      return inTable.join('') + sentRow(inUpload.join(' AND '));
    });
  }
  const orBothNull = allEqual(columnsOf('t', columns), columnsOf('s', columns), equals, true);
  return [
    sentRow(same.join(' AND ')),
    `${anyNull('t', columns)} AND ${sentRow(`${anyNull('s', columns)} AND ${orBothNull}`)}`,
  ];
}

/** Returns one row `found`: whether a row of the upload has a complete key. */
export function hasSentKey({ sent, key }: Search): CallersStatement {
  const present = key.areNullsEqual ? '' : ` AND ${allPresent('s', key.columns)}`;
  return qualified`SELECT EXISTS (SELECT FROM ${sent} s WHERE ${hasShape('s', key.shapes)}${present}) AS found`;
}

function isMarked({ column, isBoolean }: Mark): string {
  return `(t.${quoteIdentifier(column)} IS ${isBoolean ? 'TRUE' : 'NOT NULL'})`;
}

/** Unmarks the rows of the table that the upload has. */
export function unmarkRows({ from, sent, key }: Search, mark: Mark): CallersStatement {
  const value = mark.isBoolean ? 'false' : 'NULL';
  return qualified`UPDATE ${from} t SET ${quoteIdentifier(mark.column)} = ${value} WHERE ${isMarked(mark)} AND (${occurs(key, sent).join(' OR ')})`;
}

export function markMissingRows({ from }: Search, { column, isBoolean }: Mark): CallersStatement {
  const value = isBoolean ? 'true' : 'pg_catalog.now()';
  return qualified`UPDATE ${from} t SET ${quoteIdentifier(column)} = ${value} FROM ${missingTable} m WHERE ${isAt('t', 'm')}`;
}

export function deleteMissingRows({ from }: Search): CallersStatement {
  return qualified`DELETE FROM ${from} t USING ${missingTable} m WHERE ${isAt('t', 'm')}`;
}

/** Returns one row `found`: whether another row of the table has the key of a missing row. */
export function hasReturned({ from, key: { columns, equals, areNullsEqual } }: Search): CallersStatement {
  const inTable = columnsOf('t', columns);
  const found = columns.map((_, index) => `m.key_${index}`);
  const isReturned = (same: string) =>
    `EXISTS (SELECT FROM ${from} t JOIN ${missingTable} m ON ${same} AND NOT (${isAt('t', 'm')}))`;
  const conditions = [isReturned(allEqual(inTable, found, equals))];
  // PostgreSQL cannot hash a condition that also compares NULLs, so only rows with NULL are compared by it.
  if (areNullsEqual)
    conditions.push(isReturned(`${anyNull('t', columns)} AND (${allEqual(inTable, found, equals, true)})`));
  return qualified`SELECT ${conditions.join(' OR ')} AS found`;
}

function isAt(row: string, missing: string): string {
  return `${row}.tableoid OPERATOR(pg_catalog.=) ${missing}.in_table AND ${row}.ctid OPERATOR(pg_catalog.=) ${missing}.place`;
}

export const analyzeMissingRows = `ANALYZE ${missingTable}`;

/** Returns one row `count`: the rows of the table that the role sees and that can be missing. */
export function countRows({ from, sent, within }: Search): CallersStatement {
  const part = within ? ` WHERE ${occurs(within, sent).join(' OR ')}` : '';
  return qualified`SELECT pg_catalog.count(*)::pg_catalog.float8 AS count FROM ${from} t${part}`;
}

/** Locks the missing rows, so that no other session can begin to refer to one of them. */
export function lockMissingRows({ from }: Search): CallersStatement {
  return qualified`SELECT pg_catalog.count(*) FROM (SELECT FROM ${from} t JOIN ${missingTable} m ON ${isAt('t', 'm')} FOR UPDATE OF t) locked`;
}

/** Returns one row `count`: the rows with the foreign key that refer to a missing row. Missing rows of the same table are not counted. */
export function countReferringRows({ from }: Search, key: ReferringKey): CallersStatement {
  return qualified`SELECT pg_catalog.count(*)::pg_catalog.float8 AS count FROM ${key.relation} r
WHERE EXISTS (SELECT FROM ${from} t JOIN ${missingTable} m ON ${isAt('t', 'm')} WHERE ${refers(key)})${isNotMissing(key)}`;
}

/** Reads the keys of the first missing rows to which rows with the foreign key refer, and the number `count` of all of these missing rows. */
export function readReferencedRows(
  { from, keyColumns }: Search,
  key: ReferringKey,
  limit: number,
): CallersStatement {
  return qualified`SELECT ${textsOf(keyColumns)} AS key, pg_catalog.count(*) OVER ()::pg_catalog.float8 AS count
FROM ${from} t JOIN ${missingTable} m ON ${isAt('t', 'm')}
WHERE EXISTS (SELECT FROM ${key.relation} r WHERE ${refers(key)}${isNotMissing(key)}) ORDER BY m.in_table, m.place LIMIT ${limit}`;
}

function refers({ columns, referencedColumns, equals }: ReferringKey): string {
  return allEqual(columnsOf('t', referencedColumns), columnsOf('r', columns), equals);
}

function isNotMissing({ isSelf }: ReferringKey): string {
  return isSelf ? ` AND NOT EXISTS (SELECT FROM ${missingTable} own WHERE ${isAt('r', 'own')})` : '';
}

/** Reads the key and the other values of the first missing rows as texts. */
export function readMissingRows(
  { from, keyColumns }: Search,
  others: readonly LoadColumn[],
  limit: number,
): CallersStatement {
  return qualified`SELECT ${textsOf(keyColumns)} AS key, ${textsOf(others)} AS old FROM ${from} t JOIN ${missingTable} m ON ${isAt('t', 'm')}
ORDER BY m.in_table, m.place LIMIT ${limit}`;
}

function textsOf(columns: readonly LoadColumn[]): string {
  const texts = columns.map((column) => textOf(`t.${quoteIdentifier(column.name)}`, column));
  return `ARRAY[${texts.join(', ')}]::pg_catalog.text[]`;
}

export interface FactsOfTable {
  isPartitioned: boolean;
  /** The table has rules (CREATE RULE) for DELETE. */
  hasDeleteRules: boolean;
  /** Row-level security may hide rows from the role. */
  hasRowSecurity: boolean;
  /** The columns that the role may read. */
  readable: string[];
}

export function factsOfTable(relation: string): Statement {
  const text = `SELECT c.relkind = 'p' AS "isPartitioned", row_security_active(c.oid) AS "hasRowSecurity",
  EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = '4') AS "hasDeleteRules",
  ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum) AS readable
FROM pg_class c WHERE c.oid = $1::regclass`;
  return { text, values: [relation] };
}

/** Reads the first rows of the upload that have a text which is not valid for the type of its column: their numbers and these texts. */
export function readInvalidTexts(table: string, rule: InputRule, limit: number): CallersStatement {
  const { columns, typeSql, inputCheck } = rule;
  const value = `s.${quoteIdentifier(columns[0]!)}`;
  return qualified`SELECT s.${rowNumber} AS row, pg_catalog.left(${value}, 200) AS value FROM ${table} s
WHERE ${value} IS NOT NULL AND NOT ${inputCheck}(${value}, ${quoteLiteral(typeSql)}) ORDER BY s.${rowNumber} LIMIT ${limit}`;
}
