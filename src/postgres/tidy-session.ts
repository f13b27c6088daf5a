/**
 * What other people's code, such as a trigger, may leave in a session beyond the end of its transaction: settings, locks,
 * cursors, temporary objects, prepared statements. The requests that use the session later must not meet any of it.
 *
 * Behind a pooler nothing can be done here, because the next transaction may run in another session. There, names that differ in
 * each transaction and `DISCARD TEMP` protect what the service makes, and statements are not prepared.
 */
import type pg from 'pg';
import { ownSession } from './own-session.ts';

interface Internals {
  connection: { parsedStatements: Record<string, string> };
}

/**
 * Removes what is easily removed.
 *
 * @returns false: something else is left, or the connection is broken; it must not be used again
 */
export async function tidySession(client: pg.PoolClient): Promise<boolean> {
  if (ownSession(client) === undefined) return true;
  const { parsedStatements } = (client as unknown as Internals).connection;
  try {
    const results = await client.query(tidyUp(Object.keys(parsedStatements).length));
    // A text with several statements has a list of results.
    return (results as unknown as pg.QueryResult<{ tidy: boolean }>[]).at(-1)!.rows[0]!.tidy;
  } catch {
    return false;
  }
}

/** @param prepared how many statements the service has prepared in the session; SQL cannot prepare one that is not `from_sql` */
function tidyUp(prepared: number): string {
  return `RESET ALL; SELECT pg_catalog.pg_advisory_unlock_all(); UNLISTEN *;
SELECT (SELECT pg_catalog.count(*) OPERATOR(pg_catalog.=) ${prepared} AND NOT coalesce(pg_catalog.bool_or(from_sql), false)
    FROM pg_catalog.pg_prepared_statements)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE is_holdable)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend
    WHERE refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid
      AND refobjid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()) AS tidy`;
}
