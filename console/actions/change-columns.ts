/** The page on which the user changes the columns of a table: the plan of the change, and the change itself. */
import { allowedLosses, columnsToSend, doneWords, draftOf, newColumn } from '../derived/table-draft.ts';
import type { DraftColumn, TableDraft, TableName, TablePlan } from '../state.ts';
import { readTypes } from './columns.ts';
import type { Page } from './page.ts';
import { showDone } from './show-done.ts';

/** Reads the table, and begins again with its present columns. */
export async function openDraft(page: Page, { schema, name }: TableName): Promise<void> {
  forgetPlan(page);
  readTypes(page);
  await page.remote('draft', async () => {
    const { table, etag } = await page.client.describeTable(name, { schema });
    return { table, etag, columns: draftOf(table) };
  });
}

export function changeDraftColumn(page: Page, index: number, to: Partial<DraftColumn>): void {
  changeColumns(page, (columns) =>
    columns.map((column, at) => (at === index ? { ...column, ...to } : column)),
  );
}

export function addDraftColumn(page: Page): void {
  changeColumns(page, (columns) => [...columns, newColumn]);
}

/** Takes a new column away again. */
export function removeDraftColumn(page: Page, index: number): void {
  changeColumns(page, (columns) => columns.filter((_, at) => at !== index));
}

function changeColumns(page: Page, change: (columns: DraftColumn[]) => DraftColumn[]): void {
  const { draft } = page.state;
  if (draft.is !== 'ready') return;
  page.set({ draft: { is: 'ready', value: { ...draft.value, columns: change(draft.value.columns) } } });
  // The plan belongs to the columns before this change.
  forgetPlan(page);
}

function forgetPlan(page: Page): void {
  page.stop('plan');
  page.set({ plan: { is: 'none' }, tableChange: { is: 'none' } });
}

/** Asks the service what it would do. It plans the change without reading the rows, so only the change itself finds rows that cannot follow. */
export async function planChange(page: Page): Promise<void> {
  const { draft } = page.state;
  if (draft.is !== 'ready') return;
  page.set({ tableChange: { is: 'none' } });
  await page.remote('plan', async (signal) => {
    const { changes } = await put(page, draft.value, { dry_run: true, signal });
    return { changes, ticked: [] };
  });
}

export function tickLoss(page: Page, index: number, isTicked: boolean): void {
  page.set(({ plan }) => {
    if (plan.is !== 'ready') return {};
    const others = plan.value.ticked.filter((one) => one !== index);
    return {
      plan: { is: 'ready', value: { ...plan.value, ticked: isTicked ? [...others, index] : others } },
    };
  });
}

export async function applyChange(page: Page, plan: TablePlan): Promise<void> {
  const { draft } = page.state;
  if (draft.is !== 'ready') return;
  const { schema, name } = draft.value.table;
  let words = '';
  const isDone = await page.remote('tableChange', async () => {
    const { changes } = await put(page, draft.value, { allow: allowedLosses(plan).join(',') });
    words = doneWords({ schema, name }, changes);
    return true;
  });
  if (isDone) showDone(page, words, { page: 'table', schema, name });
}

function put(
  { client }: Page,
  { table, etag, columns }: TableDraft,
  options: { dry_run?: boolean; allow?: string; signal?: AbortSignal },
) {
  const definition = { columns: columnsToSend(columns) };
  return client.alterTable(table.name, definition, { schema: table.schema, ifMatch: etag, ...options });
}
