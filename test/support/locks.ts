/** Waits until sessions of a database wait for each other. */
import type { TestDatabase } from './database.ts';
import { until } from './until.ts';

/** Waits until a session of the database waits for a lock. */
export async function untilWaitsForLock({ pool }: TestDatabase): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await until('a session that waits for a lock', async () => (await pool.query(waiting)).rows.length > 0);
}
