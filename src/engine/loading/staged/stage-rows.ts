/** Copies all rows of an input into the staging table. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { type CopiedRows, type CopyOptions, copyRows } from '../copying/copy-rows.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { originNames } from '../provenance/provenance.ts';
import { createCounter, mostAdded } from './computed-bytes.ts';
import { type ConflictKey, type ConflictOption, conflictRule } from './conflict-rule.ts';
import { createProgress } from './merge-statements.ts';
import { Shapes } from './shapes.ts';
import { stagedColumns } from './staged-columns.ts';
import type { StagedLoad } from './staged-load.ts';
import { createStagingTable, leadingColumns, stagingTable } from './staging-table.ts';
import { comparedColumns } from './unchanged-rows.ts';

/** The table that the staged rows will be moved into. */
export type StageTarget = Pick<
  StagedLoad,
  'relation' | 'stored' | 'columns' | 'changesRows' | 'mayPreventUpdates' | 'hasRules' | 'isSharded'
> & {
  /** This upload has created the table, and its keys are added after the rows. */
  isNew: boolean;
  keys: ConflictKey[];
};

export interface StageOptions
  extends Omit<
    CopyOptions,
    'freezes' | 'isSharded' | 'relation' | 'columns' | 'mayFill' | 'numbers' | 'mayUpdate'
  > {
  conflict: ConflictOption | undefined;
  maxShapes: number;
  /** See `measuredColumns`. */
  measured: readonly string[] | undefined;
}

/**
 * Creates the staging table and copies the rows into it.
 *
 * @throws AppError `limit-exceeded` if the rows have more than `maxShapes` different sets of columns; the errors of `copyRows`
 */
export async function stageRows(
  client: ClientBase,
  input: LoadInput,
  target: StageTarget,
  { conflict, maxShapes, measured, ...options }: StageOptions,
  problems: Problems,
): Promise<{ staged: StagedLoad; copied: CopiedRows }> {
  const { relation, stored, isNew, changesRows, mayPreventUpdates, hasRules, isSharded } = target;
  const columns = stagedColumns(target.columns, target.keys);
  const counters = measured ? `${createProgress}; ${createCounter}` : createProgress;
  await queryInCallersPath(client, qualified`${createStagingTable(columns)}; ${counters}`);
  const shapes = new Shapes(maxShapes);
  const copied = await copyRows(
    client,
    input,
    {
      ...options,
      relation: stagingTable,
      columns,
      freezes: false,
      isSharded: false,
      mayFill: mayFill(conflict),
      numbers: { columns: leadingColumns, numberOfSet: (set) => shapes.numberOf(set) },
      mayUpdate: conflict?.action === 'update',
    },
    problems,
  );
  const { places } = copied;
  const isInData = (name: string) => places.sourceColumn(name) >= 0;
  const notCompared = new Set(originNames(options.provenance));
  const rule = conflict && { ...conflictRule(conflict, columns, shapes, isInData), notCompared };
  const limit = mostAdded(copied.ownBytes, options.writtenLimits.maxUnpackRatio);
  const staged = {
    mostAdded: limit,
    computed: measured && { columns: measured, limit },
    relation,
    stored,
    columns,
    isBare: isNew,
    changesRows,
    mayPreventUpdates,
    hasRules,
    isSharded,
    shapes,
    conflict: rule,
    places,
  };
  return { staged: { ...staged, compared: comparedColumns(staged) }, copied };
}

/**
 * Returns whether the service may write the default into staged rows without the column. It must not before an update, because an
 * update must not change columns that the row does not have. It must not in a column of the key, because a row without a key must
 * differ from a row with one.
 */
function mayFill(conflict: ConflictOption | undefined): (column: LoadColumn) => boolean {
  if (conflict?.action === 'update') return () => false;
  const keyColumns = new Set(conflict?.keys.flatMap((key) => key.columns));
  return ({ name }) => !keyColumns.has(name);
}
