/** The columns that the table of an upload has or gets, as far as they are known before its rows are read. */
import type { ClientBase } from 'pg';
import { identifierProblem } from '../../../core/identifiers.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { inTransaction } from '../../../postgres/transaction.ts';
import { maxColumns } from '../../tables/definition.ts';
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
  const columns = [...possibleColumns(definition), ...(existing?.columns ?? [])];
  const expected = columns.map((column) => ({ name: column.name, isJson: isJson(column.type) }));
  return [...new Map(expected.map((column) => [column.name, column])).values()];
}

/** Returns the columns of a definition that nothing has checked yet, as far as a table could have them. An invalid definition is refused later. */
function possibleColumns(definition: unknown): { name: string; type: string }[] {
  const sent = (definition as { columns?: unknown } | null | undefined)?.columns;
  if (!Array.isArray(sent)) return [];
  return sent.slice(0, maxColumns).flatMap((column: { name?: unknown; type?: unknown } | null) => {
    const { name, type } = column ?? {};
    if (typeof name !== 'string' || identifierProblem(name) !== undefined) return [];
    return [{ name, type: typeof type === 'string' ? type : '' }];
  });
}

function isJson(type: string): boolean {
  return /^ *jsonb? *$/i.test(type);
}
