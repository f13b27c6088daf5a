/**
 * Reads the binary parts of an .xlsb workbook (MS-XLSB). The package is the same as that of .xlsx, but its parts have records
 * instead of XML.
 */

import { AppError } from '../../../core/errors.ts';
import { notAWorkbook, tooManyMergedAreas } from '../file-errors.ts';
import { MergedAreas } from '../merged-areas.ts';
import { type MergesReader, openPackage, type PackageFormat } from '../open-xml/open-package.ts';
import { addSheet, type FoundSheet, type WorkbookOutline } from '../open-xml/workbook.ts';
import { binaryPartSlices } from '../package/part-slices.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import type { OpenFormat } from '../sheet-format.ts';
import type { SpreadsheetLimits } from '../spreadsheet-limits.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { StyleReader, type Styles } from '../values/styles.ts';
import { BinaryRecords, NEED_MORE } from './binary-records.ts';
import { BinarySheetScanner } from './binary-sheet-scanner.ts';
import { readDefinedNames, readTable } from './read-names.ts';
import * as types from './record-types.ts';
import { maxSmallTextBytes, readSmallRecords } from './small-records.ts';

const binaryFormat: PackageFormat = {
  name: 'xlsb',
  isFormOf: (workbook) => /\.bin$/i.test(workbook.name),
  workbookParts: { readOutline, readStyles },
  readDefinedNames,
  readTable,
  slices: binaryPartSlices,
  createSheetScanner: (target, options) => new BinarySheetScanner(target, options),
  createStringsReader: (partName, limits) => new BinaryStringsReader(partName, limits),
  createMergesReader: (partName) => new BinaryMergesReader(partName),
};

export const openXlsb: OpenFormat = (content, _options, limits, signal) =>
  openPackage(binaryFormat, content, limits, signal);

/** The values of `hsState` of a sheet (MS-XLSB 2.5.142). */
const states = ['visible', 'hidden', 'veryHidden'];

async function readOutline(container: ZipContainer, part: ZipPart): Promise<WorkbookOutline> {
  const sheets: FoundSheet[] = [];
  let isWorkbook = false;
  let is1904 = false;
  const wanted = [types.BEGIN_BOOK, types.WORKBOOK_PROPERTIES, types.BUNDLED_SHEET];
  await readSmallRecords(container, part, wanted, (type, records) => {
    if (type === types.BEGIN_BOOK) {
      isWorkbook = true;
    } else if (type === types.WORKBOOK_PROPERTIES) {
      is1904 = (records.uint8(0) & 1) === 1;
    } else {
      const relationship = records.readString(8);
      const { value: name } = records.readString(relationship.end);
      const state = states[records.uint32(0)] ?? 'visible';
      addSheet(sheets, { name, state, relationshipId: relationship.value });
    }
  });
  if (!isWorkbook) throw notAWorkbook('an Office file of another kind');
  // No known program writes an .xlsb file without the results of its formulas.
  return { sheets, is1904, calculatesOnLoad: false };
}

/** Reads the formats of cells, like `readStyles` of .xlsx. Formats of named styles are left out. */
async function readStyles(container: ZipContainer, part: ZipPart): Promise<Styles> {
  const reader = new StyleReader();
  let isOfCells = false;
  const wanted = [types.NUMBER_FORMAT, types.CELL_FORMAT, types.BEGIN_CELL_FORMATS, types.END_CELL_FORMATS];
  await readSmallRecords(container, part, wanted, (type, records) => {
    if (type === types.NUMBER_FORMAT) reader.addCode(records.uint16(0), records.readString(2).value);
    else if (type !== types.CELL_FORMAT) isOfCells = type === types.BEGIN_CELL_FORMATS;
    else if (isOfCells) reader.addStyle(records.uint16(2));
  });
  return reader.styles();
}

/** Reads the part of the shared strings in chunks. The counts in the part are not used. */
class BinaryStringsReader {
  readonly strings: SharedStrings;
  readonly #records: BinaryRecords;
  readonly #partName: string;
  #isComplete = false;

  constructor(partName: string, limits: SpreadsheetLimits) {
    this.strings = new SharedStrings(limits.maxSharedStringBytes);
    this.#records = new BinaryRecords(partName, [types.SHARED_STRING, types.END_SHARED_STRINGS], limits);
    this.#partName = partName;
  }

  push(chunk: Buffer): void {
    const records = this.#records;
    records.feed(chunk);
    for (;;) {
      const type = records.next();
      if (type === NEED_MORE) return;
      if (type === types.SHARED_STRING) {
        // The record contains flags, the text, and then formatting and phonetic hints, which are not part of the text (MS-XLSB 2.5.121).
        const length = records.readText(1);
        this.strings.add(records.text, 0, length);
      } else {
        this.#isComplete = true;
      }
    }
  }

  finish(): SharedStrings {
    if (this.#isComplete) return this.strings;
    throw new AppError('invalid-file', `Part ${this.#partName} cannot be read: it ends too early.`);
  }
}

/**
 * Finds the merged areas in the records that follow the cells, and refuses a second list of cells there, as for .xlsx. Spreadsheet
 * programs would not show it.
 */
class BinaryMergesReader implements MergesReader {
  readonly areas = new MergedAreas();
  readonly #records: BinaryRecords;
  #isDone = false;

  constructor(partName: string) {
    const wanted = [types.MERGED_AREA, types.BEGIN_SHEET_DATA, types.END_SHEET];
    this.#records = new BinaryRecords(partName, wanted, { maxCellBytes: maxSmallTextBytes });
  }

  push(chunk: Buffer): void {
    const records = this.#records;
    if (this.#isDone) return;
    records.feed(chunk);
    for (;;) {
      const type = records.next();
      if (type === NEED_MORE) return;
      if (type === types.BEGIN_SHEET_DATA) records.fail('a second list of cells');
      if (type === types.END_SHEET) {
        this.#isDone = true;
        return;
      }
      // The record has the first and last row, then the first and last column, all from 0.
      const [firstRow, lastRow] = [records.uint32(0) + 1, records.uint32(4) + 1];
      const [firstColumn, lastColumn] = [records.uint32(8) + 1, records.uint32(12) + 1];
      if (!this.areas.add(firstRow, firstColumn, lastRow, lastColumn)) throw tooManyMergedAreas();
    }
  }
}
