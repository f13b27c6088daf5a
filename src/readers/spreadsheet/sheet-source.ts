/** Reads one sheet of a file, of any format, as a source of rows: runs the passes over it and keeps their results. */

import type { CellSink, LocateCell } from '../../core/cells/cell-sink.ts';
import { ExpandedBytes } from '../../core/cells/expanded-bytes.ts';
import {
  type HeaderFault,
  type JoinedLines,
  ReadAgain,
  type RowSource,
  type SourceReading,
  withSecondReading,
} from '../../core/cells/row-source.ts';
import { AppError, type Warning, wrongParameter } from '../../core/errors.ts';
import { parseRange, placeInSheet, wholeSheet } from './cell-address.ts';
import { chooseSheet } from './choose-sheet.ts';
import { FillDownSink } from './fill-down.ts';
import type { MergedAreas } from './merged-areas.ts';
import {
  findTableRange,
  listNamedCells,
  type NamedCells,
  type TableRange,
} from './names/find-table-range.ts';
import type { WorkbookNames } from './names/workbook-names.ts';
import { proposeTable, type SheetProposal } from './proposal/propose-table.ts';
import type { SheetOutline } from './proposal/sheet-outline.ts';
import { RepeatedHeaderSink } from './repeated-headers.ts';
import { RowProbe } from './row-probe.ts';
import type {
  FileContent,
  OpenedFile,
  OpenOptions,
  ScanSheet,
  SheetFormat,
  StatedFile,
} from './sheet-format.ts';
import { SheetRows } from './sheet-rows.ts';
import { type SheetRowsOptions, toRowsOptions } from './sheet-rows-options.ts';
import { type SheetWindow, windowOfRange } from './sheet-window.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import {
  maxCountedRows,
  type OtherSheet,
  type SheetSummary,
  type SpreadsheetOptions,
  type TableSize,
  type TextDialect,
} from './spreadsheet-options.ts';
import { StatedRows } from './stated-rows.ts';

/**
 * Opens a file in the first of the formats that it has, and chooses its sheet.
 *
 * @returns undefined if the file has none of the formats
 * @throws the errors of `openSpreadsheet`
 */
export async function openInFormat(
  formats: readonly Pick<SheetFormat, 'open'>[],
  content: FileContent,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<SheetSource | undefined> {
  const rowsOptions = toRowsOptions(options, limits, new ExpandedBytes(limits.maxRatio, content.file.size));
  const { allSheets = false, text = {}, trim = false, password } = options;
  const openOptions: OpenOptions = {
    allSheets,
    text,
    trim,
    password,
    chooseSheet: async (sheets, names) => (await choosePart(sheets, names, options)).sheet,
  };
  for (const { open } of formats) {
    const file = await open(content, openOptions, limits, signal);
    if (file === undefined) continue;
    if (!file.isText) refuseTextDialect(text);
    if (file.stated) refuseParametersOfSheets(options);
    const names = file.names && (() => file.names!(signal));
    const { sheet, window, warnings } = await choosePart(file.sheets, names, options);
    const source = sourceOf(file, sheet, rowsOptions);
    return window === undefined ? source : source?.within(window, warnings);
  }
  return undefined;
}

/** The sheet that is read. If the caller gave `table_range`, also the window and its warnings. */
type ChosenPart = Pick<TableRange, 'sheet'> & Partial<TableRange>;

async function choosePart(
  sheets: SheetSummary[],
  names: (() => Promise<WorkbookNames>) | undefined,
  options: SpreadsheetOptions,
): Promise<ChosenPart> {
  const { sheet, tableRange } = options;
  if (tableRange === undefined) return { sheet: chooseSheet(sheets, sheet) };
  return findTableRange(tableRange, sheets, await names?.(), options);
}

/**
 * Refuses parameters that say how a text file is read, because the file is not a text file.
 *
 * @throws AppError `invalid-parameter`
 */
function refuseTextDialect(dialect: TextDialect): void {
  const [parameter] = Object.keys(dialect);
  if (parameter === undefined) return;
  const detail = `\`${parameter}\` is for text files (CSV), and the file is none: leave it out.`;
  throw wrongParameter(parameter, detail);
}

/**
 * Refuses parameters that say which cells are read or how columns are named, because the file states its columns.
 *
 * @throws AppError `invalid-parameter`
 */
function refuseParametersOfSheets(options: SpreadsheetOptions): void {
  const { headerRow, headerRows = 1, range, tableRange, hasHeader = true, fillDown } = options;
  const sent = {
    header_row: headerRow !== undefined,
    header_rows: headerRows > 1,
    header: !hasHeader,
    range: range !== undefined,
    table_range: tableRange !== undefined,
    fill_down: fillDown !== undefined,
  };
  const parameter = Object.entries(sent).find(([, isSent]) => isSent)?.[0];
  if (parameter === undefined) return;
  const detail = `\`${parameter}\` is for sheets, and the file has columns with names and types instead: leave it out.`;
  throw wrongParameter(parameter, detail);
}

function sourceOf(file: OpenedFile, index: number, options: SheetRowsOptions): SheetSource | undefined {
  const scan = file.scanOf(index);
  return scan && new SheetSource(file, index, scan, options);
}

/** The maximum number of names whose header is searched. */
const maxProbedNames = 50;

/** The maximum number of other sheets that are probed for rows. */
const maxProbedSheets = 50;

/** How many rows of all other sheets are counted together. At least one row is searched for in each sheet. */
const maxCountedRowsOfAll = 5000;

const statedProposal: SheetProposal = {
  table: undefined,
  reasons: ['The file states the names and types of its columns.'],
  otherTables: [],
};

export class SheetSource implements RowSource {
  readonly nameMatching = 'loose';
  /** All sheets of the file in the order of their tabs. */
  readonly sheets: SheetSummary[];
  /** The name of the sheet that is read; empty: the file has no sheets. */
  readonly sheet: string;
  warnings: Warning[] = [];
  headerFaults: HeaderFault[] = [];
  headerTexts: readonly string[] | undefined;
  joinedLines: JoinedLines | undefined;
  reading: SourceReading;

  readonly #file: OpenedFile;
  readonly #index: number;
  readonly #scan: ScanSheet;
  /** The options of the caller. They also apply when another sheet is opened. */
  readonly #options: SheetRowsOptions;
  #window: SheetWindow | undefined;
  /** The warnings about how the window was chosen. */
  #windowWarnings: Warning[] = [];
  #rows: SheetRows | undefined;
  #proposal: SheetProposal | undefined;
  /** Undefined: not known before the end of the first pass, or the format itself ignores covered cells. */
  #merged: MergedAreas | undefined;

  constructor(file: OpenedFile, index: number, scan: ScanSheet, options: SheetRowsOptions) {
    this.#file = file;
    this.#index = index;
    this.#scan = scan;
    this.#options = options;
    this.sheets = file.sheets;
    this.sheet = file.sheets[index]!.name;
    this.reading = { format: file.format, ...(this.sheet !== '' && { sheet: this.sheet }) };
  }

  /** @param beforeFilling returns a sink through which the cells pass before `fill_down` fills others with them */
  async read(
    sink: CellSink,
    signal: AbortSignal,
    beforeFilling = (inner: CellSink): CellSink => inner,
  ): Promise<void> {
    signal.throwIfAborted();
    const { stated } = this.#file;
    if (stated !== undefined) return this.#readStated(stated, beforeFilling(sink), signal);
    const filling = this.#options.fillDown.length === 0 ? undefined : new FillDownSink(sink, this.#options);
    const unfilled = beforeFilling(filling ?? sink);
    const leaving = this.window.leavesOutHeaders
      ? new RepeatedHeaderSink(unfilled, () => this.#rows?.headerTexts)
      : undefined;
    const rows = new SheetRows(leaving ?? unfilled, { ...this.#options, ...this.#window }, this.#merged);
    this.#rows = rows;
    this.expanded.beginSheet(this.#index);
    const { warnings = [], merged, text, joined } = await this.#scan(rows, signal);
    if (merged !== undefined) this.#merged = merged;
    // The sheet is read again only if it has merged cells. Reading each sheet twice, to know them beforehand, would take 50 % longer.
    if (merged !== undefined && merged.count > 0) throw new ReadAgain();
    rows.finish();
    if (this.#options.outline === 'whole') this.#proposal ??= proposeTable(rows.outline);
    this.warnings = [
      ...this.#windowWarnings,
      ...warnings,
      ...rows.warningsFor(this),
      ...(leaving?.warnings(rows.headerRow) ?? []),
      ...(filling?.warnings() ?? []),
    ];
    this.joinedLines = joined && {
      reason: joined.reason,
      damage: joined.damage && {
        row: joined.damage.record - rows.headerRow,
        place: placeInSheet(this.sheet, joined.damage.record, joined.damage.column + 1),
      },
      rows: joined.records.map((record) => record - rows.headerRow),
    };
    this.headerTexts = rows.headerTexts;
    this.headerFaults = rows.headerFaultsOf(this.sheet);
    this.reading = { ...rows.reading(this.#file.format, this.sheet), ...text };
  }

  async #readStated({ columns, scan }: StatedFile, sink: CellSink, signal: AbortSignal): Promise<void> {
    const rows = new StatedRows(sink, columns, this.#options);
    this.expanded.beginSheet(this.#index);
    rows.nameColumns();
    await scan(rows, signal);
    this.warnings = [...this.#windowWarnings, ...rows.warnings];
  }

  /** Returns whether blank texts are values wherever they are. */
  get areBlanksValues(): boolean {
    return this.hasStatedColumns || this.#options.areBlanksValues;
  }

  /** Returns whether the file states its columns. */
  get hasStatedColumns(): boolean {
    return this.#file.stated !== undefined;
  }

  /** Passes on the columns that the file states. @throws AppError `limit-exceeded` */
  nameStatedColumns(sink: CellSink): void {
    new StatedRows(sink, this.#file.stated!.columns, this.#options).nameColumns();
  }

  locate: LocateCell = (row, column) => {
    if (this.hasStatedColumns) return {};
    return this.#rows?.locate(this.sheet, row, column) ?? { sheet: this.sheet };
  };

  /** The rows of the sheet before data row 1. A file that states its columns has none. */
  get rowsBefore(): number {
    return this.#rows?.headerRow ?? 0;
  }

  /**
   * Returns the same sheet with another window. Parts of the file that were read already are shared.
   *
   * @param warnings the warnings about how the window was chosen
   */
  within(window: SheetWindow, warnings: Warning[] = []): SheetSource {
    const source = new SheetSource(this.#file, this.#index, this.#scan, this.#options);
    source.#window = window;
    source.#windowWarnings = warnings;
    source.#merged = this.#merged;
    source.#proposal = this.#proposal;
    return source;
  }

  /** Counts the bytes of all values in the file. A load adds those of the values that it creates. */
  get expanded(): ExpandedBytes {
    return this.#options.expanded;
  }

  /** Returns whether the whole file is read before the first row arrives. */
  get isReadAsWhole(): boolean {
    return this.#file.isReadAsWhole ?? false;
  }

  /** Returns the part of the sheet that is read. */
  get window(): SheetWindow {
    return this.#window ?? this.#options;
  }

  /** The proposed table; undefined: no pass has recorded an outline. */
  get proposal(): SheetProposal | undefined {
    return this.hasStatedColumns ? statedProposal : this.#proposal;
  }

  /**
   * Returns the proposed table. Reads the sheet for it if no earlier pass has recorded an outline.
   *
   * @throws the errors of `read`
   */
  async propose(signal: AbortSignal): Promise<SheetProposal> {
    if (this.hasStatedColumns) return statedProposal;
    this.#proposal ??= proposeTable(await withSecondReading(() => this.#readOutline(signal)));
    return this.#proposal;
  }

  /** Reads the sheet only for its outline. The outline does not know which cells are merged. */
  async #readOutline(signal: AbortSignal): Promise<SheetOutline> {
    const options = { ...this.#options, ...this.#window, outline: 'only' } as const;
    const rows = new SheetRows(new RowProbe(), options, this.#merged);
    this.expanded.beginSheet(this.#index);
    const { merged } = await this.#scan(rows, signal);
    if (merged !== undefined) this.#merged = merged;
    return merged !== undefined && merged.count > 0 ? this.#readOutline(signal) : rows.outline;
  }

  /**
   * Returns another sheet of the file, without reading shared parts again.
   *
   * @returns undefined if the file must be opened anew for it
   * @throws AppError `invalid-parameter` if there is no such sheet, `invalid-file`
   */
  openSheet(name: string): SheetSource | undefined {
    return sourceOf(this.#file, chooseSheet(this.sheets, name), this.#options);
  }

  /** Returns the names that the file gives to its cells: at most 1,000 of those that can be loaded, and the number of all. */
  async namedCells(signal: AbortSignal): Promise<{ listed: NamedCells[]; count: number }> {
    const names = await this.#file.names?.(signal);
    if (names === undefined) return { listed: [], count: 0 };
    const found = await listNamedCells(this.sheets, names);
    // The file itself lists the columns of a table. For a named range they are read from the header row in the sheet.
    const withoutHeader = found.listed.filter(({ header }) => header === undefined);
    for (const cells of withoutHeader.slice(0, maxProbedNames)) {
      const header = await this.#headerOf(cells, signal);
      if (header !== undefined) cells.header = header;
    }
    return found;
  }

  /** Returns the header of a named range; undefined: it is not in the beginning of the sheet. */
  async #headerOf({ sheet, range }: NamedCells, signal: AbortSignal): Promise<string[] | undefined> {
    const index = this.sheets.findIndex(({ name }) => name === sheet);
    const window = windowOfRange(parseRange(range)!);
    const rows = new SheetRows(new RowProbe(), { ...this.#options, ...window });
    await this.#probeUntil(index, rows, () => rows.headerRow > 0, signal);
    return rows.headerRow > 0 ? rows.columnNames : undefined;
  }

  /** Returns the other visible sheets that have rows below a header. */
  async otherSheetsWithRows(signal: AbortSignal): Promise<OtherSheet[]> {
    const found: OtherSheet[] = [];
    let probesLeft = maxProbedSheets;
    let rowsLeft = maxCountedRowsOfAll;
    for (const [index, { name, visibility, hasCells, size: known }] of this.sheets.entries()) {
      if (index === this.#index || !hasCells || visibility !== 'visible') continue;
      if (known === undefined && probesLeft-- <= 0) continue;
      const most = Math.max(1, Math.min(maxCountedRows, rowsLeft));
      const size = known ?? (await this.#probe(index, most, signal));
      if (size.rows === 0) continue;
      if (known === undefined) rowsLeft -= size.rows;
      found.push({ name, size });
    }
    return found;
  }

  /**
   * Counts the rows below a header, and the columns, at the beginning of the sheet. If the sheet is damaged, the rows before the damage count.
   *
   * @param mostRows stops counting at this number
   */
  async #probe(index: number, mostRows: number, signal: AbortSignal): Promise<TableSize> {
    const sink = new RowProbe();
    const rows = new SheetRows(sink, {
      ...this.#options,
      ...windowOfRange(wholeSheet, this.#options.hasHeader),
    });
    const isWhole = await this.#probeUntil(index, rows, () => sink.rows >= mostRows, signal);
    return { rows: sink.rows, columns: sink.columns, isWhole };
  }

  /**
   * Scans the beginning of a sheet, up to the place where the sheet is damaged.
   *
   * @returns whether the whole sheet was scanned
   */
  async #probeUntil(
    index: number,
    rows: SheetRows,
    isEnough: () => boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    this.expanded.beginSheet(index);
    try {
      return (await this.#file.probe?.(index, rows, isEnough, signal)) ?? false;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      return false;
    }
  }
}
