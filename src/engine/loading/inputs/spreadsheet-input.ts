/**
 * Makes an input of a received spreadsheet and the definition that was sent with it.
 */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import { ReadAgain } from '../../../core/cells/row-source.ts';
import type { Warning } from '../../../core/errors.ts';
import type { Spool } from '../../../readers/spool.ts';
import { orderWarnings, otherSheetsWarning } from '../../../readers/spreadsheet/choose-sheet.ts';
import type { SheetSource } from '../../../readers/spreadsheet/sheet-source.ts';
import type { LoadInput } from './load-input.ts';

interface ReceivedFile {
  source: SheetSource;
  spool: Spool;
  fileName?: string | undefined;
  fileInZip?: string | undefined;
}

/**
 * @param opened the file with the spool that contains it
 * @param definition the value of `table` in the part `body`; undefined: the request has no definition
 * @param isSheetChosen true: the caller named the sheet; false: a warning names the other sheets that have rows
 */
export function spreadsheetInput(
  { source, spool, fileName, fileInZip }: ReceivedFile,
  definition: unknown,
  isSheetChosen: boolean,
): LoadInput {
  let otherSheets: Warning[] | undefined;
  let beforeFilling: ((sink: CellSink) => CellSink) | undefined;
  const read = async (sink: CellSink, signal: AbortSignal): Promise<void> => {
    await source.read(sink, signal, beforeFilling);
    otherSheets ??= isSheetChosen ? [] : await findOtherSheets(source, signal);
  };
  return {
    nameMatching: source.nameMatching,
    get warnings() {
      return orderWarnings([...(otherSheets ?? []), ...source.warnings]);
    },
    locate: source.locate,
    expanded: source.expanded,
    get headerFaults() {
      return source.headerFaults;
    },
    get hasRowList() {
      return source.reading.headerRow !== undefined || source.hasStatedColumns;
    },
    get headerTexts() {
      return source.headerTexts;
    },
    get joinedLines() {
      return source.joinedLines;
    },
    get reading() {
      return { ...source.reading, fileName, fileInZip };
    },
    get rowsBefore() {
      return source.rowsBefore;
    },
    definition,
    open: async () => {},
    readHead: (sink, { cells }, signal) => readHead(source, sink, cells, signal),
    passBeforeFilling: (through) => {
      beforeFilling = through;
    },
    areBlanksValues: source.areBlanksValues,
    read,
    readAndKeep: read,
    keep: async () => {},
    close: () => spool.close(),
  };
}

async function readHead(
  source: SheetSource,
  sink: CellSink,
  cells: number,
  signal: AbortSignal,
): Promise<'part' | 'whole' | undefined> {
  if (source.isReadAsWhole) return undefined;
  if (source.hasStatedColumns) {
    source.nameStatedColumns(sink);
    return 'part';
  }
  const head = new HeadSink(sink, cells);
  try {
    await source.read(head, signal);
    return 'whole';
  } catch (error) {
    if (error instanceof EndOfHead) return 'part';
    if (error instanceof ReadAgain) return undefined;
    throw error;
  }
}

/** Ends a pass after the first rows. */
class HeadSink extends ForwardingSink {
  #cellsLeft: number;

  constructor(inner: CellSink, cells: number) {
    super(inner);
    this.#cellsLeft = cells;
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#cellsLeft -= 1;
    this.inner.cell(column, kind, bytes, start, end);
  }

  override moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#cellsLeft -= 1;
    this.inner.moment(column, kind, days, microseconds);
  }

  override beginRow(row: number): void {
    if (this.#cellsLeft <= 0) throw new EndOfHead();
    this.inner.beginRow(row);
  }
}

class EndOfHead extends Error {
  override name = 'EndOfHead';
}

async function findOtherSheets(source: SheetSource, signal: AbortSignal): Promise<Warning[]> {
  const others = await source.otherSheetsWithRows(signal);
  return others.length === 0 ? [] : [otherSheetsWarning(source.sheet, others)];
}
