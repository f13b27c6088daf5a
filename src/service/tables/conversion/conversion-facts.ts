/** Reads what the catalogue says about the types of a change. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { TypeChange } from './conversion.ts';

export interface CastFacts {
  /** The casts between two of the types that have a function which belongs neither to PostgreSQL nor to an extension: `from>to`, by `pg_type.oid`. */
  foreign: Set<string>;
  /** The casts that leave the stored bytes as they are, in the same form. */
  binary: Set<string>;
  /** The domains that have a check, also one of the domain that they are based on, by `pg_type.oid`. */
  checkedDomains: Set<number>;
}

/**
 * Returns columns of the types as PostgreSQL reads them, in their order. It makes a temporary table and drops it again.
 *
 * @param types each with the name of the column and its type in SQL, as `PreparedColumn.typeSql`
 * @throws AppError `permission-denied` if the role may not create temporary tables
 */
export async function readTargetColumns(
  _client: ClientBase,
  _types: { name: string; typeSql: string }[],
): Promise<LoadColumn[]> {
  return [];
}

/** Reads the casts between the types of all changes, in one round trip. */
export async function readCastFacts(_client: ClientBase, _changes: TypeChange[]): Promise<CastFacts> {
  return { foreign: new Set(), binary: new Set(), checkedDomains: new Set() };
}
