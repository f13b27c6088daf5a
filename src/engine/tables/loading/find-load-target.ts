/** Finds out before the rows are read whether the table exists, and whether the role may load into it. */
import { AppError } from '../../../core/errors.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { isTable } from '../describe-table.ts';

export interface NeededRights {
  /** Privileges such as `INSERT` and `TRUNCATE` on the table, or on some of its columns. */
  privileges: string[];
  /** The parameter of the request that only the owner of the table may use; undefined: the request has none. */
  ownership: string | undefined;
  /** The parameter of the request that needs temporary tables; undefined: the request has none. */
  temporary: string | undefined;
}

/** The facts of the catalogue about the schema, about the object with the name, and about the role. */
export interface TargetRights {
  /** `pg_class.relkind`; null: there is no such object. */
  kind: string | null;
  role: string;
  database: string;
  usesSchema: boolean;
  createsInSchema: boolean;
  owns: boolean;
  makesTemporary: boolean;
  /** The needed privileges that the role does not have. */
  lacking: string[];
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
  has_schema_privilege(n.oid, 'USAGE') AS "usesSchema", has_schema_privilege(n.oid, 'CREATE') AS "createsInSchema",
  pg_has_role(c.relowner, 'USAGE') AS owns,
  has_database_privilege(current_database(), 'TEMPORARY') AS "makesTemporary",
  ARRAY(SELECT p FROM unnest($3::text[]) p
    WHERE NOT has_table_privilege(c.oid, p)
      AND NOT CASE WHEN p NOT IN ('DELETE', 'TRUNCATE') THEN has_any_column_privilege(c.oid, p) ELSE false END) AS lacking
FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2 AND c.relkind <> 'S'
WHERE n.nspname = $1`,
    values: [schema, name, privileges],
  };
}

export type FoundTable = TargetRights & { kind: string };

/** Returns whether there is a table with the name. @param found a row of `findTarget` */
export function isFoundTable(found: TargetRights | undefined): found is FoundTable {
  return found !== undefined && found.kind !== null && isTable(found.kind);
}

/**
 * Returns the table that has the name; undefined: there is none.
 *
 * @param rows the result of `findTarget`
 * @param requireCreation throws if the caller may not create the table
 * @throws AppError `schema-not-found`; `permission-denied` if the role lacks a privilege on the table or may not create it
 */
export function findLoadTarget(
  [found]: readonly TargetRights[],
  schema: string,
  name: string,
  needed: NeededRights,
  requireCreation: () => void,
): FoundTable | undefined {
  if (!isFoundTable(found)) {
    requireCreation();
    if (found === undefined) throw schemaNotFound(schema);
    if (found.kind === null && !found.createsInSchema) throw lacksCreate(found.role, schema);
    return undefined;
  }
  const lack = lackOf(found, schema, name, needed);
  if (lack !== undefined) throw new AppError('permission-denied', `The role "${found.role}" ${lack}.`);
  return found;
}

export function schemaNotFound(schema: string): AppError {
  return new AppError('schema-not-found', `There is no schema "${schema}".`);
}

/** Returns the error for a role that may not create a table. */
export function lacksCreate(role: string, schema: string): AppError {
  const detail = `The role "${role}" lacks CREATE on the schema "${schema}". ${askForSchema(role, schema)}.`;
  return new AppError('permission-denied', detail);
}

/** Returns the sentence that says which privileges to ask the administrator for. */
function askForSchema(role: string, schema: string, privileges = 'privileges USAGE and CREATE'): string {
  return `Ask the administrator of the database for the ${privileges} on the schema "${schema}" for the role "${role}"`;
}

function lackOf(found: TargetRights, schema: string, name: string, needed: NeededRights): string | undefined {
  const table = `the table "${schema}"."${name}"`;
  if (!found.usesSchema)
    return `lacks USAGE on the schema "${schema}". ${askForSchema(found.role, schema, 'privilege USAGE')}`;
  if (needed.ownership !== undefined && !found.owns)
    return `does not own ${table}, as ${needed.ownership} needs it`;
  if (needed.ownership === 'if_exists=replace' && !found.createsInSchema)
    return `lacks CREATE on the schema "${schema}", which if_exists=replace needs. ${askForSchema(found.role, schema)}`;
  if (found.lacking.length > 0) return `lacks ${found.lacking.join(' and ')} on ${table}`;
  if (needed.temporary !== undefined && !found.makesTemporary)
    return `lacks TEMPORARY on the database "${found.database}", which ${needed.temporary} needs`;
  return undefined;
}
