/** Drops a table, unless other objects need it. */
import type { ClientBase, Pool } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { refuseUnless } from '../../../postgres/refuse-unless.ts';
import { rollBackTo } from '../../../postgres/savepoints.ts';
import { toEndInCallersPath } from '../../../postgres/search-path.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { conditionOf } from '../../../postgres/sqlstate.ts';
import { inTransaction, type LastStatement, type TransactionOptions } from '../../../postgres/transaction.ts';
import { describeRelation, type TableFacts } from '../catalog/describe-relation.ts';
import { admitBelow } from '../catalog/partitions.ts';
import { type LockOptions, LockTries } from '../lock-tries.ts';
import { refuseDependentsOfDrop } from '../replace/refuse-dependents.ts';
import { changedMeanwhile, lockAndMatch, type RequireMatch, requireTable } from './found-table.ts';

export interface DropOptions extends LockOptions {
  schema: string;
  name: string;
  /** A table that does not exist is no error. */
  ifExists: boolean;
  requireMatch: RequireMatch | undefined;
  extraFunctions: readonly string[];
  /** Refuses a schema that the token may not use. The partitions of a table may be in other schemas. */
  admitSchema: (schema: string) => void;
  /** Returns further statements like those of `TransactionOptions`, if there is a table. */
  onDrop: () => LastStatement[];
}

/**
 * Drops a table with its partitions, in a transaction of its own. Like `replace`, it locks the table in short attempts.
 *
 * @returns whether there was a table
 * @throws AppError `table-not-found` (also for a view), `schema-not-found`, `dependent-objects` with the names of all dependents, `permission-denied`,
 *   `database-busy` if the table stayed locked, `write-conflict` if another session has replaced or renamed it at this moment
 */
export async function dropTable(
  pool: Pool,
  transaction: TransactionOptions,
  { schema, name, ifExists, requireMatch, extraFunctions, admitSchema, onDrop, ...lock }: DropOptions,
): Promise<boolean> {
  const relation = quoteQualified(schema, name);
  let isFound = false;
  const beforeCommit = () => [...(transaction.beforeCommit?.() ?? []), ...(isFound ? onDrop() : [])];
  return inTransaction(
    pool,
    { ...transaction, beforeCommit },
    async (client, { begun, endAtOnce }) => {
      const facts: TableFacts | undefined = begun!.rows[0].found ?? undefined;
      if (requireMatch !== undefined && facts === undefined) requireMatch(undefined);
      if (facts === undefined && ifExists) return false;
      // The caller takes 204 for the promise that the name is free.
      if (facts?.maySee === false && ifExists) throw mayNotSee(schema, name);
      const { oid, kind, isCitus } = await requireTable(client, schema, name, facts);
      if (kind === 'p') await admitBelow(client, relation, admitSchema, 'partitions');
      isFound = true;
      const statements = toEndInCallersPath(qualified`DROP TABLE ${relation}`, proveDropped(oid));
      try {
        if (requireMatch !== undefined)
          await lockAndMatch(client, { schema, name, extraFunctions }, requireMatch, lock);
        await new LockTries(client, [relation], lock).run((first) =>
          endAtOnce([...first, ...statements], isCitus),
        );
      } catch (error) {
        throw await refusalOf(client, schema, name, error);
      }
      return true;
    },
    describeRelation(schema, name),
  );
}

function mayNotSee(schema: string, name: string): AppError {
  const detail = `The role of the token may not use what has the name "${name}" in the schema "${schema}", so it cannot drop it.`;
  return new AppError('permission-denied', detail);
}

/**
 * Returns a query that fails if the table still exists. Another session may have given the name to another table since it was found, by renaming
 * tables or schemas.
 */
function proveDropped(oid: number) {
  const condition = `NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) ${oid}::pg_catalog.oid)`;
  return refuseUnless(condition, 'the table has changed');
}

/** Returns the error for the caller if the statements failed. */
async function refusalOf(client: ClientBase, schema: string, name: string, error: unknown): Promise<unknown> {
  if (conditionOf(error) !== 'dependent_objects_still_exist') return changedMeanwhile(error) ?? error;
  await rollBackTo(client, 'lock', error);
  await refuseDependentsOfDrop(client, schema, name);
  return error;
}
