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
import type { Misfits } from '../../../encoding/widening/misfits.ts';
import { noteKeptBytes } from '../../../postgres/transaction.ts';
import { setStatementTimeout } from '../../../postgres/transaction-settings.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { Provenance } from '../provenance/provenance.ts';
import { rowOrigins } from '../provenance/row-origins.ts';
import type { LoadProgress } from '../request/load-progress.ts';
import type { LoadContext } from '../request/load-request.ts';
import { CopySession } from './copy-session.ts';
import { isStoredRowByRow } from './long-expressions.ts';
import { type Refusal, refusalOfCopy } from './refusal.ts';
import { targetColumns } from './target-columns.ts';

export interface CopyOptions {
  /** The name of the relation, quoted. */
  relation: string;
  columns: LoadColumn[];
  /** The rows are copied with FREEZE. This transaction must have created the table, and the table must be empty. */
  freezes: boolean;
  /** Citus stores the relation at its workers. */
  isSharded: boolean;
  matcher: ColumnMatcher;
  /** The input stores its rows while they are read, so that they can be read a second time. */
  keepRows: boolean;
  /**
   * Returns whether a row without the column may be copied with its default (`TargetColumn.fill`). If not, the row leaves the column
   * out, and PostgreSQL evaluates the default.
   */
  mayFill: (column: LoadColumn) => boolean;
  /** If this is set, each row begins with the number of its data row and the number of its shape (the set of columns that it has), in these columns. */
  numbers?: { columns: readonly string[]; numberOfSet: (columns: readonly number[]) => number };
  /** See `LoadRequest.provenance`. */
  provenance?: Provenance | undefined;
  /** `on_conflict=update`: a row may update an existing one. */
  mayUpdate: boolean;
  typesAreInferred: boolean;
  maxRows: number;
  /** After this many rows with problems the sink only collects problems, because the upload is refused in any case. */
  maxRefusedRows?: number;
  maxRowBytes: number;
  writtenLimits: WrittenLimits;
  /** See `RowOptions.misfits`. Then all rows are read, and `MisfitsFound` is thrown if columns must be widened. */
  misfits?: Misfits | undefined;
  /** See `EncodingOptions`. */
  mayWiden: boolean;
  /** A count of the bytes that PostgreSQL writes, if it already includes other rows of the upload. */
  written?: WrittenBytes;
  /** The timeout of each statement except COPY, because COPY takes as long as the client takes to send. A COPY without progress ends (`deadlineClient`). */
  statementTimeoutMs: number;
  /** See `LoadContext`. */
  enterLongRow?: LoadContext['enterLongRow'];
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
  /** The numbers of the data rows that were sent. */
  numbers: EncodingSink['rowNumbers'];
  /** The number of bytes of the values that the caller sent. */
  ownBytes: number;
  /** Several COPYs sent the rows, because the rows have different columns or are very long. */
  hasSeveralLists: boolean;
  places: CellPlaces;
  /** Warnings about parts of values that the types of the columns cannot store. */
  warnings: Warning[];
  /** PostgreSQL's refusal of a row, after which the transaction has failed; undefined: PostgreSQL accepted all rows. */
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
    // The temporary table of staged rows stores plain values, so it has no generated columns.
    isRowByRow: options.numbers === undefined && isStoredRowByRow(columns),
  });
  const sink = sinkOf(input, options, { targets, output: session, problems });
  options.progress.pass = sink;
  try {
    await client.query(setStatementTimeout(0));
    await readInto(sink, input, options.keepRows || options.misfits !== undefined, signal, problems);
    options.misfits?.throwIfAny();
    await session.finish();
  } catch (error) {
    await session.abort(error instanceof Error ? error : new Error(String(error)));
    throw error;
  } finally {
    sink.close();
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
  | 'provenance'
  | 'maxRows'
  | 'maxRefusedRows'
  | 'maxRowBytes'
  | 'writtenLimits'
  | 'written'
  | 'misfits'
  | 'mayWiden'
  | 'typesAreInferred'
  | 'mayUpdate'
  | 'enterLongRow'
> & { signal?: AbortSignal };

export function sinkOf(
  input: LoadInput,
  options: SinkOptions,
  to: Pick<EncodingOptions, 'targets' | 'output' | 'problems'>,
): EncodingSink {
  const { maxRows, maxRefusedRows, writtenLimits, provenance, enterLongRow, signal } = options;
  return new EncodingSink({
    ...to,
    matcher: options.matcher,
    locate: input.locate,
    numberOfSet: options.numbers?.numberOfSet,
    origin: provenance && rowOrigins(provenance, to.targets, input),
    maxRows,
    ...(maxRefusedRows !== undefined && { maxRefusedRows }),
    maxRowBytes: options.maxRowBytes,
    writtenLimits,
    written: options.written ?? new WrittenBytes(writtenLimits, input.expanded),
    typesAreInferred: options.typesAreInferred,
    mayUpdate: options.mayUpdate,
    misfits: options.misfits,
    mayWiden: options.mayWiden,
    enterLongRow: enterLongRow && signal && (() => enterLongRow(signal)),
    onTooManyRows: () => {
      throw limitExceeded('The upload has too many rows', maxRows, { setting: 'MAX_ROWS' });
    },
  });
}

/** Returns the result of the copy from what the sink knows of the rows that it has encoded. */
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
    ownBytes: sink.ownBytes,
    hasSeveralLists: session.hasSeveralLists,
    refusal:
      session.refusal &&
      refusalOfCopy(session.refusal, session.refusedColumns, session.rowsBefore, sink.rowNumbers),
  };
}
