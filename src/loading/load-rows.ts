/**
 * Rows of an input → encoded rows in a relation, and what became of them.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../errors.ts';
import { Spool } from '../sources/spool.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { RowRule } from '../tables/row-constraints.ts';
import { createStagingTable, stagingTable } from '../tables/staging.ts';
import type { ColumnMatcher } from './column-matching.ts';
import { CopySession } from './copy-session.ts';
import { EncodingSink } from './encoding-sink.ts';
import { findViolations, type RowPlaces, refusedRow } from './find-violations.ts';
import type { LoadInput } from './load-input.ts';
import type { Problems } from './problems.ts';
import { targetColumns } from './target-columns.ts';

export interface LoadRowsOptions {
  /** Quoted; what rows are copied into. */
  relation: string;
  columns: LoadColumn[];
  matcher: ColumnMatcher;
  /** PostgreSQL may refuse a row while it is copied: the rows are kept, to find out which and why. */
  keepRows: boolean;
  maxRows: number;
  signal: AbortSignal;
}

export interface LoadedRows {
  count: number;
  places: RowPlaces;
  /** PostgreSQL's refusal; the relation is then as it was before. */
  refusal: Error | undefined;
  /** Adds every row that breaks a rule to the problems, after a refusal. */
  explainRefusal: (
    existing: { quoted: string; schema: string; name: string } | undefined,
    rules: RowRule[],
  ) => Promise<void>;
}

/**
 * Loads all rows that have no problem; the problems are told to `problems`.
 *
 * @throws PostgreSQL's error where it refuses rows that were not kept; what the input throws
 */
export async function loadRows<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const { columns, relation, maxRows } = options;
  const targets = await targetColumns(client, relation, columns);
  const kept = options.keepRows ? new Spool({ maxBytes: Number.MAX_SAFE_INTEGER }) : undefined;
  const session = new CopySession(
    client,
    relation,
    columns.map((column) => column.name),
    kept,
  );
  const sink = new EncodingSink({
    targets,
    matcher: options.matcher,
    locate: input.locate,
    problems,
    output: session,
    maxRows,
    onTooManyRows: () => {
      throw new AppError('limit-exceeded', `The upload has more than ${maxRows} rows (MAX_ROWS).`);
    },
  });
  try {
    if (kept) await client.query('SAVEPOINT "rows"');
    try {
      await input.read(sink, options.signal);
      await sink.finish();
      await session.finish();
    } catch (error) {
      await session.abort(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    const { refusal } = session;
    if (refusal) await client.query('ROLLBACK TO SAVEPOINT "rows"');
    const places: RowPlaces = {
      rowNumbers: sink.rowNumbers,
      locate: input.locate,
      sourceColumn: (name) => sink.sourceColumn(name),
    };
    return await use({
      count: sink.loaded,
      places,
      refusal,
      explainRefusal: async (existing, rules) => {
        if (!refusal) return;
        const before = problems.count;
        await stage(client, columns, session);
        await findViolations(client, stagingTable, existing, rules, places, problems);
        // A trigger, an exclusion constraint, a row that is too large: PostgreSQL's own words, for the first such row.
        if (problems.count === before) problems.add(refusedRow(refusal, session.rowsBefore, places));
      },
    });
  } finally {
    await kept?.close();
  }
}

/** Sends the kept rows into a table that refuses none of them. */
async function stage(client: ClientBase, columns: LoadColumn[], session: CopySession): Promise<void> {
  const bare = columns.map(({ name, type }) => ({ name, type: (type.base ?? type).name, default: null }));
  await client.query(createStagingTable(bare));
  await session.replay(stagingTable);
}
