/** Chooses the columns of an export, and those by which it is ordered. */
import type { ClientBase } from 'pg';
import { AppError, wrongParameter } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/identifiers.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { apartInCallersPath } from '../../../postgres/search-path.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { noteTable } from '../../../postgres/transaction.ts';
import { type RowColumn, rowColumns } from '../row-columns.ts';

export interface OrderBy {
  column: string;
  isDescending: boolean;
}

export interface ChosenColumns {
  columns: RowColumn[];
  order: OrderBy[];
}

/**
 * Locks the table against changes of its columns and against TRUNCATE, reads its columns and chooses some of them.
 *
 * A COPY sees the rows of the moment before it waits for a lock. If it waited for a TRUNCATE or a rewrite, it would see an empty table. So the
 * lock is taken before, by a query of no rows: `LOCK TABLE` would need the right to read all columns.
 *
 * @param wanted the names in the wanted order; undefined: all columns
 * @throws AppError `invalid-parameter` for an unknown column, `permission-denied` for columns that the role may not read
 */
export async function chooseColumns(
  client: ClientBase,
  { schema, name }: { schema: string; name: string },
  { wanted, order }: { wanted: string[] | undefined; order: OrderBy[] },
): Promise<ChosenColumns> {
  const lock = qualified`SELECT FROM ${quoteQualified(schema, name)} LIMIT 0`;
  const results = await pipeline(client, [
    ...apartInCallersPath(lock),
    { text: rowColumns, values: [schema, name] },
  ]);
  const all: RowColumn[] = results.at(-1)!.rows;
  noteTable(client, { columns: all.length });
  const byName = new Map(all.map((column) => [column.name, column]));
  const find = (parameter: string) => (column: string) => {
    const found = byName.get(column);
    if (found !== undefined) return found;
    const detail = `The table has no column "${column}".${didYouMean(column, byName.keys())}`;
    throw wrongParameter(parameter, detail, { code: 'unknown-column', value: column });
  };
  const columns = wanted?.map(find('columns')) ?? all;
  const ordering = order.map(({ column }) => find('order')(column));
  refuseUnreadable([...columns, ...ordering], wanted === undefined);
  return { columns, order };
}

const maxListed = 20;

function refuseUnreadable(columns: RowColumn[], areAll: boolean): void {
  const names = new Set(columns.filter(({ mayRead }) => !mayRead).map(({ name }) => `"${name}"`));
  if (names.size === 0) return;
  const listed = [...names].slice(0, maxListed).join(', ');
  const which = names.size === 1 ? 'column' : 'columns';
  const more = names.size > maxListed ? ` and ${names.size - maxListed} more` : '';
  const advice = areAll ? ' Name the other columns in the parameter columns.' : '';
  throw new AppError('permission-denied', `The role may not read the ${which} ${listed}${more}.${advice}`);
}
