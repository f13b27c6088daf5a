/** Sets savepoints for the folders that do not write SQL themselves. */
import type { ClientBase } from 'pg';
import { quoteIdentifier } from './sql.ts';

export async function setSavepoint(client: ClientBase, name: string): Promise<void> {
  await client.query(`SAVEPOINT ${quoteIdentifier(name)}`);
}

/** Undoes everything since the savepoint, which stays. */
export async function rollBackTo(client: ClientBase, name: string): Promise<void> {
  await client.query(`ROLLBACK TO SAVEPOINT ${quoteIdentifier(name)}`);
}
