/** Existing tables to which the rows of the chosen files belong: finding them, and adding the rows to them. */
import { hasColumns, homesOf, similarNames } from '../derived/homes.ts';
import { offeredSettings } from '../derived/profiles.ts';
import type { Part } from '../state.ts';
import { changeTogether } from './change-together.ts';
import { listTables } from './list-tables.ts';
import type { Page } from './page.ts';

/** Looks for an existing table with the columns of a new file, once for each file, so that the next month is recognized without saved settings. */
export async function findAlike(page: Page): Promise<void> {
  const { step, inspection, existing, target, alike, mayUseProfile } = page.state;
  if (step !== 'columns' || inspection.is !== 'ready' || alike.is !== 'none' || !mayUseProfile) return;
  if (existing.is !== 'ready' || existing.value !== null || offeredSettings(page.state)) return;
  const { header } = inspection.value;
  await page.remote('alike', async (signal) => {
    const [found] = await alikeTables(
      page,
      target.schema,
      [{ table: target.table, headers: header }],
      signal,
    );
    return found ?? null;
  });
}

/** Looks for existing tables with the columns of the parts that have no table of their own yet. */
export async function findHomes(page: Page): Promise<void> {
  const { together } = page.state;
  if (together.is !== 'ready') return;
  const { schema, parts } = together.value;
  const homes = homesOf(page.state, together.value);
  const asked = parts.filter(
    (part) => part.isIncluded && part.ifExists === 'fail' && part.headers.length > 0 && !homes.has(part),
  );
  const found = await alikeTables(page, schema, asked).catch(() => []);
  const names = new Map(asked.map(({ label, table }, index) => [`${label}/${table}`, found[index]]));
  changeTogether(page, (now) => ({
    parts: now.parts.map((part) => {
      return { ...part, alike: names.get(`${part.label}/${part.table}`) ?? part.alike };
    }),
  }));
}

/** Adds the rows of all parts to the existing tables to which they belong. */
export function addToHomes(page: Page): void {
  const { together } = page.state;
  if (together.is !== 'ready') return;
  const homes = homesOf(page.state, together.value);
  changeTogether(page, ({ parts }) => ({ parts: parts.map((part) => ({ ...part, ...homes.get(part) })) }));
}

/** The most parts for which existing tables are looked for. */
const maxAsked = 20;

/** Returns for each part an existing table of the schema with a similar name and the same columns; undefined: none was found. */
async function alikeTables(
  page: Page,
  schema: string,
  parts: Pick<Part, 'table' | 'headers'>[],
  signal?: AbortSignal,
): Promise<(string | undefined)[]> {
  if (parts.length === 0) return [];
  const tables = await listTables(page);
  const names = tables.filter((table) => table.schema === schema).map(({ name }) => name);
  const found: (string | undefined)[] = [];
  for (const { table, headers } of parts.slice(0, maxAsked)) {
    let alike: string | undefined;
    for (const name of similarNames(table, names)) {
      if (found.includes(name)) continue;
      const described = await page.client.describeTable(name, { schema, ...(signal && { signal }) });
      if (hasColumns(described.table, headers)) alike = name;
      if (alike !== undefined) break;
    }
    found.push(alike);
  }
  return found;
}
