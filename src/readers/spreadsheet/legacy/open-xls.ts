/** Opens an .xls workbook. A library reads it in a separate process. The cells are then handled like those of .xlsx. */

import * as kinds from '../../../core/cells/cell-kind.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import { tooManyMergedAreas } from '../file-errors.ts';
import { MergedAreas } from '../merged-areas.ts';
import { isInternalName, shownName, WorkbookNames } from '../names/workbook-names.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import type { ReaderBounds } from '../reader-process/reader-run.ts';
import {
  maxProbedBytes,
  type OpenedFile,
  type OpenFormat,
  type OpenOptions,
  type ScanSheet,
} from '../sheet-format.ts';
import { refuseControlCharacters, refuseRepeatedNames } from '../sheet-names.ts';
import type { SheetRows } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { SheetSummary } from '../spreadsheet-options.ts';
import { CellValues, falseText, trueText } from '../values/cell-values.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { type Styles, stylesOf } from '../values/styles.ts';
import * as blocks from './cell-blocks.ts';
import { LegacyRun, type ReaderInput } from './run-reader.ts';
import type { ColumnRange } from './stored-sheets.ts';

interface LegacyBounds extends ReaderBounds {
  /** The memory that is claimed first for a file, in addition to `usualRatio` times its size. */
  usualMib: number;
  /** The maximum number of bytes of cells that are kept in memory, so that the file need not be read again for another pass. */
  maxKeptBytes: number;
}

/** Measured: the process takes 110 MiB for a small file. For an .xls of 30 MB with 1,300,000 cells it takes 5 s and 900 MB, and the cells have 32 MiB. */
const defaultBounds: LegacyBounds = {
  maxHeapMib: 768,
  maxResidentMib: 1280,
  usualMib: 192,
  maxWaitMs: 60_000,
  maxKeptBytes: 32 * 1024 * 1024,
};

/** The space in a frame for the rest of a block after the largest cell, and for the lists of sheets and formats. */
const frameBytes = 8 * 1024 * 1024;

export const openXls: OpenFormat = openXlsWithin({});

/** Opens an .xls workbook with other limits than the default ones. */
export function openXlsWithin(bounds: Partial<LegacyBounds>): OpenFormat {
  return async ({ file, kind }, options, limits, signal) => {
    if (kind !== 'compound-file' && kind !== 'biff') return undefined;
    checkSize(file, limits);
    const input = { password: options.password, size: file.size, chunks: () => fileChunks(file) };
    return await openLegacy(input, options, limits, signal, { ...defaultBounds, ...bounds });
  };
}

function checkSize(file: RandomAccessFile, limits: SpreadsheetLimits): void {
  if (file.size <= limits.maxLegacyFileBytes) return;
  throw limitExceeded(
    'The .xls workbook is too large',
    limits.maxLegacyFileBytes,
    { setting: 'MAX_LEGACY_FILE_BYTES' },
    'Save it as .xlsx, which is read as a stream.',
  );
}

async function* fileChunks(file: RandomAccessFile): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < file.size; at += chunkBytes) yield await readRange(file, at, chunkBytes);
}

const chunkBytes = 256 * 1024;

/** Starts a process when there is memory for it. The caller must call `end` and pass the number of bytes of cells that it keeps. */
type StartRun = (
  bounds: ReaderBounds,
  signal: AbortSignal,
) => Promise<{ run: LegacyRun; end: (keptBytes: number) => Promise<void> }>;

/**
 * Opens the file with the memory that most files of its size need. If it needs more, it is opened again with the maximum memory of
 * a process. So only few files have to wait for that much.
 */
async function openLegacy(
  input: ReaderInput,
  options: OpenOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
  bounds: LegacyBounds,
): Promise<OpenedFile> {
  const { memory } = limits;
  const startRun: StartRun = async (ofRun, runSignal) => {
    const claim = await memory?.claimReader(ofRun.maxResidentMib * mebibyte, runSignal);
    try {
      const run = new LegacyRun(input, frameBytes + limits.maxCellBytes, ofRun, runSignal);
      return { run, end: (keptBytes) => run.stop().finally(() => claim?.keep(keptBytes)) };
    } catch (error) {
      claim?.keep(0);
      throw error;
    }
  };
  const opening = { startRun, options, limits, signal };
  if (memory === undefined) return openWithin(opening, bounds);
  const most = boundsWithin(bounds, memory.maxBytes / mebibyte);
  const usual = boundsWithin(most, most.usualMib + (usualRatio * input.size) / mebibyte);
  return usual.maxResidentMib < most.maxResidentMib
    ? openWithin(opening, usual, most)
    : openWithin(opening, most);
}

const mebibyte = 1024 * 1024;

/** How many bytes the process may take for each byte of the file. Measured: it takes 30 to 65, and fewer if its heap is limited. */
const usualRatio = 48;

function boundsWithin(bounds: LegacyBounds, maxMib: number): LegacyBounds {
  const maxResidentMib = Math.floor(Math.min(bounds.maxResidentMib, maxMib));
  return {
    ...bounds,
    maxResidentMib,
    maxHeapMib: Math.min(bounds.maxHeapMib, Math.ceil(maxResidentMib * 0.6)),
  };
}

interface Opening {
  startRun: StartRun;
  options: OpenOptions;
  limits: SpreadsheetLimits;
  signal: AbortSignal;
}

/** @param larger the bounds of a second attempt, if the process needs more memory */
async function openWithin(
  opening: Opening,
  bounds: LegacyBounds,
  larger?: LegacyBounds,
): Promise<OpenedFile> {
  const { run, end } = await opening.startRun(bounds, opening.signal);
  let keptBytes = 0;
  try {
    const { sheets, names, read } = await readFile(run, opening, bounds.maxKeptBytes);
    if (larger === undefined || !run.isOutOfMemory) {
      for (const sheet of read.values()) keptBytes += sheet.keptBytes;
      const startAgain = (signal: AbortSignal) => opening.startRun(larger ?? bounds, signal);
      return new OpenedXls(startAgain, sheets, names, read, opening.limits);
    }
  } catch (error) {
    if (larger === undefined || !run.isOutOfMemory) throw error;
  } finally {
    await end(keptBytes);
  }
  return openWithin(opening, { ...larger, waitedMs: run.waitedMs });
}

async function readFile(
  run: LegacyRun,
  { options: { allSheets, chooseSheet }, signal }: Opening,
  maxKeptBytes: number,
): Promise<{ sheets: SheetSummary[]; names: WorkbookNames; read: Map<number, ReadSheet> }> {
  const sheets = await readSheets(run);
  let known: WorkbookNames | undefined;
  const names = async (): Promise<WorkbookNames> => {
    known ??= await readNames(run);
    return known;
  };
  // The process can send the names only before it reads a sheet, so they are requested now.
  if (allSheets) await names();
  const index = await chooseSheet(sheets, names);
  const first = await readSheet(run, index, maxKeptBytes);
  const read = new Map([[index, first]]);
  if (allSheets) await readOtherSheets(run, sheets, read, maxKeptBytes, signal);
  return { sheets, names: known ?? new WorkbookNames(), read };
}

interface SheetFormats extends Styles {
  is1904: boolean;
  hiddenColumns: ColumnRange[];
}

async function readSheets(run: LegacyRun): Promise<SheetSummary[]> {
  const reported = await readJson<blocks.ReportedSheet[]>(run, blocks.SHEETS);
  for (const { name } of reported) refuseControlCharacters(name);
  refuseRepeatedNames(reported);
  const visibilities = ['visible', 'hidden', 'veryHidden'] as const;
  return reported.map((sheet) => ({
    name: sheet.name,
    visibility: visibilities[sheet.hidden] ?? 'visible',
    hasCells: sheet.hasCells,
    size: { ...sheet.size, isWhole: true },
  }));
}

async function readFormats(run: LegacyRun): Promise<SheetFormats> {
  const { is1904, formats, hiddenColumns } = await readJson<blocks.ReportedFormats>(run, blocks.FORMATS);
  return { is1904, hiddenColumns, ...stylesOf(formats) };
}

/** Returns the defined names. The library does not read tables. */
async function readNames(run: LegacyRun): Promise<WorkbookNames> {
  run.askForNames();
  const reported = await readJson<blocks.ReportedNames>(run, blocks.NAMES);
  const names = new WorkbookNames();
  for (const { name, localTo, refersTo } of reported.names) {
    if (isInternalName(name)) continue;
    const scope = localTo === undefined ? {} : { localTo };
    // Whole columns have as many rows as a sheet of .xls.
    const wholeColumns = refersTo.replace(/\$?([A-Z]+)\$1:\$?([A-Z]+)\$65536$/, '$1:$2');
    names.add({ name: shownName(name), kind: 'name', ...scope, refersTo: wholeColumns });
  }
  if (!reported.isComplete) names.isComplete = false;
  return names;
}

async function readJson<T>(run: LegacyRun, kind: number): Promise<T> {
  const frame = await run.nextFrame();
  if (frame.kind !== kind) throw unreadable();
  return JSON.parse(frame.content.toString('utf8')) as T;
}

interface ReadSheet {
  formats: SheetFormats;
  /** All cells; undefined: there were too many to keep, and the run cannot be used for another sheet. */
  kept: Buffer[] | undefined;
  keptBytes: number;
}

async function readSheet(run: LegacyRun, index: number, maxBytes: number): Promise<ReadSheet> {
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

/**
 * Reads the other sheets with the same run and adds them to `read`. A sheet that cannot be read this way is opened again later, and
 * that attempt reports the problem.
 */
async function readOtherSheets(
  run: LegacyRun,
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

type StartAgain = (signal: AbortSignal) => ReturnType<StartRun>;

class OpenedXls implements OpenedFile {
  readonly format = 'xls';
  readonly isReadAsWhole = true;
  readonly sheets: SheetSummary[];
  readonly #startRun: StartAgain;
  readonly #names: WorkbookNames;
  /** The sheets that have been read, by index. */
  readonly #read: Map<number, ReadSheet>;
  readonly #limits: SpreadsheetLimits;

  constructor(
    startRun: StartAgain,
    sheets: SheetSummary[],
    names: WorkbookNames,
    read: Map<number, ReadSheet>,
    limits: SpreadsheetLimits,
  ) {
    this.sheets = sheets;
    this.#names = names;
    this.#startRun = startRun;
    this.#read = read;
    this.#limits = limits;
  }

  scanOf(sheet: number): ScanSheet | undefined {
    const read = this.#read.get(sheet);
    if (read === undefined) return undefined;
    return async (rows, signal) => {
      for (const [first, last] of read.formats.hiddenColumns) rows.hideColumns(first, last);
      const cells = new BlockCells(rows, read.formats, this.#limits.maxCellBytes);
      for await (const block of read.kept ?? this.#blocks(sheet, signal)) {
        if (!blocks.readBlock(block, cells)) throw unreadable();
        const wait = rows.pause();
        if (wait !== undefined) await wait;
        signal.throwIfAborted();
      }
      cells.finish();
      return {};
    };
  }

  async names(): Promise<WorkbookNames> {
    return this.#names;
  }

  /** Uses only cells that are kept, because for others the process would have to read the file again. */
  async probe(
    sheet: number,
    rows: SheetRows,
    isEnough: () => boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const read = this.#read.get(sheet);
    if (read === undefined) return false;
    for (const [first, last] of read.formats.hiddenColumns) rows.hideColumns(first, last);
    const cells = new BlockCells(rows, read.formats, this.#limits.maxCellBytes);
    let bytes = 0;
    for (const block of read.kept ?? []) {
      signal.throwIfAborted();
      if (!blocks.readBlock(block, cells)) throw unreadable();
      bytes += block.length;
      if (isEnough() || bytes > maxProbedBytes) return false;
    }
    cells.finish();
    return read.kept !== undefined;
  }

  async *#blocks(sheet: number, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const { run, end } = await this.#startRun(signal);
    try {
      await run.nextFrame();
      run.chooseSheet(sheet);
      await run.nextFrame();
      for (;;) {
        const { kind, content } = await run.nextFrame();
        if (kind === blocks.END) return;
        yield content;
      }
    } finally {
      await end(0);
    }
  }
}

/** Passes the records of blocks to `SheetRows` as rows and cells. */
class BlockCells implements blocks.BlockTarget {
  readonly #rows: SheetRows;
  readonly #values: CellValues;
  readonly #maxCellBytes: number;
  readonly #areas = new MergedAreas();
  #isInRow = false;

  constructor(rows: SheetRows, formats: SheetFormats, maxCellBytes: number) {
    this.#rows = rows;
    rows.merged = this.#areas;
    this.#values = new CellValues(rows, formats, new SharedStrings(0), formats.is1904);
    this.#maxCellBytes = maxCellBytes;
  }

  mergeCells(firstRow: number, firstColumn: number, lastRow: number, lastColumn: number): void {
    if (!this.#areas.add(firstRow, firstColumn, lastRow, lastColumn)) throw tooManyMergedAreas();
  }

  row(row: number, isHidden: boolean): void {
    this.finish();
    if (row < 1 || row > maxSheetRow) throw unreadable();
    this.#isInRow = true;
    this.#rows.beginRow(row, isHidden);
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
          throw limitExceeded('The text of a cell is too long', this.#maxCellBytes, {
            setting: 'MAX_CELL_BYTES',
          });
        }
        this.#rows.cell(column, kinds.STRING, bytes, start, end);
        break;
      case blocks.TRUE_CELL:
        this.#rows.cell(column, kinds.TRUE, trueText, 0, trueText.length);
        break;
      case blocks.FALSE_CELL:
        this.#rows.cell(column, kinds.FALSE, falseText, 0, falseText.length);
        break;
      case blocks.COVERED_CELL:
        this.#rows.coveredValue(column);
        break;
      case blocks.ERROR_TEXT_CELL:
        this.#rows.fault(column, kinds.ERROR_CELL, bytes, start, end);
        break;
      default:
        this.#rows.fault(column, kinds.FORMULA_WITHOUT_VALUE, bytes, start, end);
    }
  }

  /** Ends the current row. */
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
