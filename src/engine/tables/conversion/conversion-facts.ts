/** Reads what the catalogue says about the types of a change. */
import type { ClientBase } from 'pg';
import { type ColumnType, firstOwnOid, type LoadColumn } from '../../../encoding/columns/load-column.ts';
import { runAndUndo } from '../../../postgres/savepoints.ts';
import { quoteIdentifier, randomName, type Statement } from '../../../postgres/sql.ts';
import { asLackOfTemporary } from '../../../postgres/temporary-privilege.ts';
import { readLoadColumns } from '../loading/read-load-columns.ts';
import type { TypeChange } from './conversion.ts';

export interface CastFacts {
  /** The casts between two of the types, by `castKey`, whose function belongs neither to PostgreSQL nor to an extension. */
  foreign: Set<string>;
  /** The casts that leave the stored bytes as they are. */
  binary: Set<string>;
  /** The domains that have a check, also one of the domain that they are based on, by `pg_type.oid`. */
  checkedDomains: Set<number>;
}

/** Returns the key of a cast in `CastFacts`. */
export function castKey(from: number, to: number): string {
  return `${from}>${to}`;
}

/**
 * Returns columns of the types as PostgreSQL reads them, in their order. It makes a temporary table and drops it again.
 *
 * @param types each with the name of the column and its type in SQL, as `PreparedColumn.typeSql`
 * @throws AppError `permission-denied` if the role may not create temporary tables
 */
export async function readTargetColumns(
  client: ClientBase,
  types: { name: string; typeSql: string }[],
): Promise<LoadColumn[]> {
  const table = randomName('types');
  const columns = types.map(({ name, typeSql }) => `${quoteIdentifier(name)} ${typeSql}`);
  try {
    return await runAndUndo(client, 'types', async () => {
      await client.query(
        `CREATE TEMPORARY TABLE ${quoteIdentifier(table)} (${columns.join(', ')}) ON COMMIT DROP`,
      );
      return readTemporaryColumns(client, table);
    });
  } catch (error) {
    throw await asLackOfTemporary(client, error);
  }
}

/** Returns the columns of a temporary table of this session. */
export async function readTemporaryColumns(client: ClientBase, table: string): Promise<LoadColumn[]> {
  const { rows } = await client.query<{ schema: string }>(
    'SELECT nspname AS schema FROM pg_namespace WHERE oid = pg_my_temp_schema()',
  );
  return readLoadColumns(client, rows[0]!.schema, table);
}

const TEXT = 25;

/** Returns the types between which a conversion casts: the types, the bases of domains, the types of elements, and `text`. */
export function typesOf(types: ColumnType[]): number[] {
  const parts = types.flatMap((type) => [type.base ?? [], type.element ?? []].flat());
  const below = parts.length === 0 ? [TEXT] : typesOf(parts);
  return [...new Set([...types.map(({ oid }) => oid), ...below])];
}

/** Returns a query of the types of all changes that are not PostgreSQL's own, with the types that they consist of; undefined: there are none. */
export function ownTypesOf(changes: TypeChange[]): Statement | undefined {
  const own = typesOf(changes.flatMap(({ from, to }) => [from.type, to.type])).filter(
    (oid) => oid >= firstOwnOid,
  );
  if (own.length === 0) return undefined;
  const text = `
WITH RECURSIVE parts AS (
  SELECT unnest($1::oid[]) AS oid UNION
  SELECT v.part FROM parts p JOIN pg_type t ON t.oid = p.oid CROSS JOIN LATERAL (VALUES (t.typbasetype), (t.typelem)) v(part) WHERE v.part <> 0)
SELECT $1::oid[]::text AS asked, t.oid::bigint::float8 AS oid, n.nspname AS schema, t.typname AS name, t.typtype AS kind, t.typbasetype::bigint::float8 AS base,
  t.typtypmod AS modifier, t.typelem::bigint::float8 AS element
FROM parts JOIN pg_type t ON t.oid = parts.oid JOIN pg_namespace n ON n.oid = t.typnamespace ORDER BY t.oid`;
  return { text, values: [own] };
}

/** Reads the casts between the types of all changes, in one round trip. */
export async function readCastFacts(client: ClientBase, changes: TypeChange[]): Promise<CastFacts> {
  const types = typesOf(changes.flatMap(({ from, to }) => [from.type, to.type]));
  const { rows } = await client.query<FoundCasts>(castsBetween(types));
  const { foreign, binary, checked } = rows[0]!;
  return { foreign: new Set(foreign), binary: new Set(binary), checkedDomains: new Set(checked) };
}

interface FoundCasts {
  foreign: string[];
  binary: string[];
  checked: number[];
}

/** A superuser can make any function part of `pg_catalog` or of an extension, and no other role can. */
const isForeign = `k.castfunc <> 0
  AND (SELECT p.pronamespace <> 'pg_catalog'::regnamespace FROM pg_proc p WHERE p.oid = k.castfunc)
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.deptype = 'e' AND d.classid = 'pg_proc'::regclass AND d.objid = k.castfunc)`;

function castsBetween(types: number[]): Statement {
  return {
    text: `
WITH RECURSIVE domains AS (
  SELECT t.oid AS domain, t.oid FROM pg_type t WHERE t.typtype = 'd' AND t.oid = ANY ($1::oid[])
  UNION ALL
  SELECT s.domain, t.typbasetype FROM domains s JOIN pg_type t ON t.oid = s.oid WHERE t.typtype = 'd'),
casts AS (
  SELECT k.castsource::bigint || '>' || k.casttarget::bigint AS key, k.castmethod = 'b' AS is_binary, ${isForeign} AS is_foreign
  FROM pg_cast k WHERE k.castsource = ANY ($1::oid[]) AND k.casttarget = ANY ($1::oid[]))
SELECT ARRAY(SELECT key FROM casts WHERE is_foreign) AS foreign, ARRAY(SELECT key FROM casts WHERE is_binary) AS binary,
  ARRAY(SELECT DISTINCT s.domain::bigint::float8 FROM domains s JOIN pg_constraint k ON k.contypid = s.oid WHERE k.contype = 'c') AS checked`,
    values: [types],
  };
}
