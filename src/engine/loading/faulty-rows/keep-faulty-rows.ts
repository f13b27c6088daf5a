/**
 * Keeps the rows with problems of a load as they were sent, so that their file can be downloaded, repaired and sent again. Only a load with
 * problems reads its rows once more for this, and only up to the last row that is kept.
 */
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { withSecondReading } from '../../../core/cells/row-source.ts';
import type { Problem } from '../../../core/errors.ts';
import { ownsProblemColumn } from '../../../encoding/columns/column-matching.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import type { LanguageWords } from '../../../encoding/text-reading/natural/language-words.ts';
import type { NotationOf } from '../../../encoding/text-reading/natural/natural-reading.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { renamedNames } from '../inputs/rename-columns.ts';
import { EndOfFaultyRows, FaultyRowSink } from './faulty-row-sink.ts';
import { FormatFit, type Misfits, type SentNotation } from './format-fit.ts';
import { PlainValues } from './plain-values.ts';
import { sentColumns } from './sent-column.ts';
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

/** How the load has read the rows. */
export interface RowReading {
  /** The columns of the table. */
  columns: readonly LoadColumn[];
  /** The notations that `values=natural` has found, by the names after `rename`. */
  notationOf: NotationOf | undefined;
  words: LanguageWords;
  rename: ReadonlyMap<string, string>;
  notation: SentNotation;
}

/**
 * Reads the rows with problems.
 *
 * @returns undefined: no problem has a row, or the rows cannot be read again
 * @throws what the input throws; the signal's reason
 */
export async function keepFaultyRows(
  input: LoadInput,
  problems: FoundProblems,
  reading: RowReading,
  signal: AbortSignal,
): Promise<KeptRows | undefined> {
  const source = input.sent ?? input;
  if (source.isKept === false) return undefined;
  const wanted = await wantedRows(problems.inOrderOfRows());
  if (wanted.rows.length === 0) return undefined;
  const { notation } = reading;
  const ownsProblem = ownsProblemColumn(reading.columns);
  const newName = newNames(reading.rename, source.nameMatching);
  const ofTable = sentColumns(reading.columns, source.nameMatching);
  const columnOf = (name: string) => ofTable(newName(name));
  const sink = await withSecondReading(async () => {
    const { format = 'json', delimiter } = source.reading ?? {};
    const fit = new FormatFit(notation, format, delimiter !== undefined);
    const begun = new FaultyRowSink(wanted.rows, source.locate, ownsProblem, fit, columnOf);
    await source.read(inPlainNotation(begun, reading, newName), signal).catch(unlessEnded);
    return begun;
  });
  await sink.finish();
  if (sink.count === 0) return undefined;
  const columns = sink.columnsInOrder().filter((column) => sink.isShown(column));
  const { format = 'json', delimiter, quoted } = source.reading ?? {};
  const table: SentTable = {
    ...{ format, delimiter, quoted, columns, notation },
    names: columns.map((column) => sink.names[column]!),
    ofTable: columns.map((column) => sink.ofTable[column]),
    misfits: { ...sink.misfits, ...jsonMisfit(sink, format) },
    hasReasons: !ownsProblem,
    rows: sink.count,
    pieces: sink.pieces.length,
    isComplete: problems.areAll && wanted.areAll && !sink.isIncomplete,
    longestValue: sink.longestValue,
  };
  const pieces = [Buffer.from(JSON.stringify(table)), ...sink.pieces];
  return { count: sink.count, bytes: pieces.reduce((sum, { length }) => sum + length, 0), pieces };
}

function newNames(rename: RowReading['rename'], nameMatching: LoadInput['nameMatching']) {
  const oldNameOf = renamedNames(rename, nameMatching);
  return (name: string): string => rename.get(oldNameOf(name) ?? '') ?? name;
}

/** Returns the sink that writes the values of `values=natural` in the plain notation. @param newName returns the name after `rename` */
function inPlainNotation(
  sink: FaultyRowSink,
  { notation, notationOf, words }: RowReading,
  newName: (name: string) => string,
): CellSink {
  if (!notation.isNatural) return sink;
  const ofSent: NotationOf = (name, wanted, column) => notationOf?.(newName(name), wanted, column);
  return new PlainValues(sink, ofSent, words, notation);
}

/** A text of a file is a JSON value in a column of JSON. In NDJSON it would be a JSON string, also if it was repaired. */
function jsonMisfit({ names, ofTable }: FaultyRowSink, format: string): Misfits {
  if (format === 'json' || format === 'ndjson' || format === 'parquet') return {};
  const name = names.find((_, column) => ofTable[column]?.type === 'json');
  if (name === undefined) return {};
  const detail = `NDJSON cannot give back the texts of the column "${shortenValue(name)}", which are JSON values.`;
  return { ndjson: detail };
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof EndOfFaultyRows)) throw error;
}
