/** Runs statements that may fail because of what a caller wrote. The transaction can continue after such a failure. */
import type { ClientBase, DatabaseError } from 'pg';
import { queryWithSavepoint, runWithSavepoint } from '../../postgres/savepoints.ts';
import type { Statement } from '../../postgres/sql.ts';
import { isStatementError } from '../../postgres/sqlstate.ts';

type Attempt<Row> = { row: Row; error?: undefined } | { row?: undefined; error: DatabaseError };

/**
 * Runs statements under a savepoint, in one round trip if they succeed. Returns the row of the last query. Values must be quoted
 * into the text, because several statements in one message cannot have bound values (PostgreSQL 55.2.2.1).
 *
 * @throws every error that the statement's own values did not cause: lock and statement timeouts, a broken connection, a shutdown
 */
async function attempt<Row>(client: ClientBase, statement: Statement | string[]): Promise<Attempt<Row>> {
  try {
    if (Array.isArray(statement)) {
      await runWithSavepoint(client, 'tablewright', statement, true);
      return { row: {} as Row };
    }
    const results = await queryWithSavepoint(client, 'tablewright', [statement.text]);
    return { row: results.findLast(({ rows }) => rows.length > 0)!.rows[0] as Row };
  } catch (error) {
    if (!isStatementError(error)) throw error;
    return { error };
  }
}

/**
 * Finds the items that make a statement fail. It tries all items at once, and if that fails, each half of the list in turn. This
 * takes one round trip if no item fails, and about 2·log₂(n) for each item that fails.
 *
 * @param toStatement returns a list of statements that each need a message of their own, because Citus may distribute their table. They have no row
 */
export async function findFailingItems<Item, Row>(
  client: ClientBase,
  items: Item[],
  toStatement: (items: Item[]) => Promise<Statement | string[]>,
  onSuccess: (items: Item[], row: Row) => void,
  onFailure: (item: Item, error: DatabaseError) => void,
): Promise<void> {
  if (items.length === 0) return;
  const { row, error } = await attempt<Row>(client, await toStatement(items));
  if (error === undefined) onSuccess(items, row);
  else if (items.length === 1) onFailure(items[0]!, error);
  else {
    const half = items.length >> 1;
    await findFailingItems(client, items.slice(0, half), toStatement, onSuccess, onFailure);
    await findFailingItems(client, items.slice(half), toStatement, onSuccess, onFailure);
  }
}
