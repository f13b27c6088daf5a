/**
 * A spreadsheet file as rows: found out by its content, one sheet of it read in passes.
 *
 * Formats that are read later get their line in `formats`; what is not read is refused by its name.
 */

import { AppError } from '../../errors.ts';
import { type RandomAccessFile, readRange } from './random-access-file.ts';
import { recognizedBytes, recognizeFormat, type SpreadsheetFormat } from './recognize-format.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SpreadsheetOptions, SpreadsheetSource } from './spreadsheet-options.ts';
import { openXlsx } from './xlsx/xlsx-source.ts';
import { encrypted } from './xlsx/zip-container.ts';

export type { SpreadsheetLimits } from './spreadsheet-limits.ts';
export type { SheetSummary, SpreadsheetOptions, SpreadsheetSource } from './spreadsheet-options.ts';

type OpenFormat = (
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
) => Promise<SpreadsheetSource>;

const formats: Record<SpreadsheetFormat, OpenFormat> = {
  xlsx: openXlsx,
  'compound-file': refuseCompoundFile,
  'excel-xml': refuse('an XML file'),
  html: refuse('a web page (HTML), whatever its name says'),
  pdf: refuse('a PDF document'),
  text: refuse('a text file'),
  empty: refuse('empty'),
  unknown: refuse('of no kind that is known'),
};

/**
 * Opens a spreadsheet and chooses its sheet. The source reads the file in every pass: close it only afterwards.
 *
 * @throws AppError `unsupported-file`, `invalid-file`, `invalid-parameter` (an unknown sheet, a range that is none),
 *   `limit-exceeded`
 */
export async function openSpreadsheet(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
): Promise<SpreadsheetSource> {
  const head = await readRange(file, 0, recognizedBytes);
  return await formats[recognizeFormat(head)](file, options, limits);
}

function refuse(what: string): OpenFormat {
  return async () => {
    throw unsupported(what);
  };
}

function unsupported(what: string): AppError {
  return new AppError(
    'unsupported-file',
    `The file is ${what}. Save it as an Excel workbook (.xlsx) and send that.`,
  );
}

/** Office's encryption wraps the workbook into a compound file with a stream of this name (MS-OFFCRYPTO 2.3.4). */
const encryptedStream = Buffer.from('EncryptedPackage', 'utf16le');
const windowBytes = 256 * 1024;

async function refuseCompoundFile(file: RandomAccessFile): Promise<SpreadsheetSource> {
  for (let at = 0; at < file.size; at += windowBytes) {
    const window = await readRange(file, at, windowBytes + encryptedStream.length);
    if (window.includes(encryptedStream)) throw encrypted();
  }
  throw unsupported('an old binary workbook (.xls)');
}
