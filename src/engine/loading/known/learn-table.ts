/** Reads all that small uploads need to know of a table, in a transaction that changes nothing. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { isDatabaseError } from '../../../postgres/sqlstate.ts';
import { inTransaction, notedBytes, type TransactionEdges } from '../../../postgres/transaction.ts';
import { describeTable } from '../../tables/describe-table.ts';
import { readFingerprint, type TableFingerprint } from '../../tables/loading/table-proof.ts';
import { isStagedAsText, targetColumns } from '../copying/target-columns.ts';
import type { LoadContext, LoadRequest } from '../request/load-request.ts';
import { openExistingTable } from '../target/existing-table.ts';
import type { KnownTable } from './known-tables.ts';

/** `unsuitable`: no fingerprint covers all facts about the table. undefined: the table could not be read, or has changed meanwhile. */
export type Learnt = KnownTable | 'unsuitable' | undefined;

/**
 * Reads the facts about a table. Errors other than a conflict are not reported here: the upload is then loaded by `loadTable`, which reports them.
 *
 * @param isSheet the rows are those of a sheet
 * @throws AppError `write-conflict`
 */
export async function learnTable(
  { pool, transaction, extraFunctions, onUnlearnt }: LoadContext,
  { schema, name, admitSchema }: LoadRequest,
  isSheet: boolean,
): Promise<Learnt> {
  const first = readFingerprint(quoteQualified(schema, name));
  const read = async (client: ClientBase, { begun }: TransactionEdges): Promise<Learnt> => {
    const [found] = begun!.rows as TableFingerprint[];
    if (found === undefined) return undefined;
    const { fingerprint, runsNoCode, isOwned, oid, schemaVersion } = found;
    if (fingerprint === null) return 'unsuitable';
    const noted = notedBytes(client);
    const options = { schema, name, admitSchema, truncate: false, addColumns: undefined, origins: [] };
    const target = await openExistingTable(client, options);
    if (target.columns.some(isStagedAsText) || target.takesNoCopy || target.changesRows || target.hasRules)
      return 'unsuitable';
    const targets = await targetColumns(client, target.columns, isSheet, () => true);
    const description = await describeTable(client, schema, name, extraFunctions);
    // The fingerprint is read again after the facts. If it is the same, the facts are consistent.
    const { rows } = await client.query<TableFingerprint>(first);
    if (rows[0]?.fingerprint !== fingerprint || rows[0].schemaVersion !== schemaVersion) return undefined;
    const keptBytes = notedBytes(client) - noted;
    const proof = { oid, fingerprint, runsNoCode, isOwned, schemaVersion };
    return { ...proof, keptBytes, isStale: false, target, targets, description };
  };
  try {
    return await inTransaction(pool, { ...transaction, rollback: true }, read, first);
  } catch (error) {
    const isConflict = error instanceof AppError && error.code === 'write-conflict';
    if (isConflict || !(isDatabaseError(error) || error instanceof AppError)) throw error;
    onUnlearnt?.(error);
    return undefined;
  }
}
