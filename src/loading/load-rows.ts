/**
 * Rows of an input → encoded rows in a table, and what became of them.
 *
 * Two ways: *straight* into the table, the fast one; or *staged* in a temporary table and moved from there, where rows
 * may meet others with the same key (`on_conflict`) or a column's type has no binary encoder.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../errors.ts';
import { isRefusalOfData } from '../postgres/sqlstate.ts';
import { Spool } from '../sources/spool.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { RowRule } from '../tables/row-constraints.ts';
import {
  beginShape,
  type ConflictRule,
  createStagingTable,
  findSurplusRows,
  mergeShape,
  rowNumberColumn,
  stagingTable,
} from '../tables/staging.ts';
import type { ColumnMatcher } from './column-matching.ts';
import { CopySession } from './copy-session.ts';
import { EncodingSink, type TargetColumn } from './encoding-sink.ts';
import { findViolations, type RowPlaces, refusedRow } from './find-violations.ts';
import type { LoadInput } from './load-input.ts';
import type { Problems } from './problems.ts';
import { isStagedAsText, targetColumns } from './target-columns.ts';

export interface LoadRowsOptions {
  /** Quoted; the table that the rows go into. */
  relation: string;
  columns: LoadColumn[];
  matcher: ColumnMatcher;
  /** PostgreSQL may refuse a row while it is copied: the rows are kept, to find out which and why. */
  keepRows: boolean;
  conflict: ConflictRule | undefined;
  /** The table is empty, and its keys come after the rows. */
  isBare: boolean;
  maxRows: number;
  /** For each statement but the COPY, which lasts as long as the client takes to send. */
  statementTimeoutMs: number;
  signal: AbortSignal;
}

export interface LoadedRows {
  inserted: number;
  updated: number;
  /** Left out, because another row had the key. */
  skipped: number;
  places: RowPlaces;
  /** PostgreSQL's refusal of a row; the table is then as it was before. */
  refusal: Error | undefined;
  /** Adds every row that breaks a rule to the problems, or else the one that the refusal names. */
  explain: (refusal: Error, existing: ExistingRows | undefined, rules: RowRule[]) => Promise<void>;
}

/** A table whose rows count beside those sent. */
export interface ExistingRows {
  quoted: string;
  schema: string;
  name: string;
}

/** More different sets of columns than this in one upload, and moving them one set at a time takes too long. */
const maxStagedShapes = 200;

/**
 * Loads all rows that have no problem; the problems are told to `problems`.
 *
 * @param use is called before what was kept is released
 * @throws PostgreSQL's error where it refuses rows that were not kept; what the input throws
 */
export function loadRows<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const isStaged = options.conflict !== undefined || options.columns.some(isStagedAsText);
  return isStaged
    ? loadStaged(client, input, problems, options, use)
    : loadStraight(client, input, problems, options, use);
}

async function loadStraight<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const { columns, relation, keepRows } = options;
  const targets = await targetColumns(client, relation, columns, true);
  const tee = keepRows ? new Spool({ maxBytes: Number.MAX_SAFE_INTEGER }) : undefined;
  try {
    const session = new CopySession(client, relation, namesOf(columns), { tee });
    if (tee) await client.query('SAVEPOINT "rows"');
    const { sink, places } = await copyRows(client, input, problems, options, targets, session, false);
    const { refusal } = session;
    // The savepoint has the setting of before, too.
    if (refusal) await client.query('ROLLBACK TO SAVEPOINT "rows"');
    return await use({
      inserted: sink.loaded,
      updated: 0,
      skipped: 0,
      places,
      refusal,
      explain: async (error, existing, rules) => {
        if (refusal) {
          await client.query(createStagingTable(columns, () => false));
          await session.replay(stagingTable);
        }
        const sent = refusal ? stagingTable : relation;
        await explain(client, error, session.rowsBefore, sent, existing, rules, places, problems);
      },
    });
  } finally {
    await tee?.close();
  }
}

async function loadStaged<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const { columns, relation, conflict } = options;
  // An update must leave alone what a row does not bring.
  const targets = await targetColumns(client, relation, columns, conflict?.action !== 'update');
  await client.query(createStagingTable(columns, isStagedAsText));
  const shapes = new Shapes();
  const session = new CopySession(client, stagingTable, namesOf(columns), {
    leadingColumn: rowNumberColumn,
    beforeCopy: async (shape) => void (await client.query(beginShape(shapes.numberOf(shape)))),
  });
  const { sink, places } = await copyRows(client, input, problems, options, targets, session, true);

  const moved = await moveRows(client, options, shapes);
  const inserted = moved.refusal ? 0 : moved.inserted;
  const isUpdate = conflict?.action === 'update';
  const notInserted = sink.loaded - inserted;
  return use({
    inserted,
    updated: isUpdate ? notInserted : 0,
    skipped: isUpdate ? 0 : notInserted,
    places,
    refusal: moved.refusal,
    explain: async (error, existing, rules) => {
      const asked = rules.filter((rule) => rule.kind !== 'unique' || !isSameKey(rule.columns, conflict?.key));
      const inputs = await inputRules(client, columns);
      await explain(client, error, 0, stagingTable, existing, [...inputs, ...asked], places, problems);
    },
  });
}

/** PostgreSQL 15 cannot be asked whether a text is valid input: there the first refusal is all that is told. */
async function inputRules(client: ClientBase, columns: LoadColumn[]): Promise<RowRule[]> {
  const { rows } = await client.query(
    "SELECT to_regproc('pg_catalog.pg_input_is_valid') IS NOT NULL AS can_ask",
  );
  if (!rows[0].can_ask) return [];
  return columns
    .filter(isStagedAsText)
    .map(({ name, type }) => ({ kind: 'input', columns: [name], type: type.name }));
}

/** @param sent quoted; holds the rows in the order in which they were sent */
async function explain(
  client: ClientBase,
  refusal: Error,
  rowsBefore: number,
  sent: string,
  existing: ExistingRows | undefined,
  rules: RowRule[],
  places: RowPlaces,
  problems: Problems,
): Promise<void> {
  const before = problems.count;
  await findViolations(client, sent, existing, rules, places, problems);
  // A trigger, an exclusion constraint, a row that is too large: PostgreSQL's own words, for the first such row.
  if (problems.count === before) problems.add(refusedRow(refusal, rowsBefore, places));
}

/** Moves the staged rows into the table, one shape after the other; a refusal leaves the table as it was. */
async function moveRows(
  client: ClientBase,
  { relation, columns, conflict, isBare }: LoadRowsOptions,
  shapes: Shapes,
): Promise<{ inserted: number; refusal: Error | undefined }> {
  let inserted = 0;
  await client.query('SAVEPOINT "rows"');
  try {
    if (conflict) await client.query(findSurplusRows(conflict));
    for (const [shape, positions] of shapes.all.entries()) {
      const shapeColumns = positions.map((position) => columns[position]!);
      const merge = mergeShape(relation, shapeColumns, shape, conflict, !isBare, isStagedAsText);
      const { rows } = await client.query<{ inserted: number }>(merge);
      inserted += rows[0]!.inserted;
    }
    return { inserted, refusal: undefined };
  } catch (error) {
    if (!isRefusalOfData(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT "rows"');
    return { inserted: 0, refusal: error };
  }
}

/** Pushes all rows of the input through the encoders into the session, to its end. */
async function copyRows(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  targets: TargetColumn[],
  session: CopySession,
  sendsRowNumbers: boolean,
): Promise<{ sink: EncodingSink; places: RowPlaces }> {
  const { matcher, maxRows, signal } = options;
  const sink = new EncodingSink({
    targets,
    matcher,
    locate: input.locate,
    problems,
    output: session,
    sendsRowNumbers,
    maxRows,
    onTooManyRows: () => {
      throw new AppError('limit-exceeded', `The upload has more than ${maxRows} rows (MAX_ROWS).`);
    },
  });
  try {
    await client.query('SET LOCAL statement_timeout = 0');
    await input.read(sink, signal);
    await sink.finish();
    await session.finish();
  } catch (error) {
    await session.abort(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
  if (!session.refusal) await client.query(`SET LOCAL statement_timeout = ${options.statementTimeoutMs}`);
  const sourceColumn = (name: string) => sink.sourceColumn(name);
  return { sink, places: { rowNumbers: sink.rowNumbers, locate: input.locate, sourceColumn } };
}

/** The sets of columns that rows came with, numbered. */
class Shapes {
  readonly all: (readonly number[])[] = [];
  readonly #numbers = new Map<string, number>();

  /** @throws AppError `limit-exceeded` */
  numberOf(columns: readonly number[]): number {
    const key = columns.toSorted((a, b) => a - b).join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.all.length === maxStagedShapes) {
      throw new AppError(
        'limit-exceeded',
        `The rows have more than ${maxStagedShapes} different sets of keys. Give every row the same keys, with null where there is no value.`,
      );
    }
    this.#numbers.set(key, this.all.length);
    this.all.push(columns);
    return this.all.length - 1;
  }
}

function namesOf(columns: LoadColumn[]): string[] {
  return columns.map((column) => column.name);
}

function isSameKey(columns: string[], key: string[] | undefined): boolean {
  return (
    key !== undefined && columns.length === key.length && columns.every((column) => key.includes(column))
  );
}
