/**
 * Opens a Parquet file. It states the names and types of its columns, so it has no header, and no type is inferred. A separate process reads it;
 * every pass runs one.
 */

import { ReadAgain } from '../../../core/cells/row-source.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import {
  pathsToRead,
  type ReaderBounds,
  type ReaderProgram,
  ReaderRun,
} from '../reader-process/reader-run.ts';
import type { OpenFormat } from '../sheet-format.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { StatedRows } from '../stated-rows.ts';
import * as records from './cell-records.ts';
import type { ParquetFault } from './fault.ts';

const mebibyte = 1024 * 1024;

interface ParquetBounds extends ReaderBounds {
  /** The memory that is claimed first is this and `usualRatio` times the size of the file, at most `mostUsualMib`. If the file needs more, it is read again with `maxResidentMib`. */
  usualMib: number;
}

const usualRatio = 12;
const mostUsualMib = 384;

/** Measured: the process takes 150 MiB for 1,000,000 rows of 10 columns (47 MB), and 270 MiB if all of them are in one row group. */
const defaultBounds: ParquetBounds = {
  maxHeapMib: 512,
  maxResidentMib: 1280,
  usualMib: 160,
  maxWaitMs: 60_000,
  isForEachFrame: true,
};

const remedy = 'Write it again with smaller pages, or as several files.';

const program: Omit<ReaderProgram, 'errorOf'> = {
  module: 'readers/spreadsheet/parquet/reader-process',
  readable: pathsToRead('hyparquet'),
  what: 'Parquet file',
  remedy,
  asksForRanges: true,
};

/** The space for the rest of a frame after the largest cell. */
const frameBytes = 1024 * 1024;

export const openParquet: OpenFormat = openParquetWithin({});

/** Opens a Parquet file with other limits than the default ones. */
export function openParquetWithin(changed: Partial<ParquetBounds>): OpenFormat {
  return async ({ file, kind }, _options, limits, signal) => {
    if (kind !== 'parquet') return undefined;
    const most = boundsWithin({ ...defaultBounds, ...changed }, limits);
    const usualMib = Math.min(mostUsualMib, most.usualMib + (usualRatio * file.size) / mebibyte);
    const reading: Reading = { file, limits, bounds: boundsWithin(most, limits, usualMib), most };
    const { columns } = await readColumns(reading, signal);
    return {
      format: 'parquet',
      sheets: [{ name: '', visibility: 'visible', hasCells: true }],
      stated: { columns, scan: (rows, scanSignal) => scan(reading, rows, scanSignal) },
      scanOf: () => async () => ({}),
    };
  };
}

function boundsWithin(
  bounds: ParquetBounds,
  { memory }: SpreadsheetLimits,
  maxMib = bounds.maxResidentMib,
): ParquetBounds {
  const ofAllMib = memory === undefined ? maxMib : memory.maxBytes / mebibyte;
  const maxResidentMib = Math.floor(Math.min(bounds.maxResidentMib, maxMib, ofAllMib));
  return {
    ...bounds,
    maxResidentMib,
    maxHeapMib: Math.min(bounds.maxHeapMib, Math.ceil(maxResidentMib * 0.6)),
  };
}

interface Reading {
  file: RandomAccessFile;
  limits: SpreadsheetLimits;
  bounds: ParquetBounds;
  /** The bounds for another attempt if the process needs more memory. */
  most: ParquetBounds;
}

async function readColumns(reading: Reading, signal: AbortSignal): Promise<records.ReportedFile> {
  try {
    return await withRun(reading, 'columns', signal, async (run) => {
      const frame = await run.nextFrame();
      if (frame.kind !== records.COLUMNS) throw unreadable();
      return JSON.parse(frame.content.toString('utf8')) as records.ReportedFile;
    });
  } catch (error) {
    if (!(error instanceof ReadAgain)) throw error;
    return readColumns(reading, signal);
  }
}

function scan(reading: Reading, rows: StatedRows, signal: AbortSignal): Promise<void> {
  return withRun(reading, 'rows', signal, async (run) => {
    for (;;) {
      const { kind, content } = await run.nextFrame();
      if (kind === records.END) break;
      if (kind !== records.CELLS || !(await records.readRecords(content, rows))) throw unreadable();
      const wait = rows.pause();
      if (wait !== undefined) await wait;
      signal.throwIfAborted();
    }
    if (!rows.isRowWhole) throw unreadable();
  });
}

/**
 * Runs the process when there is memory for it.
 *
 * @throws ReadAgain if the process needs more memory, and may have it in another attempt
 */
async function withRun<Result>(
  reading: Reading,
  what: 'columns' | 'rows',
  signal: AbortSignal,
  use: (run: ReaderRun) => Promise<Result>,
): Promise<Result> {
  const { file, limits, bounds, most } = reading;
  const claim = await limits.memory?.claimReader(bounds.maxResidentMib * mebibyte, signal);
  let run: ReaderRun | undefined;
  try {
    const args = [String(file.size), what, String(limits.maxCellBytes), String(limits.maxColumns)];
    const errorOf = (fault: string, cause: Error): AppError => errorOfFault(fault, cause, limits);
    run = new ReaderRun({ ...program, errorOf }, args, frameBytes + limits.maxCellBytes, bounds, signal);
    serveParts(run, file).catch((error: unknown) => run!.fail(error));
    return await use(run);
  } catch (error) {
    if (!run?.isOutOfMemory || bounds.maxResidentMib >= most.maxResidentMib) throw error;
    reading.bounds = most;
    throw new ReadAgain();
  } finally {
    await run?.stop();
    claim?.keep(0);
  }
}

/** Gives the process the parts of the file that it asks for. */
async function serveParts(run: ReaderRun, file: RandomAccessFile): Promise<void> {
  let unread: Buffer = Buffer.alloc(0);
  for await (const chunk of run.requests as AsyncIterable<Buffer>) {
    unread = Buffer.concat([unread, chunk]);
    for (; unread.length >= records.requestBytes; unread = unread.subarray(records.requestBytes)) {
      const position = unread.readDoubleLE(0);
      const end = position + unread.readUInt32LE(8);
      if (!(position >= 0 && end <= file.size)) throw unreadable();
      for (let at = position; at < end; at += partBytes) {
        const part = await readRange(file, at, Math.min(partBytes, end - at));
        await new Promise<void>((resolve) => run.input.write(part, () => resolve()));
      }
    }
  }
}

const partBytes = 256 * 1024;

function errorOfFault(
  reported: string,
  cause: Error,
  { maxCellBytes, maxColumns }: SpreadsheetLimits,
): AppError {
  const [fault, ...words] = reported.split(' ');
  const detail = words.join(' ');
  switch (fault as ParquetFault) {
    case 'encrypted':
      return new AppError('unsupported-file', 'The Parquet file is encrypted. Write it without encryption.');
    case 'other-file':
      return new AppError(
        'unsupported-file',
        'The Parquet file has its columns in other files. Write one file with all columns.',
      );
    case 'unknown-codec':
    case 'unknown-encoding':
      return new AppError(
        'unsupported-file',
        `The Parquet file uses the ${fault === 'unknown-codec' ? 'codec' : 'encoding'} ${detail}, which is not supported. Write it with another one.`,
      );
    case 'variant':
      return new AppError(
        'unsupported-file',
        `The column ${JSON.stringify(detail)} of the Parquet file is a VARIANT, which is not supported. Write it as JSON or as a struct.`,
      );
    case 'page-too-large':
      return limitExceeded('A page of the Parquet file is too large', 256 * mebibyte, 'bytes', remedy);
    case 'no-columns':
      return new AppError(
        'invalid-file',
        'The Parquet file has no columns. Write it again with at least one column.',
      );
    case 'too-many-columns':
      return limitExceeded('The file has too many columns', maxColumns, { setting: 'MAX_COLUMNS' });
    case 'value-too-long':
      return tooLong(maxCellBytes);
    default:
      return unreadable(cause);
  }
}

function tooLong(maxCellBytes: number): AppError {
  return limitExceeded('A value of the Parquet file is too long', maxCellBytes, {
    setting: 'MAX_CELL_BYTES',
  });
}

function unreadable(cause?: Error): AppError {
  return new AppError(
    'invalid-file',
    'The Parquet file is damaged, or does not follow the specification of the format. Write it again with another program.',
    { cause },
  );
}
