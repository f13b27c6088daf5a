/** Warns of the numbers that a dry run takes from sequences, because a rollback does not give them back. */
import type { Warning } from '../../core/errors.ts';
import type { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import { shortenValue } from '../../encoding/problems/problems.ts';
import type { TableDescription } from '../tables/definition.ts';
import { type LoadedRows, receivedRows } from './loaded-rows.ts';

/**
 * Returns one warning for each numbered column of an existing table that rows of the dry run had no value for.
 *
 * @param table the table that the rows were loaded into
 */
export function numbersTaken(table: TableDescription, matcher: ColumnMatcher, loaded: LoadedRows): Warning[] {
  if (receivedRows(loaded) + (loaded.leftOut ?? 0) === 0) return [];
  return table.columns.filter(isNumbered).flatMap(({ name }): Warning[] => {
    const isSent = matcher.isTaken(name);
    if (isSent && !loaded.hasSeveralLists) return [];
    const column = shortenValue(name);
    const taken = `The dry run took numbers for "${column}" from its sequence, and the rollback does not give them back.`;
    const detail = isSent
      ? `${taken} Other rows set "${column}" themselves, so the load may meet other numbers than the dry run, and another result.`
      : `${taken} The load gets later numbers.`;
    return [{ code: 'numbers-taken', column: name, detail }];
  });
}

function isNumbered({ type, default: value }: TableDescription['columns'][number]): boolean {
  return /^(?:small|big)?serial$/.test(type) || /\bnextval\(/.test(value?.replaceAll(literals, '') ?? '');
}

const literals = /'[^']*'/g;
