/**
 * Returns the queries to the metadata of Citus. The tables in these queries exist only in databases with Citus. So the queries are sent
 * only if a query that is sent in any case has found Citus (`isCitus`), and PostgreSQL without Citus needs no more round trips.
 */
import type { Statement } from '../../../postgres/sql.ts';

/**
 * An expression that says whether the database has Citus 12 or newer, in which a schema can be distributed. It looks up one name in
 * PostgreSQL's cache.
 */
export const isCitus = `(pg_catalog.to_regclass('pg_catalog.pg_dist_schema') IS NOT NULL)`;

/** How Citus stores a table. A table without a row in the metadata of Citus is an ordinary table. */
export interface PlacedTable {
  kind: 'column' | 'reference' | 'schema' | 'local';
  /** The distribution column; null: there is none. */
  column: string | null;
  /** The type of the distribution column: its object identifier, and the name that `format_type` gives it. */
  columnType: number | null;
  columnTypeName: string | null;
  /** The number of the colocation group. Tables of one group keep the rows with the same value of their distribution column on the same node. */
  colocation: number;
  shards: number;
}

/** Returns an expression for the placement of a relation, as JSON; null: it is an ordinary table. @param oid an expression */
const placementOf = (oid: string) => `(
  SELECT json_build_object(
    'kind', CASE WHEN p.partmethod <> 'n' THEN 'column' WHEN p.repmodel = 't' THEN 'reference'
      WHEN p.colocationid <> 0 THEN 'schema' ELSE 'local' END,
    'column', a.attname, 'columnType', a.atttypid::bigint, 'columnTypeName', format_type(a.atttypid, NULL),
    'colocation', p.colocationid,
    'shards', (SELECT count(*) FROM pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid))
  FROM pg_dist_partition p LEFT JOIN pg_attribute a ON p.partmethod <> 'n' AND a.attrelid = p.logicalrelid
    AND a.attname = column_to_column_name(p.logicalrelid, p.partkey)
  WHERE p.logicalrelid = ${oid})`;

/** Returns an expression for the object identifier of a table. @param schema an expression, like `table` */
const tableNamed = (schema: string, table: string) => `(
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = ${schema} AND c.relname = ${table})`;

/** Returns a query of the placement of a table: one row, `placed`, of the type `PlacedTable`, or null for an ordinary table. */
export function findPlacement(oid: number): Statement {
  return { text: `SELECT ${placementOf('$1::oid')} AS placed`, values: [oid] };
}

/** What Citus knows about the schema and the tables that a definition names. */
export interface CitusFacts {
  /** Citus distributes the schema: each of its tables has one shard, and all of them are on one node. */
  schemaIsDistributed: boolean;
  existing: PlacedTable | null;
  /** The existing table has foreign keys. */
  existingHasForeignKeys: boolean;
  /** The referenced tables, in the order of the request; null: an ordinary table, or none. */
  targets: (PlacedTable | null)[];
  /** Citus can compute hash values of the type. */
  isHashable: boolean;
}

export interface CitusRequest {
  schema: string;
  table: string;
  targets: { schema: string; table: string }[];
}

/**
 * Looks up the schema and the tables that a definition names: one row, `facts`, of the type `CitusFacts`.
 *
 * @param typeOid the type of the distribution column; undefined: there is none
 */
export function lookUpPlacements(request: CitusRequest, typeOid: number | undefined): Statement {
  return {
    text: `
SELECT json_build_object(
  'schemaIsDistributed', EXISTS (
    SELECT FROM pg_dist_schema d JOIN pg_namespace n ON n.oid = d.schemaid WHERE n.nspname = $1),
  'existing', ${placementOf(tableNamed('$1', '$2'))},
  'existingHasForeignKeys', EXISTS (
    SELECT FROM pg_constraint f WHERE f.conrelid = ${tableNamed('$1', '$2')} AND f.contype = 'f'),
  'targets', (
    SELECT coalesce(json_agg(${placementOf(tableNamed("x.item->>'schema'", "x.item->>'table'"))} ORDER BY x.position), '[]')
    FROM json_array_elements($3::json) WITH ORDINALITY AS x(item, position)),
  'isHashable', $4::oid IS NULL OR (
    SELECT CASE WHEN t.typcategory = 'A'
      THEN (SELECT ${isHashed('e')} FROM pg_type e WHERE e.oid = t.typelem) ELSE ${isHashed('t')} END
    FROM pg_type t WHERE t.oid = $4::oid)) AS facts`,
    values: [request.schema, request.table, JSON.stringify(request.targets), typeOid ?? null],
  };
}

/** Returns whether the type in the `pg_type` row, or a compatible type, has a default hash operator class (access method 405). */
const isHashed = (type: string) => `
  (${type}.typtype IN ('e', 'r', 'm', 'c')
   OR EXISTS (SELECT FROM pg_opclass o
     WHERE o.opcmethod = 405 AND o.opcdefault AND o.opcintype = ${type}.oid)
   OR EXISTS (SELECT FROM pg_cast k JOIN pg_opclass o ON o.opcintype = k.casttarget
     WHERE k.castsource = ${type}.oid AND k.castmethod = 'b' AND k.castcontext = 'i' AND o.opcmethod = 405 AND o.opcdefault))`;

/**
 * Finds the size of all shards of a distributed table on all nodes, with indexes: one row, `bytes`; null: a node does not answer.
 *
 * @param relation quoted
 */
export function measureTable(relation: string): Statement {
  return {
    text: 'SELECT citus_total_relation_size(to_regclass($1), false) AS bytes',
    values: [relation],
  };
}

/** A table of a list, and what Citus knows about it. */
export interface ListedPlacement {
  oid: number;
  placed: PlacedTable | null;
  /** The size of all shards on all nodes, with indexes; null: a node does not answer, or the table was not measured. */
  bytes: string | null;
}

/**
 * Finds the placements of tables: rows of the type `ListedPlacement`. Citus asks every node that has shards of a table for their size.
 *
 * @param measured the object identifiers of the tables to measure
 */
export function listPlacements(oids: number[], measured: number[]): Statement {
  return {
    text: `
SELECT x.oid::bigint::float8 AS oid, ${placementOf('x.oid')} AS placed,
  CASE WHEN x.oid = ANY ($2::oid[]) AND EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = x.oid)
    THEN citus_total_relation_size(x.oid, false) END AS bytes
FROM unnest($1::oid[]) AS x(oid)`,
    values: [oids, measured],
  };
}
