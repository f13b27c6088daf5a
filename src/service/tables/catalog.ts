/** Returns the queries of this folder to PostgreSQL's catalogue, as SQL. */
import { mapInTurns } from '../../core/pause-for-others.ts';
import type { ColumnType, InputFunction, LoadColumn } from '../../encoding/columns/load-column.ts';
import {
  callsFunctions,
  isShortExpression,
  maxTreeBytes,
  mostDigits,
  treeBytes,
} from '../postgres/expression-trees.ts';
import { readInCallersPath, readRowsInCallersPath } from '../postgres/search-path.ts';
import type { Statement } from '../postgres/sql.ts';
import type { CatalogType } from './column-types.ts';
import type { CatalogFunction, DefaultFacts, FunctionName } from './defaults.ts';
import { isCitus } from './distribution/citus-facts.ts';
import {
  isInPath,
  isRowType,
  orderInPath,
  qualifiedTypes,
  shownType,
  unqualifiedType,
} from './names-in-path.ts';
import type { TypeNode } from './type-width.ts';

/** The names in a definition, to be looked up in one round trip. */
export interface LookUpRequest {
  schema: string;
  table: string;
  types: TypeRequest[];
  functions: FunctionName[];
  sequences: RelationName[];
  targets: { schema: string; table: string }[];
  /** The names that the new indexes and sequences should get. */
  relations: string[];
}

export interface TypeRequest {
  /** The names of `TypeName`. */
  spelling: string | undefined;
  schema: string | undefined;
  name: string | undefined;
  isQuoted: boolean;
  array: boolean;
  /** Whether the query must find out if the type can be a key. */
  isKey: boolean;
}

export interface RelationName {
  /** Undefined: PostgreSQL searches the search path. */
  schema: string | undefined;
  name: string;
}

export interface LookUpResult {
  /** `isCitus`: the database has Citus 12 or newer. */
  schema: { mayCreate: boolean; role: string; isCitus: boolean } | null;
  /** The object in the schema that has the table's name. Its kind is `pg_class.relkind`, or `type` for a type without a relation. */
  existing: { oid: number; kind: string } | null;
  /**
   * Each list has one entry for each name in the request, in the same order. An entry is null if PostgreSQL does not know the name. A
   * list is absent or null if the request names nothing of its kind.
   */
  types: (CatalogType | null)[] | null;
  functions?: (CatalogFunction | null)[];
  sequences?: (CatalogSequence | null)[];
  targets?: (TargetTable | null)[];
  relations?: (TakenName | null)[];
}

export interface CatalogSequence {
  oid: number;
  schema: string;
  name: string;
  kind: string;
  mayUse: boolean;
}

export interface TargetTable {
  kind: string;
  /** `pg_class.relpersistence` */
  persistence: string;
  columns: {
    id: number;
    name: string;
    baseOid: number;
    isDomain: boolean;
    type: string;
    mayRefer: boolean;
  }[];
  /** The columns, by `id`, of every unique key that a foreign key can refer to. */
  keys: number[][];
}

/** A relation of the schema that already has one of the names in the request. */
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

/** Returns whether the type is an array type. Types such as `int2vector`, which only have subscripts, are not. */
const isArray = (type: string) =>
  `EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.oid = ${type}.typelem AND e.typarray = ${type}.oid)`;

/** Returns whether the type in the `pg_type` row, or a compatible type, has a default btree operator class of its own (access method 403). */
const isOrderedItself = (type: string) => `
  (${type}.typtype IN ('e', 'r', 'm')
   OR EXISTS (SELECT FROM pg_catalog.pg_opclass o
     WHERE o.opcmethod = 403 AND o.opcdefault AND o.opcintype = ${type}.oid)
   OR EXISTS (SELECT FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_opclass o ON o.opcintype = k.casttarget
     WHERE k.castsource = ${type}.oid AND k.castmethod = 'b' AND k.castcontext = 'i' AND o.opcmethod = 403 AND o.opcdefault))`;

/**
 * Returns whether PostgreSQL can compare values of the type in the `pg_type` row. All arrays and composite types have an operator class, but
 * a comparison fails if their parts have none: the elements of an array, the fields of a composite type, the type under a domain.
 */
const isOrdered = (type: string) => `
  CASE WHEN ${isOrderedItself(type)} THEN true ELSE NOT EXISTS (
    WITH RECURSIVE parts AS (
      SELECT ${type}.oid
      UNION
      SELECT inner_type.oid FROM parts JOIN pg_catalog.pg_type o ON o.oid = parts.oid, LATERAL (
        SELECT o.typbasetype AS oid WHERE o.typtype = 'd'
        UNION ALL
        SELECT o.typelem WHERE ${isArray('o')}
        UNION ALL
        SELECT f.atttypid FROM pg_catalog.pg_attribute f
        WHERE o.typtype = 'c' AND f.attrelid = o.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS inner_type)
    SELECT FROM parts JOIN pg_catalog.pg_type p ON p.oid = parts.oid
    WHERE p.typtype NOT IN ('c', 'd') AND NOT ${isArray('p')} AND NOT ${isOrderedItself('p')}) END`;

/**
 * Returns SQL that writes a type with its modifier so that it means the same in every search path. SQL's own spellings, such as
 * `character varying(20)`, always mean the types of `pg_catalog`; other names of its types are qualified. All other types
 * are qualified by `format_type`, because they are not in the service's own path.
 */
const typeForSql = (type: string, modifier: string) => `(
  SELECT CASE WHEN e.typnamespace = 'pg_catalog'::regnamespace AND starts_with(f.name, quote_ident(e.typname))
      AND substr(f.name, length(quote_ident(e.typname)) + 1, 1) IN ('', '(', '[')
    THEN 'pg_catalog.' || f.name ELSE f.name END
  FROM (SELECT format_type(${type}, ${modifier}) AS name) f, pg_catalog.pg_type a
  JOIN pg_catalog.pg_type e ON e.oid = CASE WHEN ${isArray('a')} THEN a.typelem ELSE a.oid END
  WHERE a.oid = ${type})`;

/**
 * Returns a query of the types that values of a type directly contain, each with its modifier: the base type of a domain, the type of
 * elements or of bounds, and those of the fields. @param type a `pg_type` row
 */
const partsOf = (type: string, modifier: string) => `
  SELECT ${type}.typbasetype AS oid, ${type}.typtypmod AS typmod WHERE ${type}.typtype = 'd'
  UNION ALL
  SELECT ${type}.typelem, ${modifier} WHERE ${isArray(type)}
  UNION ALL
  SELECT r.rngsubtype, -1 FROM pg_catalog.pg_range r WHERE ${type}.typtype = 'r' AND r.rngtypid = ${type}.oid
  UNION ALL
  SELECT r.rngtypid, -1 FROM pg_catalog.pg_range r WHERE ${type}.typtype = 'm' AND r.rngmultitypid = ${type}.oid
  UNION ALL
  SELECT f.atttypid, f.atttypmod FROM pg_catalog.pg_attribute f
  WHERE ${type}.typtype = 'c' AND f.attrelid = ${type}.typrelid AND f.attnum > 0 AND NOT f.attisdropped`;

/** Returns the members `isRepeating`, `isOfParts` and `parts` of a `TypeNode` as SQL. Equal fields are one part, because a table may have 1,600 of them. */
const nodeOf = (type: string, modifier: string) => `
    'isRepeating', ${type}.typtype = 'm' OR ${isArray(type)}, 'isOfParts', ${type}.typtype IN ('c', 'r', 'm'),
    'parts', (SELECT pg_catalog.json_agg(pg_catalog.json_build_object('oid', p.oid::bigint, 'typmod', p.typmod, 'count', p.count))
      FROM (SELECT part.oid, part.typmod, pg_catalog.count(*) FROM (${partsOf(type, modifier)}) AS part GROUP BY 1, 2) AS p)`;

/** The operator with which a default index of the type compares values; null for types of `pg_catalog`. @param type a `pg_type` row */
const ownEquality = (type: string) => `(
  SELECT format('OPERATOR(%I.%s)', n.nspname, p.oprname)
  FROM pg_catalog.pg_opclass c JOIN pg_catalog.pg_amop m ON m.amopfamily = c.opcfamily
    AND m.amopstrategy = 3 AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype
  JOIN pg_catalog.pg_operator p ON p.oid = m.amopopr JOIN pg_catalog.pg_namespace n ON n.oid = p.oprnamespace
  WHERE ${type}.typnamespace <> 'pg_catalog'::regnamespace
    AND c.opcintype = ${type}.oid AND c.opcmethod = 403 AND c.opcdefault)`;

/** Returns whether the role may see the definition of a table: it may use the schema and has at least one privilege on the table. */
export const maySee = (table: string) => `(
  has_schema_privilege(${table}.relnamespace, 'USAGE') AND (pg_has_role(${table}.relowner, 'USAGE')
    OR has_table_privilege(${table}.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    OR has_any_column_privilege(${table}.oid, 'SELECT, INSERT, UPDATE, REFERENCES')))`;

/** The object identifier of the schema with this name. */
const namespaceOid = (name: string) =>
  `(SELECT z.oid FROM pg_catalog.pg_namespace z WHERE z.nspname = ${name})`;

// A separate subquery looks up each entry, so PostgreSQL uses an index for any number of entries. Its planner also estimates
// such a low cost that it does not compile the query (`jit_above_cost`).

const types = (order: string) => `
  SELECT pg_catalog.json_agg((
    SELECT pg_catalog.json_build_object(
      'oid', CASE WHEN w.is_array THEN t.typarray ELSE t.oid END::bigint,
      'schema', (SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.oid = t.typnamespace), 'name', t.typname,
      'kind', CASE WHEN w.is_array AND t.typtype <> 'p' THEN 'b' ELSE t.typtype END,
      'baseOid', CASE WHEN w.is_array THEN t.typarray ELSE t.oid END::bigint,
      'category', CASE WHEN w.is_array THEN 'A' ELSE t.typcategory END,
      'display', (${shownType('t.oid', 'NULL')}) || CASE WHEN w.is_array THEN '[]' ELSE '' END,
      'lacksQuotes', w.is_bare AND ${isRowType('t')},
      'isOrdered', ${order},
      'mayUse', has_type_privilege(t.oid, 'USAGE') AND pg_catalog.has_schema_privilege(t.typnamespace, 'USAGE')
        AND (t.typrelid = 0 OR EXISTS (SELECT FROM pg_catalog.pg_class c
          WHERE c.oid = t.typrelid AND (c.relkind = 'c' OR ${maySee('c')}))),
      'isOfExtension', t.typnamespace <> 'pg_catalog'::regnamespace AND EXISTS (
        SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'))
    FROM pg_catalog.pg_type t
    WHERE t.oid = w.oid AND t.typisdefined AND (t.typarray <> 0 OR NOT w.is_array)) ORDER BY w.position)
  FROM (SELECT position, (item->>'array')::boolean AS is_array, (item->>'isKey')::boolean AS is_key,
          item->>'schema' IS NULL AND item->>'spelling' IS NULL AND NOT (item->>'isQuoted')::boolean AS is_bare,
          CASE WHEN item->>'spelling' IS NOT NULL THEN pg_catalog.to_regtype(item->>'spelling')::oid
            WHEN item->>'schema' IS NOT NULL THEN (SELECT y.oid FROM pg_catalog.pg_type y
              WHERE y.typname = item->>'name' AND y.typnamespace = ${namespaceOid("item->>'schema'")})
            ELSE ${unqualifiedType("item->>'name'", "(item->>'isQuoted')::boolean")} END AS oid
        FROM request, pg_catalog.json_array_elements(r->'types') WITH ORDINALITY AS x(item, position)) w`;

/** The relation with this name, and the table that it belongs to if it is an index or a sequence. */
const relationsNamed = (name: string, namespace: string) => `(
  SELECT c.oid, c.relname, c.relkind, coalesce(
    (SELECT i.indrelid FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid),
    (SELECT d.refobjid FROM pg_catalog.pg_depend d
     WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
       AND d.deptype IN ('a', 'i') AND c.relkind = 'S' LIMIT 1)) AS owner
  FROM pg_catalog.pg_class c WHERE c.relname = ${name} AND c.relnamespace = ${namespace} OFFSET 0)`;

/**
 * The optional parts of the query. A part that is not needed is left out, because it would take time even if it finds nothing.
 */
const sections = {
  functions: `
  SELECT pg_catalog.json_agg((
    SELECT pg_catalog.json_build_object('schema', n.nspname, 'name', p.proname)
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE p.proname = x.item->>'name' AND p.prokind = 'f' AND NOT p.proretset
      AND CASE WHEN x.item->>'schema' IS NULL THEN ${isInPath('n.oid')} ELSE n.nspname = x.item->>'schema' END
    ORDER BY ${orderInPath('n.oid')} LIMIT 1) ORDER BY x.position)
  FROM request, pg_catalog.json_array_elements(r->'functions') WITH ORDINALITY AS x(item, position)`,

  sequences: `
  SELECT pg_catalog.json_agg((
    SELECT pg_catalog.json_build_object('oid', c.oid::bigint, 'schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
      'mayUse', c.relkind = 'S' AND has_sequence_privilege(c.oid, 'USAGE, UPDATE') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE'))
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = x.item->>'name'
      AND CASE WHEN x.item->>'schema' IS NULL THEN ${isInPath('n.oid')} ELSE n.nspname = x.item->>'schema' END
    ORDER BY ${orderInPath('n.oid')} LIMIT 1) ORDER BY x.position)
  FROM request, pg_catalog.json_array_elements(r->'sequences') WITH ORDINALITY AS x(item, position)`,

  targets: `
  SELECT pg_catalog.json_agg((
    SELECT pg_catalog.json_build_object(
      'kind', c.relkind, 'persistence', c.relpersistence,
      'columns', (
        SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
          'id', a.attnum, 'name', a.attname, 'baseOid', a.atttypid::bigint,
          'isDomain', (SELECT t.typtype = 'd' FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid),
          'type', ${shownType('a.atttypid', 'a.atttypmod')},
          'mayRefer', has_column_privilege(c.oid, a.attnum, 'REFERENCES')
            AND pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE'))), '[]')
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
      'keys', (
        SELECT coalesce(pg_catalog.json_agg((i.indkey::smallint[])[:i.indnkeyatts - 1]), '[]')
        FROM pg_catalog.pg_index i
        WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
          AND i.indpred IS NULL AND i.indexprs IS NULL))
    FROM pg_catalog.pg_class c
    WHERE c.relname = x.item->>'table' AND c.relnamespace = ${namespaceOid("x.item->>'schema'")}
      AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${maySee('c')}) ORDER BY x.position)
  FROM request, pg_catalog.json_array_elements(r->'targets') WITH ORDINALITY AS x(item, position)`,

  relations: `
  SELECT pg_catalog.json_agg((
    SELECT pg_catalog.json_build_object('name', c.relname, 'oid', c.oid::bigint, 'kind', c.relkind, 'owner', c.owner::bigint,
      'ownerName', c.owner::regclass::text)
    FROM ${relationsNamed('x.name', '(SELECT oid FROM here)')} c))
  FROM request, json_array_elements_text(r->'relations') AS x(name)`,
};

const sectionNames = Object.keys(sections) as (keyof typeof sections)[];

/**
 * Looks up all names in a definition: one row, `found`, of the type `LookUpResult`. The text of a caller cannot make the query
 * fail, so it needs no savepoint. Each combination of parts is prepared once for each connection, because planning takes twice
 * as long as running.
 */
export async function lookUpDefinition(request: LookUpRequest): Promise<Statement> {
  const asked = sectionNames.filter((section) => request[section].length > 0);
  const needsOrder = request.types.some((type) => type.isKey);
  const order = `CASE WHEN w.is_key THEN ${isOrdered('t')} ELSE true END`;
  const parts = asked.map((section) => `,\n  '${section}', (${sections[section]})`);
  return {
    preparedName: ['look-up', ...asked, ...(needsOrder ? ['order'] : [])].join(' '),
    text: `
WITH request AS (SELECT $1::json AS r),
here AS (SELECT n.oid FROM request, pg_catalog.pg_namespace n WHERE n.nspname = r->>'schema')
${readInCallersPath(`pg_catalog.json_build_object(
  'schema', (SELECT pg_catalog.json_build_object('mayCreate', pg_catalog.has_schema_privilege(oid, 'CREATE'), 'role', current_user,
    'isCitus', ${isCitus}) FROM here),
  'existing', coalesce(
    (SELECT pg_catalog.json_build_object('oid', c.oid::bigint, 'kind', c.relkind)
     FROM request, here, pg_catalog.pg_class c WHERE c.relnamespace = here.oid AND c.relname = r->>'table'),
    (SELECT pg_catalog.json_build_object('oid', t.oid::bigint, 'kind', 'type')
     FROM request, here, pg_catalog.pg_type t
     WHERE t.typnamespace = here.oid AND t.typname = r->>'table' AND t.typcategory <> 'A')),
  'types', (${types(needsOrder ? order : 'true')})${parts.join('')}
)`)}`,
    values: [await jsonOf(request)],
  };
}

/** Returns the JSON text of the request. It works in turns, because a definition may mention tens of thousands of types. */
async function jsonOf(request: LookUpRequest): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(request)) {
    const text = Array.isArray(value)
      ? `[${await mapInTurns(value, (item) => JSON.stringify(item))}]`
      : JSON.stringify(value);
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members}}`;
}

export interface DomainBase {
  baseOid: number;
  /** The modifier that the innermost domain gives; -1: none. */
  typmod: number;
  category: string;
  isOrdered: boolean;
}

/** Finds the type at the end of each chain of domains: one row, `bases`, with the domain's object identifier as the key. */
export function findDomainBases(oids: number[]): Statement {
  return {
    text: `
WITH RECURSIVE chain AS (
  SELECT oid AS domain, typbasetype AS oid, typtypmod AS typmod FROM pg_catalog.pg_type WHERE oid = ANY ($1::oid[]) AND typtype = 'd'
  UNION ALL
  SELECT chain.domain, next.typbasetype, next.typtypmod
  FROM chain JOIN pg_catalog.pg_type next ON next.oid = chain.oid WHERE next.typtype = 'd')
SELECT coalesce(pg_catalog.json_object_agg(chain.domain::bigint, pg_catalog.json_build_object(
  'baseOid', b.oid::bigint, 'typmod', chain.typmod, 'category', b.typcategory, 'isOrdered', ${isOrdered('b')})), '{}') AS bases
FROM chain JOIN pg_catalog.pg_type b ON b.oid = chain.oid WHERE b.typtype <> 'd'`,
    values: [oids],
  };
}

/** The most types that `findTypeParts` returns. */
const mostTypeParts = 5000;

/** Finds the types that values of the types contain, and those that these contain, and so on: one row, `nodes`, a list of `TypeNode`. */
export function findTypeParts(oids: number[]): Statement {
  return {
    text: `
WITH RECURSIVE reached AS (
  SELECT oid, -1 AS typmod FROM pg_catalog.unnest($1::oid[]) AS asked(oid)
  UNION
  SELECT next.oid, next.typmod FROM reached JOIN pg_catalog.pg_type t ON t.oid = reached.oid
  JOIN LATERAL (${partsOf('t', 'reached.typmod')}) AS next ON true),
listed AS (SELECT oid, typmod FROM reached LIMIT ${mostTypeParts})
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
  'oid', t.oid::bigint, 'typmod', s.typmod, ${nodeOf('t', 's.typmod')})), '[]') AS nodes
FROM listed s JOIN pg_catalog.pg_type t ON t.oid = s.oid`,
    values: [oids],
  };
}

/**
 * Makes a second load that would create the same table wait until this transaction ends. The second load then has no lock
 * that the first one may need. The key is a hash. If two names have the same hash, a load waits unnecessarily.
 */
export function lockTableName(schema: string, table: string): Statement {
  return {
    text: 'SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 7446))',
    values: [JSON.stringify([schema, table])],
  };
}

/** Lists the names of types, as callers write them, to suggest one for a misspelled name: one row, `found`, a list of `{name, schema}`. */
export function listTypeNames(): Statement {
  return {
    text: readInCallersPath(`(
SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', name, 'schema', schema)), '[]') FROM (
  SELECT ${shownType('t.oid', 'NULL')} AS name, n.nspname AS schema, t.oid
  FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  WHERE t.typisdefined AND t.typtype <> 'p' AND t.typcategory <> 'A' AND (t.typrelid = 0 OR c.relkind = 'c')
    AND has_schema_privilege(n.oid, 'USAGE')
  UNION ALL
  SELECT t.typname, 'pg_catalog', t.oid FROM pg_catalog.pg_type t
  WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typcategory <> 'A' AND t.typrelid = 0
  ORDER BY oid DESC LIMIT 5000) AS x)`),
  };
}

/**
 * Finds out whether values of the first type of each pair can be looked up in a unique index over the second type: with an
 * equality operator of the index's family, or after an implicit cast (PostgreSQL 38.16.5, `ATAddForeignKeyConstraint`).
 *
 * @param pairs object identifiers of types; a domain is replaced by its base type
 */
export function compareTypes(pairs: [number, number][]): Statement {
  return {
    text: `
SELECT pg_catalog.json_agg((
  SELECT coalesce(pg_catalog.bool_or(
    o.opcintype = (p.pair->>0)::oid
    OR EXISTS (SELECT FROM pg_catalog.pg_amop a
      WHERE a.amopfamily = o.opcfamily AND a.amopstrategy = 3
        AND a.amoplefttype = o.opcintype AND a.amoprighttype = (p.pair->>0)::oid)
    OR EXISTS (SELECT FROM pg_catalog.pg_cast k
      WHERE k.castsource = (p.pair->>0)::oid AND k.casttarget = o.opcintype AND k.castcontext = 'i')), false)
  FROM pg_catalog.pg_opclass o JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod
  WHERE m.amname = 'btree' AND o.opcdefault AND (o.opcintype = (p.pair->>1)::oid OR EXISTS (
    SELECT FROM pg_catalog.pg_cast k
    WHERE k.castsource = (p.pair->>1)::oid AND k.casttarget = o.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i')))
  ORDER BY p.position) AS comparable
FROM pg_catalog.json_array_elements($1::json) WITH ORDINALITY AS p(pair, position)`,
    values: [JSON.stringify(pairs)],
  };
}

/** Finds the names that relations of the schema already have: one row, `found`, a list of `TakenName`. */
export function findRelationNames(schema: string, names: string[]): Statement {
  return {
    text: readRowsInCallersPath(`
SELECT c.relname AS name, c.oid::bigint::float8 AS oid, c.relkind::text AS kind, c.owner::bigint::float8 AS owner,
  c.owner::regclass::text AS "ownerName"
FROM pg_catalog.unnest($2::text[]) AS x(name), LATERAL ${relationsNamed('x.name', namespaceOid('$1'))} c`),
    values: [schema, names],
  };
}

export interface SimilarTable {
  schema: string;
  table: string;
}

/**
 * Finds tables that the caller may have meant: those whose names differ in case only, in any schema that the role may use, and all
 * tables of the schema itself, at most 5,000. The rows are of the type `SimilarTable`.
 */
export function findSimilarTables(schema: string, table: string): Statement {
  return {
    text: `
SELECT n.nspname AS schema, c.relname AS "table"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND (lower(c.relname) = lower($2) OR n.nspname = $1)
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' AND ${maySee('c')}
ORDER BY lower(c.relname) <> lower($2), n.nspname <> $1, c.relname <> $2, n.nspname, c.relname LIMIT 5000`,
    values: [schema, table],
  };
}

/** Finds the object that has the name in the schema: `{oid, kind}`, or no row. */
export function findRelation(schema: string, name: string): Statement {
  return {
    text: `
SELECT c.oid::bigint::float8 AS oid, c.relkind::text AS kind
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2`,
    values: [schema, name],
  };
}

/**
 * Finds the schema and the object that has the name in it, and what the current role may do with them: a row of the type `TargetRights`, or
 * none if there is no such schema. A privilege on some columns is enough, because the columns of the rows are not known yet.
 */
export function findTarget(schema: string, name: string, privileges: string[]): Statement {
  return {
    preparedName: 'tablewright find target',
    text: `
SELECT c.relkind::text AS kind, current_user::text AS role, current_database()::text AS database,
  pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS "usesSchema", pg_catalog.has_schema_privilege(n.oid, 'CREATE') AS "createsInSchema",
  pg_catalog.pg_has_role(c.relowner, 'USAGE') AS owns,
  pg_catalog.has_database_privilege(current_database(), 'TEMPORARY') AS "makesTemporary",
  ARRAY(SELECT p FROM pg_catalog.unnest($3::text[]) p
    WHERE NOT pg_catalog.has_table_privilege(c.oid, p)
      AND NOT CASE WHEN p <> 'TRUNCATE' THEN pg_catalog.has_any_column_privilege(c.oid, p) ELSE false END) AS lacking
FROM pg_catalog.pg_namespace n
LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = $2 AND c.relkind <> 'S'
WHERE n.nspname = $1`,
    values: [schema, name, privileges],
  };
}

/** A table in PostgreSQL's catalogue. */
export interface TableFacts {
  oid: number;
  kind: string;
  /** The role may use the schema and has some privilege on it. */
  maySee: boolean;
  /** The database has Citus 12 or newer. */
  isCitus: boolean;
  /** false: the texts of defaults and checks may be too long, so they were not read. See `readTexts`. */
  isRead: boolean;
  columns:
    | {
        id: number;
        name: string;
        type: string;
        notNull: boolean;
        /** For a generated column: the expression that generates it. */
        default: DefaultFacts | null;
        /** `a`: always, `d`: by default, '': none. */
        identity: string;
        generated: string;
      }[]
    | null;
  constraints:
    | {
        name: string;
        /** `pg_constraint.contype` */
        kind: string;
        /** PostgreSQL's text of the constraint; null: a table definition can express the constraint completely; '': another session has just dropped it. */
        definition: string | null;
        /** The `id` of each column. */
        columns: number[] | null;
        reference: { schema: string; table: string; columns: string[] } | null;
      }[]
    | null;
}

/**
 * Describes a table: one row, `found`, of the type `TableFacts`, or null if no relation has the name. The texts of defaults and checks are
 * left out if they may be too long: a few bytes in the catalogue can become hundreds of megabytes (expression-trees.ts). The schema `pg_temp` is the
 * session's own temporary schema. A domain has the category and the output function of its base type.
 *
 * A default names no column, so `pg_get_expr` gets no table: with a table of 1,600 columns it takes 10 s on PostgreSQL 15. Foreign
 * keys are ordered by their first columns, because they are created in the order of the tables that they refer to (ddl.ts).
 *
 * A table definition can express a constraint completely if the constraint is valid (one that is not enforced is not valid) and not
 * deferrable, has no special match or action, and has no INCLUDE, NULLS NOT DISTINCT, WITHOUT OVERLAPS or PERIOD. PostgreSQL 18
 * introduced the last two; their index, or the index that they refer to, is that of an exclusion constraint.
 *
 * @param isMeasured the texts are known to be short enough, for example because the definition of the table was checked
 */
export function describeRelation(schema: string, name: string, isMeasured = false): Statement {
  return {
    preparedName: 'tablewright describe',
    text: readInCallersPath(`(
SELECT pg_catalog.json_build_object(
  'oid', c.oid::bigint, 'kind', c.relkind, 'maySee', ${maySee('c')}, 'isCitus', ${isCitus}, 'isRead', size.is_short,
  'columns', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'id', a.attnum, 'name', a.attname, 'type', ${shownType('a.atttypid', 'a.atttypmod')}, 'notNull', a.attnotnull,
      'identity', a.attidentity, 'generated', a.attgenerated,
      'default', CASE WHEN a.atthasdef AND size.is_short THEN (
        SELECT pg_catalog.json_build_object(
          'expression', pg_catalog.pg_get_expr(d.adbin, CASE WHEN a.attgenerated = '' THEN 0 ELSE d.adrelid END),
          'qualifiedTypes', ${qualifiedTypes('d.oid')},
          'category', t.typcategory,
          'takesFractions', t.typoutput IN (
            'numeric_out'::regproc, 'float4out'::regproc, 'float8out'::regproc, 'cash_out'::regproc),
          'ownsSequence', EXISTS (
            SELECT FROM pg_catalog.pg_depend owned
            JOIN pg_catalog.pg_depend used ON used.refclassid = owned.classid AND used.refobjid = owned.objid
            WHERE owned.classid = 'pg_class'::regclass AND owned.refclassid = 'pg_class'::regclass
              AND owned.refobjid = c.oid AND owned.refobjsubid = a.attnum AND owned.deptype = 'a'
              AND used.classid = 'pg_attrdef'::regclass AND used.objid = d.oid))
        FROM pg_catalog.pg_attrdef d,
          LATERAL (SELECT x.typcategory, x.typoutput FROM pg_catalog.pg_type x WHERE x.oid = a.atttypid OFFSET 0) t
        WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) END) ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  'constraints', (
    SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', k.conname, 'kind', k.contype,
      'definition', CASE WHEN k.condeferrable OR NOT k.convalidated OR k.contype NOT IN ('p', 'u', 'f')
        OR k.contype = 'f' AND (k.confupdtype <> 'a' OR k.confdeltype <> 'a' OR k.confmatchtype <> 's')
        OR (SELECT i.indisexclusion OR k.contype <> 'f' AND (i.indnatts > i.indnkeyatts OR i.indnullsnotdistinct)
            FROM pg_catalog.pg_index i WHERE i.indexrelid = k.conindid)
        THEN CASE WHEN size.is_short THEN coalesce(pg_catalog.pg_get_constraintdef(k.oid), '') ELSE '' END END,
      'columns', k.conkey,
      'reference', CASE WHEN k.contype = 'f' THEN (
        SELECT pg_catalog.json_build_object(
          'schema', (SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.oid = f.relnamespace),
          'table', f.relname,
          'columns', (
            SELECT pg_catalog.json_agg((
              SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = f.oid AND a.attnum = member.attnum)
              ORDER BY member.position)
            FROM pg_catalog.unnest(k.confkey) WITH ORDINALITY AS member(attnum, position)))
        FROM pg_catalog.pg_class f WHERE f.oid = k.confrelid) END)
      ORDER BY CASE k.contype WHEN 'f' THEN k.conkey[1] END, CASE k.contype WHEN 'f' THEN k.conname END, k.oid)
    FROM pg_catalog.pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f', 'c', 'x')))
FROM pg_catalog.pg_class c, LATERAL (
  SELECT $3 OR ${hasShortTrees('c.oid')} AS is_short OFFSET 0) AS size
WHERE c.relname = $2 AND c.relnamespace = CASE $1::text WHEN 'pg_temp' THEN pg_catalog.pg_my_temp_schema()
    ELSE (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = $1) END)`),
    values: [schema, name, isMeasured],
  };
}

/** The most bytes of all defaults and checks of a table, as trees. */
const maxTreesBytes = 32 * 1024 * 1024;
/** The most digits of numbers in all defaults and checks of a table. */
export const maxTextBytes = 16 * 1024 * 1024;

/** Returns a query of all expressions that describe a table: those of its columns in their order, then those of its constraints. */
const treesOf = (table: string) => `
    SELECT d.adbin AS tree, d.adnum::int AS place, d.oid, true AS is_column FROM pg_catalog.pg_attrdef d WHERE d.adrelid = ${table}
    UNION ALL
    SELECT k.conbin, 10000, k.oid, false FROM pg_catalog.pg_constraint k WHERE k.conrelid = ${table} AND k.conbin IS NOT NULL`;

/** Returns SQL for whether the texts of all expressions of a table are certainly not too long to be described. */
export const hasShortTrees = (table: string) => `(
  SELECT coalesce(pg_catalog.max(${treeBytes('x.tree')}) <= ${maxTreeBytes}
    AND pg_catalog.sum(${treeBytes('x.tree')}) <= ${maxTreesBytes} AND pg_catalog.sum(${mostDigits('x.tree')}) <= ${maxTextBytes}, true)
  FROM (${treesOf(table)}) AS x)`;

/** An expression of a table in the catalogue. */
export interface ExpressionTree {
  /** The name of the column or of the constraint. */
  name: string;
  isColumn: boolean;
  /** false: the trees up to this one are too long. */
  isShort: boolean;
  /** The tree, if its numbers may have many digits. */
  tree: string | null;
}

/** Reads the expressions of a table: rows of the type `ExpressionTree`, up to the first one that is too long. */
export function readTrees(table: number): Statement {
  return {
    text: `
SELECT CASE WHEN t.is_column THEN (SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1 AND a.attnum = t.place)
    ELSE (SELECT k.conname FROM pg_catalog.pg_constraint k WHERE k.oid = t.oid) END::text AS name, t.is_column AS "isColumn",
  t.bytes <= ${maxTreeBytes} AND t.sum <= ${maxTreesBytes} AS "isShort",
  CASE WHEN t.bytes <= ${maxTreeBytes} AND t.sum <= ${maxTreesBytes} AND ${mostDigits('t.tree')} > 0 THEN t.tree::text END AS tree
FROM (SELECT x.*, ${treeBytes('x.tree')} AS bytes, pg_catalog.sum(${treeBytes('x.tree')}) OVER (ORDER BY x.place, x.oid) AS sum
  FROM (${treesOf('$1::oid')}) AS x) AS t
WHERE t.sum - t.bytes <= ${maxTreesBytes} ORDER BY t.place, t.oid`,
    values: [table],
  };
}

/** Finds the names of types as callers write them: one row, `found`, a list in the order of the pairs. @param types pairs of `oid` and modifier */
export function showTypes(types: [oid: number, modifier: number][]): Statement {
  return {
    text: readInCallersPath(`(
SELECT json_agg(${shownType('x.oid', 'x.typmod')} ORDER BY x.position)
FROM (SELECT position, (pair->>0)::oid AS oid, (pair->>1)::int AS typmod
  FROM json_array_elements($1::json) WITH ORDINALITY AS pairs(pair, position)) x)`),
    values: [JSON.stringify(types)],
  };
}

export interface LoadFacts {
  oid: number;
  /** The database has Citus 12 or newer. */
  isCitus: boolean;
  columns:
    | (Omit<LoadColumn, 'type' | 'default' | 'constant'> & {
        typeOid: number;
        typmod: number;
        hasDefault: boolean;
        /** PostgreSQL's text of the default, if it is short. */
        defaultExpression?: string;
        /** The bytes of the default in the catalogue, which are at least those of its text and of its constants. */
        treeBytes?: number;
        /** The default calls functions of PostgreSQL only, and its value may be longer than its text. */
        isEvaluated: boolean;
      })[]
    | null;
  types: TypeFacts[] | null;
}

/** The modifier is that of the column or of the type that uses this type. */
export interface TypeFacts extends TypeNode {
  name: string;
  /** The name qualified with its schema, for SQL. */
  sqlName: string;
  /** As in `ColumnType`; null: the operator of `pg_catalog`. */
  equality: string | null;
  /** The name without the modifier. */
  bareName: string;
  /** The function that writes the type's binary form; `-`: there is none. */
  send: string;
  kind: ColumnType['kind'];
  /** The type that a domain is based on; 0 for other types. */
  base: number;
  baseTypmod: number;
  notNull: boolean;
  element: number;
  labels: string[] | null;
  category: string;
  delimiter: string;
  input: InputFunction | null;
  hasInfinity: boolean;
}

/** The most bytes of the tree and of the text of a default that a load reads. A longer constant is not filled in (`maxFillBytes`). */
const mostTreeOfConstant = 2048;

/**
 * Reads the facts that a load needs about a table's columns, and about every type that they use: one row of the type
 * `LoadFacts`, or no row if there is no such table.
 *
 * If a column has no default, the default of its type applies (a domain or a base type). The default of a base type has no
 * expression, only `typdefault`.
 */
export function loadColumns(schema: string, name: string): Statement {
  return {
    preparedName: 'tablewright load columns',
    text: `
WITH RECURSIVE relation AS (
  SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')),
attributes AS (
  SELECT a.*, d.adbin, d.oid AS default_oid,
    CASE WHEN a.attidentity = '' AND a.attgenerated = '' THEN coalesce(d.adbin,
      (SELECT t.typdefaultbin FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid)) END AS tree
  FROM relation r
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum),
-- The types of the columns, the base types of domains and the element types of arrays, each with its modifier.
reached AS (
  SELECT atttypid AS oid, atttypmod AS typmod FROM attributes
  UNION
  SELECT next.oid, next.typmod FROM reached
  JOIN pg_catalog.pg_type t ON t.oid = reached.oid
  JOIN LATERAL (${partsOf('t', 'reached.typmod')}
  ) AS next ON true)
SELECT relation.oid::bigint::float8 AS oid, ${isCitus} AS "isCitus",
  (SELECT pg_catalog.json_agg(pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'id', attnum, 'name', attname, 'isNullable', NOT attnotnull, 'bareType', ${typeForSql('atttypid', '-1')},
    'collation', (SELECT pg_catalog.format('%I.%I', n.nspname, l.collname)
      FROM pg_catalog.pg_type t, pg_catalog.pg_collation l JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace
      WHERE t.oid = atttypid AND l.oid = attcollation AND l.oid <> t.typcollation),
    'typeOid', atttypid::bigint, 'typmod', atttypmod,
    'hasDefault', attidentity <> '' OR attgenerated = '' AND (adbin IS NOT NULL
      OR (SELECT t.typdefault IS NOT NULL FROM pg_catalog.pg_type t WHERE t.oid = atttypid)),
    -- A default names no column, so that no relation need be given: see describeRelation.
    'defaultExpression', CASE WHEN ${treeBytes('tree')} <= ${mostTreeOfConstant} THEN (
      SELECT CASE WHEN pg_catalog.octet_length(x.text) <= ${mostTreeOfConstant} THEN x.text END
      FROM (SELECT pg_catalog.pg_get_expr(tree, 0) AS text OFFSET 0) AS x) END,
    'treeBytes', ${treeBytes('tree')},
    'isEvaluated', CASE WHEN attlen = -1 AND tree IS NOT NULL AND ${callsFunctions('tree')} THEN NOT EXISTS (
      SELECT FROM pg_catalog.pg_depend p WHERE p.classid = 'pg_catalog.pg_attrdef'::regclass AND p.objid = default_oid
        AND p.refclassid IN ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_class'::regclass)
        AND NOT (p.refclassid = 'pg_catalog.pg_class'::regclass AND p.refobjid = attrelid)) ELSE false END,
    'isGenerated', attgenerated <> '',
    'generatedFrom', CASE WHEN attgenerated <> '' THEN (
      SELECT pg_catalog.json_agg(source.attname ORDER BY source.attnum) FROM pg_catalog.pg_attribute source
      WHERE source.attrelid = attributes.attrelid AND source.attnum <> attributes.attnum AND EXISTS (
        SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_attrdef f ON f.oid = d.objid
        WHERE f.adrelid = attributes.attrelid AND f.adnum = attributes.attnum AND d.classid = 'pg_catalog.pg_attrdef'::regclass
          AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = f.adrelid AND d.refobjsubid = source.attnum)) END,
    'identity', CASE attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' ELSE 'none' END)) ORDER BY attnum)
   FROM attributes) AS columns,
  (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
    'oid', t.oid::bigint, 'typmod', reached.typmod, 'name', pg_catalog.format_type(t.oid, reached.typmod),
    'sqlName', ${typeForSql('t.oid', 'reached.typmod')}, 'equality', ${ownEquality('t')},
    'bareName', pg_catalog.format_type(t.oid, -1), 'send', t.typsend,
    'kind', CASE WHEN t.typtype = 'd' THEN 'domain' WHEN t.typtype = 'e' THEN 'enum'
      WHEN ${isArray('t')} THEN 'array' WHEN t.typtype = 'b' THEN 'base' ELSE 'other' END,
    'hasInfinity', t.oid = 1186 AND pg_catalog.current_setting('server_version_num')::int >= 170000,
    'category', t.typcategory, 'delimiter', t.typdelim, 'input', (
      SELECT pg_catalog.json_build_object('name', pg_catalog.format('%I.%I', n.nspname, p.proname), 'argumentCount', p.pronargs,
        'parameter', (CASE WHEN t.typelem <> 0 THEN t.typelem ELSE t.oid END)::bigint)
      FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
      WHERE p.oid = t.typinput AND p.prorettype = t.oid),
${nodeOf('t', 'reached.typmod')},
    'base', t.typbasetype::bigint, 'baseTypmod', t.typtypmod, 'notNull', t.typnotnull, 'element', t.typelem::bigint,
    'labels', (SELECT pg_catalog.json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid)))
   FROM reached JOIN pg_catalog.pg_type t ON t.oid = reached.oid) AS types
FROM relation`,
    values: [schema, name],
  };
}

/**
 * Reads the defaults of columns as SQL: rows of `{id, expression}`, where the expression is cast to the type of the column. Very long ones are
 * left out. @param relation `pg_class.oid`
 */
export function readDefaults(relation: number, columns: number[]): Statement {
  return {
    text: `
SELECT c.attnum AS id, pg_catalog.format('CAST((%s) AS %s)', pg_catalog.pg_get_expr(d.tree, 0), ${typeForSql('c.atttypid', 'c.atttypmod')}) AS expression
FROM pg_catalog.pg_attribute c, LATERAL (
  SELECT coalesce((SELECT f.adbin FROM pg_catalog.pg_attrdef f WHERE f.adrelid = c.attrelid AND f.adnum = c.attnum),
    (SELECT t.typdefaultbin FROM pg_catalog.pg_type t WHERE t.oid = c.atttypid)) AS tree OFFSET 0) AS d
WHERE c.attrelid = $1 AND c.attnum = ANY ($2::int2[]) AND ${isShortExpression('d.tree')} ORDER BY c.attnum`,
    values: [relation, columns],
  };
}

/** Finds the sequence that belongs to a column; null: there is none. @param relation quoted */
export function findSequence(relation: string, column: string): Statement {
  return { text: 'SELECT pg_catalog.pg_get_serial_sequence($1, $2) AS sequence', values: [relation, column] };
}

/** Finds out whether a table is the other table or a partition of it: one row, `answer`. Both names are quoted. */
export function isTableOrPartition(relation: string, other: string): Statement {
  return {
    text: `SELECT pg_catalog.to_regclass($2) = $1::regclass OR EXISTS (
  SELECT FROM pg_catalog.pg_partition_tree($1::regclass) WHERE relid = pg_catalog.to_regclass($2)) AS answer`,
    values: [relation, other],
  };
}
