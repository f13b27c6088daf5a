/** Whether a table stands, and whether the role may load into it: told before the rows are read. */
import type { ClientBase } from 'pg';
import { AppError } from '../errors.ts';
import { findTarget } from './catalog.ts';
import { isTable } from './describe-table.ts';

export interface NeededRights {
  /** `INSERT`, `TRUNCATE`, … on the table, or on some of its columns. */
  privileges: string[];
  /** What only the owner may do: the parameter that asks for it. */
  ownership: string | undefined;
  /** Temporary tables: the parameter that asks for them. */
  temporary: string | undefined;
}

/** What the catalogue says of a name and of the role. */
export interface TargetRights {
  /** `pg_class.relkind` */
  kind: string;
  role: string;
  database: string;
  usesSchema: boolean;
  createsInSchema: boolean;
  owns: boolean;
  makesTemporary: boolean;
  /** Of the privileges asked for. */
  lacking: string[];
}

/**
 * Whether a table has the name; whatever else has it stands in a creation's way all the same. One round trip.
 *
 * @throws AppError `permission-denied` where it stands and the role lacks a right
 */
export async function findLoadTarget(
  client: ClientBase,
  schema: string,
  name: string,
  needed: NeededRights,
): Promise<boolean> {
  const { rows } = await client.query<TargetRights>(findTarget(schema, name, needed.privileges));
  const [found] = rows;
  if (found === undefined || !isTable(found.kind)) return false;
  const lack = lackOf(found, schema, name, needed);
  if (lack !== undefined) throw new AppError('permission-denied', `The role "${found.role}" ${lack}.`);
  return true;
}

/** What to ask the administrator of the database for, in words. */
export function askForSchema(
  role: string,
  schema: string,
  privileges = 'privileges USAGE and CREATE',
): string {
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
