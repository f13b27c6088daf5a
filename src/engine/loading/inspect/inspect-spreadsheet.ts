/**
 * Inspects a workbook before it is loaded. The result has the sheets with their sizes. For the chosen sheet it has the header, the
 * definition that would be inferred, the first rows as text, and the warnings.
 */

import { type SourceReading, withSecondReading } from '../../../core/cells/row-source.ts';
import { AppError, type ErrorCode, type Warning } from '../../../core/errors.ts';
import { type TypeChoices, TypeInference } from '../../../encoding/infer/infer-types.ts';
import { headerProblems } from '../../../encoding/problems/problems.ts';
import { type TextReading, TextReadingSink } from '../../../encoding/text-reading/text-reading.ts';
import {
  nameOtherSheets,
  orderWarnings,
  otherSheetsWarning,
} from '../../../readers/spreadsheet/choose-sheet.ts';
import type { NamedCells } from '../../../readers/spreadsheet/names/find-table-range.ts';
import { type FileProposal, proposeSheet } from '../../../readers/spreadsheet/proposal/propose-sheet.ts';
import type { SheetProposal } from '../../../readers/spreadsheet/proposal/propose-table.ts';
import type { SheetSource } from '../../../readers/spreadsheet/sheet-source.ts';
import type { OtherSheet, SheetSummary } from '../../../readers/spreadsheet/spreadsheet-options.ts';
import { shortYearWarnings } from '../inputs/read-text.ts';
import { Preview, type PreviewedRows, type PreviewSize } from './preview.ts';

export interface Inspection {
  sheets: (SheetSummary & SheetSize)[];
  /** The cells of the file that look most like a table. */
  proposal: FileProposal;
  names: { listed: NamedCells[]; count: number };
  sheet: { name: string; warnings: Warning[] } & PlaceOfTable & PreviewedRows;
}

type PlaceOfTable = Pick<SourceReading, 'headerRow' | 'headerRows' | 'range'>;

interface SheetSize extends PreviewSize {
  /** undefined: the sheet cannot be read. */
  proposal?: SheetProposal | undefined;
  /** The reason if the sheet cannot be read. The sizes then describe the part that was read. */
  problem?: { code: ErrorCode; detail: string };
}

interface InspectionLimits {
  maxColumns: number;
  maxRows: number;
}

/** A workbook that is inspected. */
export interface InspectedWorkbook {
  /** The sheet that is read. */
  source: SheetSource;
  /** Opens the file again with another sheet. */
  openSheet: (name: string) => Promise<SheetSource>;
  /** true: the caller named the sheet; false: a warning names the other sheets that have rows. */
  isSheetChosen: boolean;
  /** undefined: the request does not say how text is read. */
  textReading: TextReading | undefined;
  /** How types are inferred. */
  types: TypeChoices;
}

/** Shows the sheets of a workbook, the proposed columns and the first rows. */
export async function inspectSpreadsheet(
  { source: chosen, openSheet, isSheetChosen, textReading, types }: InspectedWorkbook,
  limits: InspectionLimits,
  signal: AbortSignal,
): Promise<Inspection> {
  const { preview, ofText } = await readChosen(chosen, { textReading, types, limits, signal });
  const sheets: Inspection['sheets'] = [];
  for (const summary of chosen.sheets) {
    const isChosen = summary.hasCells && summary.name === chosen.sheet;
    const size = isChosen
      ? { ...preview.size, proposal: chosen.proposal }
      : await sizeOf(summary, openSheet, limits, signal);
    sheets.push({ ...summary, ...size });
  }
  const { names, ofNames } = await readNames(chosen, signal);
  const warnings = orderWarnings([
    ...(isSheetChosen ? [] : warnOfOthers(sheets, chosen.sheet)),
    ...chosen.warnings,
    ...ofText,
    ...preview.headerWarnings(chosen.reading.headerRow, chosen.headerTexts),
    ...preview.warnings,
    ...ofNames,
  ]);
  return {
    sheets,
    proposal: proposeSheet(sheets),
    names,
    sheet: { name: chosen.sheet, ...placeOf(chosen), ...preview.result(headerProblems(chosen)), warnings },
  };
}

interface PassOptions extends Pick<InspectedWorkbook, 'textReading' | 'types'> {
  limits: InspectionLimits;
  signal: AbortSignal;
}

/** Reads the chosen sheet. If it cannot be read, the error names the other sheets. */
async function readChosen(
  chosen: SheetSource,
  { textReading, types, limits, signal }: PassOptions,
): Promise<{ preview: Preview; ofText: Warning[] }> {
  let preview = new Preview(limits, chosen.locate, types);
  let ofText: Warning[] = [];
  const refused = await errorOf(async () => {
    preview = new Preview(limits, chosen.locate, types);
    const textSink = textReading && new TextReadingSink(preview, textReading);
    await chosen.read(textSink ?? preview, signal);
    ofText = textSink ? shortYearWarnings(textSink, chosen) : [];
  }, signal);
  if (refused !== undefined) throw nameOtherSheets(chosen, refused);
  return { preview, ofText };
}

/** Reads a sheet that was not chosen, to count its rows and columns. */
async function sizeOf(
  summary: SheetSummary,
  openSheet: (name: string) => Promise<SheetSource>,
  limits: InspectionLimits,
  signal: AbortSignal,
): Promise<SheetSize> {
  if (!summary.hasCells) return { rows: 0, columns: 0 };
  let source: SheetSource | undefined;
  let counter = new TypeInference(limits);
  const error = await errorOf(async () => {
    source ??= await openSheet(summary.name);
    counter = new TypeInference(limits);
    await source.read(counter, signal);
  }, signal);
  return {
    rows: counter.rowCount,
    columns: counter.columns().length,
    proposal: source?.proposal,
    ...(error && { problem: { code: error.code, detail: error.detail } }),
  };
}

/** Reads the names of the workbook. If they cannot be read, there is a warning, because a whole sheet can be loaded without them. */
async function readNames(
  chosen: SheetSource,
  signal: AbortSignal,
): Promise<{ names: Inspection['names']; ofNames: Warning[] }> {
  let names: Inspection['names'] = { listed: [], count: 0 };
  const error = await errorOf(async () => {
    names = await chosen.namedCells(signal);
  }, signal);
  if (error === undefined) return { names, ofNames: [] };
  const detail = `The names of the workbook cannot be read. ${error.detail}`;
  return { names, ofNames: [{ code: 'unreadable-names', detail }] };
}

/** Returns the error instead of throwing it, because one unreadable sheet must not hide the others. */
async function errorOf(reading: () => Promise<void>, signal: AbortSignal): Promise<AppError | undefined> {
  try {
    await withSecondReading(reading);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.status < 500) return error;
    throw error;
  }
}

/** Warns that other visible sheets have rows, too. */
function warnOfOthers(sheets: Inspection['sheets'], chosen: string): Warning[] {
  const others = sheets.filter(
    ({ name, visibility, rows }) => rows > 0 && visibility === 'visible' && name !== chosen,
  );
  return others.length === 0 ? [] : [otherSheetsWarning(chosen, others.map(otherSheetOf))];
}

function placeOf({ reading: { headerRow, headerRows, range } }: SheetSource): PlaceOfTable {
  return {
    ...(headerRow !== undefined && { headerRow }),
    ...(headerRows !== undefined && { headerRows }),
    ...(range !== undefined && { range }),
  };
}

function otherSheetOf({ name, rows, columns, problem }: SheetSummary & SheetSize): OtherSheet {
  return { name, size: { rows, columns, isWhole: problem === undefined } };
}
