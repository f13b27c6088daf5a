/** Statements that may fail because of what a caller wrote, without losing the transaction. */
import type { ClientBase, DatabaseError, QueryResult } from 'pg';
import type { Statement } from '../postgres/sql.ts';
import { isStatementError } from '../postgres/sqlstate.ts';

type Attempt<Row> = { row: Row; error?: undefined } | { row?: undefined; error: DatabaseError };

/**
 * Runs statements under a savepoint, in one round trip where they succeed. The row is that of the last one. Only values that are quoted into the text are
 * possible: several statements in one message cannot bind any (PostgreSQL 55.2.2.1).
 *
 * @throws every error that is not the fault of the statement's own values: lock and statement timeouts, a lost
 *   connection, a shutdown
 */
async function attempt<Row>(client: ClientBase, statement: Statement): Promise<Attempt<Row>> {
  const parts = ['SAVEPOINT tablewright', statement.text, 'RELEASE SAVEPOINT tablewright'];
  try {
    const results = (await client.query(parts.join(';\n'))) as unknown as QueryResult[];
    return { row: results.at(-2)!.rows[0] as Row };
  } catch (error) {
    if (!isStatementError(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT tablewright; RELEASE SAVEPOINT tablewright');
    return { error };
  }
}

/**
 * Finds the items that make a statement fail: tries them all at once, and halves the list where that fails. One round
 * trip in the good case, about 2·log₂(n) for each bad item.
 */
export async function findFailingItems<Item, Row>(
  client: ClientBase,
  items: Item[],
  toStatement: (items: Item[]) => Statement,
  onSuccess: (items: Item[], row: Row) => void,
  onFailure: (item: Item, error: DatabaseError) => void,
): Promise<void> {
  if (items.length === 0) return;
  const { row, error } = await attempt<Row>(client, toStatement(items));
  if (error === undefined) onSuccess(items, row);
  else if (items.length === 1) onFailure(items[0]!, error);
  else {
    const half = items.length >> 1;
    await findFailingItems(client, items.slice(0, half), toStatement, onSuccess, onFailure);
    await findFailingItems(client, items.slice(half), toStatement, onSuccess, onFailure);
  }
}
