/** Replaces a table with the one that was loaded, in a transaction that continues afterwards. */
import type { ClientBase } from 'pg';
import type { Warning } from '../../../core/errors.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { restoreOwnPath } from '../../../postgres/search-path.ts';
import { setLockTimeout } from '../../../postgres/transaction-settings.ts';
import { lostObjects } from '../end-load.ts';
import type { LoadContext } from '../request/load-request.ts';
import type { NewTable } from '../target/new-table.ts';

/**
 * Replaces the table. Its readers wait until the transaction ends.
 *
 * @returns a warning for each object of the old table that the new one does not have
 * @throws the errors of `TableSwap`
 */
export async function swapWithin(
  client: ClientBase,
  target: NewTable,
  { transaction }: LoadContext,
): Promise<Warning[]> {
  const swap = target.swap(client);
  const endAtOnce = async (statements: string[], areApart = false): Promise<void> => {
    const all = [...statements, restoreOwnPath];
    await pipeline(client, areApart ? all : [all.join(';\n')]);
  };
  for (;;) {
    const { lost } = await swap.plan();
    if (!(await swap.commit({ endAtOnce }))) continue;
    await client.query(setLockTimeout(transaction.lockTimeoutMs ?? 0));
    return lostObjects(lost);
  }
}
