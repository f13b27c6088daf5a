/** An .xlsx or .xlsm workbook: a package whose parts are XML. */

import { openPackage, type PackageFormat } from '../open-xml/open-package.ts';
import { partSlices } from '../package/part-slices.ts';
import type { OpenFormat } from '../sheet-format.ts';
import { XmlMergesReader } from './merges-reader.ts';
import { readDefinedNames, readTable } from './read-names.ts';
import { readOutline } from './read-outline.ts';
import { readStyles } from './read-styles.ts';
import { SharedStringsReader } from './shared-strings-reader.ts';
import { SheetScanner } from './sheet-scanner.ts';

const xmlFormat: PackageFormat = {
  name: 'xlsx',
  isFormOf: (workbook) => !/\.bin$/i.test(workbook.name),
  workbookParts: { readOutline, readStyles },
  readDefinedNames,
  readTable,
  slices: partSlices,
  createSheetScanner: (target, options) => new SheetScanner(target, options),
  createStringsReader: (partName, limits) => new SharedStringsReader(partName, limits),
  createMergesReader: (partName) => new XmlMergesReader(partName),
};

export const openXlsx: OpenFormat = (content, _options, limits, signal) =>
  openPackage(xmlFormat, content, limits, signal);
