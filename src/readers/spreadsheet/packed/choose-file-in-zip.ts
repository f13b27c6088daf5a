/** Chooses the file of a zip file that is read: the requested file, or the only one that can be a table. */

import { AppError, wrongParameter } from '../../../core/errors.ts';
import { listNames, quote } from '../choose-sheet.ts';
import { tableExtensions } from '../open-spreadsheet.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';

/** Names of parts by which a document is recognized: workbooks and texts of Office and OpenDocument, and documents of Numbers. */
const partsOfDocuments = [
  '[Content_Types].xml',
  '_rels/.rels',
  'META-INF/manifest.xml',
  'mimetype',
  'content.xml',
  'Index/Document.iwa',
  'Index.zip',
];

/** Returns whether the zip file is a document, such as a workbook, and not a folder of files. */
export function isDocument(container: ZipContainer): boolean {
  return partsOfDocuments.some((name) => container.find(name) !== undefined);
}

/**
 * Returns the file to read. If the zip file contains only one file, its name does not matter. Of several files, only those with the extension of a table are candidates.
 *
 * @throws AppError `unsupported-file` if the zip file is empty; `invalid-parameter`
 */
export function chooseFileInZip(container: ZipContainer, wanted: string | undefined): ZipPart {
  const files = [...container.parts].filter(({ name }) => !isOfSystem(name));
  if (files.length === 0) throw new AppError('unsupported-file', 'The zip file has no file in it.');
  if (wanted !== undefined) {
    const found = container.find(wanted);
    if (found !== undefined) return found;
    const detail = `There is no file ${quote(wanted)} in the zip file. Its files are: ${listNames(files)}.`;
    throw wrongParameter('file_in_zip', detail, { value: wanted });
  }
  const tables = files.filter(({ name }) => hasTableExtension(name));
  const [first, second] = files.length === 1 ? files : tables;
  if (first !== undefined && second === undefined) return first;
  const several = first === undefined ? 'files, and none has the extension of a table' : 'files with tables';
  const detail = `The zip file has several ${several}: ${listNames(first === undefined ? files : tables)}. Choose one with \`file_in_zip\`.`;
  throw wrongParameter('file_in_zip', detail);
}

/** Returns whether an operating system or an archiver added the file, so that it is not one of the user. */
function isOfSystem(name: string): boolean {
  return /^__MACOSX\/|(^|\/)(\.[^/]*|thumbs\.db|desktop\.ini)$/i.test(name);
}

function hasTableExtension(name: string): boolean {
  const unpacked = name.toLowerCase().replace(/\.(gz|zst|br)$/, '');
  return [...tableExtensions, '.json', '.ndjson', '.jsonl'].some((extension) => unpacked.endsWith(extension));
}
