/** Moves rows of several shapes in the order of the file, in PL/pgSQL, because the shape may change with each row. */
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { mergeAndCount, mergeRows } from './merge-statements.ts';
import { noteStored, notesNumbers } from './skipped-rows.ts';
import type { StagedLoad } from './staged-load.ts';
import { hasShape, rowNumber, shapeNumber, stagingTable, unlike } from './staging-table.ts';

const variable = (purpose: string) => quoteIdentifier(`tablewright ${purpose} ${unlike}`);
const shape = variable('run shape');
const first = variable('first');
const next = variable('next');
const count = variable('count');
const changed = variable('changed');

const withoutNumbers = `(SELECT NULL::pg_catalog.int4 AS data_row FROM pg_catalog.generate_series(1, ${count})) stored`;

/** The number of rows that one statement moves. It is small enough that `STATEMENT_TIMEOUT_MS` suffices for any number of rows. */
export const rowsPerStatement = 100_000;

/**
 * Moves the rows of the shapes whose numbers are from `from` (included) to `to` (excluded), run by run: a run is a sequence of rows with the
 * same shape. The statement returns nothing; the rows are noted (`noteStored`).
 */
export function mergeInOrder(
  load: StagedLoad,
  shapes: readonly number[],
  from: number,
  to: number,
): CallersStatement {
  const minus = 'OPERATOR(pg_catalog.-)';
  const row = `s.${rowNumber}`;
  const place = (partition: string) => `pg_catalog.row_number() OVER (${partition} ORDER BY ${row})`;
  const runs = `SELECT shape, pg_catalog.min(row), pg_catalog.max(row) OPERATOR(pg_catalog.+) 1 FROM (
SELECT s.${shapeNumber} AS shape, ${row} AS row, ${place('')} ${minus} ${place(`PARTITION BY s.${shapeNumber}`)} AS run FROM ${stagingTable} s
WHERE ${hasShape('s', shapes)} AND ${row} OPERATOR(pg_catalog.>=) ${from} AND ${row} OPERATOR(pg_catalog.<) ${to}) numbered
GROUP BY shape, run ORDER BY 2`;
  const merges = shapes.map((number) => {
    const merge = mergeRows(load, number, { from: first, to: next });
    const noted = notesNumbers(load)
      ? mergeAndCount(load, merge, `INTO ${count}, ${changed}`)
      : `${merge}; GET DIAGNOSTICS ${count} = ROW_COUNT; ${noteStored(withoutNumbers)}`;
    return `IF ${shape} OPERATOR(pg_catalog.=) ${number} THEN ${noted}; END IF;`;
  });
  const quote = `$tw${unlike}$`;
  return qualified`DO ${quote}#variable_conflict use_column
DECLARE ${[shape, first, next, count, changed].map((name) => `${name} pg_catalog.int4;`).join(' ')}
BEGIN
  FOR ${shape}, ${first}, ${next} IN ${runs} LOOP
    ${merges.join('\n')}
  END LOOP;
END${quote}`;
}
