/** Looks up all names in a definition, in one round trip. */
import { mapInTurns } from '../../../core/pause-for-others.ts';
import { readInCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { CatalogType } from '../column-types.ts';
import type { CatalogFunction, FunctionName } from '../defaults.ts';
import { isCitus } from '../distribution/citus-facts.ts';
import { isInPath, isRowType, orderInPath, shownType, unqualifiedType } from './names-in-path.ts';
import { isOrdered } from './ordered-types.ts';
import { maySee, namespaceOid, relationsNamed, type TakenName } from './relations.ts';

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
  ownSchema: string | undefined;
  array: boolean;
  /** true: the query must find out whether the type can be in a key. */
  isKey: boolean;
}

export interface RelationName {
  /** Undefined: the name has no schema, so it is looked up in the search path. */
  schema: string | undefined;
  name: string;
}

export interface LookUpResult {
  /** `isCitus`: the database has Citus 12 or newer. */
  schema: { mayCreate: boolean; role: string; isCitus: boolean; hasEventTriggers: boolean } | null;
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
    /** The column has an array type with a modifier, as `varchar(5)[]`. */
    isLimitedArray: boolean;
    type: string;
    mayRefer: boolean;
  }[];
  /** The columns, by `id`, of every unique key that a foreign key can refer to. */
  keys: number[][];
  /** The same for keys that are deferrable, to which no foreign key can refer. */
  deferrable: number[][];
}

// A separate subquery looks up each entry, so PostgreSQL uses an index for any number of entries. Its planner also estimates
// such a low cost that it does not compile the query (`jit_above_cost`).

const types = (order: string) => `
  SELECT json_agg((
    SELECT json_build_object(
      'oid', CASE WHEN w.is_array THEN t.typarray ELSE t.oid END::bigint,
      'schema', (SELECT n.nspname FROM pg_namespace n WHERE n.oid = t.typnamespace), 'name', t.typname,
      'kind', CASE WHEN w.is_array AND t.typtype <> 'p' THEN 'b' ELSE t.typtype END,
      'baseOid', CASE WHEN w.is_array THEN t.typarray ELSE t.oid END::bigint,
      'category', CASE WHEN w.is_array THEN 'A' ELSE t.typcategory END,
      'display', (${shownType('t.oid', 'NULL')}) || CASE WHEN w.is_array THEN '[]' ELSE '' END,
      'lacksQuotes', w.is_bare AND ${isRowType('t')},
      'isOrdered', ${order},
      'mayUse', has_type_privilege(t.oid, 'USAGE') AND has_schema_privilege(t.typnamespace, 'USAGE')
        AND (t.typrelid = 0 OR EXISTS (SELECT FROM pg_class c
          WHERE c.oid = t.typrelid AND (c.relkind = 'c' OR ${maySee('c')}))),
      'isOfExtension', t.typnamespace <> 'pg_catalog'::regnamespace AND EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'))
    FROM pg_type t WHERE t.oid = w.oid AND t.typisdefined AND (t.typarray <> 0 OR NOT w.is_array)) ORDER BY w.position)
  FROM (SELECT position, (item->>'array')::boolean AS is_array, (item->>'isKey')::boolean AS is_key,
          item->>'schema' IS NULL AND item->>'spelling' IS NULL AND NOT (item->>'isQuoted')::boolean AS is_bare,
          CASE WHEN item->>'spelling' IS NOT NULL THEN to_regtype(item->>'spelling')::oid
            WHEN item->>'schema' IS NOT NULL THEN (SELECT y.oid FROM pg_type y
              WHERE y.typname = item->>'name' AND y.typnamespace = ${namespaceOid("item->>'schema'")})
            WHEN item->>'ownSchema' IS NOT NULL THEN (SELECT y.oid FROM pg_type y
              WHERE y.typname = item->>'name'
                AND y.typnamespace IN ('pg_catalog'::regnamespace, ${namespaceOid("item->>'ownSchema'")})
              ORDER BY y.typnamespace <> 'pg_catalog'::regnamespace LIMIT 1)
            ELSE ${unqualifiedType("item->>'name'", "(item->>'isQuoted')::boolean")} END AS oid
        FROM request, json_array_elements(r->'types') WITH ORDINALITY AS x(item, position)) w`;

/** The unique keys of the table `c`. */
const keysOfTarget = (condition: string) => `
        SELECT coalesce(json_agg((i.indkey::smallint[])[:i.indnkeyatts - 1]), '[]')
        FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND ${condition}
          AND i.indpred IS NULL AND i.indexprs IS NULL`;

/**
 * The names of types of `pg_catalog` that are looked up like SQL's own spellings. In every search path a name without a schema means them
 * (`orderInPath`).
 */
export const commonNames = new Set(
  `bool bytea cidr date float4 float8 inet int2 int4 int8 json jsonb macaddr money name oid point text timestamptz timetz tsvector uuid xml
  daterange int4range int8range numrange tsrange tstzrange`.split(/\s+/),
);

function isCommon({ spelling, schema, name, isQuoted }: TypeRequest): boolean {
  return spelling !== undefined || (schema === undefined && !isQuoted && commonNames.has(name!));
}

/** The part `types` if all of them are common, in half of the time. */
const commonTypes = (order: string) => `
  SELECT json_agg((
    SELECT json_build_object(
      'oid', CASE WHEN w.is_array THEN t.typarray ELSE t.oid END::bigint, 'schema', 'pg_catalog', 'name', t.typname,
      'kind', CASE WHEN w.is_array THEN 'b' ELSE t.typtype END,
      'baseOid', CASE WHEN w.is_array THEN t.typarray ELSE t.oid END::bigint,
      'category', CASE WHEN w.is_array THEN 'A' ELSE t.typcategory END,
      'display', format_type(t.oid, NULL) || CASE WHEN w.is_array THEN '[]' ELSE '' END, 'lacksQuotes', false, 'isOrdered', ${order},
      'mayUse', has_type_privilege(t.oid, 'USAGE') AND has_schema_privilege('pg_catalog', 'USAGE'), 'isOfExtension', false)
    FROM pg_type t WHERE t.oid = w.oid) ORDER BY w.position)
  FROM (SELECT position, (item->>'array')::boolean AS is_array, (item->>'isKey')::boolean AS is_key,
          to_regtype(coalesce(item->>'spelling', 'pg_catalog.' || (item->>'name')))::oid AS oid
        FROM request, json_array_elements(r->'types') WITH ORDINALITY AS x(item, position)) w`;

/**
 * The optional parts of the query. A part that is not needed is left out, because it would take time even if it finds nothing.
 */
const sections = {
  functions: `
  SELECT json_agg((
    SELECT json_build_object('schema', n.nspname, 'name', p.proname)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE p.proname = x.item->>'name' AND p.prokind = 'f' AND NOT p.proretset
      AND CASE WHEN x.item->>'schema' IS NULL THEN ${isInPath('n.oid')} ELSE n.nspname = x.item->>'schema' END
    ORDER BY ${orderInPath('n.oid')} LIMIT 1) ORDER BY x.position)
  FROM request, json_array_elements(r->'functions') WITH ORDINALITY AS x(item, position)`,

  sequences: `
  SELECT json_agg((
    SELECT json_build_object('oid', c.oid::bigint, 'schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
      'mayUse', c.relkind = 'S' AND has_sequence_privilege(c.oid, 'USAGE, UPDATE') AND has_schema_privilege(n.oid, 'USAGE'))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = x.item->>'name'
      AND CASE WHEN x.item->>'schema' IS NULL THEN ${isInPath('n.oid')} ELSE n.nspname = x.item->>'schema' END
    ORDER BY ${orderInPath('n.oid')} LIMIT 1) ORDER BY x.position)
  FROM request, json_array_elements(r->'sequences') WITH ORDINALITY AS x(item, position)`,

  targets: `
  SELECT json_agg((
    SELECT json_build_object(
      'kind', c.relkind, 'persistence', c.relpersistence,
      'columns', (
        SELECT coalesce(json_agg(json_build_object(
          'id', a.attnum, 'name', a.attname, 'baseOid', a.atttypid::bigint,
          'isDomain', (SELECT t.typtype = 'd' FROM pg_type t WHERE t.oid = a.atttypid),
          'isLimitedArray', a.atttypmod >= 0 AND EXISTS (SELECT FROM pg_type t WHERE t.typarray = a.atttypid),
          'type', ${shownType('a.atttypid', 'a.atttypmod')},
          'mayRefer', has_column_privilege(c.oid, a.attnum, 'REFERENCES')
            AND has_schema_privilege(c.relnamespace, 'USAGE'))), '[]')
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
      'keys', (${keysOfTarget('i.indimmediate')}), 'deferrable', (${keysOfTarget('NOT i.indimmediate')}))
    FROM pg_class c WHERE c.relname = x.item->>'table' AND c.relnamespace = ${namespaceOid("x.item->>'schema'")}
      AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${maySee('c')}) ORDER BY x.position)
  FROM request, json_array_elements(r->'targets') WITH ORDINALITY AS x(item, position)`,

  relations: `
  SELECT json_agg((
    SELECT json_build_object('name', c.relname, 'oid', c.oid::bigint, 'kind', c.relkind, 'owner', c.owner::bigint,
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
  const order = needsOrder ? `CASE WHEN w.is_key THEN ${isOrdered('t')} ELSE true END` : 'true';
  const areCommon = request.types.every(isCommon);
  const parts = asked.map((section) => `,\n  '${section}', (${sections[section]})`);
  return {
    preparedName: [
      'look-up',
      ...(areCommon ? [] : ['all types']),
      ...asked,
      ...(needsOrder ? ['order'] : []),
    ].join(' '),
    text: `
WITH request AS (SELECT $1::json AS r),
here AS (SELECT n.oid FROM request, pg_namespace n WHERE n.nspname = r->>'schema')
${readInCallersPath(`json_build_object(
  'schema', (SELECT json_build_object('mayCreate', has_schema_privilege(oid, 'CREATE'), 'role', current_user,
    'isCitus', ${isCitus}, 'hasEventTriggers', EXISTS (SELECT FROM pg_event_trigger)) FROM here),
  'existing', coalesce(
    (SELECT json_build_object('oid', c.oid::bigint, 'kind', c.relkind)
     FROM request, here, pg_class c WHERE c.relnamespace = here.oid AND c.relname = r->>'table'),
    (SELECT json_build_object('oid', t.oid::bigint, 'kind', 'type')
     FROM request, here, pg_type t
     WHERE t.typnamespace = here.oid AND t.typname = r->>'table' AND t.typcategory <> 'A')),
  'types', (${areCommon ? commonTypes(order) : types(order)})${parts.join('')}
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
