/** Pure functions that return the DDL of a prepared table. Every part of the table was checked before, or comes from the catalogue. */
import type { Statement } from '../postgres/sql.ts';
import { quoteIdentifier, quoteQualified } from '../postgres/sql.ts';
import type { KeyDefinition } from './definition.ts';
import type { ObjectNames } from './object-names.ts';
import type { PreparedForeignKey, PreparedTable } from './prepared-table.ts';

/** The names of a table and its parts in the database. While a table is built to replace another one, they differ from the definition. */
export interface Naming {
  name: string;
  names: ObjectNames;
}

/**
 * Returns `CREATE TABLE` without keys and foreign keys. Columns of the primary key are NOT NULL from the start, so PostgreSQL does not
 * search for NULLs when the key is added.
 */
export function createBareTable(table: PreparedTable, naming: Naming): Statement {
  return {
    text: `CREATE TABLE ${quoteQualified(table.schema, naming.name)} (${columnClauses(table, naming.names).join(', ')})`,
  };
}

/** Returns the statement that creates a temporary table with the columns alone, to see how PostgreSQL reads them. */
export function createTemporaryTable(table: PreparedTable, name: string): Statement {
  return { text: `CREATE TEMPORARY TABLE ${quoteIdentifier(name)} (${columnClauses(table).join(', ')})` };
}

/** Returns the one or two statements that create a table with its keys and foreign keys. */
export function createWholeTable(table: PreparedTable): string {
  const { primaryKey, unique } = table;
  // In a single CREATE TABLE, PostgreSQL merges two constraints over the same columns.
  if (primaryKey !== undefined && unique.some((key) => isSameList(key.columns, primaryKey.columns))) {
    return `${createBareTable(table, table).text};\n${addConstraints(table, table)!.text}`;
  }
  const clauses = [...columnClauses(table, table.names), ...constraintClauses(table, table)];
  return `CREATE TABLE ${quoteQualified(table.schema, table.name)} (${clauses.join(', ')})`;
}

/** Returns the statement that adds the keys and foreign keys to the table; undefined: it has none. */
export function addConstraints(table: PreparedTable, naming: Naming): Statement | undefined {
  const clauses = constraintClauses(table, naming);
  if (clauses.length === 0) return undefined;
  const additions = clauses.map((clause) => `ADD ${clause}`).join(', ');
  return { text: `ALTER TABLE ${quoteQualified(table.schema, naming.name)} ${additions}` };
}

/**
 * Sets the sequence of an identity column to the highest value in its rows. Use it only for a table that other sessions cannot see
 * yet, because they could take numbers at the same moment.
 */
export function continueNumbering(relation: string, column: string): Statement {
  const highest = `max(${quoteIdentifier(column)})`;
  return {
    text: `SELECT setval(pg_get_serial_sequence($1, $2), ${highest}) FROM ${relation}
HAVING ${highest} > coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass), 0)`,
    values: [relation, column],
  };
}

/** @param names absent: PostgreSQL chooses the names */
function columnClauses(table: PreparedTable, names?: ObjectNames): string[] {
  return table.columns.map((column) => {
    const { name, typeSql, identity, isNullable, defaultSql } = column;
    let clause = `${quoteIdentifier(name)} ${typeSql}`;
    if (identity !== 'none') {
      clause += ` GENERATED ${identity.toUpperCase()} AS IDENTITY`;
      const sequence = names?.sequences.get(name);
      if (sequence !== undefined) clause += ` (SEQUENCE NAME ${quoteQualified(table.schema, sequence)})`;
    }
    if (!isNullable) clause += `${constraintName(names?.notNull.get(name))} NOT NULL`;
    if (defaultSql !== undefined) clause += ` DEFAULT ${defaultSql}`;
    return clause;
  });
}

/** Orders foreign keys by the tables that they refer to, so that all sessions lock these tables in the same order. */
function constraintClauses(table: PreparedTable, { name, names }: Naming): string[] {
  const { schema, primaryKey, unique } = table;
  const clauses: string[] = [];
  const addKey = (kind: string, key: KeyDefinition, keyName: string | undefined) =>
    clauses.push(`${constraintName(keyName)} ${kind} (${columnList(key.columns)})`);
  if (primaryKey !== undefined) addKey('PRIMARY KEY', primaryKey, names.primaryKey);
  for (const [index, key] of unique.entries()) addKey('UNIQUE', key, names.unique[index]);
  const foreignKeys = table.foreignKeys.map((key, index) => ({ ...key, name: names.foreignKeys[index] }));
  for (const key of inLockOrder(foreignKeys)) {
    const target = key.isSelf ? quoteQualified(schema, name) : quoteQualified(key.schema, key.table);
    const columns = columnList(key.pairs.map((pair) => pair.column));
    const references = columnList(key.pairs.map((pair) => pair.referenceColumn));
    clauses.push(`${constraintName(key.name)} FOREIGN KEY (${columns}) REFERENCES ${target} (${references})`);
  }
  return clauses;
}

function constraintName(name: string | undefined): string {
  return name === undefined ? '' : ` CONSTRAINT ${quoteIdentifier(name)}`;
}

function isSameList(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

function inLockOrder(keys: PreparedForeignKey[]): PreparedForeignKey[] {
  const order = (key: PreparedForeignKey) => quoteQualified(key.schema, key.table);
  return [...keys].sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
}

function columnList(columns: string[]): string {
  return columns.map(quoteIdentifier).join(', ');
}
