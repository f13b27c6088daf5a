/** The DDL of a prepared table, as pure functions. Everything in it was checked or came from the catalogue. */
import type { Statement } from '../postgres/sql.ts';
import { quoteIdentifier, quoteQualified } from '../postgres/sql.ts';
import type { KeyDefinition } from './definition.ts';
import type { ObjectNames } from './object-names.ts';
import type { PreparedForeignKey, PreparedTable } from './prepared-table.ts';

/** How a table and its parts are named in the database: otherwise than in the definition while it is built beside the one that it replaces. */
export interface Naming {
  name: string;
  names: ObjectNames;
}

/**
 * `CREATE TABLE` without keys and references. Columns of the primary key are NOT NULL already, so that adding it later
 * need not look for NULLs.
 */
export function createBareTable(table: PreparedTable, naming: Naming): Statement {
  return {
    text: `CREATE TABLE ${quoteQualified(table.schema, naming.name)} (${columnClauses(table, naming.names).join(', ')})`,
  };
}

/** The columns alone, as a temporary table: to see what PostgreSQL makes of them. */
export function createTemporaryTable(table: PreparedTable, name: string): Statement {
  return { text: `CREATE TEMPORARY TABLE ${quoteIdentifier(name)} (${columnClauses(table).join(', ')})` };
}

/** `CREATE TABLE` with all that belongs to it: one statement or two. */
export function createWholeTable(table: PreparedTable): string {
  const { primaryKey, unique } = table;
  // Within one CREATE TABLE, PostgreSQL makes one constraint of two over the same columns.
  if (primaryKey !== undefined && unique.some((key) => isSameList(key.columns, primaryKey.columns))) {
    return `${createBareTable(table, table).text};\n${addConstraints(table, table)!.text}`;
  }
  const clauses = [...columnClauses(table, table.names), ...constraintClauses(table, table)];
  return `CREATE TABLE ${quoteQualified(table.schema, table.name)} (${clauses.join(', ')})`;
}

/** Adds keys and references to the table, in one statement; undefined where it has none. */
export function addConstraints(table: PreparedTable, naming: Naming): Statement | undefined {
  const clauses = constraintClauses(table, naming);
  if (clauses.length === 0) return undefined;
  const additions = clauses.map((clause) => `ADD ${clause}`).join(', ');
  return { text: `ALTER TABLE ${quoteQualified(table.schema, naming.name)} ${additions}` };
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

/** @param names absent: PostgreSQL chooses */
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

/** References come in the order of the tables they refer to, so that two creations lock those in the same order. */
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
