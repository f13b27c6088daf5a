/** Locks the tables of a plan, and empties those whose rows are replaced (`if_exists=truncate`). */
import type { ClientBase } from 'pg';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { admitBelow } from '../../tables/catalog/partitions.ts';
import { findRelation, lockTableName } from '../../tables/catalog/relations.ts';
import { isTable } from '../../tables/describe-table.ts';
import { truncateTables } from '../../tables/loading/load-statements.ts';
import type { ExistingObject } from '../../tables/prepared-table.ts';
import { refuseReferences } from '../../tables/replace/refuse-dependents.ts';
import { addsRows, changesMissingRows } from '../request/load-request.ts';
import { lockAtOnce, readKind } from '../target/existing-table.ts';
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
    if (!part.isExisting) continue;
    const lock = { lockTimeoutMs: context.transaction.lockTimeoutMs ?? 0, signal };
    const mode = {
      truncate: false,
      widening: undefined,
      againstWriters: changesMissingRows(request) ? lock : undefined,
    };
    const isExclusive =
      request.ifExists === 'truncate' || request.extraColumns === 'add' || request.provenance !== undefined;
    await namingTable(part, signal, () =>
      lockAtOnce(client, quoteQualified(schema, name), mode, isExclusive),
    );
  }
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
