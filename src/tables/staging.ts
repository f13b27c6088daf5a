/**
 * A temporary table that holds an upload's rows on their way into a table, or after they were refused there.
 */
import type { Statement } from '../postgres/sql.ts';
import { quoteIdentifier } from '../postgres/sql.ts';

/** Quoted. It lives in the transaction and is dropped with its end. */
export const stagingTable = 'pg_temp."tablewright rows"';

export interface StagedColumn {
  name: string;
  /** As `format_type` writes it. */
  type: string;
  /** An SQL expression of PostgreSQL's own writing; null: none. */
  default: string | null;
}

export function createStagingTable(columns: StagedColumn[]): Statement {
  const definitions = columns.map(
    ({ name, type, default: expression }) =>
      `${quoteIdentifier(name)} ${type}${expression === null ? '' : ` DEFAULT ${expression}`}`,
  );
  return { text: `CREATE TEMPORARY TABLE ${stagingTable} (${definitions.join(', ')}) ON COMMIT DROP` };
}
