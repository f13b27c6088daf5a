/** Finds the keys by which `on_conflict` can compare the rows of a new table, before PostgreSQL has the keys. */
import { mapInTurns } from '../../../core/pause-for-others.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { type KeyDefinition, weightOfKey } from '../../tables/definition.ts';
import { asKey } from '../../tables/indexes/index-definition.ts';
import type { PreparedTable } from '../../tables/prepared-table.ts';
import { equalityOf } from '../../tables/rules/equality.ts';
import type { ConflictKey } from './conflict-rule.ts';

/** Returns the keys of a new table that `on_conflict` can use. It works in turns, because there may be thousands. */
export async function conflictKeysOf(
  { primaryKey, unique, indexes }: PreparedTable,
  columns: LoadColumn[],
): Promise<ConflictKey[]> {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const toConflictKey = ({ columns: names, options }: KeyDefinition): ConflictKey => ({
    columns: names,
    equals: names.map((name) => equalityOf(byName.get(name))),
    nullsNotDistinct: !options.areNullsDistinct,
  });
  const uniqueIndexes = indexes
    .filter(
      ({ isUnique, where, columns }) => isUnique && !where && !columns.some(({ expression }) => expression),
    )
    .map(asKey);
  const keys = [...(primaryKey ? [primaryKey] : []), ...unique, ...uniqueIndexes];
  const usable = keys.filter(({ options }) => options.deferrable === undefined);
  return mapInTurns(usable, toConflictKey, weightOfKey);
}
