/** Step 2: the columns, the table to which the rows go, and whether it exists. */
import { type ListedType, ProblemError } from '../../client/client.ts';
import type { ColumnPlan, RowRules, Step, Target } from '../state.ts';
import type { Page } from './page.ts';

/** Asks the service whether the target table exists, 300 ms after the last change of its name. */
export function lookUpTarget(page: Page): void {
  // A late answer about the previous name must not be shown for the new one.
  page.stop('existing');
  const moment = new Promise<void>((resolve) => setTimeout(resolve, 300));
  const look: Promise<void> = moment.then(() => (look === page.lookedUp ? readTarget(page) : page.lookedUp));
  page.lookedUp = look;
}

async function readTarget(page: Page): Promise<void> {
  const { schema, table } = page.state.target;
  if (table === '' || schema === '') return;
  const find = async (signal: AbortSignal) => {
    try {
      return (await page.client.describeTable(table, { schema, signal })).table;
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'table-not-found') return null;
      throw error;
    }
  };
  await page.remote('existing', find, { isQuiet: true });
}

/** The most types of the database that the list of types has. */
const maxTypes = 1000;

/** Asks for the types that the database has besides PostgreSQL's own. If the request fails, for example without the scope table:read, the user can still enter their names. */
export async function readTypes({ client, set, state: { file } }: Page): Promise<void> {
  const types: ListedType[] = [];
  try {
    for await (const type of client.types()) {
      if (type.schema !== 'pg_catalog' && types.push(type) === maxTypes) break;
    }
  } catch {
    return;
  }
  set((state) => (state.file === file ? { types } : {}));
}

export function changeTarget(page: Page, to: Partial<Target>): void {
  page.set(({ target }) => ({ target: { ...target, ...to } }));
  if (to.schema !== undefined || to.table !== undefined) lookUpTarget(page);
}

export function showStep(page: Page, step: Step): void {
  page.set({ step, dialog: undefined });
  // The table may have been created, changed or dropped since the last look.
  if (step === 'columns') lookUpTarget(page);
}

export function changeColumn(page: Page, index: number, to: Partial<ColumnPlan>): void {
  page.set(({ columns }) => ({
    columns: columns.map((column, at) => (at === index ? { ...column, ...to } : column)),
  }));
}

export function changeColumns(page: Page, columns: ColumnPlan[]): void {
  page.set({ columns });
}

export function changeRows(page: Page, to: Partial<RowRules>): void {
  page.set(({ rows }) => ({ rows: { ...rows, ...to } }));
}
