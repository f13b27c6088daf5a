/** Locks the tables of a plan, and empties those whose rows are replaced (`if_exists=truncate`). */
import type { ClientBase } from 'pg';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { admitBelow } from '../../tables/catalog/partitions.ts';
import { findRelation, lockTableName } from '../../tables/catalog/relations.ts';
import { isTable } from '../../tables/describe-table.ts';
import { truncateTables } from '../../tables/loading/load-statements.ts';
import type { LockOptions } from '../../tables/lock-tries.ts';
import type { ExistingObject } from '../../tables/prepared-table.ts';
import { refuseReferences } from '../../tables/replace/refuse-dependents.ts';
import { addsRows, changesMissingRows, type LoadContext, type LoadRequest } from '../request/load-request.ts';
import { lockAtOnce, lockInTries, readKind } from '../target/existing-table.ts';
import type { Part } from './part.ts';
import { namingTable } from './problems-of-tables.ts';

/**
 * Locks the names of all tables and the existing tables. The order of the names prevents deadlocks between two plans with the same tables. Then it sets
 * `isExisting` again, because other sessions may have created or dropped tables before the locks.
 *
 * @param parts in the order of their names
 */
export async function lockTables(
  client: ClientBase,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<void> {
  for (const { schema, name } of parts) await client.query(lockTableName(schema, name));
  for (const part of parts) {
    const { schema, name, request, context } = part;
    const { rows } = await client.query<ExistingObject>(findRelation(schema, name));
    part.isExisting = addsRows(request) && isTable(rows[0]?.kind ?? '');
    if (!part.isExisting || isExclusive(request)) continue;
    const againstWriters = changesMissingRows(request) ? lockOptions(context, signal) : undefined;
    const mode = { truncate: false, widening: undefined, againstWriters };
    await namingTable(part, signal, () => lockAtOnce(client, quoteQualified(schema, name), mode, false));
  }
  await lockExclusively(
    client,
    parts.filter(({ isExisting, request }) => isExisting && isExclusive(request)),
    signal,
  );
}

function isExclusive({ ifExists, extraColumns, provenance }: LoadRequest): boolean {
  return ifExists === 'truncate' || extraColumns === 'add' || provenance !== undefined;
}

/**
 * Locks existing tables against readers, too: all of them at once, so that no reader of one table waits while another one stays locked.
 *
 * @throws the errors of `lockInTries`
 */
export async function lockExclusively(
  client: ClientBase,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<void> {
  const relations = parts.map(({ schema, name }) => quoteQualified(schema, name));
  if (parts[0])
    await lockInTries(client, relations, 'ACCESS EXCLUSIVE', lockOptions(parts[0].context, signal));
}

function lockOptions({ transaction }: LoadContext, signal: AbortSignal): LockOptions {
  return { lockTimeoutMs: transaction.lockTimeoutMs ?? 0, signal };
}

/**
 * Empties the tables with one statement, because PostgreSQL empties a table to which another one refers only together with that one.
 *
 * @throws AppError `dependent-objects`
 */
export async function emptyTables(
  client: ClientBase,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<void> {
  const emptied = parts.filter(({ isExisting, request }) => isExisting && request.ifExists === 'truncate');
  const relations = emptied.map(({ schema, name }) => quoteQualified(schema, name));
  const tables: { relation: string; kind: string | undefined }[] = [];
  for (const [index, part] of emptied.entries()) {
    const { schema, name, request } = part;
    const relation = relations[index]!;
    await namingTable(part, signal, async () => {
      await refuseReferences(client, schema, name, relations);
      await admitBelow(client, relation, request.admitSchema, 'partitions');
    });
    tables.push({ relation, kind: await readKind(client, relation) });
  }
  if (tables.length > 0) await queryInCallersPath(client, truncateTables(tables));
}
