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
