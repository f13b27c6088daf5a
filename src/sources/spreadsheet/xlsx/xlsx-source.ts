/** One sheet of an Office Open XML workbook (.xlsx, .xlsm) as rows. */

import { AppError } from '../../../errors.ts';
import type { CellLocation, CellSink } from '../../cell-sink.ts';
import type { SourceWarning } from '../../row-source.ts';
import { cellAddress, parseRange, rowAddress, wholeSheet } from '../cell-address.ts';
import type { RandomAccessFile } from '../random-access-file.ts';
import { SheetRows, type SheetRowsOptions } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import type { SpreadsheetOptions, SpreadsheetSource } from '../spreadsheet-options.ts';
import { SharedStrings, SharedStringsReader } from './shared-strings.ts';
import { SheetScanner } from './sheet-scanner.ts';
import { readWorkbook, type Workbook, type WorkbookSheet } from './workbook.ts';
import { decodeXml } from './xml-text.ts';
import { openZipContainer, type ZipContainer, type ZipPart } from './zip-container.ts';

/** Some 0.3 ms of scanning; between two slices the sink may stop us and the caller may give up. */
const sliceBytes = 64 * 1024;

/** The event loop gets its turn after this long at the latest, since slices that are at hand do not wait for it. */
const maxTurnMs = 10;

/** @throws AppError as `openSpreadsheet` */
export async function openXlsx(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
): Promise<SpreadsheetSource> {
  const range = options.range === undefined ? wholeSheet : parseRange(options.range);
  if (range === undefined) {
    throw new AppError(
      'invalid-parameter',
      `The range must be like B3:F200, B:F or B3:F, not ${quote(options.range!)}.`,
    );
  }
  if (
    options.headerRow !== undefined &&
    (options.headerRow < range.firstRow || options.headerRow > range.lastRow)
  ) {
    throw new AppError(
      'invalid-parameter',
      `Header row ${options.headerRow} is outside of the range that is read.`,
    );
  }
  const container = await openZipContainer(file, limits);
  const workbook = await readWorkbook(container);
  const sheet = chooseSheet(workbook.sheets, options.sheet);
  const { columnNames, cellErrors } = options;
  // Within a range the header is the range's first row, blank or not.
  const headerRow = options.headerRow ?? (range.hasFirstRow ? range.firstRow : undefined);
  return new XlsxSource(container, workbook, sheet, {
    range,
    headerRow,
    columnNames,
    cellErrors,
    limits,
  });
}

class XlsxSource implements SpreadsheetSource {
  readonly nameMatching = 'loose';
  readonly sheets;
  readonly sheet: string;
  readonly warnings: SourceWarning[] = [];

  readonly #container: ZipContainer;
  readonly #workbook: Workbook;
  readonly #part: ZipPart;
  readonly #options: SheetRowsOptions;
  #strings: SharedStrings | undefined;
  #rows: SheetRows | undefined;

  constructor(container: ZipContainer, workbook: Workbook, sheet: WorkbookSheet, options: SheetRowsOptions) {
    if (sheet.part === undefined) {
      throw new AppError('invalid-file', `The file does not hold the part of sheet ${quote(sheet.name)}.`);
    }
    this.#container = container;
    this.#workbook = workbook;
    this.#part = sheet.part;
    this.#options = options;
    this.sheet = sheet.name;
    this.sheets = workbook.sheets.map(({ name, visibility, kind }) => ({
      name,
      visibility,
      hasCells: kind === 'worksheet',
    }));
  }

  async read(sink: CellSink, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#strings ??= await this.#readStrings(signal);
    const rows = new SheetRows(sink, this.#options);
    this.#rows = rows;
    const scanner = new SheetScanner(rows, {
      partName: this.#part.name,
      styles: this.#workbook.styles,
      strings: this.#strings,
      is1904: this.#workbook.is1904,
      limits: this.#options.limits,
    });
    for await (const slice of slices(this.#container, this.#part, signal)) {
      scanner.push(slice);
      const wait = sink.drain();
      if (wait !== undefined) await wait;
    }
    scanner.finish();
    rows.finish();
    this.warnings.splice(0, this.warnings.length, ...rows.warnings);
  }

  locate = (row: number, column: number): CellLocation => {
    const rows = this.#rows;
    const sheetRow = row + (rows?.headerRow ?? 0);
    const sheetColumn = rows?.sheetColumns[column];
    const cell =
      sheetColumn === undefined
        ? rowAddress(this.sheet, sheetRow)
        : cellAddress(this.sheet, sheetRow, sheetColumn);
    return { sheet: this.sheet, cell };
  };

  async #readStrings(signal: AbortSignal): Promise<SharedStrings> {
    const { limits } = this.#options;
    const part = this.#workbook.sharedStrings;
    if (part === undefined) return new SharedStrings(limits.maxSharedStringBytes);
    const reader = new SharedStringsReader(part.name, limits);
    for await (const slice of slices(this.#container, part, signal)) reader.push(slice);
    return reader.finish();
  }
}

/** The part's text in slices, with a turn for the event loop when it is due; ends with the signal's reason. */
async function* slices(
  container: ZipContainer,
  part: ZipPart,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  let turnStart = performance.now();
  for await (const chunk of decodeXml(container.read(part), part.name)) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      signal.throwIfAborted();
      yield chunk.subarray(at, at + sliceBytes);
      if (performance.now() - turnStart < maxTurnMs) continue;
      await new Promise(setImmediate);
      turnStart = performance.now();
    }
  }
  signal.throwIfAborted();
}

function chooseSheet(sheets: WorkbookSheet[], wanted: string | undefined): WorkbookSheet {
  const worksheets = sheets.filter((sheet) => sheet.kind === 'worksheet');
  if (worksheets.length === 0) {
    throw new AppError('unsupported-file', 'The workbook has no worksheet, so there are no rows to read.');
  }
  if (wanted === undefined) {
    return worksheets.find((sheet) => sheet.visibility === 'visible') ?? worksheets[0]!;
  }
  const chosen =
    sheets.find((sheet) => sheet.name === wanted) ??
    sheets.find((sheet) => sheet.name.toLowerCase() === wanted.toLowerCase()) ??
    (/^\d{1,6}$/.test(wanted) ? sheets[Number(wanted) - 1] : undefined);
  if (chosen === undefined) {
    throw new AppError(
      'invalid-parameter',
      `There is no sheet ${quote(wanted)}. The sheets are: ${listNames(sheets)}.`,
    );
  }
  if (chosen.kind !== 'worksheet') {
    throw new AppError(
      'invalid-parameter',
      `Sheet ${quote(chosen.name)} has no cells. Those that have: ${listNames(worksheets)}.`,
    );
  }
  return chosen;
}

const namesListed = 50;

function listNames(sheets: WorkbookSheet[]): string {
  const names = sheets.slice(0, namesListed).map((sheet) => quote(sheet.name));
  return names.join(', ') + (sheets.length > namesListed ? `, and ${sheets.length - namesListed} more` : '');
}

function quote(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
