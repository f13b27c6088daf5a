/** A zip file: which kind of workbook it holds is told by its parts. */

import { isOpenDocument, openOds } from './ods/ods-source.ts';
import { openXlsx } from './open-xml/open-xml-source.ts';
import { findWorkbookPart } from './open-xml/workbook.ts';
import { openZipContainer } from './package/zip-container.ts';
import type { RandomAccessFile } from './random-access-file.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SpreadsheetOptions, SpreadsheetSource } from './spreadsheet-options.ts';
import { binaryFormat } from './xlsb/binary-format.ts';

/** @throws AppError as `openSpreadsheet` */
export async function openPackage(
  file: RandomAccessFile,
  options: SpreadsheetOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
): Promise<SpreadsheetSource> {
  const container = await openZipContainer(file, limits);
  if (isOpenDocument(container)) return await openOds(container, options, limits, signal);
  const part = await findWorkbookPart(container);
  const isBinary = /\.bin$/i.test(part.name);
  return await openXlsx(container, part, options, limits, isBinary ? binaryFormat : undefined);
}
