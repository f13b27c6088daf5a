/**
 * Removes what code of other users, such as a trigger, may leave in a session after the end of its transaction: settings, locks,
 * cursors, temporary objects, prepared statements. Later requests in the same session must not be affected.
 *
 * Behind a pooler this is not possible, because the next transaction may run in another session. There the service uses names that
 * differ in each transaction and `DISCARD TEMP`, and does not prepare statements.
 */
import type pg from 'pg';
import { internalsOf } from './driver-internals.ts';
import { ownSession } from './own-session.ts';

/**
 * Returns a text with several statements that removes what can be removed with little effort. It is sent together with the
 * COMMIT or the ROLLBACK, so that it needs no separate round trip. Inside a failed transaction it does nothing and fails.
 *
 * @returns undefined if nothing can be done in this session
 */
export function tidyUp(client: pg.PoolClient): string | undefined {
  return ownSession(client) === undefined ? undefined : tidyUpStatements;
}

/**
 * Returns whether the session may be used again.
 *
 * @param answer the answer to `tidyUp`; undefined: it failed. Every statement that was sent before it has been answered
 */
export function isTidy(client: pg.PoolClient, answer: pg.QueryResult | undefined): boolean {
  if (ownSession(client) === undefined) return true;
  // pg returns a list of results for a text with several statements.
  const found = (answer as unknown as pg.QueryResult<Tidiness>[] | undefined)?.at(-1)?.rows[0];
  const { parsedStatements } = internalsOf(client).connection;
  return found?.isTidy === true && found.prepared === Object.keys(parsedStatements).length;
}

/**
 * Cleans up the session after its transaction has ended.
 *
 * @returns whether it may be used again
 */
export async function tidySession(client: pg.PoolClient): Promise<boolean> {
  const statements = tidyUp(client);
  return statements === undefined || isTidy(client, await client.query(statements).catch(() => undefined));
}

interface Tidiness {
  isTidy: boolean;
  /** The number of prepared statements in the session. A statement that was prepared with SQL has `from_sql`; the service's own have not. */
  prepared: number;
}

const tidyUpStatements = `RESET ALL; SELECT pg_catalog.pg_advisory_unlock_all(); UNLISTEN *;
SELECT (SELECT pg_catalog.count(*)::pg_catalog.int4 FROM pg_catalog.pg_prepared_statements) AS prepared,
  NOT EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE from_sql)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE is_holdable)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend
    WHERE refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid
      AND refobjid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()) AS "isTidy"`;
