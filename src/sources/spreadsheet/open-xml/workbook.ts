/** The workbook itself: its sheets, its date system and where its other parts are. */

import { AppError } from '../../../errors.ts';
import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { limitExceeded } from '../spreadsheet-limits.ts';
import { readStyles as readXmlStyles, type Styles, withoutStyles } from '../values/styles.ts';
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

/** LibreOffice ends here; Excel's users do long before. */
const maxSheets = 10_000;
/** Excel has 31, other programs are more generous. */
const maxSheetNameLength = 255;

const mainNamespaces = [
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
];

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
  { readOutline, readStyles }: WorkbookParts = { readOutline: readSheets, readStyles: readXmlStyles },
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
 * @throws AppError `unsupported-file` where the package is something else, `invalid-file`
 */
export async function findWorkbookPart(container: ZipContainer): Promise<ZipPart> {
  if (isNumbers(container)) throw notAWorkbook('a Numbers document (.numbers)');
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
  throw new AppError(
    'unsupported-file',
    'The file is a zip file of another kind, not an Excel workbook. Where a workbook is in it, unpack it and send that.',
  );
}

/** Newer documents have their parts in the zip file, older ones in another zip file within it. */
function isNumbers(container: ZipContainer): boolean {
  return container.find('Index/Document.iwa') !== undefined || container.find('Index.zip') !== undefined;
}

/** Named by the part's extension and folder, which is enough to tell the person what the file is. */
const foreignFormats: [pattern: RegExp, name: string][] = [
  [/^word\//i, 'a Word document'],
  [/^ppt\//i, 'a PowerPoint presentation'],
  [/^visio\//i, 'a Visio drawing'],
];

/** The refusal of a file that is named as `what`. */
export function notAWorkbook(what: string): AppError {
  return new AppError(
    'unsupported-file',
    `The file is ${what}, not an Excel workbook. Save it as .xlsx and send that.`,
  );
}

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
  refuseControlCharacters(sheet.name);
  if (sheet.name.length > maxSheetNameLength) {
    throw limitExceeded('The name of a sheet is too long', maxSheetNameLength, 'characters');
  }
  sheets.push(sheet);
}

/** A name that no program writes: something else was taken for the name of a sheet. */
export function refuseControlCharacters(sheetName: string): void {
  if (!controlCharacter.test(sheetName)) return;
  throw new AppError(
    'invalid-file',
    'The workbook is broken: the name of a sheet has control characters. Open it in a spreadsheet program and save it as .xlsx.',
  );
}

/** Characters that XML 1.0 does not have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

export interface FoundSheet {
  name: string;
  state: string;
  relationshipId: string;
}

async function readSheets(container: ZipContainer, part: ZipPart): Promise<WorkbookOutline> {
  const sheets: FoundSheet[] = [];
  let is1904 = false;
  let calculatesOnLoad = false;
  await readSmallPart(container, part, (tag, path) => {
    if (!path.includes('/') && (path !== 'workbook' || !mainNamespaces.includes(tag.uri))) {
      throw notAWorkbook('an Office file of another kind');
    }
    if (path === 'workbook/workbookPr') {
      is1904 = isOn(attributeOf(tag, 'date1904'));
    } else if (path === 'workbook/calcPr') {
      calculatesOnLoad = isOn(attributeOf(tag, 'fullCalcOnLoad'));
    } else if (path === 'workbook/sheets/sheet') {
      addSheet(sheets, {
        name: attributeOf(tag, 'name') ?? '',
        state: attributeOf(tag, 'state') ?? 'visible',
        relationshipId: attributeOf(tag, 'id') ?? '',
      });
    }
  });
  return { sheets, is1904, calculatesOnLoad };
}

function isOn(value: string | undefined): boolean {
  return value === '1' || value === 'true' || value === 'on';
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
