/** Refuses files that are not a spreadsheet or whose format is not supported. The message names the format. */

import { AppError } from '../../core/errors.ts';
import { notAWorkbook } from './file-errors.ts';
import type { ZipContainer } from './package/zip-container.ts';
import type { FileKind } from './recognize-file.ts';
import type { FileContent } from './sheet-format.ts';

const asWorkbook = 'Open it in a spreadsheet program, save it as .xlsx or .csv, and send the new file.';

const known: Partial<Record<FileKind, [what: string, remedy?: string]>> = {
  'excel-xml': ['an XML file'],
  'xml-spreadsheet': ['an XML spreadsheet of Excel 2003'],
  'flat-opendocument': ['a flat OpenDocument file (.fods)'],
  'web-archive': ['a web page saved as one file (MHTML), whatever its name says'],
  sylk: ['a SYLK file (.slk), whatever its name says'],
  dif: ['a DIF file (Data Interchange Format), whatever its name says'],
  lotus: ['a Lotus 1-2-3 or Quattro Pro worksheet'],
  dbase: ['a dBase table (.dbf)'],
  html: ['a web page (HTML), whatever its name says'],
  json: [
    'JSON',
    'Send it to /upload/json of the table instead, as the body of the request: {"data": [{…}, …]}.',
  ],
  pdf: ['a PDF document'],
  rtf: ['a text document (RTF)'],
  image: ['an image'],
  archive: ['an archive', 'Unpack it and send the file inside it, or pack that as .zip, .gz, .zst or .br.'],
  sqlite: ['an SQLite database'],
  empty: ['empty', 'Send a file with at least a row of column names.'],
};

/**
 * Refuses a file that has none of the supported formats.
 *
 * @param extensions the usual extensions of supported files
 */
export function refuseFile({ kind, container }: FileContent, extensions: string): never {
  if (container !== undefined) throw refusedZip(container);
  const unknown = [
    'of a type that is not recognized',
    `Send a file of a supported type: ${extensions}.`,
  ] as const;
  const [what, remedy = asWorkbook] = known[kind] ?? unknown;
  throw new AppError('unsupported-file', `The file is ${what}. ${remedy}`);
}

function refusedZip(container: ZipContainer): AppError {
  if (isNumbers(container)) return notAWorkbook('a Numbers document (.numbers)');
  return new AppError(
    'unsupported-file',
    'The file is a document of another kind, not a workbook. If it contains a workbook, unpack it and send the workbook.',
  );
}

/**
 * Returns whether the file is a document of Numbers. Newer documents store their parts directly in the zip file, older ones in a
 * second zip file inside it.
 */
function isNumbers(container: ZipContainer): boolean {
  return container.find('Index/Document.iwa') !== undefined || container.find('Index.zip') !== undefined;
}
