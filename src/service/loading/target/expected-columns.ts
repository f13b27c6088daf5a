/** The columns that the table of an upload has or gets, as far as they are known before its rows are read. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { inTransaction } from '../../postgres/transaction.ts';
import { describeTable } from '../../tables/describe-table.ts';
import type { ExpectedColumn, LoadInput } from '../inputs/load-input.ts';
import type { LoadContext, LoadRequest } from '../request/load-request.ts';

export function expectedOf(columns: LoadColumn[]): ExpectedColumn[] {
  return columns.map(({ name, type }) => ({ name, isJson: isJson((type.base ?? type).name) }));
}

/**
 * Returns the columns of the sent definition and of the existing table, before types are inferred from the rows.
 *
 * @param exists the table exists
 */
export async function expectedBeforeInference(
  { pool, transaction }: LoadContext,
  { schema, name }: LoadRequest,
  { definition }: LoadInput,
  exists: boolean,
): Promise<ExpectedColumn[]> {
  const describe = (client: ClientBase) => describeTable(client, schema, name);
  const existing = exists
    ? await inTransaction(pool, { ...transaction, readOnly: true }, describe)
    : undefined;
  const sent = (definition as { columns?: unknown } | null | undefined)?.columns;
  const columns: unknown[] = [...(Array.isArray(sent) ? sent : []), ...(existing?.columns ?? [])];
  // An invalid definition is refused later.
  return columns.map((column) => {
    const { name: ofColumn, type } = (column ?? {}) as { name?: unknown; type?: unknown };
    return { name: String(ofColumn), isJson: isJson(String(type)) };
  });
}

function isJson(type: string): boolean {
  return /^ *jsonb? *$/i.test(type);
}
