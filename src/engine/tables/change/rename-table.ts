/** Gives a table another name, another schema or another comment. */

import type { ClientBase, DatabaseError, Pool } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { isMissingSchema, isNameClash } from '../../../postgres/named-objects.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { refuseUnless } from '../../../postgres/refuse-unless.ts';
import { rollBackTo } from '../../../postgres/savepoints.ts';
import { apartInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { inTransaction, type TransactionOptions } from '../../../postgres/transaction.ts';
import { describeRelation, type TableFacts } from '../catalog/describe-relation.ts';
import { findRelation } from '../catalog/relations.ts';
import { tableExists } from '../create-table.ts';
import { commentOn } from '../ddl.ts';
import type { TableDescription } from '../definition.ts';
import { describeTable } from '../describe-table.ts';
import { type LockOptions, LockTries } from '../lock-tries.ts';
import type { ExistingObject } from '../prepared-table.ts';
import { refuseMember } from '../replace/refuse-dependents.ts';
import { changedMeanwhile, lockAndMatch, type RequireMatch, requireTable } from './found-table.ts';
import type { TableChange } from './parse-change.ts';

export interface RenameOptions extends LockOptions {
  schema: string;
  name: string;
  change: TableChange;
  extraFunctions: readonly string[];
  requireMatch: RequireMatch | undefined;
  /** Called with the new description before the transaction ends. */
  onResult: (table: TableDescription) => void;
}

/**
 * Changes the table in a transaction of its own, and describes it. Other sessions wait for it only for a moment.
 *
 * @throws AppError `table-not-found`, `schema-not-found`, `table-exists` if the new name is used, `dependent-objects`, `permission-denied`, `database-busy` if
 *   the table stayed locked, `write-conflict` if another session has replaced or renamed it at this moment
 */
export async function renameTable(
  pool: Pool,
  transaction: TransactionOptions,
  { schema, name, change, extraFunctions, requireMatch, onResult, ...lock }: RenameOptions,
): Promise<TableDescription> {
  const target = { schema: change.schema ?? schema, name: change.name ?? name };
  const relation = quoteQualified(schema, name);
  return inTransaction(
    pool,
    transaction,
    async (client, { begun }) => {
      const facts: TableFacts | undefined = begun!.rows[0].found ?? undefined;
      if (requireMatch !== undefined && facts === undefined) requireMatch(undefined);
      const { oid } = await requireTable(client, schema, name, facts);
      if (target.schema !== schema || target.name !== name) await refuseMember(client, schema, name);
      const statements = apartInCallersPath(
        ...changes({ schema, name }, target, change),
        proveName(oid, target),
      );
      try {
        if (requireMatch !== undefined)
          await lockAndMatch(client, { schema, name, extraFunctions }, requireMatch, lock);
        await new LockTries(client, [relation], lock).run((first) =>
          pipeline(client, [...first, ...statements]),
        );
      } catch (error) {
        throw await refusalOf(client, target, error);
      }
      const table = await describeTable(client, target.schema, target.name, extraFunctions);
      onResult(table);
      return table;
    },
    describeRelation(schema, name),
  );
}

interface QualifiedName {
  schema: string;
  name: string;
}

/** Returns the statements. Between two schemas the table has a random name, because either of the schemas may have a table of the other name. */
function changes(from: QualifiedName, to: QualifiedName, { comment }: TableChange): CallersStatement[] {
  const statements: CallersStatement[] = [];
  let { schema, name } = from;
  const rename = (next: string) => {
    if (next === name) return;
    statements.push(
      qualified`ALTER TABLE ${quoteQualified(schema, name)} RENAME TO ${quoteIdentifier(next)}`,
    );
    name = next;
  };
  if (to.schema !== schema) {
    if (to.name !== name) rename(randomName('table'));
    statements.push(
      qualified`ALTER TABLE ${quoteQualified(schema, name)} SET SCHEMA ${quoteIdentifier(to.schema)}`,
    );
    schema = to.schema;
  }
  rename(to.name);
  if (comment !== undefined) statements.push(commentOn(`TABLE ${quoteQualified(schema, name)}`, comment));
  return statements;
}

/** Returns a query that fails unless the table that was found has the name: another session may have renamed tables or schemas since. */
function proveName(oid: number, { schema, name }: QualifiedName): CallersStatement {
  const equals = 'OPERATOR(pg_catalog.=)';
  return refuseUnless(
    `EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid ${equals} c.relnamespace
      WHERE c.oid ${equals} ${oid}::pg_catalog.oid AND c.relname ${equals} ${quoteLiteral(name)}::pg_catalog.name
        AND n.nspname ${equals} ${quoteLiteral(schema)}::pg_catalog.name)`,
    'the table has changed',
  );
}

/** Returns the error for the caller if the statements failed. */
async function refusalOf(
  client: ClientBase,
  { schema, name }: QualifiedName,
  error: unknown,
): Promise<unknown> {
  if (isMissingSchema(error)) return new AppError('schema-not-found', `There is no schema "${schema}".`);
  if (!isNameClash(error)) return changedMeanwhile(error) ?? error;
  await rollBackTo(client, 'lock', error);
  const { rows } = await client.query<ExistingObject>(findRelation(schema, name));
  if (rows[0] !== undefined) return tableExists(schema, name, rows[0]);
  const detail = `The schema "${schema}" already has an object with the name of an index, a key or a sequence of the table: ${(error as DatabaseError).message}.`;
  return new AppError('table-exists', detail, { cause: error });
}
