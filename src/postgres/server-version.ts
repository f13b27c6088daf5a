import type { Pool } from 'pg';

const oldestMajor = 15;

/**
 * Checks that the server can be reached and is not too old.
 *
 * @throws Error with a message for the person who starts the service
 */
export async function checkServerVersion(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ number: number; name: string }>(
    `SELECT pg_catalog.current_setting('server_version_num')::int AS number,
      pg_catalog.current_setting('server_version') AS name`,
  );
  const { number, name } = rows[0]!;
  if (number >= oldestMajor * 10_000) return;
  throw new Error(
    `the server of DATABASE_URL is PostgreSQL ${name}. Tablewright needs PostgreSQL ${oldestMajor} or newer.`,
  );
}
