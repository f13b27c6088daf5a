/**
 * Opens a spreadsheet file as a source of rows. The format is recognized from the content of the file. The source reads one sheet, in one or more passes.
 *
 * Each format has its own folder and one line in `formats`. If a file has a known format that is not supported, the refusal names it.
 */

import { openCsv } from './csv/open-csv.ts';
import { openEncryptedPackage } from './encryption/decrypt-package.ts';
import { openXls } from './legacy/open-xls.ts';
import { openOds } from './ods/open-ods.ts';
import { openZipContainer } from './package/zip-container.ts';
import { openParquet } from './parquet/open-parquet.ts';
import { takeProposals, withoutProposals } from './proposal/take-proposal.ts';
import { type RandomAccessFile, readRange } from './random-access-file.ts';
import { recognizedBytes, recognizeFile } from './recognize-file.ts';
import { refuseFile } from './refuse-file.ts';
import type { FileContent, SheetFormat } from './sheet-format.ts';
import { openInFormat, type SheetSource } from './sheet-source.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SpreadsheetOptions } from './spreadsheet-options.ts';
import { openXlsb } from './xlsb/open-xlsb.ts';
import { openXlsx } from './xlsx/open-xlsx.ts';

/**
 * The formats in the order in which they are tried. CSV is the last one, because any text can be CSV.
 */
const formats: readonly SheetFormat[] = [
  { open: openOds, extensions: ['.ods'] },
  { open: openXlsx, extensions: ['.xlsx', '.xlsm'] },
  { open: openXlsb, extensions: ['.xlsb'] },
  { open: openXls, extensions: ['.xls'] },
  { open: openParquet, extensions: ['.parquet'] },
  { open: openCsv, extensions: ['.csv', '.tsv'] },
];

/** The usual extensions of all files that can be opened. */
export const tableExtensions = formats.flatMap(({ extensions }) => extensions);

/** The extensions as a text: `.xlsx, .csv`. */
export const supportedExtensions = tableExtensions.join(', ');

/**
 * Opens a spreadsheet and chooses its sheet. The source reads the file in every pass, so the caller must close the file only after the last pass.
 *
 * @param signal cancels the work before the first pass, which takes long for formats that are read as a whole
 * @throws AppError `unsupported-file`, `password-required`, `wrong-password`, `invalid-file`, `invalid-parameter` (an unknown sheet, an
 *   invalid range, a parameter that does not fit the file), `limit-exceeded`; the signal's reason; for `auto` also the errors of
 *   `SheetSource.read`
 */
export async function openSpreadsheet(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal = new AbortController().signal,
): Promise<SheetSource> {
  const content = await contentOf(file, limits, signal, options.password);
  const open = async (wanted: SpreadsheetOptions): Promise<SheetSource> =>
    (await openInFormat(formats, content, wanted, limits, signal)) ??
    refuseFile(content, supportedExtensions);
  const first = withoutProposals(options);
  if (first === undefined) return open(options);
  const source = await open(first);
  const openSheet = async (sheet: string): Promise<SheetSource> =>
    source.openSheet(sheet) ?? open({ ...first, sheet, allSheets: false });
  return takeProposals(source, openSheet, options, signal);
}

/**
 * Returns the content of the file. If the workbook is encrypted as a whole, the content is the decrypted package.
 *
 * @param password the password that the caller has sent; Excel's default password is tried, too
 */
export async function contentOf(
  file: RandomAccessFile,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
  password?: string,
): Promise<FileContent> {
  const head = await readRange(file, 0, recognizedBytes);
  const kind = recognizeFile(head);
  if (kind === 'zip') return { file, head, kind, container: await openZipContainer(file, limits) };
  const decrypted = kind === 'compound-file' ? await openEncryptedPackage(file, password, signal) : undefined;
  if (decrypted === undefined) return { file, head, kind, container: undefined };
  return { file: decrypted, head, kind: 'zip', container: await openZipContainer(decrypted, limits) };
}
