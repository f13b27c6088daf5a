/** The pages beside the four steps: the list of tables, the list of loads, and the pages of one table and one load. */
import { hasEnded, type Load } from '../../client/client.ts';
import { sleep } from '../../client/sleep.ts';
import { hashOf } from '../derived/routes.ts';
import { loadTimes } from '../derived/table.ts';
import type { LoadFilter, Route, TableSort } from '../state.ts';
import { openDraft } from './change-columns.ts';
import { findLoad } from './follow-load.ts';
import { listTables } from './list-tables.ts';
import type { Page } from './page.ts';
import { firstOf } from './requests.ts';
import { openTable } from './table-rows.ts';

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
  if (route.page === 'tables') keepFresh(page, () => readTables(page));
  else if (route.page === 'table') openTable(page, route, (read) => keepFresh(page, read));
  else if (route.page === 'change-table') openDraft(page, route);
  else if (route.page === 'loads') keepFresh(page, () => readLoads(page));
  else if (route.page === 'one-load') watchOne(page, route.id);
  else findLoad(page);
}

/** The shortest pause between two readings of a list. A list that takes long to read is read less often: at most for a tenth of the time. */
const freshMs = 5000;

/** Reads a list now, and again from time to time while its page is shown and visible. */
async function keepFresh(page: Page, read: () => Promise<unknown>): Promise<void> {
  const { route } = page.state;
  const isShown = (): boolean => page.state.route === route && page.state.session.token !== undefined;
  while (isShown()) {
    const begunAt = performance.now();
    if (!document.hidden) await read();
    await sleep(Math.max(freshMs, 9 * (performance.now() - begunAt)));
  }
}

function readTables(page: Page): Promise<boolean> {
  const read = async (signal: AbortSignal) => {
    // A service without records of loads, or a token that may not see them, has no times.
    const newest = firstOf(page.client.loads({ state: 'committed', limit: maxLoads, signal }), maxLoads);
    const [tables, loads] = await Promise.all([listTables(page), newest.catch(() => [])]);
    return { tables, loadedAt: loadTimes(loads) };
  };
  return page.remote('tables', read, { isQuiet: page.state.tables.is === 'ready' });
}

function readLoads(page: Page): Promise<boolean> {
  const { state, withChecks } = page.state.loadFilter;
  const query = { limit: 200, ...(state && { state }), ...(!withChecks && { dry_run: false }) };
  const read = async (signal: AbortSignal) => {
    const loads = await firstOf(page.client.loads({ ...query, signal }), maxLoads + 1);
    return { loads: loads.slice(0, maxLoads), hasMore: loads.length > maxLoads };
  };
  return page.remote('loads', read, { isQuiet: page.state.loads.is === 'ready' });
}

export function filterLoads(page: Page, to: Partial<LoadFilter>): void {
  page.set(({ loadFilter }) => ({ loadFilter: { ...loadFilter, ...to } }));
  // The text is looked for in the list that is shown.
  if (to.text === undefined) readLoads(page);
}

export function sortTables(page: Page, by: TableSort['by']): void {
  page.set(({ tableSort }) => {
    // A user who sorts by rows, size or time looks for the largest or the latest.
    const isDescending = tableSort.by === by ? !tableSort.isDescending : by !== 'name';
    return { tableSort: { by, isDescending } };
  });
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
