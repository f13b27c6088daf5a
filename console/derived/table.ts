/** What the page derives from a table: its new name, what was done with it, and the file in which its rows are saved. */
import type { components, TableDescription } from '../../client/client.ts';
import type { DownloadFormat, TableName } from '../state.ts';

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
