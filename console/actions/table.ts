/** The page of a table: dropping it, giving it another name, schema or comment, and loading a file into it. */
import type { TableDescription } from '../../client/client.ts';
import { isRunning } from '../derived/load.ts';
import { hashOf } from '../derived/routes.ts';
import { renamedWords, renameOf } from '../derived/table.ts';
import type { Dialog, Route, TableName } from '../state.ts';
import { lookUpTarget } from './columns.ts';
import { forgetFile } from './file.ts';
import type { Page } from './page.ts';
import { showDone } from './show-done.ts';

/** Opens the step in which the user chooses a file for the table. A file that is chosen already, and not loaded yet, is kept. */
export function loadInto(page: Page, { schema, name }: TableName): void {
  const { file, load } = page.state;
  if (isRunning(load)) return;
  if (file === undefined || load !== undefined) forgetFile(page);
  page.set(({ inspection }) => ({
    target: { schema, table: name, ifExists: 'append', onConflict: 'fail' },
    isTargetChosen: true,
    step: inspection.is === 'ready' ? 'columns' : 'file',
  }));
  lookUpTarget(page);
  location.assign(hashOf({ page: 'load' }));
}

/** Opens a dialog about the table. The reason why an earlier request failed is removed. */
export function openTableDialog(page: Page, dialog: Dialog): void {
  page.set({ dialog, tableChange: { is: 'none' }, download: { is: 'none' } });
}

export async function dropTable(page: Page, { schema, name }: TableName): Promise<void> {
  await change(page, `The table ${schema}.${name} was dropped with all its rows.`, async () => {
    await page.client.dropTable(name, { schema });
    return { page: 'tables' };
  });
}

export async function renameTable(
  page: Page,
  before: TableDescription,
  to: TableName & { comment: string },
): Promise<void> {
  await change(page, renamedWords(before, to), async () => {
    const { table } = await page.client.renameTable(before.name, renameOf(before, to), {
      schema: before.schema,
    });
    return { page: 'table', schema: table.schema, name: table.name };
  });
}

/**
 * Changes a table, and then shows another page with what was done.
 *
 * @param work returns the page to show
 */
async function change(page: Page, words: string, work: () => Promise<Route>): Promise<void> {
  let route: Route | undefined;
  const isDone = await page.remote('tableChange', async () => {
    route = await work();
    return true;
  });
  if (isDone) showDone(page, words, route!);
}
