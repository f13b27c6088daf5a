/** The DDL of a prepared table, as pure functions. Everything in it was checked or came from the catalogue. */
import type { Statement } from '../postgres/sql.ts';
import { quoteIdentifier, quoteQualified } from '../postgres/sql.ts';
import type { PreparedColumn, PreparedForeignKey, PreparedTable } from './prepared-table.ts';

/**
 * `CREATE TABLE` under the name `name`, without keys and references. Columns of the primary key are NOT NULL already, so
 * that adding it later need not look for NULLs.
 */
export function createBareTable(table: PreparedTable, name: string): Statement {
  return {
    text: `CREATE TABLE ${quoteQualified(table.schema, name)} (${table.columns.map(columnClause).join(', ')})`,
  };
}

/** The columns alone, as a temporary table: to see what PostgreSQL makes of them. */
export function createTemporaryTable(table: PreparedTable, name: string): Statement {
  return {
    text: `CREATE TEMPORARY TABLE ${quoteIdentifier(name)} (${table.columns.map(columnClause).join(', ')})`,
  };
}

/** `CREATE TABLE` with all that belongs to it. */
export function createWholeTable(table: PreparedTable, name: string): Statement {
  const clauses = [...table.columns.map(columnClause), ...constraintClauses(table, name, 'as defined')];
  return { text: `CREATE TABLE ${quoteQualified(table.schema, name)} (${clauses.join(', ')})` };
}

/**
 * Adds keys and references to the table that was made as `name`, in one statement; undefined where it has none.
 *
 * @param names `chosen`: PostgreSQL chooses every constraint's name, because the defined ones are still another
 *   table's; `renameConstraints` gives them later
 */
export function addConstraints(
  table: PreparedTable,
  name: string,
  names: 'as defined' | 'chosen',
): Statement | undefined {
  const clauses = constraintClauses(table, name, names);
  if (clauses.length === 0) return undefined;
  const additions = clauses.map((clause) => `ADD ${clause}`).join(', ');
  return { text: `ALTER TABLE ${quoteQualified(table.schema, name)} ${additions}` };
}

/**
 * Makes an identity column number on from the highest value that its rows brought along. Only for a table that nobody
 * else sees yet: elsewhere others may take numbers at the same moment.
 */
export function continueNumbering(relation: string, column: string): Statement {
  const highest = `max(${quoteIdentifier(column)})`;
  return {
    text: `SELECT setval(pg_get_serial_sequence($1, $2), ${highest}) FROM ${relation}
HAVING ${highest} > coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass), 0)`,
    values: [relation, column],
  };
}

function columnClause(column: PreparedColumn): string {
  let clause = `${quoteIdentifier(column.name)} ${column.typeSql}`;
  if (column.identity !== 'none') clause += ` GENERATED ${column.identity.toUpperCase()} AS IDENTITY`;
  if (!column.isNullable) clause += ' NOT NULL';
  if (column.defaultSql !== undefined) clause += ` DEFAULT ${column.defaultSql}`;
  return clause;
}

/**
 * Named constraints come before unnamed ones, so that PostgreSQL never chooses a name that is wanted. References come
 * in the order of the tables they refer to, so that two creations lock those in the same order.
 */
function constraintClauses(table: PreparedTable, name: string, names: 'as defined' | 'chosen'): string[] {
  const named = (constraint: { name: string | undefined }) =>
    constraint.name === undefined || names === 'chosen'
      ? ''
      : `CONSTRAINT ${quoteIdentifier(constraint.name)} `;
  const keys = [
    ...(table.primaryKey === undefined ? [] : [{ kind: 'PRIMARY KEY', ...table.primaryKey }]),
    ...table.unique.map((key) => ({ kind: 'UNIQUE', ...key })),
  ];
  const clauses = namedFirst(keys).map((key) => `${named(key)}${key.kind} (${columnList(key.columns)})`);
  for (const key of inLockOrder(namedFirst(table.foreignKeys))) {
    const target = key.isSelf ? quoteQualified(table.schema, name) : quoteQualified(key.schema, key.table);
    const columns = columnList(key.pairs.map((pair) => pair.column));
    const references = columnList(key.pairs.map((pair) => pair.referenceColumn));
    clauses.push(`${named(key)}FOREIGN KEY (${columns}) REFERENCES ${target} (${references})`);
  }
  return clauses;
}

function namedFirst<T extends { name: string | undefined }>(constraints: T[]): T[] {
  return [
    ...constraints.filter((constraint) => constraint.name !== undefined),
    ...constraints.filter((constraint) => constraint.name === undefined),
  ];
}

function inLockOrder(keys: PreparedForeignKey[]): PreparedForeignKey[] {
  const order = (key: PreparedForeignKey) => quoteQualified(key.schema, key.table);
  return [...keys].sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
}

function columnList(columns: string[]): string {
  return columns.map(quoteIdentifier).join(', ');
}
