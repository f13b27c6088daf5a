/** What the page derives from the target table, whether it exists or not. */
import type { LoadResult } from '../load-outcome.ts';
import type { State, Target } from '../state.ts';
import { plural } from './words.ts';

/** Proposes a table name: the name of the file in lower case without its extension (`orders` for `orders.csv.gz`). */
export function tableNameOf(fileName: string): string {
  const stem = fileName.replace(/(\.[^.]*)?\.(gz|zst|br)$|\.[^.]*$/i, '');
  return identifierOf(stem);
}

/** Proposes a table name for a name of the file: `order_lines` for “Order lines”. */
export function identifierOf(text: string): string {
  const name = text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '');
  return shortenedTo(63, name) || 'rows';
}

/** Says what is wrong with the name of a table; undefined: nothing. */
export function nameFault(table: string): string | undefined {
  if (table === '') return 'Name the table.';
  return byteLength(table) > 63 ? 'The name of the table has more than 63 bytes.' : undefined;
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Shortens a text to a number of bytes of UTF-8 without cutting a character. */
function shortenedTo(maxBytes: number, text: string): string {
  if (byteLength(text) <= maxBytes) return text;
  let kept = '';
  let bytes = 0;
  for (const sign of text) {
    bytes += byteLength(sign);
    if (bytes > maxBytes) break;
    kept += sign;
  }
  return kept;
}

/** Returns whether the target table exists and the load keeps its columns and types. */
export function keepsDefinition({ existing, target }: Pick<State, 'existing' | 'target'>): boolean {
  return (
    existing.is === 'ready' &&
    existing.value !== null &&
    (target.ifExists === 'append' || target.ifExists === 'truncate')
  );
}

/** Returns whether the page could not find out if the table exists. */
function isUnseen({ existing }: Pick<State, 'existing'>): boolean {
  return existing.is === 'failed';
}

/** Returns whether the target may be an existing table that keeps its columns, also if the page could not find out whether it exists. */
export function mayKeepDefinition(state: Pick<State, 'existing' | 'target'>): boolean {
  const { ifExists } = state.target;
  return keepsDefinition(state) || (isUnseen(state) && (ifExists === 'append' || ifExists === 'truncate'));
}

/** Explains what the page could not find out about the target table; undefined: nothing is missing. */
export function unseenWords({ existing }: Pick<State, 'existing'>): string | undefined {
  if (existing.is !== 'failed') return undefined;
  const { code, detail } = existing.failure;
  return code === 'insufficient-scope'
    ? 'This token may not read tables: it lacks the scope table:read. The page cannot see whether the table exists, nor its columns. You can load into it anyway: say what happens if it exists.'
    : `The page cannot see whether the table exists: ${detail}`;
}

/** Returns whether the user may choose a primary key. If this load creates the table, its key consists of columns of the file. */
export function mayHaveKey({
  columns,
  existing,
  target,
}: Pick<State, 'columns' | 'existing' | 'target'>): boolean {
  const isNew = target.ifExists === 'replace' || (existing.is === 'ready' && existing.value === null);
  return (
    !isNew || columns.some(({ isIncluded, keyPlace, isUnique }) => isIncluded && (keyPlace > 0 || isUnique))
  );
}

/** Warns what the load does to the rows that are already in the table; undefined: it keeps them. */
export function lossWords({ existing, target }: Pick<State, 'existing' | 'target'>): string | undefined {
  if (existing.is === 'ready' && existing.value === null) return undefined;
  const table = `${target.schema}.${target.table}`;
  if (target.ifExists === 'truncate') return `The existing rows of ${table} are deleted first.`;
  if (target.ifExists === 'replace') return `A new table with the rows of the file replaces ${table}.`;
  return undefined;
}

/** Warns that the load deletes missing rows; undefined: it deletes none. */
export function deletedWords(
  { target }: Pick<State, 'target'>,
  { deleted = 0 }: LoadResult['load'],
): string | undefined {
  if (deleted === 0) return undefined;
  return `${plural(deleted, 'row')} of ${target.schema}.${target.table} that the file does not have ${deleted === 1 ? 'is' : 'are'} deleted.`;
}

export function targetOf(fileName: string): Target {
  return { schema: 'public', table: tableNameOf(fileName), ifExists: 'fail', onConflict: 'fail' };
}
