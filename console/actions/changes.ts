/** What a load or a check changes in the table: the pages of its list. */
import { changesOnPage } from '../derived/changes.ts';
import type { Page } from './page.ts';

/** Shows a page of the changes. @param after the number of changes before the page */
export async function showChanges(page: Page, load: string, after: number): Promise<void> {
  const isQuiet = page.state.changesOf === load && page.state.changes.is === 'ready';
  page.set({ changesOf: load });
  const read = async (signal: AbortSignal) => ({
    list: await page.client.changesPage(load, { after, limit: changesOnPage, signal }),
    after,
  });
  await page.remote('changes', read, { isQuiet });
}
