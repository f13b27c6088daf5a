/** What the page derives from tables and loads: their order, which are shown, the new name of a table, and the file in which its rows are saved. */
import type { components, ListedLoad, ListedTable, TableDescription } from '../../client/client.ts';
import type { DownloadFormat, LoadFilter, LoadTimes, RowSort, TableName, TableSort } from '../state.ts';
import { escapedItem } from './words.ts';

type Renamed = TableName & { comment: string };

/** Returns what the request changes. Members that stay are left out. */
export function renameOf(
  { schema, name, comment = '' }: Pick<TableDescription, 'schema' | 'name' | 'comment'>,
  to: Renamed,
): components['schemas']['TableChange'] {
  return {
    ...(to.name !== name && { name: to.name }),
    ...(to.schema !== schema && { schema: to.schema }),
    ...(to.comment !== comment && { comment: to.comment || null }),
  };
}

/** Says what a request of `renameOf` has done. */
export function renamedWords(before: Pick<TableDescription, 'schema' | 'name'>, to: Renamed): string {
  const name = `${to.schema}.${to.name}`;
  return to.schema === before.schema && to.name === before.name
    ? `The comment of ${name} was changed.`
    : `The table ${before.schema}.${before.name} is now ${name}.`;
}

/** Returns the name of the file in which the rows of a table are saved. */
export function fileOfTable({ schema, name }: TableName, format: DownloadFormat): string {
  return `${schema === 'public' ? '' : `${schema}.`}${name}.${format}`;
}

/** Returns a text that only this table has. */
export function keyOfTable({ schema, name }: TableName): string {
  return JSON.stringify([schema, name]);
}

/** Returns the newest time of each table. @param loads the newest first */
export function loadTimes(loads: ListedLoad[]): LoadTimes {
  const times = loads.toReversed().flatMap(({ table, parts, created_at: at }) => {
    return (parts ?? [table]).map((part): [string, string] => [keyOfTable(part), at]);
  });
  return new Map(times);
}

/** Returns the tables whose name has the text, in the wanted order. Tables without a value are last. */
export function shownTables(
  { tables, loadedAt }: { tables: ListedTable[]; loadedAt: LoadTimes },
  filter: string,
  { by, isDescending }: TableSort,
): ListedTable[] {
  const shown = tables.filter(({ schema, name }) => hasText(`${schema}.${name}`, filter));
  if (by === 'name') return isDescending ? shown.reverse() : shown;
  const values = new Map(shown.map((table) => [table, sortValue(table, by, loadedAt)]));
  const sign = isDescending ? -1 : 1;
  return shown.sort((one, other) => {
    const [first, second] = [values.get(one), values.get(other)];
    if (first == null || second == null) return Number(first == null) - Number(second == null);
    return first < second ? -sign : first > second ? sign : 0;
  });
}

function sortValue(
  table: ListedTable,
  by: TableSort['by'],
  loadedAt: LoadTimes,
): number | string | null | undefined {
  if (by === 'loaded') return loadedAt.get(keyOfTable(table));
  return by === 'rows' ? table.estimated_rows : table.bytes;
}

/** Returns the loads whose table, file or person has the text. */
export function shownLoads(loads: ListedLoad[], { text }: Pick<LoadFilter, 'text'>): ListedLoad[] {
  return loads.filter((load) =>
    [
      ...(load.parts ?? [load.table]).map(({ schema, name }) => `${schema}.${name}`),
      ...filesOf(load),
      load.subject ?? '',
    ].some((part) => hasText(part, text)),
  );
}

function filesOf({ file, parts }: Pick<ListedLoad, 'file' | 'parts'>): string[] {
  const files = parts?.map((part) => part.file) ?? [file];
  return [...new Set(files)].filter((one) => one != null);
}

/** Names the file of a load, or the first of several; undefined: there is none. */
export function filesInWords(load: Pick<ListedLoad, 'file' | 'parts'>): string | undefined {
  const [first, ...others] = filesOf(load);
  return first !== undefined && others.length > 0 ? `${first} and ${others.length} more` : first;
}

function hasText(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

/** Returns the parameter `order`. */
export function orderOf({ column, isDescending }: RowSort): string {
  return `${escapedItem(column)}.${isDescending ? 'desc' : 'asc'}`;
}

/** Returns the sort after a click on a column: ascending, then descending, then as PostgreSQL stores the rows. */
export function nextSort(sort: RowSort | undefined, column: string): RowSort | undefined {
  if (sort?.column !== column) return { column, isDescending: false };
  return sort.isDescending ? undefined : { column, isDescending: true };
}
