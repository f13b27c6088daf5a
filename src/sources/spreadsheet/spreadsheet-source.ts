/**
 * A spreadsheet file as rows: found out by its content, one sheet of it read in passes.
 *
 * A format is one line in `formats`; what is not read is refused by its name.
 */

import { AppError } from '../../errors.ts';
import { openCsv } from './csv/csv-source.ts';
import { openEncryptedPackage } from './encryption/decrypt-package.ts';
import { openXls } from './legacy/legacy-source.ts';
import { openPackage } from './open-package.ts';
import { type RandomAccessFile, readRange } from './random-access-file.ts';
import { recognizedBytes, recognizeFormat, type SpreadsheetFormat } from './recognize-format.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SpreadsheetOptions, SpreadsheetSource } from './spreadsheet-options.ts';

export type { SpreadsheetLimits } from './spreadsheet-limits.ts';
export type { SheetSummary, SpreadsheetOptions, SpreadsheetSource } from './spreadsheet-options.ts';

type OpenFormat = (
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
) => Promise<SpreadsheetSource>;

const formats: Record<SpreadsheetFormat, OpenFormat> = {
  zip: openPackage,
  'compound-file': openCompoundFile,
  biff: openXls,
  csv: openCsv,
  'excel-xml': refuse('an XML file'),
  'xml-spreadsheet': refuse('an XML spreadsheet of Excel 2003'),
  'flat-opendocument': refuse('a flat OpenDocument file (.fods)'),
  'web-archive': refuse('a web page saved as one file (MHTML), whatever its name says'),
  sylk: refuse('a SYLK file (.slk), whatever its name says'),
  dif: refuse('a DIF file (Data Interchange Format), whatever its name says'),
  lotus: refuse('a Lotus 1-2-3 or Quattro Pro worksheet'),
  dbase: refuse('a dBase table (.dbf)'),
  html: refuse('a web page (HTML), whatever its name says'),
  json: refuse(
    'JSON',
    'Send it to /upload/json of the table instead, as the body of the request: {"data": [{…}, …]}.',
  ),
  pdf: refuse('a PDF document'),
  rtf: refuse('a text document (RTF)'),
  image: refuse('an image'),
  archive: refuse('a compressed file or an archive', 'Unpack it and send the workbook that is in it.'),
  parquet: refuse('a Parquet file'),
  sqlite: refuse('an SQLite database'),
  empty: refuse('empty', 'Send one that holds at least a row with the names of the columns.'),
  unknown: refuse(
    'of a type that is not recognized',
    'Send an Excel workbook (.xlsx, .xls, .xlsb), an OpenDocument spreadsheet (.ods) or a text file (CSV).',
  ),
};

/**
 * Opens a spreadsheet and chooses its sheet. The source reads the file in every pass: close it only afterwards.
 *
 * @param signal ends the work before the first pass, which takes a while for the formats that are read as a whole
 * @throws AppError `unsupported-file`, `invalid-file`, `invalid-parameter` (an unknown sheet, a range that is none),
 *   `limit-exceeded`; the signal's reason
 */
export async function openSpreadsheet(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal = new AbortController().signal,
): Promise<SpreadsheetSource> {
  const head = await readRange(file, 0, recognizedBytes);
  return await formats[recognizeFormat(head)](file, options, limits, signal);
}

/** An .xls file, or an encrypted workbook of a newer format. */
async function openCompoundFile(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<SpreadsheetSource> {
  const decrypted = await openEncryptedPackage(file, signal);
  return decrypted === undefined
    ? await openXls(file, options, limits, signal)
    : await openPackage(decrypted, options, limits, signal);
}

function refuse(
  what: string,
  remedy = 'Open it in a spreadsheet program, save it as .xlsx or .csv, and send that.',
): OpenFormat {
  return async () => {
    throw new AppError('unsupported-file', `The file is ${what}. ${remedy}`);
  };
}
