/**
 * What a workbook holds, before it is loaded: its sheets with their sizes, and of the chosen sheet the header, the
 * definition that would be inferred, the first rows as text, and the warnings.
 */
import { AppError, type Problem } from '../errors.ts';
import { FALSE, NULL, TRUE } from '../sources/cell-kind.ts';
import type { CellSink, LocateCell } from '../sources/cell-sink.ts';
import { formatMoment, momentText } from '../sources/moment-text.ts';
import { type SourceWarning, withSecondReading } from '../sources/row-source.ts';
import { nameOtherSheets, orderWarnings, otherSheetsWarning } from '../sources/spreadsheet/choose-sheet.ts';
import type { SheetSource } from '../sources/spreadsheet/sheet-source.ts';
import type { SheetSummary } from '../sources/spreadsheet/spreadsheet-options.ts';
import { describeCellProblem } from './cell-problems.ts';
import { TypeInference } from './infer-types.ts';
import { mixedColumns, otherReadings, unfitNames } from './inferred-columns.ts';
import { headerProblems, maxListedProblems, shortenBytes, shortenValue } from './problems.ts';
import { shortYearWarnings } from './text-reading/read-text.ts';
import { type TextReading, TextReadingSink } from './text-reading/text-reading.ts';

/** So many rows are shown. */
const shownRows = 20;

export interface Inspection {
  sheets: (SheetSummary & SheetSize)[];
  sheet: {
    name: string;
    header: string[];
    definition: { columns: { name: string; type: string }[] };
    /** Each with a text per column; null: a blank cell. */
    rows: (string | null)[][];
    /** Cells that a load would refuse. */
    errors: Problem[];
    errorCount: number;
    warnings: SourceWarning[];
  };
}

interface SheetSize {
  /** Rows below the header that have a value. */
  rows: number;
  columns: number;
  /** Why the sheet cannot be read; the sizes are then as far as it was. */
  problem?: { code: string; detail: string };
}

/**
 * @param openSheet opens the file anew with another sheet chosen
 * @param isSheetChosen the caller said which sheet; if not, the other sheets that have rows are a warning
 * @param textReading undefined: text is read as it always is
 */
export async function inspectSpreadsheet(
  chosen: SheetSource,
  openSheet: (name: string) => Promise<SheetSource>,
  isSheetChosen: boolean,
  textReading: TextReading | undefined,
  limits: { maxColumns: number; maxRows: number },
  signal: AbortSignal,
): Promise<Inspection> {
  let preview = new Preview(limits, chosen.locate);
  let ofText: SourceWarning[] = [];
  const refused = await faultOf(async () => {
    preview = new Preview(limits, chosen.locate);
    const textSink = textReading && new TextReadingSink(preview, textReading);
    await chosen.read(textSink ?? preview, signal);
    ofText = textSink ? shortYearWarnings(textSink, chosen) : [];
  });
  if (refused !== undefined) throw nameOtherSheets(chosen, refused);
  const sheets: Inspection['sheets'] = [];
  for (const summary of chosen.sheets) {
    sheets.push({ ...summary, ...(await sizeOf(summary)) });
  }
  const others = sheets.filter(
    ({ name, visibility, rows }) => rows > 0 && visibility === 'visible' && name !== chosen.sheet,
  );
  const otherNames = others.map(({ name }) => name);
  const ofOthers =
    isSheetChosen || otherNames.length === 0 ? [] : [otherSheetsWarning(chosen.sheet, otherNames)];
  const warnings = orderWarnings([...ofOthers, ...chosen.warnings, ...ofText, ...preview.warnings]);
  return { sheets, sheet: { name: chosen.sheet, ...preview.result(headerProblems(chosen)), warnings } };

  async function sizeOf(summary: SheetSummary): Promise<SheetSize> {
    if (!summary.hasCells) return { rows: 0, columns: 0 };
    if (summary.name === chosen.sheet) return preview.size;
    let source: SheetSource | undefined;
    let counter = new TypeInference(limits, () => {});
    const fault = await faultOf(async () => {
      source ??= await openSheet(summary.name);
      counter = new TypeInference(limits, () => {});
      await source.read(counter, signal);
    });
    const problem = fault && { code: fault.code, detail: fault.detail };
    return { rows: counter.rowCount, columns: counter.columns().length, ...(problem && { problem }) };
  }

  /** One sheet that cannot be read must not hide the others. */
  async function faultOf(reading: () => Promise<void>): Promise<AppError | undefined> {
    try {
      await withSecondReading(reading);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError && error.status < 500) return error;
      throw error;
    }
  }
}

/** Infers the types of all rows and keeps the first ones as text. */
class Preview implements CellSink {
  readonly #inference: TypeInference;
  readonly #locate: LocateCell;
  readonly #rows: (string | null)[][] = [];
  readonly #errors: Problem[] = [];
  #errorCount = 0;
  #row: (string | null)[] | undefined;

  constructor(limits: { maxColumns: number; maxRows: number }, locate: LocateCell) {
    this.#locate = locate;
    this.#inference = new TypeInference(limits, (row, column, name, fault, bytes, start, end) => {
      this.#errorCount += 1;
      if (this.#errors.length === maxListedProblems) return;
      this.#errors.push({
        ...this.#locate(row, column, name),
        row,
        column: name,
        ...(end > start && { value: shortenBytes(bytes, start, end) }),
        ...describeCellProblem(fault),
      });
    });
  }

  get size(): SheetSize {
    return { rows: this.#inference.rowCount, columns: this.#inference.columns().length };
  }

  get warnings(): SourceWarning[] {
    const columns = this.#inference.columns();
    return [...mixedColumns(columns, this.#locate), ...otherReadings(columns, this.#locate)];
  }

  /** @param ofHeader problems of header cells */
  result(ofHeader: Problem[]): Omit<Inspection['sheet'], 'name' | 'warnings'> {
    const inferred = this.#inference.columns();
    const columns = inferred.map(({ name, type }) => ({ name, type }));
    const header = columns.map(({ name }) => name);
    const rows = this.#rows.map((row) => inferred.map(({ column }) => row[column] ?? null));
    const unfit = unfitNames(this.#inference, this.#locate);
    const errors = [...ofHeader, ...unfit, ...this.#errors].slice(0, maxListedProblems);
    return {
      header,
      definition: { columns },
      rows,
      errors,
      errorCount: ofHeader.length + unfit.length + this.#errorCount,
    };
  }

  column(column: number, name: string, place?: number): void {
    this.#inference.column(column, name, place);
  }

  beginRow(row: number): void {
    this.#inference.beginRow(row);
    this.#row = this.#rows.length < shownRows ? [] : undefined;
    if (this.#row) this.#rows.push(this.#row);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.cell(column, kind, bytes, start, end);
    if (!this.#row || kind === NULL) return;
    if (kind === TRUE || kind === FALSE) this.#row[column] = String(kind === TRUE);
    else this.#row[column] = shortenBytes(bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#inference.moment(column, kind, days, microseconds);
    if (!this.#row) return;
    this.#row[column] = shortenValue(
      momentText.toString('latin1', 0, formatMoment(kind, days, microseconds)),
    );
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#inference.fault(column, fault, bytes, start, end);
    if (this.#row && column >= 0) this.#row[column] = shortenBytes(bytes, start, end);
  }

  endRow(): void {
    this.#inference.endRow();
  }

  drain(): undefined {
    return undefined;
  }
}
