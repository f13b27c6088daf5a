/**
 * Makes an input of a received spreadsheet and the definition that was sent with it.
 */
import type { Warning } from '../../errors.ts';
import type { CellSink } from '../../sources/cell-sink.ts';
import type { Spool } from '../../sources/spool.ts';
import { orderWarnings, otherSheetsWarning } from '../../sources/spreadsheet/choose-sheet.ts';
import type { SheetSource } from '../../sources/spreadsheet/sheet-source.ts';
import type { LoadInput } from '../load-input.ts';

/**
 * @param definition the value of `table` in the part `body`; undefined: none
 * @param isSheetChosen the caller said which sheet; if not, the other sheets that have rows are a warning
 */
export function spreadsheetInput(
  source: SheetSource,
  spool: Spool,
  definition: unknown,
  isSheetChosen: boolean,
): LoadInput {
  let otherSheets: Warning[] | undefined;
  const read = async (sink: CellSink, signal: AbortSignal): Promise<void> => {
    await source.read(sink, signal);
    otherSheets ??= isSheetChosen ? [] : await findOtherSheets(source, signal);
  };
  return {
    nameMatching: source.nameMatching,
    get warnings() {
      return orderWarnings([...(otherSheets ?? []), ...source.warnings]);
    },
    locate: source.locate,
    get headerFaults() {
      return source.headerFaults;
    },
    get reading() {
      return source.reading;
    },
    definition,
    open: async () => {},
    read,
    readAndKeep: read,
    keep: async () => {},
    close: () => spool.close(),
  };
}

async function findOtherSheets(source: SheetSource, signal: AbortSignal): Promise<Warning[]> {
  const names = await source.otherSheetsWithRows(signal);
  return names.length === 0 ? [] : [otherSheetsWarning(source.sheet, names)];
}
