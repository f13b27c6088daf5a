/**
 * Decides which schemas PostgreSQL searches for the names in a statement.
 *
 * Anybody who may create objects in a schema of the search path can make a function or an operator whose argument types fit a
 * call better than PostgreSQL's own one (CVE-2018-1058). So each transaction searches `pg_catalog` alone, and then the
 * temporary schema (transaction-settings.ts). There are two exceptions:
 *
 * - Statements that run other people's code, such as triggers, defaults and checks, or that name their tables. That code
 *   expects the *callers' path*: the `search_path` of the role, the database or the server. `inCallersPath` runs such a
 *   statement. It must qualify every function, operator and type, so it is a `CallersStatement` (callers-statement.ts).
 * - Queries that look up or write names as callers know them (`to_regtype`, `format_type`, `pg_get_expr`).
 *   `readInCallersPath` resolves the names in the query itself before it changes the path.
 *
 * The temporary schema always comes last. Otherwise a temporary table that a function left in the session would hide a table
 * of another caller.
 */
import type { ClientBase, QueryResult } from 'pg';
import type { CallersStatement } from './callers-statement.ts';
import { pipeline } from './pipeline.ts';
import { quoteIdentifier, randomName } from './sql.ts';

/** The value of `search_path` outside the callers' path. */
export const ownPath = 'pg_catalog, pg_temp';

/** An SQL expression that changes to the callers' path for the rest of the transaction. Setting `search_path` to NULL resets it to the administrator's value. */
export const enterCallersPath = `pg_catalog.set_config('search_path', pg_catalog.ltrim(pg_catalog.concat(
  pg_catalog.set_config('search_path', NULL, true), ', pg_temp'), ', '), true)`;
/** An SQL expression that changes back to the service's own path. */
export const leaveCallersPath = `pg_catalog.set_config('search_path', '${ownPath}', true)`;

/** A statement that changes back to the service's own path. */
export const restoreOwnPath = `SET LOCAL search_path TO ${ownPath}`;

/** Returns one text that runs the statements in the callers' path and then changes back. */
export function inCallersPath(...statements: CallersStatement[]): string {
  return apartInCallersPath(...statements).join(';\n');
}

/**
 * Returns statements that run others in the callers' path and then change back. If one of them changes a table that Citus
 * distributes, send each of them in its own message (`pipeline`), because Citus sends the whole text of a message to the workers.
 */
export function apartInCallersPath(...statements: CallersStatement[]): string[] {
  return [...toEndInCallersPath(...statements), restoreOwnPath];
}

/** Returns statements like `apartInCallersPath`, but does not change back: use it at the end of a transaction. */
export function toEndInCallersPath(...statements: CallersStatement[]): string[] {
  return [`SELECT ${enterCallersPath}`, ...statements];
}

/** Runs one statement in the callers' path, in one round trip. */
export async function queryInCallersPath<Row extends object = Record<string, unknown>>(
  client: ClientBase,
  statement: CallersStatement,
): Promise<QueryResult<Row & Record<string, unknown>>> {
  const results = await pipeline(client, apartInCallersPath(statement));
  return results[1] as QueryResult<Row & Record<string, unknown>>;
}

/**
 * Returns a query of one row, with the column `found`: the value of an expression that looks up or writes names as callers know them.
 *
 * PostgreSQL finds the functions and operators of the whole query before it runs any of it, so it finds its own ones. It
 * computes the columns of a row from left to right.
 */
export function readInCallersPath(expression: string): string {
  return `SELECT ${enterCallersPath} AS entered, ${expression} AS found, ${leaveCallersPath} AS restored`;
}

/** Returns a query like that of `readInCallersPath` for the rows of a query: `found` is a list of objects. */
export function readRowsInCallersPath(query: string): string {
  return readInCallersPath(
    `(SELECT coalesce(pg_catalog.json_agg(found_row), '[]') FROM (${query}) AS found_row)`,
  );
}

/**
 * Returns statements that run a query of the service in the callers' path, because it may call functions that expect this path, even while PostgreSQL
 * plans it. Names in the query itself must not be looked up there. So the query becomes a view in the service's own path, because a view keeps the
 * functions and operators that were found when it was created.
 *
 * @param use returns the statement that reads the view, from its name
 */
export function throughView(query: string, use: (view: string) => CallersStatement): string[] {
  const name = quoteIdentifier(randomName('view'));
  return [
    `CREATE TEMPORARY VIEW pg_temp.${name} AS ${query}`,
    inCallersPath(use(`pg_temp.${name}`)),
    // Citus does not find a view by the name pg_temp. The name is random, and the service's own path ends with this schema.
    `DROP VIEW ${name}`,
  ];
}
