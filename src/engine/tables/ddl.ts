/**
 * Pure functions that return the DDL of a prepared table. Every part of the table was checked before, or comes from the catalogue. A table
 * may have thousands of keys, so their clauses are written in turns.
 */
import { isDeepStrictEqual } from 'node:util';
import { mapInTurns } from '../../core/pause-for-others.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified, type Statement } from '../../postgres/sql.ts';
import { type KeyDefinition, weightOfKey } from './definition.ts';
import { distribute, workSequentially } from './distribution/place-table.ts';
import { isSharded, needsStatementsApart } from './distribution/placement.ts';
import type { ForeignKeyRules } from './foreign-keys.ts';
import { createIndex } from './indexes/create-index.ts';
import { type IndexDefinition, weightOfIndex } from './indexes/index-definition.ts';
import { keyClause } from './key-options.ts';
import { numberingSql } from './numbering.ts';
import type { ObjectNames } from './object-names.ts';
import type { PreparedColumn, PreparedForeignKey, PreparedTable } from './prepared-table.ts';

/** The names that a table and its parts get in the database. While a table is built to replace another one, it has temporary names. */
export interface Naming {
  name: string;
  names: ObjectNames;
}

/**
 * Returns `CREATE TABLE` with its checks that are valid, but without keys and foreign keys. Columns of the primary key are NOT NULL from the start, so PostgreSQL does not
 * search for NULLs when the key is added.
 */
export function createBareTable(table: PreparedTable, naming: Naming): CallersStatement {
  const { valid } = checkClauses(table, naming.names.checks);
  return createTable(table, naming, [...columnClauses(table, naming.names), ...valid]);
}

function createTable({ schema, isUnlogged }: PreparedTable, { name }: Naming, clauses: string[]) {
  const create = isUnlogged ? 'CREATE UNLOGGED TABLE' : 'CREATE TABLE';
  return qualified`${create} ${quoteQualified(schema, name)} (${clauses.join(', ')})`;
}

/** Returns the statements that make the sequences of the columns that own one, and those that then give them to the columns. */
function sequenceStatements({ schema, columns, isUnlogged }: PreparedTable, { name, names }: Naming) {
  const create = isUnlogged ? 'CREATE UNLOGGED SEQUENCE' : 'CREATE SEQUENCE';
  const numbered = columns.filter(({ identity }) => identity === 'sequence');
  const sequences = numbered.map((column) => ({
    column,
    sequence: quoteQualified(schema, names.sequences.get(column.name)!),
  }));
  return {
    create: sequences.map(
      ({ column, sequence }) =>
        qualified`${create} ${sequence} AS ${column.sequenceType ?? column.typeSql}${numberingSql(column.numbering)}`,
    ),
    give: sequences.map(
      ({ column, sequence }) =>
        qualified`ALTER SEQUENCE ${sequence} OWNED BY ${quoteQualified(schema, name)}.${quoteIdentifier(column.name)}`,
    ),
  };
}

/** Returns the statement that creates a temporary table with the columns and checks, to see how PostgreSQL reads them. The checks are named after their places. */
export function createTemporaryTable(table: PreparedTable, name: string): CallersStatement {
  return qualified`CREATE TEMPORARY TABLE ${quoteIdentifier(name)} (${[...columnClauses(table), ...Object.values(checkClauses(table, nameChecks(table))).flat()].join(', ')})`;
}

/** Returns the statements that create a table without keys, foreign keys and indexes and, if it is a table of Citus, distribute it. */
export function createPlacedTable(table: PreparedTable, naming: Naming): CallersStatement[] {
  const { create: sequences, give } = sequenceStatements(table, naming);
  const create = [...sequences, createBareTable(table, naming), ...give];
  const comments = commentStatements(table, naming);
  const placing = distribute(quoteQualified(table.schema, naming.name), table.placement);
  if (placing === undefined) return [...create, ...comments];
  const before = table.placement?.isSequential ? [workSequentially] : [];
  return [...before, ...create, placing, ...comments];
}

/** Returns the statements that create a table with its keys, foreign keys and indexes. */
export async function createWholeTable(table: PreparedTable): Promise<CallersStatement[]> {
  const { primaryKey, unique, placement } = table;
  // In a single CREATE TABLE, PostgreSQL merges two constraints over the same columns.
  const isMerged =
    primaryKey !== undefined && unique.some((key) => isDeepStrictEqual(key.columns, primaryKey.columns));
  if (isMerged || isSharded(placement))
    return [...createPlacedTable(table, table), ...(await addConstraints(table, table))];
  const { constraints, notValid } = await constraintClauses(table, table);
  const clauses = [
    ...columnClauses(table, table.names),
    ...checkClauses(table, table.names.checks).valid,
    ...constraints,
  ];
  const { create, give } = sequenceStatements(table, table);
  return [
    ...create,
    createTable(table, table, clauses),
    ...addClauses(table, table, notValid),
    ...give,
    ...commentStatements(table, table),
    ...(await createIndexes(table, table)),
  ];
}

/** Returns whether the bare table lacks something, which `addConstraints` adds. */
export function hasConstraints(table: PreparedTable): boolean {
  const { primaryKey, unique, foreignKeys, indexes } = table;
  const isPlain = primaryKey === undefined && unique.length + foreignKeys.length + indexes.length === 0;
  return !isPlain || hasNotValid(table);
}

/** Returns whether the table has expressions that may refuse rows. */
export function hasExpressions({ checks, columns }: PreparedTable): boolean {
  return checks.length > 0 || columns.some(({ generated }) => generated !== undefined);
}

/** Returns whether the table has constraints that are added after the rows and do not check them. */
function hasNotValid({ checks, foreignKeys }: PreparedTable): boolean {
  return checks.some(({ notValid }) => notValid) || foreignKeys.some(({ rules }) => rules.notValid);
}

/** Returns the names of the constraints that do not check the first rows of the table. */
export function namesNotValid({ checks, foreignKeys }: PreparedTable, { names }: Naming): string[] {
  const isNotValid = [
    ...checks.map(({ notValid }) => notValid),
    ...foreignKeys.map(({ rules }) => rules.notValid),
  ];
  return [...names.checks, ...names.foreignKeys].filter((_, index) => isNotValid[index]);
}

/** Returns the statements that add the keys, foreign keys, indexes, and the checks that are not valid. */
export async function addConstraints(table: PreparedTable, naming: Naming): Promise<CallersStatement[]> {
  const { constraints, notValid } = await constraintClauses(table, naming);
  const additions = addClauses(table, naming, [...constraints, ...notValid]);
  return [...additions, ...(await createIndexes(table, naming))];
}

function addClauses({ schema, placement }: PreparedTable, { name }: Naming, clauses: string[]) {
  const alter = `ALTER TABLE ${quoteQualified(schema, name)}`;
  const additions = clauses.map((clause) => `ADD ${clause}`);
  if (needsStatementsApart(placement)) return additions.map((addition) => qualified`${alter} ${addition}`);
  return additions.length === 0 ? [] : [qualified`${alter} ${additions.join(', ')}`];
}

function commentStatements(table: PreparedTable, naming: Naming): CallersStatement[] {
  const relation = quoteQualified(table.schema, naming.name);
  const columns = table.columns.filter(({ comment }) => comment !== undefined);
  return [
    ...(table.comment === undefined ? [] : [commentOn(`TABLE ${relation}`, table.comment)]),
    ...columns.map(({ name, comment }) => commentOn(`COLUMN ${relation}.${quoteIdentifier(name)}`, comment)),
  ];
}

/** @param what such as `TABLE "public"."orders"` @param comment undefined: none */
export function commentOn(what: string, comment: string | null | undefined): CallersStatement {
  return qualified`COMMENT ON ${what} IS ${comment == null ? 'NULL' : quoteLiteral(comment)}`;
}

function createIndexes(
  { schema, indexes }: PreparedTable,
  { name, names }: Naming,
): Promise<CallersStatement[]> {
  const relation = quoteQualified(schema, name);
  const create = (index: IndexDefinition, place: number) =>
    createIndex(relation, index, names.indexes[place]);
  return mapInTurns(indexes, create, weightOfIndex);
}

/**
 * Sets the sequence of an identity column to the highest value in its rows. Use it only for a table that other sessions cannot see
 * yet, because they could take numbers at the same moment.
 */
export function continueNumbering(relation: string, column: string): Statement {
  const highest = `(SELECT max(${quoteIdentifier(column)}) FROM ${relation})`;
  return { text: advanceTo(highest), values: [relation, column] };
}

/**
 * A sequence that has given no number yet continues to begin at its start, if that is higher. OFFSET 0 keeps PostgreSQL from reading the last
 * number of other sequences, which up to PostgreSQL 17 fails without a privilege.
 */
const advanceTo = (highest: string) => `
SELECT setval(q.seqrelid, least(q.highest, q.seqmax)) FROM (
  SELECT s.seqrelid, s.seqmax, s.seqstart, x.highest FROM (SELECT ${highest} AS highest) x, pg_sequence s
  WHERE s.seqrelid = pg_get_serial_sequence($1, $2)::regclass OFFSET 0) q
WHERE coalesce(q.highest > pg_sequence_last_value(q.seqrelid), q.highest >= q.seqstart)`;

/** Returns a query of `highest`: the highest value in a column, as text; null: the column has no value. */
export function highestNumber(relation: string, column: string): string {
  return `SELECT max(${quoteIdentifier(column)})::text AS highest FROM ${relation}`;
}

/**
 * Returns a statement like that of `continueNumbering`, for a value that `highestNumber` has found before. It is needed with Citus, which runs a
 * query of a table with one shard as a whole at a worker, where the bounds of a sequence are different.
 */
export function continueNumberingAfter(relation: string, column: string, highest: string | null): Statement {
  return { text: advanceTo('$3::bigint'), values: [relation, column, highest] };
}

/**
 * Returns the clauses of the columns.
 *
 * @param names undefined: PostgreSQL chooses the names, and every numbered column is an identity column
 */
function columnClauses(table: PreparedTable, names?: ObjectNames): string[] {
  return table.columns.map((column) => columnClause(table, column, names));
}

function columnClause(table: PreparedTable, column: PreparedColumn, names?: ObjectNames): string {
  const { name, typeSql, identity, isNullable, defaultSql } = column;
  let clause = `${quoteIdentifier(name)} ${typeSql}`;
  const sequence = names?.sequences.get(name);
  if (identity === 'sequence' && sequence !== undefined) {
    const text = quoteLiteral(quoteQualified(table.schema, sequence));
    clause += ` DEFAULT pg_catalog.nextval(${text}::pg_catalog.regclass)`;
  } else if (identity !== 'none') {
    clause += ` GENERATED ${identity === 'always' ? 'ALWAYS' : 'BY DEFAULT'} AS IDENTITY`;
    if (sequence !== undefined)
      clause += ` (SEQUENCE NAME ${quoteQualified(table.schema, sequence)}${numberingSql(column.numbering)})`;
  }
  if (!isNullable) clause += `${constraintName(names?.notNull.get(name))} NOT NULL`;
  if (defaultSql !== undefined) clause += ` DEFAULT ${defaultSql}`;
  if (column.generated !== undefined) clause += generatedClause(column.generated);
  return clause;
}

/**
 * Returns the statements that add the only column of `table` to an existing table. PostgreSQL chooses the name of the sequence of an
 * identity column.
 *
 * @returns also the clause of ALTER TABLE that is all of it; undefined: the column needs other statements
 */
export function addColumn(
  table: PreparedTable,
  relation: string,
): { statements: CallersStatement[]; clause: string | undefined } {
  const [column] = table.columns;
  const ownsSequence = column!.identity === 'sequence';
  const { create, give } = sequenceStatements(table, table);
  const names = ownsSequence ? { ...table.names, notNull: new Map() } : undefined;
  const clause = `ADD COLUMN ${columnClause(table, column!, names)}`;
  const statements = [...create, qualified`ALTER TABLE ${relation} ${clause}`, ...give];
  return { statements, clause: ownsSequence ? undefined : clause };
}

function generatedClause({ kind, sql }: NonNullable<PreparedColumn['generated']>): string {
  return ` GENERATED ALWAYS AS (${sql}) ${kind.toUpperCase()}`;
}

/** @param names PostgreSQL chooses a name that is absent */
function checkClauses({ checks }: PreparedTable, names: string[]): { valid: string[]; notValid: string[] } {
  const clauses = checks.map(({ sql }, index) => `${constraintName(names[index])} CHECK (${sql})`);
  return {
    valid: clauses.filter((_, index) => !checks[index]!.notValid),
    notValid: clauses.filter((_, index) => checks[index]!.notValid),
  };
}

/** Returns the names that the checks have in a temporary table: their places. */
function nameChecks({ checks }: PreparedTable): string[] {
  return checks.map((_, index) => String(index));
}

/**
 * Orders foreign keys by the tables that they refer to, so that all sessions lock these tables in the same order. CREATE TABLE would ignore NOT VALID,
 * so `notValid` must be added to the table.
 */
async function constraintClauses(
  table: PreparedTable,
  { name, names }: Naming,
): Promise<{ constraints: string[]; notValid: string[] }> {
  const { schema, primaryKey, unique } = table;
  const columnList = columnLister();
  const namedClause = (kind: 'PRIMARY KEY' | 'UNIQUE', key: KeyDefinition, keyName: string | undefined) =>
    `${constraintName(keyName)} ${keyClause(kind, columnList(key.columns), key.options)}`;
  const clauses = await mapInTurns(
    unique,
    (key, index) => namedClause('UNIQUE', key, names.unique[index]),
    weightOfKey,
  );
  if (primaryKey !== undefined) clauses.unshift(namedClause('PRIMARY KEY', primaryKey, names.primaryKey));
  const foreignKeys = table.foreignKeys.map((key, index) => ({ ...key, name: names.foreignKeys[index] }));
  const ordered = inLockOrder(foreignKeys);
  const references = await mapInTurns(
    ordered,
    (key) => `${constraintName(key.name)} ${foreignKeyClause({ schema, name }, key, columnList)}`,
  );
  const isNotValid = ordered.map(({ rules }) => rules.notValid === true);
  const checks = checkClauses(table, names.checks).notValid;
  return {
    constraints: [...clauses, ...references.filter((_, index) => !isNotValid[index])],
    notValid: [...references.filter((_, index) => isNotValid[index]), ...checks].map(
      (clause) => `${clause} NOT VALID`,
    ),
  };
}

/** Returns the constraint after its name. */
export function foreignKeyClause(
  table: { schema: string; name: string },
  key: PreparedForeignKey,
  columnList = columnLister(),
): string {
  const target = key.isSelf
    ? quoteQualified(table.schema, table.name)
    : quoteQualified(key.schema, key.table);
  const columns = columnList(key.pairs.map((pair) => pair.column));
  const referenced = columnList(key.pairs.map((pair) => pair.referenceColumn));
  return `FOREIGN KEY (${columns}) REFERENCES ${target} (${referenced})${ruleClauses(key.rules)}`;
}

/** Returns the clauses of the rules. The values of a definition are PostgreSQL's keywords in lower case. */
function ruleClauses({ onDelete, onUpdate, deferrable }: ForeignKeyRules): string {
  const clauses = [
    onDelete && ` ON DELETE ${onDelete.toUpperCase()}`,
    onUpdate && ` ON UPDATE ${onUpdate.toUpperCase()}`,
    deferrable && ` DEFERRABLE ${deferrable.toUpperCase()}`,
  ];
  return clauses.filter(Boolean).join('');
}

function constraintName(name: string | undefined): string {
  return name === undefined ? '' : ` CONSTRAINT ${quoteIdentifier(name)}`;
}

function inLockOrder(keys: PreparedForeignKey[]): PreparedForeignKey[] {
  const ordered = keys.map((key) => ({ key, place: quoteQualified(key.schema, key.table) }));
  ordered.sort((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0));
  return ordered.map(({ key }) => key);
}

/** Returns a function that writes a list of columns. It quotes each name once, because a column may be in thousands of keys. */
function columnLister(): (columns: string[]) => string {
  const quoted = new Map<string, string>();
  const quote = (name: string): string => {
    let text = quoted.get(name);
    if (text === undefined) {
      text = quoteIdentifier(name);
      quoted.set(name, text);
    }
    return text;
  };
  return (columns) => columns.map(quote).join(', ');
}
