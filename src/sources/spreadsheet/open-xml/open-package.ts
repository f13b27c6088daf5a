/** An Office Open XML workbook: the package of .xlsx and .xlsm, and of .xlsb, whose parts are binary. */

import { AppError } from '../../../errors.ts';
import { quote } from '../choose-sheet.ts';
import type { MergedAreas } from '../merged-areas.ts';
import type { partSlices } from '../package/part-slices.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import type { FileContent, OpenedFile, ScanResult, ScanSheet } from '../sheet-format.ts';
import type { SheetRows } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import type { Styles } from '../values/styles.ts';
import { findWorkbookPart, readWorkbook, type Workbook, type WorkbookParts } from './workbook.ts';

/** How the parts of a package are written: everything else is the same for .xlsx and .xlsb. */
export interface PackageFormat {
  name: 'xlsx' | 'xlsb';
  /** Whether the package has its parts in this form, by its workbook part. */
  isFormOf: (workbook: ZipPart) => boolean;
  workbookParts: WorkbookParts;
  slices: typeof partSlices;
  createSheetScanner: (target: SheetRows, options: SheetScannerOptions) => SheetScanner;
  createStringsReader: (partName: string, limits: SpreadsheetLimits) => StringsReader;
  createMergesReader: (partName: string) => MergesReader;
}

export interface SheetScannerOptions {
  partName: string;
  styles: Styles;
  strings: SharedStrings;
  is1904: boolean;
  /** Called after each cell of a formula that has a result. @param column from 0 */
  onFormula?: ((column: number, isZero: boolean) => void) | undefined;
  limits: SpreadsheetLimits;
  /** What the shared strings may come to in all, each time that a cell names one. */
  maxSharedBytes: number;
}

interface SheetScanner {
  /** Takes the next bytes of the part, cut anywhere. What was fed before must have been scanned. */
  feed(chunk: Buffer): void;
  /**
   * Scans what was fed, or only to the end of a row with which much text has been pushed, because a few bytes can name
   * many large strings: then the target may be waited for.
   *
   * @returns false where all is scanned
   */
  scan(): boolean;
  /** What was fed and follows the cells; undefined: the cells have not ended. */
  readonly behindCells: Buffer | undefined;
  /** @throws AppError `invalid-file` where the part ends before the sheet does */
  finish(): void;
}

interface StringsReader {
  push(chunk: Buffer): void;
  finish(): SharedStrings;
}

/** Finds the merged areas of a sheet in the bytes that follow its cells. */
export interface MergesReader {
  /** @throws AppError `limit-exceeded`, `invalid-file` */
  push(chunk: Buffer): void;
  areas: MergedAreas;
}

/** Cells that name one string in turn come to more than a file holds, honestly; this much is harmless. */
const ratioFreeBytes = 64 * 1024 * 1024;

/** Other sheets are looked into for rows only so far. */
const maxProbedBytes = 1024 * 1024;

/**
 * @returns undefined if the file is no such package
 * @throws AppError as `OpenFormat`
 */
export async function openPackage(
  format: PackageFormat,
  { container }: FileContent,
  limits: SpreadsheetLimits,
): Promise<OpenedFile | undefined> {
  const part = container && (await findWorkbookPart(container));
  if (container === undefined || part === undefined || !format.isFormOf(part)) return undefined;
  return new OpenedPackage(
    format,
    container,
    await readWorkbook(container, part, format.workbookParts),
    limits,
  );
}

class OpenedPackage implements OpenedFile {
  readonly format: string;
  readonly sheets: OpenedFile['sheets'];
  readonly #form: PackageFormat;
  readonly #container: ZipContainer;
  readonly #workbook: Workbook;
  readonly #limits: SpreadsheetLimits;
  /** Undefined before a sheet has been read. */
  #strings: SharedStrings | undefined;

  constructor(form: PackageFormat, container: ZipContainer, workbook: Workbook, limits: SpreadsheetLimits) {
    this.format = form.name;
    this.sheets = workbook.sheets.map(({ name, visibility, kind }) => ({
      name,
      visibility,
      hasCells: kind === 'worksheet',
    }));
    this.#form = form;
    this.#container = container;
    this.#workbook = workbook;
    this.#limits = limits;
  }

  scanOf(sheet: number): ScanSheet {
    const { name, part } = this.#workbook.sheets[sheet]!;
    if (part === undefined) {
      throw new AppError('invalid-file', `The file does not hold the part of sheet ${quote(name)}.`);
    }
    return (rows, signal) => this.#scan(part, rows, signal);
  }

  async #scan(part: ZipPart, rows: SheetRows, signal: AbortSignal): Promise<ScanResult> {
    this.#strings ??= await this.#readStrings(signal);
    const scanner = this.#scannerOf(part, rows, this.#strings);
    let merges: MergesReader | undefined;
    for await (const slice of this.#form.slices(this.#container, part, signal)) {
      merges?.push(slice);
      scanner.feed(slice);
      for (let isPaused = true; isPaused; ) {
        isPaused = scanner.scan();
        const wait = rows.pause();
        if (wait !== undefined) await wait;
      }
      if (merges === undefined && rows.merged === undefined && scanner.behindCells !== undefined) {
        merges = this.#form.createMergesReader(part.name);
        merges.push(scanner.behindCells);
      }
    }
    scanner.finish();
    return merges === undefined ? {} : { merged: merges.areas };
  }

  async probe(sheet: number, rows: SheetRows, isEnough: () => boolean, signal: AbortSignal): Promise<void> {
    const { part } = this.#workbook.sheets[sheet]!;
    if (part === undefined) return;
    this.#strings ??= await this.#readStrings(signal);
    const scanner = this.#scannerOf(part, rows, this.#strings);
    let bytes = 0;
    for await (const slice of this.#form.slices(this.#container, part, signal)) {
      scanner.feed(slice);
      while (!isEnough() && scanner.scan());
      bytes += slice.length;
      if (isEnough() || bytes > maxProbedBytes) break;
    }
  }

  #scannerOf(part: ZipPart, rows: SheetRows, strings: SharedStrings): SheetScanner {
    const { styles, is1904, calculatesOnLoad } = this.#workbook;
    return this.#form.createSheetScanner(rows, {
      partName: part.name,
      styles,
      strings,
      is1904,
      onFormula: calculatesOnLoad ? (column, isZero) => rows.formula(column, isZero) : undefined,
      limits: this.#limits,
      maxSharedBytes: Math.max(ratioFreeBytes, this.#container.fileBytes * this.#limits.maxRatio),
    });
  }

  async #readStrings(signal: AbortSignal): Promise<SharedStrings> {
    const part = this.#workbook.sharedStrings;
    if (part === undefined) return new SharedStrings(this.#limits.maxSharedStringBytes);
    const reader = this.#form.createStringsReader(part.name, this.#limits);
    for await (const slice of this.#form.slices(this.#container, part, signal)) reader.push(slice);
    return reader.finish();
  }
}
