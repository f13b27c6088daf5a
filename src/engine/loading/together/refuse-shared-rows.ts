/** Refuses a plan whose tables share rows of which one of them deletes or marks the missing ones. */
import type { ClientBase } from 'pg';
import { wrongParameter } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { readPartitionsAmong } from '../../tables/catalog/partitions.ts';
import { changesMissingRows } from '../request/load-request.ts';
import type { Part } from './part.ts';
import { namingTable } from './problems-of-tables.ts';

/**
 * Refuses `missing_rows=delete` and `mark` for a partitioned table together with one of its partitions: the rows that one of them gets are missing in the
 * other one.
 *
 * @throws AppError `invalid-parameter`
 */
export async function refuseSharedRows(
  client: ClientBase,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<void> {
  const changing = parts.filter(({ isExisting, request }) => isExisting && changesMissingRows(request));
  if (changing.length === 0) return;
  const relations = parts.map(({ schema, name }) => quoteQualified(schema, name));
  for (const { partition, parent } of await readPartitionsAmong(client, relations)) {
    const pair = [parts[partition]!, parts[parent]!] as const;
    const part = pair.find((one) => changing.includes(one));
    if (part === undefined) continue;
    const [inner, outer] = pair.map(({ name }) => shortenValue(name));
    const detail = `"${inner}" is a partition of "${outer}", so the rows that the plan loads into one of them would be missing in the other. Send missing_rows=keep, or load the two tables one after the other.`;
    await namingTable(part, signal, () => Promise.reject(wrongParameter('missing_rows', detail)));
  }
}
