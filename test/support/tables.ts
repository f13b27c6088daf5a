/** Names the tables that the tests of a file create. */
import assert from 'node:assert/strict';
import type { TestService } from './service.ts';

/** Returns a function that returns another name with the prefix at each call. */
export function tableNames(prefix: string): () => string {
  let tables = 0;
  return () => `${prefix}${++tables}`;
}

export function rowsOf(service: TestService, name: string): Promise<Record<string, unknown>[]> {
  return service.rows(`SELECT * FROM ${name}`);
}

export async function assertNoTable(service: TestService, name: string): Promise<void> {
  assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [name]), [{ found: null }]);
}

/** Returns everything of a table with a name of its own: constraints, indexes and sequences. */
export async function namesOf(service: TestService, name: string): Promise<string[]> {
  const rows = await service.rows(
    `SELECT 'constraint ' || conname AS name FROM pg_constraint WHERE conrelid = $1::regclass AND contype <> 'n'
     UNION ALL SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE indrelid = $1::regclass
     UNION ALL SELECT 'sequence ' || objid::regclass FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
       WHERE d.refobjid = $1::regclass AND d.classid = 'pg_class'::regclass
     ORDER BY 1`,
    [name],
  );
  return rows.map((row) => row.name as string);
}
