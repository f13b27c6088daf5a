/** Scans a text file from its beginning to its end, slice by slice. */

import { rowTooLong } from '../../../core/cells/row-limit.ts';
import { ReadAgain } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { type TextEncoding, textDecoder } from '../../bytes/text-encoding.ts';
import { maxSheetColumn } from '../cell-address.ts';
import type { RandomAccessFile } from '../random-access-file.ts';
import type { SheetRows } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { CsvScanner } from './csv-scanner.ts';
import { type DialectFound, repairTarget } from './delimiter.ts';
import { EscapeReplacement } from './escapes.ts';
import { fileChunks } from './file-chunks.ts';
import { QuoteRepair } from './repair/quote-repair.ts';

/** How many bytes at the beginning of a file are searched for the delimiter and the encoding. */
export const headBytes = 64 * 1024;

export interface DelimitedText {
  file: RandomAccessFile;
  /** The length of the byte order mark. */
  markBytes: number;
  encoding: TextEncoding;
  dialect: DialectFound;
  /** Wrong quotes are repaired while the text is scanned. */
  isRepaired: boolean;
  /** If a quote is wrong, the scan stops, so that the text can be read again with repaired quotes. */
  isWatched: boolean;
}

/** What a scan has found. */
export interface ScannedText {
  scanner: CsvScanner;
  /** undefined: the quotes were not repaired. */
  repair: QuoteRepair | undefined;
  /** The position of the first byte for which the encoding has no character; -1: there is none. */
  unassignedAt: number;
}

/**
 * @throws ReadAgain if the text is watched and has wrong quotes
 * @throws AppError `invalid-file`, `limit-exceeded`
 */
export async function scanText(
  text: DelimitedText,
  rows: SheetRows,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<ScannedText> {
  const { dialect, isWatched } = text;
  const { maxCellBytes } = limits;
  const columns = { maxCellBytes, maxColumns: maxSheetColumn };
  const scanner = new CsvScanner(rows, dialect, columns, rows.window.headerRow);
  const repair = text.isRepaired
    ? new QuoteRepair(repairTarget(scanner, dialect.fields), dialect)
    : undefined;
  const second = repair ?? scanner;
  const escapes = dialect.escape === 0 ? undefined : new EscapeReplacement(second, dialect, dialect.escape);
  const first = escapes ?? second;
  try {
    const unassignedAt = await pushSlices(text, { scanner, first, rows, limits }, signal);
    if (isWatched && scanner.isInQuotes) throw new ReadAgain();
    escapes?.finish();
    repair?.finish();
    scanner.finish();
    return { scanner, repair, unassignedAt };
  } catch (error) {
    // The field or the record may be too long only because the field begins with a wrong quote.
    if (isWatched && scanner.isInQuotes && error instanceof AppError) throw new ReadAgain();
    throw error;
  }
}

interface Pipeline {
  scanner: CsvScanner;
  /** The object that gets the slices: the scanner, or one that passes them on to it. */
  first: { push(bytes: Buffer): void };
  rows: SheetRows;
  limits: SpreadsheetLimits;
}

/** Pushes the whole text. @returns the position of the first byte for which the encoding has no character; -1: there is none */
async function pushSlices(
  { file, markBytes, encoding, dialect, isWatched }: DelimitedText,
  { scanner, first, rows, limits }: Pipeline,
  signal: AbortSignal,
): Promise<number> {
  const decoder = textDecoder(encoding, markBytes);
  let skipped = 0;
  let size = minSliceBytes;
  for await (const chunk of fileChunks(file, markBytes, signal)) {
    const text = decoder.decode(chunk);
    const skip = Math.min(text.length, dialect.lineBytes - skipped);
    skipped += skip;
    for (let at = skip; at < text.length; ) {
      signal.throwIfAborted();
      const end = Math.min(text.length, at + size);
      first.push(text.subarray(at, end));
      at = end;
      if (isWatched && scanner.areQuotesWrong) throw new ReadAgain();
      refuseLongRecord(scanner, rows, limits);
      const wait = rows.pause();
      if (wait !== undefined) await wait;
      // A row with problems takes ten times as long as others, so a slice is long only if those before it took little time.
      size =
        wait || rows.repeatsValues ? minSliceBytes : Math.min(2 * size, longestSlice(scanner.headerFields));
    }
  }
  decoder.finish();
  return decoder.unassignedAt ?? -1;
}

/** Refuses a record that is too long. @throws AppError `limit-exceeded` */
function refuseLongRecord(
  scanner: CsvScanner,
  rows: SheetRows,
  { maxCellBytes, maxRowBytes }: SpreadsheetLimits,
): void {
  // The length of the header is limited as a whole, because all names are in memory at the same time.
  if (rows.window.hasHeader && rows.isHeaderAhead && scanner.recordBytes > maxCellBytes + headBytes) {
    throw limitExceeded('The record with the column names is too long', maxCellBytes, {
      setting: 'MAX_CELL_BYTES',
    });
  }
  if (scanner.recordBytes > maxRowBytes) throw rowTooLong(`Record ${scanner.records}`, maxRowBytes);
}

/**
 * Returns how many bytes may be scanned until the sink is asked whether it must drain. The sink keeps a row for each record, and a record of
 * two bytes below a header of 1,600 fields becomes a row of six kilobytes.
 *
 * @param headerFields 0: the header is not known yet
 */
function longestSlice(headerFields: number): number {
  const bytes = headerFields === 0 ? minSliceBytes : Math.floor((2 * 1024 * 1024) / headerFields);
  return Math.min(Math.max(bytes, minSliceBytes), maxSliceBytes);
}

/** The minimum size of a slice. Smaller slices would need less memory, but each slice takes time of its own. */
const minSliceBytes = 4 * 1024;
const maxSliceBytes = 64 * 1024;
