/** Finds relations by their names. */
import { readRowsInCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';

/** The kinds of relations (`pg_class.relkind`), and `type`, as words. */
const kinds: Record<string, string> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
  S: 'sequence',
  i: 'index',
  I: 'index',
  c: 'type',
  type: 'type',
};

/** Returns what has a name: `a view`, `an index`. */
export function kindInWords(kind: string): string {
  const word = kinds[kind] ?? 'relation';
  return `${/^i/.test(word) ? 'an' : 'a'} ${word}`;
}

/** Returns whether the role may see the definition of a table: it may use the schema and has at least one privilege on the table. */
export const maySee = (table: string) => `(
  has_schema_privilege(${table}.relnamespace, 'USAGE') AND (pg_has_role(${table}.relowner, 'USAGE')
    OR has_table_privilege(${table}.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(${table}.oid, 'SELECT, INSERT, UPDATE, REFERENCES')))`;

/** The object identifier of the schema with this name. */
export const namespaceOid = (name: string) => `(SELECT z.oid FROM pg_namespace z WHERE z.nspname = ${name})`;

/** A relation of the schema that has a name which the new table or one of its parts needs. */
export interface TakenName {
  name: string;
  oid: number;
  /** `pg_class.relkind` */
  kind: string;
  /** The table that the index or sequence belongs to; null for any other relation. */
  owner: number | null;
  /** The name as SQL, quoted where necessary. */
  ownerName: string | null;
}

/** The relation with this name, and the table that it belongs to if it is an index or a sequence. */
export const relationsNamed = (name: string, namespace: string) => `(
  SELECT c.oid, c.relname, c.relkind, coalesce(
    (SELECT i.indrelid FROM pg_index i WHERE i.indexrelid = c.oid),
    (SELECT d.refobjid FROM pg_depend d
     WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
       AND d.deptype IN ('a', 'i') AND c.relkind = 'S' LIMIT 1)) AS owner
  FROM pg_class c WHERE c.relname = ${name} AND c.relnamespace = ${namespace} OFFSET 0)`;

/** Finds the names that relations of the schema already have: one row, `found`, a list of `TakenName`. */
export function findRelationNames(schema: string, names: string[]): Statement {
  return {
    text: readRowsInCallersPath(`
SELECT c.relname AS name, c.oid::bigint::float8 AS oid, c.relkind::text AS kind, c.owner::bigint::float8 AS owner,
  c.owner::regclass::text AS "ownerName"
FROM unnest($2::text[]) AS x(name), LATERAL ${relationsNamed('x.name', namespaceOid('$1'))} c`),
    values: [schema, names],
  };
}

/** Returns a query of the object with the name in the schema: a row `{oid, kind}`, or none. */
export function findRelation(schema: string, name: string): Statement {
  return {
    text: `
SELECT c.oid::bigint::float8 AS oid, c.relkind::text AS kind
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
    values: [schema, name],
  };
}

/**
 * Returns a statement that makes a second load of the same new table wait until this transaction ends. The second load waits here before it
 * takes any lock that the first one may need. The lock is on a hash of the name: if two names have the same hash, a load waits unnecessarily.
 */
export function lockTableName(schema: string, table: string): Statement {
  return {
    text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7446))',
    values: [JSON.stringify([schema, table])],
  };
}

export interface SimilarTable {
  schema: string;
  table: string;
}

/**
 * Returns a query of the tables that the caller may have meant: those whose names differ in case only, in any schema that the role may use, and all
 * tables of the schema itself, at most 5,000. The rows are of the type `SimilarTable`.
 */
export function findSimilarTables(schema: string, table: string): Statement {
  return {
    text: `
SELECT n.nspname AS schema, c.relname AS "table"
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND (lower(c.relname) = lower($2) OR n.nspname = $1)
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' AND ${maySee('c')}
ORDER BY lower(c.relname) <> lower($2), n.nspname <> $1, c.relname <> $2, n.nspname, c.relname LIMIT 5000`,
    values: [schema, table],
  };
}
