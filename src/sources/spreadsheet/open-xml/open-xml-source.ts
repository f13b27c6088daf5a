/** One sheet of an Office Open XML workbook (.xlsx, .xlsm; .xlsb in binary parts) as rows. */

import { AppError } from '../../../errors.ts';
import type { CellLocation, CellSink } from '../../cell-sink.ts';
import { type HeaderFault, ReadAgain, type SourceReading, type SourceWarning } from '../../row-source.ts';
import { pauseBetweenSlices } from '../../share-turns.ts';
import { wholeSheet } from '../cell-address.ts';
import { chooseSheet, quote } from '../choose-sheet.ts';
import type { MergedAreas } from '../merged-areas.ts';
import { partSlices } from '../package/part-slices.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { RowProbe } from '../row-probe.ts';
import { SheetRows, type SheetRowsOptions, toRowsOptions } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { SheetSummary, SpreadsheetOptions, SpreadsheetSource } from '../spreadsheet-options.ts';
import { SharedStrings, SharedStringsReader } from '../values/shared-strings.ts';
import { XmlMergesReader } from '../xlsx/merges-reader.ts';
import { SheetScanner, type SheetScannerOptions } from '../xlsx/sheet-scanner.ts';
import { readWorkbook, type Workbook, type WorkbookParts } from './workbook.ts';

/** Cells that name one string in turn come to more than a file holds, honestly; this much is harmless. */
const ratioFreeBytes = 64 * 1024 * 1024;

/** How the parts of a package are written: everything else is the same for .xlsx and .xlsb. */
export interface PackageFormat {
  name: 'xlsx' | 'xlsb';
  /** Undefined: XML. */
  workbookParts: WorkbookParts | undefined;
  slices: typeof partSlices;
  createSheetScanner: (target: SheetRows, options: SheetScannerOptions) => RowScanner;
  createStringsReader: (partName: string, limits: SpreadsheetLimits) => StringsReader;
  createMergesReader: (partName: string) => MergesReader;
}

type RowScanner = Pick<SheetScanner, 'feed' | 'scan' | 'behindCells' | 'finish'>;
type StringsReader = Pick<SharedStringsReader, 'push' | 'finish'>;

/** Finds the merged areas of a sheet in the bytes that follow its cells. */
export interface MergesReader {
  /** @throws AppError `limit-exceeded`, `invalid-file` */
  push(chunk: Buffer): void;
  areas: MergedAreas;
}

const xmlFormat: PackageFormat = {
  name: 'xlsx',
  workbookParts: undefined,
  slices: partSlices,
  createSheetScanner: (target, options) => new SheetScanner(target, options),
  createStringsReader: (partName, limits) => new SharedStringsReader(partName, limits),
  createMergesReader: (partName) => new XmlMergesReader(partName),
};

/** Other sheets are looked into for rows: so many of them, and so far into each. */
const maxProbedSheets = 50;
const maxProbedBytes = 1024 * 1024;

/**
 * @param part the part of the workbook
 * @throws AppError as `openSpreadsheet`
 */
export async function openXlsx(
  container: ZipContainer,
  part: ZipPart,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  format: PackageFormat = xmlFormat,
): Promise<SpreadsheetSource> {
  const rowsOptions = toRowsOptions(options, limits);
  const workbook = await readWorkbook(container, part, format.workbookParts);
  const sheets = workbook.sheets.map(({ name, visibility, kind }) => ({
    name,
    visibility,
    hasCells: kind === 'worksheet',
  }));
  return new XlsxSource({ format, container, workbook, sheets }, options.sheet, rowsOptions);
}

/** What the sheets of a workbook share; the strings once a sheet has been read. */
interface Shared {
  format: PackageFormat;
  container: ZipContainer;
  workbook: Workbook;
  sheets: SheetSummary[];
  strings?: SharedStrings;
}

class XlsxSource implements SpreadsheetSource {
  readonly nameMatching = 'loose';
  readonly sheets: SheetSummary[];
  readonly sheet: string;
  readonly warnings: SourceWarning[] = [];
  headerFaults: HeaderFault[] = [];
  reading: SourceReading;

  readonly #shared: Shared;
  readonly #part: ZipPart;
  readonly #options: SheetRowsOptions;
  #rows: SheetRows | undefined;
  /** undefined: not known before the end of the first pass, because they follow the cells. */
  #merged: MergedAreas | undefined;

  constructor(shared: Shared, wantedSheet: string | undefined, options: SheetRowsOptions) {
    this.sheets = shared.sheets;
    const sheet = shared.workbook.sheets[chooseSheet(shared.sheets, wantedSheet)]!;
    if (sheet.part === undefined) {
      throw new AppError('invalid-file', `The file does not hold the part of sheet ${quote(sheet.name)}.`);
    }
    this.#shared = shared;
    this.#part = sheet.part;
    this.#options = options;
    this.sheet = sheet.name;
    this.reading = { format: shared.format.name, sheet: sheet.name };
  }

  async read(sink: CellSink, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#shared.strings ??= await this.#readStrings(signal);
    const rows = new SheetRows(sink, this.#options, this.#merged);
    this.#rows = rows;
    const scanner = this.#scannerOf(this.#part, rows);
    let merges: MergesReader | undefined;
    for await (const slice of this.#shared.format.slices(this.#shared.container, this.#part, signal)) {
      merges?.push(slice);
      scanner.feed(slice);
      for (let isPaused = true; isPaused; ) {
        isPaused = scanner.scan();
        const wait = pauseBetweenSlices(sink);
        if (wait !== undefined) await wait;
      }
      if (merges === undefined && this.#merged === undefined && scanner.behindCells !== undefined) {
        merges = this.#shared.format.createMergesReader(this.#part.name);
        merges.push(scanner.behindCells);
      }
    }
    scanner.finish();
    if (merges !== undefined) this.#merged = merges.areas;
    // Unpacking every sheet twice, to know them before, would take half as long again as reading it.
    if (merges !== undefined && merges.areas.count > 0) throw new ReadAgain();
    rows.finish();
    this.warnings.splice(0, this.warnings.length, ...rows.warningsFor(this));
    this.headerFaults = rows.headerFaultsOf(this.sheet);
    this.reading = rows.reading(this.#shared.format.name, this.sheet);
  }

  otherSheetsWithRows = async (signal: AbortSignal): Promise<string[]> => {
    const others = this.#shared.workbook.sheets.filter(
      ({ kind, visibility, part }) => kind === 'worksheet' && visibility === 'visible' && part !== this.#part,
    );
    const names: string[] = [];
    for (const { name, part } of others.slice(0, maxProbedSheets)) {
      if (part !== undefined && (await this.#hasRows(part, signal))) names.push(name);
    }
    return names;
  };

  /** Whether there is a row below a header in the beginning of the part. A sheet that cannot be read has none. */
  async #hasRows(part: ZipPart, signal: AbortSignal): Promise<boolean> {
    const sink = new RowProbe();
    const options = { ...this.#options, range: wholeSheet, headerRow: undefined };
    const scanner = this.#scannerOf(part, new SheetRows(sink, options));
    let bytes = 0;
    try {
      for await (const slice of this.#shared.format.slices(this.#shared.container, part, signal)) {
        scanner.feed(slice);
        while (!sink.hasRow && scanner.scan());
        bytes += slice.length;
        if (sink.hasRow || bytes > maxProbedBytes) break;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
    }
    return sink.hasRow;
  }

  openSheet = (name: string): SpreadsheetSource => new XlsxSource(this.#shared, name, this.#options);

  locate = (row: number, column: number): CellLocation => {
    return this.#rows?.locate(this.sheet, row, column) ?? { sheet: this.sheet };
  };

  /** The strings must have been read. */
  #scannerOf(part: ZipPart, rows: SheetRows): RowScanner {
    const { format, container, workbook, strings } = this.#shared;
    return format.createSheetScanner(rows, {
      partName: part.name,
      styles: workbook.styles,
      strings: strings!,
      is1904: workbook.is1904,
      onFormula: workbook.calculatesOnLoad ? (column, isZero) => rows.formula(column, isZero) : undefined,
      limits: this.#options.limits,
      maxSharedBytes: Math.max(ratioFreeBytes, container.fileBytes * this.#options.limits.maxRatio),
    });
  }

  async #readStrings(signal: AbortSignal): Promise<SharedStrings> {
    const { limits } = this.#options;
    const { format, container, workbook } = this.#shared;
    const part = workbook.sharedStrings;
    if (part === undefined) return new SharedStrings(limits.maxSharedStringBytes);
    const reader = format.createStringsReader(part.name, limits);
    for await (const slice of format.slices(container, part, signal)) reader.push(slice);
    return reader.finish();
  }
}
