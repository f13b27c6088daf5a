/**
 * One sheet of an .xls workbook as rows: read by a library in a process of its own, and from there on by the same
 * rules as .xlsx.
 */

import { AppError } from '../../../errors.ts';
import * as kinds from '../../cell-kind.ts';
import type { CellLocation, CellSink } from '../../cell-sink.ts';
import type { HeaderFault, SourceReading, SourceWarning } from '../../row-source.ts';
import { pauseBetweenSlices } from '../../share-turns.ts';
import { maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import { chooseSheet, visibleSheetsWithRows } from '../choose-sheet.ts';
import { refuseControlCharacters } from '../open-xml/workbook.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import { SheetRows, type SheetRowsOptions, toRowsOptions } from '../sheet-rows.ts';
import { limitExceeded, type SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { SheetSummary, SpreadsheetOptions, SpreadsheetSource } from '../spreadsheet-options.ts';
import { CellValues } from '../values/cell-values.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { type Styles, stylesOf } from '../values/styles.ts';
import * as blocks from './cell-blocks.ts';
import { type ReaderBounds, type ReaderInput, ReaderRun } from './run-reader.ts';

interface LegacyBounds extends ReaderBounds {
  /** The cells that are kept for the passes, so that the file is read only once. */
  maxKeptBytes: number;
}

/** An .xls of 30 MB with 1,300,000 cells, which the reader takes 5 s and 900 MB for, has 32 MiB of cells. */
const defaultBounds: LegacyBounds = {
  maxHeapMib: 768,
  maxResidentMib: 1280,
  maxWaitMs: 60_000,
  maxKeptBytes: 32 * 1024 * 1024,
};

/** Behind the largest cell: the rest of a block, and the lists of sheets and formats. */
const frameBytes = 8 * 1024 * 1024;

/**
 * A workbook of records, .xls.
 *
 * @throws AppError as `openSpreadsheet`
 */
export async function openXls(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
  bounds: Partial<LegacyBounds> = {},
): Promise<SpreadsheetSource> {
  const rowsOptions = toRowsOptions(options, limits);
  checkSize(file, limits);
  const input = { size: file.size, chunks: () => fileChunks(file) };
  return await openLegacy(input, options, rowsOptions, signal, { ...defaultBounds, ...bounds });
}

function checkSize(file: RandomAccessFile, limits: SpreadsheetLimits): void {
  if (file.size <= limits.maxLegacyFileBytes) return;
  throw limitExceeded(
    'An .xls workbook of this size is not read. Save it as .xlsx, which is read as a stream',
    limits.maxLegacyFileBytes,
    'bytes (MAX_LEGACY_FILE_BYTES)',
  );
}

async function* fileChunks(file: RandomAccessFile): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < file.size; at += chunkBytes) yield await readRange(file, at, chunkBytes);
}

const chunkBytes = 256 * 1024;

async function openLegacy(
  input: ReaderInput,
  { sheet, allSheets = false }: SpreadsheetOptions,
  options: SheetRowsOptions,
  signal: AbortSignal,
  bounds: LegacyBounds,
): Promise<SpreadsheetSource> {
  const maxFrameBytes = frameBytes + options.limits.maxCellBytes;
  const { readerSlots } = options.limits;
  const startRun: StartRun = async (runSignal) => {
    const giveBack = await readerSlots?.take(runSignal);
    try {
      const run = new ReaderRun(input, maxFrameBytes, bounds, runSignal);
      return { run, end: () => run.stop().finally(giveBack) };
    } catch (error) {
      giveBack?.();
      throw error;
    }
  };
  const { run, end } = await startRun(signal);
  try {
    const sheets = await readSheets(run);
    const index = chooseSheet(sheets, sheet);
    const first = await readSheet(run, index, bounds.maxKeptBytes);
    const read = new Map([[index, first]]);
    if (allSheets) await readOtherSheets(run, sheets, read, bounds.maxKeptBytes, signal);
    return new LegacySource({ startRun, sheets, read, options }, index);
  } finally {
    await end();
  }
}

/** Starts the process as soon as there is a slot for it; `end` must be called. */
type StartRun = (signal: AbortSignal) => Promise<{ run: ReaderRun; end: () => Promise<void> }>;

interface SheetFormats extends Styles {
  is1904: boolean;
}

async function readSheets(run: ReaderRun): Promise<SheetSummary[]> {
  const reported = await readJson<blocks.ReportedSheet[]>(run, blocks.SHEETS);
  for (const { name } of reported) refuseControlCharacters(name);
  const visibilities = ['visible', 'hidden', 'veryHidden'] as const;
  return reported.map((sheet) => ({
    name: sheet.name,
    visibility: visibilities[sheet.hidden] ?? 'visible',
    hasCells: sheet.hasCells,
    hasRows: sheet.hasRows,
  }));
}

async function readFormats(run: ReaderRun): Promise<SheetFormats> {
  const { is1904, formats } = await readJson<blocks.ReportedFormats>(run, blocks.FORMATS);
  return { is1904, ...stylesOf(formats) };
}

async function readJson<T>(run: ReaderRun, kind: number): Promise<T> {
  const frame = await run.nextFrame();
  if (frame.kind !== kind) throw unreadable();
  return JSON.parse(frame.content.toString('utf8')) as T;
}

interface ReadSheet {
  formats: SheetFormats;
  /** All cells; undefined where they are too many to be kept. The run is of no use then. */
  kept: Buffer[] | undefined;
  keptBytes: number;
}

async function readSheet(run: ReaderRun, index: number, maxBytes: number): Promise<ReadSheet> {
  run.chooseSheet(index);
  const formats = await readFormats(run);
  const kept: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const { kind, content } = await run.nextFrame();
    if (kind === blocks.END) return { formats, kept, keptBytes: bytes };
    bytes += content.length;
    if (bytes > maxBytes) return { formats, kept: undefined, keptBytes: 0 };
    kept.push(content);
  }
}

/** Adds to `read` what the same run can give; the sheets that it cannot are opened anew, and tell then what is wrong. */
async function readOtherSheets(
  run: ReaderRun,
  sheets: SheetSummary[],
  read: Map<number, ReadSheet>,
  maxKeptBytes: number,
  signal: AbortSignal,
): Promise<void> {
  let last = [...read.values()].at(-1)!;
  let left = maxKeptBytes;
  try {
    for (const [index, { hasCells }] of sheets.entries()) {
      if (last.kept === undefined) return;
      if (!hasCells || read.has(index)) continue;
      left -= last.keptBytes;
      last = await readSheet(run, index, left);
      if (last.kept !== undefined) read.set(index, last);
    }
  } catch {
    signal.throwIfAborted();
  }
}

/** What the sheets of a workbook share. */
interface Shared {
  startRun: StartRun;
  sheets: SheetSummary[];
  /** What has been read of them, by index. */
  read: Map<number, ReadSheet>;
  options: SheetRowsOptions;
}

class LegacySource implements SpreadsheetSource {
  readonly nameMatching = 'loose';
  readonly sheets: SheetSummary[];
  readonly sheet: string;
  readonly warnings: SourceWarning[] = [];
  headerFaults: HeaderFault[] = [];
  reading: SourceReading;

  readonly #shared: Shared;
  readonly #index: number;
  #rows: SheetRows | undefined;

  /** @param index of a sheet that has been read */
  constructor(shared: Shared, index: number) {
    this.#shared = shared;
    this.sheets = shared.sheets;
    this.#index = index;
    this.sheet = shared.sheets[index]!.name;
    this.reading = { format: 'xls', sheet: this.sheet };
  }

  async read(sink: CellSink, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { options, read } = this.#shared;
    const { formats, kept } = read.get(this.#index)!;
    const rows = new SheetRows(sink, options);
    this.#rows = rows;
    const cells = new BlockCells(rows, formats, options.limits.maxCellBytes);
    for await (const block of kept ?? this.#blocks(signal)) {
      if (!blocks.readBlock(block, cells)) throw unreadable();
      const wait = pauseBetweenSlices(sink);
      if (wait !== undefined) await wait;
      signal.throwIfAborted();
    }
    cells.finish();
    rows.finish();
    this.warnings.splice(0, this.warnings.length, ...rows.warningsFor(this));
    this.headerFaults = rows.headerFaultsOf(this.sheet);
    this.reading = rows.reading('xls', this.sheet);
  }

  otherSheetsWithRows = async (): Promise<string[]> => visibleSheetsWithRows(this);

  openSheet = (name: string): SpreadsheetSource | undefined => {
    const index = chooseSheet(this.sheets, name);
    return this.#shared.read.has(index) ? new LegacySource(this.#shared, index) : undefined;
  };

  locate = (row: number, column: number): CellLocation => {
    return this.#rows?.locate(this.sheet, row, column) ?? { sheet: this.sheet };
  };

  async *#blocks(signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const { run, end } = await this.#shared.startRun(signal);
    try {
      await run.nextFrame();
      run.chooseSheet(this.#index);
      await run.nextFrame();
      for (;;) {
        const { kind, content } = await run.nextFrame();
        if (kind === blocks.END) return;
        yield content;
      }
    } finally {
      await end();
    }
  }
}

/** The records of the blocks → rows and cells. */
class BlockCells implements blocks.BlockTarget {
  readonly #rows: SheetRows;
  readonly #values: CellValues;
  readonly #maxCellBytes: number;
  #isInRow = false;

  constructor(rows: SheetRows, formats: SheetFormats, maxCellBytes: number) {
    this.#rows = rows;
    this.#values = new CellValues(rows, formats, new SharedStrings(0), formats.is1904);
    this.#maxCellBytes = maxCellBytes;
  }

  row(row: number): void {
    this.finish();
    if (row < 1 || row > maxSheetRow) throw unreadable();
    this.#isInRow = true;
    this.#rows.beginRow(row);
  }

  number(column: number, format: number, bytes: Buffer, start: number, end: number): void {
    this.#checkColumn(column);
    this.#values.number(column, format, bytes, start, end);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#checkColumn(column);
    switch (kind) {
      case blocks.STRING_CELL:
        if (end - start > this.#maxCellBytes) {
          throw limitExceeded('The text of a cell is too long', this.#maxCellBytes, 'bytes (MAX_CELL_BYTES)');
        }
        this.#rows.cell(column, kinds.STRING, bytes, start, end);
        break;
      case blocks.TRUE_CELL:
        this.#rows.cell(column, kinds.TRUE, bytes, start, end);
        break;
      case blocks.FALSE_CELL:
        this.#rows.cell(column, kinds.FALSE, bytes, start, end);
        break;
      case blocks.ERROR_TEXT_CELL:
        this.#rows.fault(column, kinds.ERROR_CELL, bytes, start, end);
        break;
      default:
        this.#rows.fault(column, kinds.FORMULA_WITHOUT_VALUE, bytes, start, end);
    }
  }

  /** Ends the row at hand. */
  finish(): void {
    if (this.#isInRow) this.#rows.endRow();
    this.#isInRow = false;
  }

  #checkColumn(column: number): void {
    if (!this.#isInRow || column >= maxSheetColumn) throw unreadable();
  }
}

function unreadable(): AppError {
  return new AppError(
    'invalid-file',
    'The workbook has cells outside of a sheet. Open it in a spreadsheet program and save it as .xlsx.',
  );
}
