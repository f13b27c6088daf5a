/** Rows of the table that the file does not have: which choices the user has, and what is sent. */
import type { LoadQuery, TableDescription } from '../../client/client.ts';
import type { State } from '../state.ts';
import { keepsDefinition } from './target.ts';
import { escapedItem } from './words.ts';

type TargetFacts = Pick<State, 'existing' | 'target'>;

/** Returns whether the rows of the file are compared by a key with those of an existing table, so that rows can be missing. */
export function canMissRows(state: TargetFacts): boolean {
  const { ifExists, onConflict } = state.target;
  return keepsDefinition(state) && ifExists === 'append' && onConflict !== 'fail';
}

/** Returns the names of the columns in which missing rows can be marked. */
export function markColumns({ existing }: Pick<State, 'existing'>): string[] {
  if (existing.is !== 'ready' || existing.value === null) return [];
  return existing.value.columns.filter(canMark).map(({ name }) => name);
}

function canMark({ type, is_nullable: isNullable }: TableDescription['columns'][number]): boolean {
  return type === 'boolean' || (isNullable && /^(date|timestamp)/.test(type));
}

/** Returns the part of the query that decides about missing rows. */
export function missingQuery(state: TargetFacts & Pick<State, 'rows'>): LoadQuery {
  const { action, column, max, within } = state.rows.missing;
  if (!canMissRows(state) || action === 'keep') return {};
  return {
    missing_rows: action === 'mark' ? `mark:${escapedItem(column)}` : action,
    ...(max.trim() !== '' && { max_missing_rows: max.trim() }),
    ...(within.trim() !== '' && { missing_within: within.trim() }),
  };
}

/** Returns the parameter by which a check counts the missing rows even if they are kept. */
export function countedMissing(state: TargetFacts): LoadQuery {
  return canMissRows(state) ? { missing_rows: 'keep' } : {};
}

/** @returns undefined: nothing has to be chosen */
export function missingFault(state: TargetFacts & Pick<State, 'rows'>): string | undefined {
  const { action, column } = state.rows.missing;
  if (!canMissRows(state) || action !== 'mark' || markColumns(state).includes(column)) return undefined;
  return 'Choose the column that marks missing rows.';
}

/** Returns the number of missing rows that must be allowed, from the text of a refusal. */
export function missingToAllow(detail: string): string | undefined {
  return /\bsend max_missing_rows=(\d+)\./.exec(detail)?.[1];
}
