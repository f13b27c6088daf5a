/** Reads the workbook part: the sheets, the date system, and the names of the other parts. */

import { AppError } from '../../../core/errors.ts';
import { notAWorkbook } from '../file-errors.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { checkSheetName, maxSheets, refuseRepeatedNames, tooManySheets } from '../sheet-names.ts';
import { type Styles, withoutStyles } from '../values/styles.ts';
import { type Relationship, readRelationships } from './relationships.ts';

export interface WorkbookSheet {
  name: string;
  visibility: 'visible' | 'hidden' | 'veryHidden';
  /** Only a worksheet has cells. */
  kind: 'worksheet' | 'other';
  /** Undefined: the file does not contain the sheet that the workbook names. */
  part: ZipPart | undefined;
}

export interface Workbook {
  /** The sheets in the order of their tabs. */
  sheets: WorkbookSheet[];
  /** Dates are counted from 1904-01-01 (old Macintosh workbooks). */
  is1904: boolean;
  /** The workbook asks to be recalculated when it is opened, so the stored results of its formulas may be wrong. */
  calculatesOnLoad: boolean;
  styles: Styles;
  sharedStrings: ZipPart | undefined;
}

/** The functions that read what all sheets share, from XML or from binary records (.xlsb). */
export interface WorkbookParts {
  readOutline: (container: ZipContainer, part: ZipPart) => Promise<WorkbookOutline>;
  readStyles: (container: ZipContainer, part: ZipPart) => Promise<Styles>;
}

export interface WorkbookOutline {
  sheets: FoundSheet[];
  is1904: boolean;
  calculatesOnLoad: boolean;
}

/**
 * Reads the workbook part and the styles.
 *
 * @throws AppError `unsupported-file` if the part is something else, `invalid-file`
 */
export async function readWorkbook(
  container: ZipContainer,
  part: ZipPart,
  { readOutline, readStyles }: WorkbookParts,
): Promise<Workbook> {
  const found = await readOutline(container, part);
  const relationships = await readRelationships(container, part.name);
  const byType = (type: string): ZipPart | undefined => {
    for (const related of relationships.values()) {
      if (related.type === type) return container.find(related.target);
    }
    return undefined;
  };
  const styles = byType('styles');
  const sheets = found.sheets.map((sheet) =>
    toSheet(container, sheet, relationships.get(sheet.relationshipId)),
  );
  refuseRepeatedNames(sheets);
  refuseRepeatedParts(sheets);
  return {
    sheets,
    is1904: found.is1904,
    calculatesOnLoad: found.calculatesOnLoad,
    styles: styles === undefined ? withoutStyles : await readStyles(container, styles),
    sharedStrings: byType('sharedStrings'),
  };
}

/**
 * Finds the main part of the package: a workbook, in XML or binary (.xlsb).
 *
 * @returns undefined if the package is not one of Office Open XML
 * @throws AppError `unsupported-file` if the package is not a workbook, `invalid-file`
 */
export async function findWorkbookPart(container: ZipContainer): Promise<ZipPart | undefined> {
  const relationships = await readRelationships(container, '');
  for (const related of relationships.values()) {
    if (related.type !== 'officeDocument') continue;
    const part = container.find(related.target);
    if (part === undefined) {
      const name = related.target.slice(0, 100);
      throw new AppError(
        'invalid-file',
        `The workbook is broken: it refers to the part ${name}, but does not contain it. Open it in a spreadsheet program and save it as .xlsx.`,
      );
    }
    const foreign = foreignFormats.find(([pattern]) => pattern.test(part.name));
    if (foreign !== undefined) throw notAWorkbook(foreign[1]);
    return part;
  }
  return undefined;
}

/** Recognizes other kinds of documents by the folder of their main part, to name them in the message. */
const foreignFormats: [pattern: RegExp, name: string][] = [
  [/^word\//i, 'a Word document'],
  [/^ppt\//i, 'a PowerPoint presentation'],
  [/^visio\//i, 'a Visio drawing'],
];

/** Refuses a part that several sheets use, because otherwise a small file could have thousands of large sheets. */
function refuseRepeatedParts(sheets: WorkbookSheet[]): void {
  const seen = new Set<ZipPart>();
  for (const { part } of sheets) {
    if (part === undefined) continue;
    if (seen.has(part))
      throw new AppError('invalid-file', `Two sheets of the workbook use the same part, ${part.name}.`);
    seen.add(part);
  }
}

/** Adds a sheet if the workbook may have one more. */
export function addSheet(sheets: FoundSheet[], sheet: FoundSheet): void {
  if (sheets.length === maxSheets) throw tooManySheets();
  checkSheetName(sheet.name);
  sheets.push(sheet);
}

export interface FoundSheet {
  name: string;
  state: string;
  relationshipId: string;
}

function toSheet(
  container: ZipContainer,
  found: FoundSheet,
  relationship: Relationship | undefined,
): WorkbookSheet {
  const isHidden = found.state === 'hidden' || found.state === 'veryHidden';
  const isWorksheet = relationship === undefined || relationship.type === 'worksheet';
  return {
    name: found.name,
    visibility: isHidden ? (found.state as 'hidden' | 'veryHidden') : 'visible',
    kind: isWorksheet ? 'worksheet' : 'other',
    part: relationship === undefined ? undefined : container.find(relationship.target),
  };
}
