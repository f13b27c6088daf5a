/** Opens and closes the dialogs. The dialog of a column offers the existing tables for a foreign key. */
import type { Dialog } from '../state.ts';
import { listTables } from './list-tables.ts';
import type { Page } from './page.ts';

type ColumnDialog = Extract<Dialog, { is: 'column' }>;

function changeDialog(page: Page, to: Partial<ColumnDialog>): void {
  page.set(({ dialog }) => (dialog?.is === 'column' ? { dialog: { ...dialog, ...to } } : {}));
}

export async function openColumn(page: Page, index: number): Promise<void> {
  page.set({ dialog: { is: 'column', index, tables: undefined, referenced: undefined } });
  // A token without the scope `table:read` may not list tables. The user can still type a name.
  changeDialog(page, { tables: await listTables(page).catch(() => []) });
  const { reference } = page.state.columns[index] ?? {};
  if (reference) readReferenced(page, reference.schema, reference.table);
}

export async function readReferenced(page: Page, schema: string, name: string): Promise<void> {
  const found = await page.client.describeTable(name, { schema }).catch(() => undefined);
  changeDialog(page, { referenced: found?.table });
}

export function showDialog(page: Page, dialog: Dialog | undefined): void {
  page.set({ dialog });
}

export async function copy(page: Page, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    page.say('Copied.');
  } catch {
    page.say('The browser did not allow copying. Select the text and copy it.');
  }
}
