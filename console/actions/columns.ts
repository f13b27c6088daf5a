/** Step 2: the columns, the table to which the rows go, and whether it exists. */
import { type ListedType, ProblemError } from '../../client/client.ts';
import { withNewestSettings } from '../derived/homes.ts';
import { type Place, placed, withPlace } from '../derived/mapping.ts';
import { listedProfiles } from '../derived/profiles.ts';
import { keyOfTable } from '../derived/table.ts';
import type { ColumnPlan, Reading, RowRules, Step, Target } from '../state.ts';
import { changeTogether } from './change-together.ts';
import { listTables } from './list-tables.ts';
import type { Page } from './page.ts';
import { firstOf } from './requests.ts';

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
  placeAgain(page);
}

/** Proposes columns of the existing table again, or takes the proposals back if the load does not use its columns. */
function placeAgain(page: Page): void {
  page.set((state) => ({ columns: placed(state) }));
}

/** Chooses the column of the existing table into which a column of the file goes. */
export function placeColumn(page: Page, index: number, place: Place): void {
  page.set(({ columns }) => ({ columns: withPlace(columns, index, place), mayUseProfile: false }));
  placeAgain(page);
}

/** The most types of the database that the list of types has. */
const maxTypes = 1000;

/** Asks for the types that the database has besides PostgreSQL's own. If the request fails, for example without the scope table:read, the user can still enter their names. */
export async function readTypes({ client, set, state: { file } }: Page): Promise<void> {
  const isOwn = ({ schema }: ListedType): boolean => schema !== 'pg_catalog';
  const types = await firstOf(client.types(), maxTypes, isOwn).catch(() => undefined);
  if (types) set((state) => (state.file === file ? { types } : {}));
}

/** The most profiles that the page lists. */
const maxProfiles = 1000;

/** Asks for the profiles. If the request fails, for example because the service keeps no records, the page offers none. */
export async function readProfiles(page: Page): Promise<void> {
  const isQuiet = page.state.profiles.is === 'ready';
  await page.remote('profiles', (signal) => firstOf(page.client.profiles({ signal }), maxProfiles), {
    isQuiet,
  });
  const profiles = listedProfiles(page.state);
  changeTogether(page, (together) => ({ parts: withNewestSettings(together, profiles) }));
}

export function changeTarget(page: Page, to: Partial<Target>): void {
  page.set(({ target }) => ({ target: { ...target, ...to }, mayUseProfile: false }));
  placeAgain(page);
  if (to.schema !== undefined || to.table !== undefined) lookUpTarget(page);
}

export function showStep(page: Page, step: Step): void {
  page.set({ step, dialog: undefined });
  // The table may have been created, changed or dropped since the last look.
  if (step === 'columns') lookUpTarget(page);
  if (step === 'together') {
    lookUpTables(page);
    readProfiles(page);
  }
}

/** Asks which tables exist, for the tables that are loaded together. */
export async function lookUpTables(page: Page): Promise<void> {
  // A token without the scope `table:read` may not list tables. The check then finds those that exist.
  const tables = await listTables(page).catch(() => undefined);
  const existing = tables && new Set(tables.map(keyOfTable));
  changeTogether(page, () => ({ existing }));
}

export function changeColumn(page: Page, index: number, to: Partial<ColumnPlan>): void {
  page.set(({ columns }) => ({
    columns: columns.map((column, at) => (at === index ? { ...column, ...to } : column)),
    mayUseProfile: false,
  }));
}

export function changeColumns(page: Page, columns: ColumnPlan[]): void {
  page.set({ columns, mayUseProfile: false });
}

export function changeRows(page: Page, to: Partial<RowRules>): void {
  page.set(({ rows }) => ({ rows: { ...rows, ...to }, mayUseProfile: false }));
}

/** Stores what the user types. The file is read again only when the user leaves the field. */
export function noteReading(page: Page, change: Partial<Reading>): void {
  page.set(({ reading }) => ({ reading: { ...reading, ...change } }));
}

export function openReading(page: Page, isReadingOpen: boolean): void {
  if (page.state.isReadingOpen !== isReadingOpen) page.set({ isReadingOpen });
}
