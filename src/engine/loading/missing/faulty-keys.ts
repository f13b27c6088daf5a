/**
 * Reads the keys of rows that have a problem. Such a row is not in the staging table, but it is in the upload, so the row of the table with its key is not
 * missing. All rows are read once more, only their keys, into a table of their own.
 */
import type { ClientBase } from 'pg';
import { type ColumnMatch, ColumnMatcher } from '../../../encoding/columns/column-matching.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { Problems } from '../../../encoding/problems/problems.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { type CopyOptions, copyRows } from '../copying/copy-rows.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { Shapes } from '../staged/shapes.ts';
import { createStagingTableAlone, leadingColumns } from '../staged/staging-table.ts';

const keyTable = 'pg_temp."tablewright keys of rows"';

/** The rows of the upload, as a table with some of their columns. */
export interface SentRows {
  /** The name of the table, quoted. */
  table: string;
  columns: LoadColumn[];
  shapes: Shapes;
}

export type KeyOptions = Pick<
  CopyOptions,
  'maxRows' | 'maxRowBytes' | 'writtenLimits' | 'statementTimeoutMs' | 'enterLongRow' | 'signal' | 'progress'
> & { matcher: ColumnMatcher };

/**
 * Copies the keys of all rows.
 *
 * @param all the columns of the table, by which the names in the data are understood
 * @param wanted the columns that are copied, and the number of all rows of the upload
 * @returns undefined: the key of a row cannot be read
 */
export async function copyKeys(
  client: ClientBase,
  input: LoadInput,
  all: LoadColumn[],
  wanted: { names: ReadonlySet<string>; rows: number },
  options: KeyOptions,
): Promise<SentRows | undefined> {
  const columns = all.filter(({ name }) => wanted.names.has(name));
  const shapes = new Shapes(Number.POSITIVE_INFINITY);
  await queryInCallersPath(client, qualified`${createStagingTableAlone(columns, keyTable)}`);
  const copyOptions = {
    // The caller has more options than these, which must not reach the keys.
    maxRows: options.maxRows,
    maxRowBytes: options.maxRowBytes,
    writtenLimits: options.writtenLimits,
    statementTimeoutMs: options.statementTimeoutMs,
    enterLongRow: options.enterLongRow,
    signal: options.signal,
    progress: options.progress,
    relation: keyTable,
    columns,
    matcher: new KeyMatcher(all, columns, input, options.matcher),
    freezes: false,
    isSharded: false,
    keepRows: false,
    typesAreInferred: false,
    mayFill: () => false,
    mayUpdate: false,
    mayWiden: false,
    numbers: { columns: leadingColumns, numberOfSet: (set: readonly number[]) => shapes.numberOf(set) },
  };
  // The problems of other cells are known from the first pass.
  const { sent, refused, refusal } = await copyRows(client, input, copyOptions, new Problems());
  if (refusal) throw refusal.error;
  if (sent + refused !== wanted.rows) throw new Error('the second pass has read other rows');
  return refused > 0 ? undefined : { table: keyTable, columns, shapes };
}

/** Matches the names in the data with all columns of the table, and leaves out the cells of those that are not copied. */
class KeyMatcher extends ColumnMatcher {
  readonly #positions: number[];

  constructor(all: LoadColumn[], columns: LoadColumn[], input: LoadInput, { extraColumns }: ColumnMatcher) {
    super(all, input.nameMatching, extraColumns);
    this.#positions = all.map((column) => columns.indexOf(column));
  }

  override match(name: string): ColumnMatch {
    const { target } = super.match(name);
    return { target: target < 0 ? -1 : this.#positions[target]! };
  }
}
