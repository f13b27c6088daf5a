/** Lists the types that a column may have, in pages, ordered by the bytes of schema and name. */
import type { ClientBase } from 'pg';
import { readRowsInCallersPath } from '../../../postgres/search-path.ts';
import { shownType } from '../catalog/names-in-path.ts';
import { typesOfAliases } from '../column-types.ts';
import type { ListPlace } from '../list-tables.ts';
import { checkOf, sizeOfChecks } from './describe-types.ts';

export const typeKinds = ['base', 'enum', 'domain', 'range', 'composite', 'alias'] as const;

export interface ListedType {
  /** `pg_type.typname`, or the alias. */
  name: string;
  schema: string;
  /** The name as a definition has it, with the schema and quotes if they are needed. */
  type: string;
  kind: (typeof typeKinds)[number];
  /** The labels of an enum in their order; null: another kind, or more labels than are listed. */
  labels: string[] | null;
  /** The type on which a domain is based, the type that an alias means, the type of the bounds of a range, or the range type of a multirange; null: another kind. */
  base: string | null;
  /** The checks of a domain as one expression; null: none, or its text may be too long. */
  check: string | null;
  extension: string | null;
}

/** The types that are listed. */
export interface TypeScope {
  /** Schemas that the role may use. */
  schemas: string[];
  /** Also the types of PostgreSQL and of extensions, which the role may use in every schema, and the aliases. */
  hasCommon: boolean;
  /** Also types whose values name objects of every schema, such as regclass. */
  hasNames: boolean;
}

const typesPerPage = 1000;
/** An enum with more labels is listed without them. */
export const maxListedLabels = 10_000;
/** The maximum number of bytes of the labels and checks of a page, unless its first type alone has more. */
const maxPageBytes = 8 * 1024 * 1024;

export interface TypePage {
  types: ListedType[];
  /** The place of the last type, if others follow it. */
  next: ListPlace | undefined;
}

/** Returns one page of the types that the role may use. @param after the last type of the page before; undefined: returns the first page */
export async function listTypes(
  client: ClientBase,
  { schemas, hasCommon, hasNames }: TypeScope,
  after: ListPlace | undefined,
): Promise<TypePage> {
  const aliases = hasCommon ? JSON.stringify(typesOfAliases) : '{}';
  const values = [schemas, hasCommon, hasNames, aliases, after?.schema ?? '', after?.name ?? ''];
  const { rows } = await client.query<{ found: (ListedType & { following: number })[] }>(nextTypes, values);
  const { found } = rows[0]!;
  const last = found.at(-1);
  const next = last?.following ? { schema: last.schema, name: last.name } : undefined;
  return { types: found.map(({ following: _, ...type }) => type), next };
}

const extensionOf = (
  type: string,
) => `(SELECT x.extname FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
    WHERE d.classid = 'pg_type'::regclass AND d.objid = ${type} AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e')`;

const nextTypes = readRowsInCallersPath(`
WITH page AS MATERIALIZED (
  SELECT * FROM (
    SELECT n.nspname AS schema, t.typname AS name, t.oid, t.typtype::text AS kind, t.typbasetype, t.typtypmod
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
    WHERE (n.nspname = ANY ($1::name[]) OR $2 AND (t.typnamespace = 'pg_catalog'::regnamespace OR ${extensionOf('t.oid')} IS NOT NULL))
      AND t.typisdefined AND t.typtype <> 'p' AND t.typcategory <> 'A' AND (t.typrelid = 0 OR c.relkind = 'c')
      AND ($3 OR t.typnamespace <> 'pg_catalog'::regnamespace OR t.typname NOT LIKE 'reg%')
      AND has_type_privilege(t.oid, 'USAGE') AND has_schema_privilege(n.oid, 'USAGE')
    UNION ALL
    SELECT 'pg_catalog', a.key, NULL, 'alias', to_regtype(a.value), NULL FROM json_each_text($4::json) a) AS x
  WHERE (x.schema, x.name) > ($5::name, $6::name) ORDER BY x.schema, x.name LIMIT ${typesPerPage + 1}),
measured AS MATERIALIZED (
  SELECT p.*, e.labels, k.is_short, count(*) OVER so_far AS place,
    sum(coalesce(e.bytes, 0) + CASE WHEN k.is_short THEN k.bytes + k.digits ELSE 0 END) OVER so_far AS bytes
  FROM page p, LATERAL (
    SELECT count(*) AS labels, CASE WHEN count(*) <= ${maxListedLabels} THEN sum(octet_length(l.enumlabel::text)) END AS bytes
    FROM pg_enum l WHERE l.enumtypid = p.oid) e, LATERAL (${sizeOfChecks('p.oid')}) k
  WINDOW so_far AS (ORDER BY p.schema, p.name))
SELECT m.schema, m.name, CASE m.kind WHEN 'alias' THEN m.name ELSE ${shownType('m.oid', 'NULL')} END AS type,
  CASE m.kind WHEN 'e' THEN 'enum' WHEN 'd' THEN 'domain' WHEN 'c' THEN 'composite' WHEN 'b' THEN 'base'
    WHEN 'alias' THEN 'alias' ELSE 'range' END AS kind,
  CASE WHEN m.kind = 'e' AND m.labels <= ${maxListedLabels} THEN (
    SELECT coalesce(json_agg(l.enumlabel ORDER BY l.enumsortorder), '[]') FROM pg_enum l WHERE l.enumtypid = m.oid) END AS labels,
  CASE m.kind WHEN 'r' THEN (SELECT ${shownType('r.rngsubtype', 'NULL')} FROM pg_range r WHERE r.rngtypid = m.oid)
    WHEN 'm' THEN (SELECT ${shownType('r.rngtypid', 'NULL')} FROM pg_range r WHERE r.rngmultitypid = m.oid)
    ELSE (SELECT ${shownType('m.typbasetype', 'm.typtypmod')} WHERE m.kind IN ('d', 'alias')) END AS base,
  CASE WHEN m.is_short THEN (${checkOf('m.oid')}) END AS check,
  ${extensionOf('m.oid')} AS extension, (SELECT count(*) FROM page) - m.place AS following
FROM measured m WHERE m.place <= ${typesPerPage} AND (m.bytes <= ${maxPageBytes} OR m.place = 1) ORDER BY m.schema, m.name`);
