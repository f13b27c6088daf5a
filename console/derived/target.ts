/** What follows from the table to which the rows go, whether it exists or not. */
import type { ColumnPlan, State, Target } from '../state.ts';

/** Proposes the name of the table: the name of the file without its extension (`orders` for `orders.csv.gz`), in lower case. */
export function tableNameOf(fileName: string): string {
  const stem = fileName
    .replace(/(\.[^.]*)?\.(gz|zst|br)$|\.[^.]*$/i, '')
    .normalize('NFC')
    .toLowerCase();
  const name = stem.replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_+|_+$/g, '');
  return shortenedTo(63, name) || 'rows';
}

/** Cuts a text to a number of bytes of UTF-8, at the end of a character. */
function shortenedTo(maxBytes: number, text: string): string {
  let kept = '';
  let bytes = 0;
  for (const sign of text) {
    bytes += new TextEncoder().encode(sign).length;
    if (bytes > maxBytes) break;
    kept += sign;
  }
  return kept;
}

/** Returns whether the table that the rows go to exists and keeps its definition. */
export function keepsDefinition({ existing, target }: Pick<State, 'existing' | 'target'>): boolean {
  return (
    existing.is === 'ready' &&
    existing.value !== null &&
    (target.ifExists === 'append' || target.ifExists === 'truncate')
  );
}

/** Returns whether the page cannot find out whether the table exists. */
function isUnseen({ existing }: Pick<State, 'existing'>): boolean {
  return existing.is === 'failed';
}

/** Returns whether the rows may go to an existing table that keeps its definition. */
export function mayKeepDefinition(state: Pick<State, 'existing' | 'target'>): boolean {
  const { ifExists } = state.target;
  return keepsDefinition(state) || (isUnseen(state) && (ifExists === 'append' || ifExists === 'truncate'));
}

/** Says what the page cannot see of the table; undefined: it sees everything. */
export function unseenWords({ existing }: Pick<State, 'existing'>): string | undefined {
  if (existing.is !== 'failed') return undefined;
  const { code, detail } = existing.failure;
  return code === 'insufficient-scope'
    ? 'This token may not read tables: it lacks the scope table:read. The page cannot see whether the table exists, nor its columns. You can load into it anyway: say what happens if it exists.'
    : `The page cannot see whether the table exists: ${detail}`;
}

export type ExistingColumn = Pick<ColumnPlan, 'type' | 'isNullable' | 'keyPlace'>;

/**
 * Returns the column of the existing table that a column of the file is loaded into. The service also matches the headers of
 * spreadsheets ignoring case and outer space.
 *
 * @returns undefined if the table does not have the column
 */
export function existingColumn(
  { existing, file }: Pick<State, 'existing' | 'file'>,
  wanted: string,
): ExistingColumn | undefined {
  if (existing.is !== 'ready' || existing.value === null) return undefined;
  const { columns, constraints } = existing.value;
  const folded = (name: string): string => name.trim().toLowerCase();
  const found =
    columns.find(({ name }) => name === wanted) ??
    (file?.kind === 'spreadsheet' ? columns.find(({ name }) => folded(name) === folded(wanted)) : undefined);
  if (found === undefined) return undefined;
  const keyPlace = constraints.primary_key.columns.indexOf(found.name) + 1;
  return { type: found.type, isNullable: found.is_nullable, keyPlace };
}

/** Returns whether the table may have a key. A table that this load creates has only the keys of its columns. */
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

/** Says what a load does to the rows that the table has; undefined: it keeps them. */
export function lossWords({ existing, target }: Pick<State, 'existing' | 'target'>): string | undefined {
  if (existing.is === 'ready' && existing.value === null) return undefined;
  const table = `${target.schema}.${target.table}`;
  if (target.ifExists === 'truncate') return `The existing rows of ${table} are deleted first.`;
  if (target.ifExists === 'replace') return `A new table with the rows of the file replaces ${table}.`;
  return undefined;
}

export function targetOf(fileName: string): Target {
  return { schema: 'public', table: tableNameOf(fileName), ifExists: 'fail', onConflict: 'fail' };
}
