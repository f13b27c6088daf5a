/** Finds the tables that Citus stores at its workers. */

/**
 * Returns an SQL expression for whether Citus stores the table at its workers, or knows it as a table of the coordinator. Citus
 * gives each of its tables a trigger, so the expression need not read a table of Citus, and every server can evaluate it.
 *
 * @param table an expression of the type `regclass` or `oid`, which does not use the names of the subquery
 */
export function isKnownToCitus(table: string): string {
  return `EXISTS (SELECT FROM pg_catalog.pg_trigger of_citus JOIN pg_catalog.pg_proc function_of_citus ON function_of_citus.oid = of_citus.tgfoid
    WHERE of_citus.tgrelid = ${table} AND of_citus.tgisinternal AND function_of_citus.proname = 'citus_truncate_trigger')`;
}
