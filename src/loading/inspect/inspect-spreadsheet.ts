/**
 * Inspects a workbook before it is loaded. The result has the sheets with their sizes. For the chosen sheet it has the header, the
 * definition that would be inferred, the first rows as text, and the warnings.
 */

import { AppError, type ErrorCode, type Warning } from '../../errors.ts';
import { withSecondReading } from '../../sources/row-source.ts';
import {
  nameOtherSheets,
  orderWarnings,
  otherSheetsWarning,
} from '../../sources/spreadsheet/choose-sheet.ts';
import type { NamedCells } from '../../sources/spreadsheet/names/find-table-range.ts';
import { type FileProposal, proposeSheet } from '../../sources/spreadsheet/proposal/propose-sheet.ts';
import type { SheetProposal } from '../../sources/spreadsheet/proposal/propose-table.ts';
import type { SheetSource } from '../../sources/spreadsheet/sheet-source.ts';
import type { OtherSheet, SheetSummary } from '../../sources/spreadsheet/spreadsheet-options.ts';
import { TypeInference } from '../infer/infer-types.ts';
import { headerProblems } from '../problems/problems.ts';
import { shortYearWarnings } from '../text-reading/read-text.ts';
import { type TextReading, TextReadingSink } from '../text-reading/text-reading.ts';
import { Preview, type PreviewedRows, type PreviewSize } from './preview.ts';

export interface Inspection {
  sheets: (SheetSummary & SheetSize)[];
  /** The cells of the file that look most like a table. */
  proposal: FileProposal;
  names: { listed: NamedCells[]; count: number };
  sheet: { name: string; headerRow?: number; range?: string; warnings: Warning[] } & PreviewedRows;
}

interface SheetSize extends PreviewSize {
  /** undefined: the sheet cannot be read. */
  proposal?: SheetProposal | undefined;
  /** The reason if the sheet cannot be read. The sizes then describe the part that was read. */
  problem?: { code: ErrorCode; detail: string };
}

function placeOf({ reading: { headerRow, range } }: SheetSource): { headerRow?: number; range?: string } {
  return { ...(headerRow !== undefined && { headerRow }), ...(range !== undefined && { range }) };
}

function otherSheetOf({ name, rows, columns, problem }: SheetSummary & SheetSize): OtherSheet {
  return { name, size: { rows, columns, isWhole: problem === undefined } };
}

/** Returns a warning instead of the error, because the names are not needed for loading a whole sheet. */
function unreadableNames({ detail }: AppError): Warning {
  return { code: 'unreadable-names', detail: `The names of the workbook cannot be read. ${detail}` };
}

/**
 * Shows the sheets of a workbook, the proposed columns and the first rows.
 *
 * @param openSheet opens the file again with another sheet
 * @param isSheetChosen true: the caller named the sheet; false: a warning names the other sheets that have rows
 * @param textReading undefined: the request does not say how text is read
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
  let ofText: Warning[] = [];
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
  const ofOthers =
    isSheetChosen || others.length === 0 ? [] : [otherSheetsWarning(chosen.sheet, others.map(otherSheetOf))];
  let names: Inspection['names'] = { listed: [], count: 0 };
  const unreadable = await faultOf(async () => {
    names = await chosen.namedCells(signal);
  });
  const ofNames = unreadable === undefined ? [] : [unreadableNames(unreadable)];
  const warnings = orderWarnings([
    ...ofOthers,
    ...chosen.warnings,
    ...ofText,
    ...preview.headerWarnings(chosen.reading.headerRow),
    ...preview.warnings,
    ...ofNames,
  ]);
  const proposal = proposeSheet(sheets);
  return {
    sheets,
    proposal,
    names,
    sheet: { name: chosen.sheet, ...placeOf(chosen), ...preview.result(headerProblems(chosen)), warnings },
  };

  async function sizeOf(summary: SheetSummary): Promise<SheetSize> {
    if (!summary.hasCells) return { rows: 0, columns: 0 };
    if (summary.name === chosen.sheet) return { ...preview.size, proposal: chosen.proposal };
    let source: SheetSource | undefined;
    let counter = new TypeInference(limits, () => {});
    const fault = await faultOf(async () => {
      source ??= await openSheet(summary.name);
      counter = new TypeInference(limits, () => {});
      await source.read(counter, signal);
    });
    const problem = fault && { code: fault.code, detail: fault.detail };
    return {
      rows: counter.rowCount,
      columns: counter.columns().length,
      proposal: source?.proposal,
      ...(problem && { problem }),
    };
  }

  /** Returns the error instead of throwing it, because one unreadable sheet must not hide the others. */
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
