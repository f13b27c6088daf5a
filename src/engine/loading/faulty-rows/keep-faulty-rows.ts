/**
 * Keeps the rows with problems of a load as they were sent, so that their file can be downloaded, repaired and sent again. Only a load with
 * problems reads its rows once more for this, and only up to the last row that is kept.
 */
import { withSecondReading } from '../../../core/cells/row-source.ts';
import type { Problem } from '../../../core/errors.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import type { LoadObserver } from '../request/load-request.ts';
import { CsvFit, type CsvNotation } from './csv-fit.ts';
import { EndOfFaultyRows, FaultyRowSink } from './faulty-row-sink.ts';
import type { SentTable } from './sent-rows.ts';
import { wantedRows } from './wanted-rows.ts';

/** The rows as they are stored. */
export interface KeptRows {
  count: number;
  /** The length of all pieces. */
  bytes: number;
  /** The first piece is a `SentTable` as JSON. The others have rows (sent-rows.ts), compressed with Deflate. */
  pieces: Buffer[];
}

/** The problems of the load. */
export interface FoundProblems {
  /** Whether all problems of the load are among them. */
  areAll: boolean;
  /** Yields the problems in the order of their rows. Those without a row come first. */
  inOrderOfRows(): Iterable<Problem>;
}

/**
 * Reads the rows with problems.
 *
 * @param observed what the load has seen of the table
 * @param notation how the request reads texts
 * @returns undefined: no problem has a row, or the rows cannot be read again
 * @throws what the input throws; the signal's reason
 */
export async function keepFaultyRows(
  input: LoadInput,
  problems: FoundProblems,
  { ownsProblemColumn, jsonColumn }: Pick<LoadObserver, 'ownsProblemColumn' | 'jsonColumn'>,
  notation: CsvNotation,
  signal: AbortSignal,
): Promise<KeptRows | undefined> {
  const source = input.sent ?? input;
  if (source.isKept === false) return undefined;
  const wanted = await wantedRows(problems.inOrderOfRows());
  if (wanted.rows.length === 0) return undefined;
  const sink = await withSecondReading(async () => {
    const fit = new CsvFit(notation, source.reading?.format ?? 'json');
    const begun = new FaultyRowSink(wanted.rows, source.locate, ownsProblemColumn, fit);
    await source.read(begun, signal).catch(unlessEnded);
    return begun;
  });
  await sink.finish();
  if (sink.count === 0) return undefined;
  const columns = sink.columnsInOrder().filter((column) => sink.isShown(column));
  const { format = 'json', delimiter, quoted } = source.reading ?? {};
  const table: SentTable = {
    ...{ format, delimiter, quoted, columns, notation, csvFault: sink.csvFault, jsonColumn },
    names: columns.map((column) => sink.names[column]!),
    hasReasons: !ownsProblemColumn,
    rows: sink.count,
    pieces: sink.pieces.length,
    isComplete: problems.areAll && wanted.areAll && !sink.isIncomplete,
    longestValue: sink.longestValue,
  };
  const pieces = [Buffer.from(JSON.stringify(table)), ...sink.pieces];
  return { count: sink.count, bytes: pieces.reduce((sum, { length }) => sum + length, 0), pieces };
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof EndOfFaultyRows)) throw error;
}
