/** Encodes all rows of an input and sends them into one relation by COPY. */

import type { ClientBase } from 'pg';
import type { Warning } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import type { ColumnMatcher } from '../../../encoding/columns/column-matching.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { WrittenBytes, type WrittenLimits } from '../../../encoding/encoders/written-bytes.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import { addDamage, headerProblems, type Problems } from '../../../encoding/problems/problems.ts';
import { type EncodingOptions, EncodingSink } from '../../../encoding/sink/encoding-sink.ts';
import { noteKeptBytes } from '../../postgres/transaction.ts';
import { setStatementTimeout } from '../../postgres/transaction-settings.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { LoadProgress } from '../request/load-progress.ts';
import { CopySession } from './copy-session.ts';
import { type Refusal, refusalOfCopy } from './refusal.ts';
import { targetColumns } from './target-columns.ts';

export interface CopyOptions {
  /** The name of the relation, quoted. */
  relation: string;
  columns: LoadColumn[];
  /** See `CopySessionOptions`. */
  freezes: boolean;
  /** Citus stores the relation at its workers. */
  isSharded: boolean;
  matcher: ColumnMatcher;
  /** The input keeps its rows, so that they can be read again. */
  keepRows: boolean;
  /**
   * Returns whether a row without the column may be copied with its default (`TargetColumn.fill`). If not, the row leaves the column
   * out, and PostgreSQL evaluates the default.
   */
  mayFill: (column: LoadColumn) => boolean;
  /** If this is set, each row begins with the number of its data row and the number of its set of columns, in these columns. */
  numbers?: { columns: readonly string[]; numberOfSet: (columns: readonly number[]) => number };
  /** A row may update an existing one. */
  mayUpdate: boolean;
  typesAreInferred: boolean;
  maxRows: number;
  /** See `EncodingOptions`. */
  maxRefusedRows?: number;
  maxRowBytes: number;
  writtenLimits: WrittenLimits;
  /** See `EncodingOptions`. */
  written?: WrittenBytes;
  /** The timeout of each statement except COPY, because COPY takes as long as the client takes to send. A COPY without progress ends (`deadlineClient`). */
  statementTimeoutMs: number;
  signal: AbortSignal;
  progress: LoadProgress;
}

export interface CopiedRows {
  /** The number of rows without a problem. */
  sent: number;
  /** The number of rows with a problem, which were not sent. */
  refused: number;
  /** The number of rows that PostgreSQL stored. It is smaller if a trigger leaves out rows. */
  taken: number;
  /** The data rows of the rows that were sent. */
  numbers: EncodingSink['rowNumbers'];
  /** The rows did not all have the same columns, so several COPYs sent them. */
  hasSeveralLists: boolean;
  places: CellPlaces;
  /** Warnings about parts of values that the types of the columns cannot store. */
  warnings: Warning[];
  /** PostgreSQL refused a row: the transaction has failed. */
  refusal: Refusal | undefined;
}

/**
 * Reads the rows of the input once, and copies those without a problem into the relation.
 *
 * @throws what the input throws; PostgreSQL's errors that are not about the rows
 */
export async function copyRows(
  client: ClientBase,
  input: LoadInput,
  options: CopyOptions,
  problems: Problems,
): Promise<CopiedRows> {
  const { columns, signal } = options;
  const targets = await targetColumns(client, columns, input.nameMatching === 'loose', options.mayFill);
  const session = new CopySession(client, {
    relation: options.relation,
    columnNames: columns.map((column) => column.name),
    leadingColumns: options.numbers?.columns,
    freezes: options.freezes,
    isSharded: options.isSharded,
    // The temporary table of staged rows has no generated columns.
    isRowByRow:
      options.numbers === undefined && columns.some(({ isLongGenerated }) => isLongGenerated === true),
  });
  const sink = sinkOf(input, options, { targets, output: session, problems });
  options.progress.pass = sink;
  try {
    await client.query(setStatementTimeout(0));
    await readInto(sink, input, options.keepRows, signal, problems);
    await session.finish();
  } catch (error) {
    await session.abort(error instanceof Error ? error : new Error(String(error)));
    throw error;
  } finally {
    noteKeptBytes(client, sink.keptBytes);
  }
  if (!session.refusal) await client.query(setStatementTimeout(options.statementTimeoutMs));
  return copiedRows(input, sink, session);
}

/** Reads all rows of the input into the sink, with the problems of the input itself. */
export async function readInto(
  sink: EncodingSink,
  input: LoadInput,
  keepRows: boolean,
  signal: AbortSignal,
  problems: Problems,
): Promise<void> {
  await (keepRows ? input.readAndKeep(sink, signal) : input.read(sink, signal));
  sink.endOfRows();
  for (const problem of headerProblems(input)) problems.addOfUpload(problem);
  addDamage(problems, input);
  await sink.finish();
}

type SinkOptions = Pick<
  CopyOptions,
  | 'matcher'
  | 'numbers'
  | 'maxRows'
  | 'maxRefusedRows'
  | 'maxRowBytes'
  | 'writtenLimits'
  | 'written'
  | 'typesAreInferred'
  | 'mayUpdate'
>;

export function sinkOf(
  input: LoadInput,
  options: SinkOptions,
  to: Pick<EncodingOptions, 'targets' | 'output' | 'problems'>,
): EncodingSink {
  const { maxRows, maxRefusedRows, writtenLimits } = options;
  return new EncodingSink({
    ...to,
    matcher: options.matcher,
    locate: input.locate,
    numberOfSet: options.numbers?.numberOfSet,
    maxRows,
    ...(maxRefusedRows !== undefined && { maxRefusedRows }),
    maxRowBytes: options.maxRowBytes,
    writtenLimits,
    written: options.written ?? new WrittenBytes(writtenLimits, input.expanded),
    typesAreInferred: options.typesAreInferred,
    mayUpdate: options.mayUpdate,
    onTooManyRows: () => {
      throw limitExceeded('The upload has too many rows', maxRows, { setting: 'MAX_ROWS' });
    },
  });
}

/** Returns what the sink knows of the rows that it has encoded. */
export function rowsOf(
  { locate }: LoadInput,
  sink: EncodingSink,
): Pick<CopiedRows, 'sent' | 'places' | 'warnings'> {
  return {
    sent: sink.loaded,
    places: { locate, sourceColumn: (name) => sink.sourceColumn(name) },
    warnings: [...sink.lossWarnings(), ...sink.pointWarnings()],
  };
}

function copiedRows(input: LoadInput, sink: EncodingSink, session: CopySession): CopiedRows {
  return {
    ...rowsOf(input, sink),
    refused: sink.refused,
    taken: session.rowsTaken,
    numbers: sink.rowNumbers,
    hasSeveralLists: session.hasSeveralLists,
    refusal:
      session.refusal &&
      refusalOfCopy(session.refusal, session.refusedColumns, session.rowsBefore, sink.rowNumbers),
  };
}
