/** Stages the rows of a new table if PostgreSQL refuses to add its keys. The rows need not be read again, because the table has them. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { truncateTable } from '../../tables/loading/load-statements.ts';
import type { CopiedRows } from '../copying/copy-rows.ts';
import { mostAdded } from './computed-bytes.ts';
import { createProgress, restartTable } from './merge-statements.ts';
import { Shapes } from './shapes.ts';
import type { StageTarget } from './stage-rows.ts';
import { stagedColumns } from './staged-columns.ts';
import type { StagedLoad } from './staged-load.ts';
import * as staging from './staging-table.ts';

/**
 * Makes the staging table from the rows that COPY has stored in a new table, with the values that PostgreSQL filled in.
 *
 * @param ratio see `mostAdded`
 * @param areRead true: the rows will probably only be read. The staging table is then a view, and `fill` of the result moves the rows into it
 * @returns undefined: it is not known for every row which data row it was
 */
export async function stageStored(
  client: ClientBase,
  target: StageTarget,
  { numbers, places, ownBytes }: CopiedRows,
  ratio: number,
  areRead: boolean,
): Promise<StagedLoad | undefined> {
  const { breaks } = numbers;
  if (breaks === undefined) return undefined;
  const { relation, stored, isNew, changesRows, mayPreventUpdates, hasRules, isSharded } = target;
  const columns = stagedColumns(target.columns, target.keys);
  const query = storedRows(relation, columns, breaks);
  await client.query(readInOrder);
  if (areRead) await client.query(staging.createStagingView(query));
  const fill = async () => {
    if (areRead) await client.query(staging.dropStagingView);
    const create = areRead ? staging.createStagingTableAlone(columns) : staging.createStagingTable(columns);
    await queryInCallersPath(client, qualified`${create}; ${createProgress}`);
    await client.query(`INSERT INTO ${staging.stagingTable} ${query}`);
    await queryInCallersPath(client, isSharded ? truncateTable(relation, undefined) : restartTable(relation));
  };
  if (!areRead) await fill();
  const shapes = new Shapes(1);
  shapes.numberOf([...columns.keys()].filter((index) => !columns[index]!.isGenerated));
  const rows = { relation, stored, columns, changesRows, mayPreventUpdates, hasRules, isSharded };
  return {
    ...rows,
    isBare: isNew,
    shapes,
    places,
    mostAdded: mostAdded(ownBytes, ratio),
    conflict: undefined,
    compared: undefined,
    ...(areRead && { fill }),
  };
}

/** Without these settings PostgreSQL may begin to read a large table at any page, and several processes may read it, so the order of the rows would be lost. */
const readInOrder = `SELECT set_config('synchronize_seqscans', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`;

/** Returns a query that gives each stored row the number of its data row, which is its position plus the number of data rows that were left out before it (row-numbers.ts). */
function storedRows(
  relation: string,
  columns: LoadColumn[],
  { ordinals, rows }: { ordinals: number[]; rows: number[] },
): string {
  const ordinal = quoteIdentifier(`tablewright ordinal ${staging.unlike}`);
  const array = (numbers: number[]) => `'{${numbers.join()}}'::int[]`;
  const offsets = array(rows.map((row, index) => row - ordinals[index]!));
  const number = `${ordinal} + coalesce((${offsets})[width_bucket(${ordinal}, ${array(ordinals)})], 1)`;
  const names = columns.map(({ name }) => `, ${quoteIdentifier(name)}`).join('');
  return `SELECT ${number} AS ${staging.rowNumber}, 0 AS ${staging.shapeNumber}${names}
FROM (SELECT row_number() OVER ()::int - 1 AS ${ordinal}, * FROM ${relation}) t`;
}
