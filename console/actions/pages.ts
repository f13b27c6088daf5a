/** The pages beside the four steps: the list of tables, the list of loads, and the pages of one table and one load. */
import { hasEnded, type ListedTable, type Load } from '../../client/client.ts';
import { hashOf } from '../derived/routes.ts';
import type { Route } from '../state.ts';
import { openDraft } from './change-columns.ts';
import { findLoad } from './follow-load.ts';
import type { Page } from './page.ts';

const maxTables = 10_000;
const maxLoads = 1000;

/** Shows a page and requests its content. */
export function open(page: Page, route: Route): void {
  page.stop('oneLoad');
  for (const key of ['tableChange', 'download'] as const) page.stop(key);
  page.set(({ done }) => ({
    route,
    dialog: undefined,
    tableChange: { is: 'none' },
    download: { is: 'none' },
    done: done?.hash === hashOf(route) ? done : undefined,
  }));
  if (page.state.session.token === undefined) return;
  if (route.page === 'tables') readTables(page);
  else if (route.page === 'table') readTable(page, route.schema, route.name);
  else if (route.page === 'change-table') openDraft(page, route);
  else if (route.page === 'loads') readLoads(page);
  else if (route.page === 'one-load') watchOne(page, route.id);
  else findLoad(page);
}

function readTables(page: Page): void {
  const isQuiet = page.state.tables.is === 'ready';
  page.remote('tables', async () => ({ tables: await listTables(page) }), { isQuiet });
}

function readTable(page: Page, schema: string, name: string): void {
  page.remote('table', async () => {
    const [{ table }, rows] = await Promise.all([
      page.client.describeTable(name, { schema }),
      page.client.rows(name, { schema, limit: 100 }),
    ]);
    return { table, rows };
  });
}

function readLoads(page: Page): void {
  const read = async () => {
    const loads = await firstOf(page.client.loads({ limit: 200 }), maxLoads + 1);
    return { loads: loads.slice(0, maxLoads), hasMore: loads.length > maxLoads };
  };
  page.remote('loads', read, { isQuiet: page.state.loads.is === 'ready' });
}

/** Shows a load and each change of it, until it has ended or another page is opened. */
function watchOne(page: Page, id: string): void {
  page.remote('oneLoad', async (signal) => {
    let last: Load = await page.client.describeLoad(id, { signal });
    if (hasEnded(last)) return last;
    for await (last of page.client.watch(id, { signal })) {
      if (!signal.aborted) page.set({ oneLoad: { is: 'ready', value: last } });
    }
    return last;
  });
}

export function filterTables(page: Page, tableFilter: string): void {
  page.set({ tableFilter });
}

export async function cancelOne(page: Page, id: string): Promise<void> {
  await page.client.cancel(id).catch((error: unknown) => page.say(page.failureOf(error).detail));
}

/** Lists the tables that the token may see. The page shows at most 10,000. */
export function listTables({ client }: Page): Promise<ListedTable[]> {
  return firstOf(client.tables({ limit: 1000 }), maxTables);
}

async function firstOf<Item>(items: AsyncIterable<Item>, count: number): Promise<Item[]> {
  const first: Item[] = [];
  for await (const item of items) {
    first.push(item);
    if (first.length >= count) break;
  }
  return first;
}
