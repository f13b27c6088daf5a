/** The page of a table: its columns, the pages of its rows, and its last loads. */
import { nextSort, orderOf } from '../derived/table.ts';
import type { RowSort, RowsStart, TableName } from '../state.ts';
import type { Page } from './page.ts';
import { firstOf } from './requests.ts';

const rowsOnPage = 100;
const shownLoads = 5;
const firstPage: RowsStart[] = [{ before: 0, after: undefined }];

/** Shows a table. @param keepFresh reads the last loads now, and again from time to time */
export function openTable(
  page: Page,
  { schema, name }: TableName,
  keepFresh: (read: () => Promise<unknown>) => void,
): void {
  page.set({ tableLoads: { is: 'none' } });
  page.remote('table', (signal) => page.client.describeTable(name, { schema, signal }));
  readRows(page, { schema, name }, undefined, firstPage);
  keepFresh(() => readLastLoads(page, { schema, name }));
}

/** Reads the last loads of the table. If there is a new one, the rows are read again. */
async function readLastLoads(page: Page, { schema, name }: TableName): Promise<void> {
  const newest = () =>
    page.state.tableLoads.is === 'ready' ? page.state.tableLoads.value[0]?.id : undefined;
  const isFirst = page.state.tableLoads.is !== 'ready';
  const before = newest();
  await page.remote(
    'tableLoads',
    (signal) => {
      const query = { schema, table: name, state: 'committed', limit: shownLoads, signal } as const;
      return firstOf(page.client.loads(query), shownLoads);
    },
    { isQuiet: true },
  );
  const { tableRows } = page.state;
  if (isFirst || newest() === before || tableRows.is !== 'ready') return;
  const { sort, starts } = tableRows.value;
  readRows(page, { schema, name }, sort, starts);
}

function readRows(
  page: Page,
  { schema, name }: TableName,
  sort: RowSort | undefined,
  starts: RowsStart[],
): void {
  const isQuiet = page.state.tableRows.is === 'ready' && starts !== firstPage;
  const { after } = starts.at(-1)!;
  page.remote(
    'tableRows',
    async (signal) => {
      const query = {
        schema,
        limit: rowsOnPage,
        ...(sort && { order: orderOf(sort) }),
        ...(after && { after }),
      };
      return { ...(await page.client.rows(name, { ...query, signal })), sort, starts };
    },
    { isQuiet },
  );
}

/** Orders the rows by the column, and shows the first page. */
export function sortRows(page: Page, table: TableName, column: string): void {
  const { tableRows } = page.state;
  const sort = tableRows.is === 'ready' ? tableRows.value.sort : undefined;
  readRows(page, table, nextSort(sort, column), [...firstPage]);
}

/** Shows the next or the previous page of the rows. */
export function turnRows(page: Page, table: TableName, isForward: boolean): void {
  const { tableRows } = page.state;
  if (tableRows.is !== 'ready') return;
  const { sort, starts, rows, next } = tableRows.value;
  const { before } = starts.at(-1)!;
  const to = isForward ? [...starts, { before: before + rows.length, after: next }] : starts.slice(0, -1);
  readRows(page, table, sort, to);
}
