/** Creates a table from a definition, or tells where the one that stands differs from it. */
import type { ClientBase } from 'pg';
import { DatabaseError } from 'pg';
import { AppError } from '../errors.ts';
import { findRelation } from './catalog.ts';
import { compareDefinition } from './compare-definition.ts';
import * as ddl from './ddl.ts';
import type { TableDescription } from './definition.ts';
import { describeTable, isTable } from './describe-table.ts';
import type { PrepareOptions } from './prepare-table.ts';
import { prepareTable } from './prepare-table.ts';
import type { PreparedTable, StandingObject } from './prepared-table.ts';

export interface CreateOptions extends PrepareOptions {
  /** Leave a table that stands as it is, and tell where it differs. */
  ifNotExists: boolean;
}

export interface CreateResult {
  table: TableDescription;
  /** Where the table that stood is not what the definition says; undefined where the table was created. */
  differences: string[] | undefined;
}

/**
 * Checks the definition and creates the table. Must run inside a transaction (READ COMMITTED): four round trips.
 *
 * @throws AppError `table-exists`, and whatever `prepareTable` throws
 */
export async function createTable(client: ClientBase, options: CreateOptions): Promise<CreateResult> {
  const { schema, name, ifNotExists, extraFunctions } = options;
  const prepared = await prepareTable(client, options);
  const standing = prepared.standing ?? (await tryCreate(client, prepared));
  if (standing === undefined) {
    return { table: await describeTable(client, schema, name, extraFunctions), differences: undefined };
  }
  if (!ifNotExists || !isTable(standing.kind)) throw tableExists(schema, name, standing);
  const table = await describeTable(client, schema, name, extraFunctions);
  const differences = await compareDefinition(client, prepared, table, 'same', extraFunctions);
  return { table, differences: differences.map((difference) => difference.detail) };
}

export function tableExists(schema: string, name: string, standing: StandingObject): AppError {
  const kind = kinds[standing.kind] ?? 'An object';
  return new AppError('table-exists', `${kind} "${name}" stands in the schema "${schema}" already.`);
}

/** `pg_class.relkind` */
const kinds: Record<string, string> = {
  r: 'A table',
  p: 'A table',
  v: 'A view',
  m: 'A materialized view',
  f: 'A foreign table',
  S: 'A sequence',
  i: 'An index',
  I: 'An index',
  c: 'A type',
  type: 'A type',
};

/**
 * Creates the table unless somebody else (who does not take our lock on its name) was faster; then what stands there.
 */
async function tryCreate(client: ClientBase, table: PreparedTable): Promise<StandingObject | undefined> {
  const statement = ddl.createWholeTable(table, table.name);
  try {
    await client.query(`SAVEPOINT tablewright; ${statement.text}; RELEASE SAVEPOINT tablewright`);
    return undefined;
  } catch (error) {
    if (!(error instanceof DatabaseError) || !isNameClash(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT tablewright; RELEASE SAVEPOINT tablewright');
    const standing = await client.query<StandingObject>(findRelation(table.schema, table.name));
    if (standing.rows[0] !== undefined) return standing.rows[0];
    throw new AppError(
      'invalid-definition',
      'The name of a constraint is taken in the schema; leave it empty to have one chosen.',
      { cause: error },
    );
  }
}

/** `duplicate_table`, `duplicate_object`, or a race for the row of PostgreSQL's own catalogue. */
function isNameClash(error: DatabaseError): boolean {
  if (error.code === '42P07' || error.code === '42710') return true;
  return error.code === '23505' && (error.table === 'pg_class' || error.table === 'pg_type');
}
