/** Looks up the functions and operators of extensions that expressions of a definition may mean. */
import type { ClientBase } from 'pg';

export interface ExtensionObject {
  isOperator: boolean;
  schema: string;
  name: string;
  /** The object identifiers of the types of its arguments, and of its value. */
  types: number[];
  result: number;
  /** PostgreSQL has no operator with this name for these types. */
  isAlone: boolean;
}

/** Reads all objects of extensions with these names. A function that returns a set is none, and a volatile one only makes identifiers. */
export async function findExtensionObjects(
  client: ClientBase,
  functions: Iterable<string>,
  operators: Iterable<string>,
): Promise<ExtensionObject[]> {
  const { rows } = await client.query<ExtensionObject>(
    `SELECT true AS "isOperator", n.nspname::text AS schema, o.oprname::text AS name, o.oprresult::int8::float8 AS result,
       ARRAY[o.oprleft::int8::float8, o.oprright::int8::float8] AS types,
       NOT EXISTS (SELECT FROM pg_operator own WHERE own.oprnamespace = 'pg_catalog'::regnamespace
         AND own.oprname = o.oprname AND own.oprleft = o.oprleft AND own.oprright = o.oprright) AS "isAlone"
     FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
     JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
     WHERE o.oprname = ANY ($1)
     UNION ALL
     SELECT false, n.nspname::text, p.proname::text, p.prorettype::int8::float8,
       (SELECT coalesce(array_agg(a::int8::float8), '{}') FROM unnest(p.proargtypes::oid[]) a), false
     FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
     WHERE p.proname = ANY ($2) AND p.prokind = 'f' AND NOT p.proretset
       AND (p.provolatile <> 'v' OR p.proname ~ '^uuid_generate_v')`,
    [[...operators], [...functions]],
  );
  return rows;
}
