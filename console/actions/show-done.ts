/** Shows a page, and on it what was done with a table. */
import { hashOf } from '../derived/routes.ts';
import type { Route } from '../state.ts';
import type { Page } from './page.ts';

/** The present page is not kept in the history of the browser, because its table may be gone. */
export function showDone(page: Page, words: string, route: Route): void {
  const hash = hashOf(route);
  // The list that was read before the change is not shown any more.
  page.set({ dialog: undefined, tables: { is: 'none' }, done: { words, hash }, announcement: words });
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.replace(hash);
}
