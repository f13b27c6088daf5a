/** The workbook itself: its sheets, its date system and where its other parts are. */

import { AppError } from '../../../errors.ts';
import { limitExceeded } from '../../../limit-exceeded.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { notAWorkbook } from '../refused-files.ts';
import { checkSheetName, maxSheets } from '../sheet-names.ts';
import { type Styles, withoutStyles } from '../values/styles.ts';
import { type Relationship, readRelationships } from './relationships.ts';

export interface WorkbookSheet {
  name: string;
  visibility: 'visible' | 'hidden' | 'veryHidden';
  /** Only a worksheet has cells. */
  kind: 'worksheet' | 'other';
  /** Undefined: the workbook names a sheet that the file does not hold. */
  part: ZipPart | undefined;
}

export interface Workbook {
  /** In the order of the tabs. */
  sheets: WorkbookSheet[];
  /** Serials count from 1904-01-01 (old Macintosh workbooks). */
  is1904: boolean;
  /** The workbook asks to be calculated when it is opened, so that the results in it may be no results. */
  calculatesOnLoad: boolean;
  styles: Styles;
  sharedStrings: ZipPart | undefined;
}

/** How the parts are written that say what the sheets share: as XML, or in binary records (.xlsb). */
export interface WorkbookParts {
  readOutline: (container: ZipContainer, part: ZipPart) => Promise<WorkbookOutline>;
  readStyles: (container: ZipContainer, part: ZipPart) => Promise<Styles>;
}

export interface WorkbookOutline {
  sheets: FoundSheet[];
  is1904: boolean;
  calculatesOnLoad: boolean;
}

/** @throws AppError `unsupported-file` where the part is something else, `invalid-file` */
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
 * The part that the package is about: a workbook, in XML or binary (.xlsb).
 *
 * @returns undefined if the package is not one of Office Open XML
 * @throws AppError `unsupported-file` if the package is no workbook, `invalid-file`
 */
export async function findWorkbookPart(container: ZipContainer): Promise<ZipPart | undefined> {
  const relationships = await readRelationships(container, '');
  for (const related of relationships.values()) {
    if (related.type !== 'officeDocument') continue;
    const part = container.find(related.target);
    if (part === undefined) {
      const name = related.target.slice(0, 100);
      throw new AppError('invalid-file', `The file does not hold the part ${name} that it names.`);
    }
    const foreign = foreignFormats.find(([pattern]) => pattern.test(part.name));
    if (foreign !== undefined) throw notAWorkbook(foreign[1]);
    return part;
  }
  return undefined;
}

/** Named by the part's extension and folder, which is enough to tell the person what the file is. */
const foreignFormats: [pattern: RegExp, name: string][] = [
  [/^word\//i, 'a Word document'],
  [/^ppt\//i, 'a PowerPoint presentation'],
  [/^visio\//i, 'a Visio drawing'],
];

/** Else thousands of sheets that are one and the same would cost a small file nothing and its reader much. */
function refuseRepeatedParts(sheets: WorkbookSheet[]): void {
  const seen = new Set<ZipPart>();
  for (const { part } of sheets) {
    if (part === undefined) continue;
    if (seen.has(part))
      throw new AppError('invalid-file', `Two sheets of the workbook are one part, ${part.name}.`);
    seen.add(part);
  }
}

/** Adds a sheet, within what a workbook may have. */
export function addSheet(sheets: FoundSheet[], sheet: FoundSheet): void {
  if (sheets.length === maxSheets)
    throw limitExceeded('The workbook has too many sheets', maxSheets, 'sheets');
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
