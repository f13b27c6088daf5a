/** Opens an Office Open XML workbook: a package of .xlsx and .xlsm, or of .xlsb, whose parts are binary. */

import { AppError } from '../../../core/errors.ts';
import { quote } from '../choose-sheet.ts';
import type { Claim } from '../memory-budget.ts';
import type { MergedAreas } from '../merged-areas.ts';
import { WorkbookNames } from '../names/workbook-names.ts';
import type { partSlices } from '../package/part-slices.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import {
  type FileContent,
  maxProbedBytes,
  type OpenedFile,
  type ScanResult,
  type ScanSheet,
} from '../sheet-format.ts';
import type { SheetRows } from '../sheet-rows.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import type { Styles } from '../values/styles.ts';
import { readRelationships } from './relationships.ts';
import { findWorkbookPart, readWorkbook, type Workbook, type WorkbookParts } from './workbook.ts';

/** The functions that read the parts of .xlsx or of .xlsb. Everything else is the same for both. */
export interface PackageFormat {
  name: 'xlsx' | 'xlsb';
  /** Returns whether the package has parts of this kind, which the name of its workbook part shows. */
  isFormOf: (workbook: ZipPart) => boolean;
  workbookParts: WorkbookParts;
  /** Adds the defined names of the workbook. @param sheets the names of its sheets */
  readDefinedNames: (
    container: ZipContainer,
    workbook: ZipPart,
    sheets: string[],
    found: WorkbookNames,
  ) => Promise<void>;
  /** Adds the table of a table part. @param sheet the name of its sheet */
  readTable: (container: ZipContainer, part: ZipPart, sheet: string, found: WorkbookNames) => Promise<void>;
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
  /**
   * Called after each formula cell that has a result.
   *
   * @param column counts from 0
   */
  onFormula?: ((column: number, isZero: boolean) => void) | undefined;
  limits: SpreadsheetLimits;
}

interface SheetScanner {
  /** Takes the next bytes of the part, which may be cut anywhere. The earlier bytes must have been scanned. */
  feed(chunk: Buffer): void;
  /**
   * Scans the fed bytes. It stops when the target needs a pause.
   *
   * @returns false if all fed bytes are scanned
   */
  scan(): boolean;
  /** The fed bytes that come after the cells; undefined: the cells have not ended yet. */
  readonly bytesAfterCells: Buffer | undefined;
  /**
   * Ends the part.
   *
   * @throws AppError `invalid-file` if the sheet is incomplete
   */
  finish(): void;
}

interface StringsReader {
  readonly strings: SharedStrings;
  push(chunk: Buffer): void;
  finish(): SharedStrings;
}

/** Finds the merged areas of a sheet in the bytes that follow its cells. */
export interface MergesReader {
  /** @throws AppError `limit-exceeded`, `invalid-file` */
  push(chunk: Buffer): void;
  areas: MergedAreas;
}

/**
 * Opens a package if it has the form of `format`.
 *
 * @returns undefined if the file has another form
 * @throws the errors of an `OpenFormat`
 */
export async function openPackage(
  format: PackageFormat,
  { container }: FileContent,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<OpenedFile | undefined> {
  const part = container && (await findWorkbookPart(container));
  if (container === undefined || part === undefined || !format.isFormOf(part)) return undefined;
  const workbook = await readWorkbook(container, part, format.workbookParts);
  const claim = await claimStrings(workbook.sharedStrings, limits, signal);
  return new OpenedPackage(format, container, { part, workbook, claim }, limits);
}

/**
 * How much memory shared strings take for each byte of their part. In XML the shortest string has 5 bytes (`<si/>`), and 12 bytes
 * are kept for it; in .xlsb a text of 2 bytes in UTF-16 may have 3 in UTF-8.
 */
const maxStringRatio = 12 / 5;

/**
 * Claims the maximum memory that the shared strings can take. It follows from the unpacked size that the file states, which can be
 * trusted here because a part that unpacks to more is refused.
 */
async function claimStrings(
  part: ZipPart | undefined,
  { memory, maxSharedStringBytes }: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<Claim | undefined> {
  const bytes = Math.ceil((part?.entry.uncompressedSize ?? 0) * maxStringRatio);
  return memory?.claim(Math.min(bytes, maxSharedStringBytes), signal);
}

class OpenedPackage implements OpenedFile {
  readonly format: string;
  readonly sheets: OpenedFile['sheets'];
  readonly #form: PackageFormat;
  readonly #container: ZipContainer;
  readonly #workbookPart: ZipPart;
  readonly #workbook: Workbook;
  readonly #claim: Claim | undefined;
  readonly #limits: SpreadsheetLimits;
  /** The shared strings; undefined until a sheet is read. */
  #strings: SharedStrings | undefined;

  constructor(
    form: PackageFormat,
    container: ZipContainer,
    { part, workbook, claim }: { part: ZipPart; workbook: Workbook; claim: Claim | undefined },
    limits: SpreadsheetLimits,
  ) {
    this.format = form.name;
    this.sheets = workbook.sheets.map(({ name, visibility, kind }) => ({
      name,
      visibility,
      hasCells: kind === 'worksheet',
    }));
    this.#form = form;
    this.#container = container;
    this.#workbookPart = part;
    this.#workbook = workbook;
    this.#claim = claim;
    this.#limits = limits;
  }

  scanOf(sheet: number): ScanSheet {
    const { name, part } = this.#workbook.sheets[sheet]!;
    if (part === undefined) {
      throw new AppError(
        'invalid-file',
        `The workbook is broken: it does not contain the part of sheet ${quote(name)}. Open it in a spreadsheet program and save it again.`,
      );
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
      if (merges === undefined && rows.merged === undefined && scanner.bytesAfterCells !== undefined) {
        merges = this.#form.createMergesReader(part.name);
        merges.push(scanner.bytesAfterCells);
      }
    }
    scanner.finish();
    return merges === undefined ? {} : { merged: merges.areas };
  }

  async names(signal: AbortSignal): Promise<WorkbookNames> {
    const found = new WorkbookNames();
    const { sheets } = this.#workbook;
    const seen = new Set<ZipPart>();
    for (const { name, part } of sheets) {
      signal.throwIfAborted();
      if (part === undefined) continue;
      for (const { type, target } of (await readRelationships(this.#container, part.name)).values()) {
        const table = type === 'table' ? this.#container.find(target) : undefined;
        if (table === undefined || seen.has(table)) continue;
        seen.add(table);
        await this.#form.readTable(this.#container, table, name, found);
      }
    }
    const sheetNames = sheets.map(({ name }) => name);
    await this.#form.readDefinedNames(this.#container, this.#workbookPart, sheetNames, found);
    return found;
  }

  async probe(
    sheet: number,
    rows: SheetRows,
    isEnough: () => boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { part } = this.#workbook.sheets[sheet]!;
    if (part === undefined) return true;
    this.#strings ??= await this.#readStrings(signal);
    const scanner = this.#scannerOf(part, rows, this.#strings);
    let bytes = 0;
    for await (const slice of this.#form.slices(this.#container, part, signal)) {
      scanner.feed(slice);
      while (!isEnough() && scanner.scan()) {
        const wait = rows.pause();
        if (wait !== undefined) await wait;
      }
      bytes += slice.length;
      if (isEnough() || bytes > maxProbedBytes) return false;
    }
    return true;
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
    });
  }

  async #readStrings(signal: AbortSignal): Promise<SharedStrings> {
    const part = this.#workbook.sharedStrings;
    if (part === undefined) return new SharedStrings(this.#limits.maxSharedStringBytes);
    const reader = this.#form.createStringsReader(part.name, this.#limits);
    this.#limits.memory?.onClose(() => reader.strings.free());
    for await (const slice of this.#form.slices(this.#container, part, signal)) reader.push(slice);
    const strings = reader.finish();
    this.#claim?.keep(strings.memoryBytes);
    return strings;
  }
}
