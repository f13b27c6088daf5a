/** Reads the list of sheets from the workbook part of an .xlsx file (ECMA-376 part 1, 18.2). */

import { notAWorkbook } from '../file-errors.ts';
import { addSheet, type FoundSheet, type WorkbookOutline } from '../open-xml/workbook.ts';
import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';

const mainNamespaces = [
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
];

/** Reads the sheets and the date system from the part of the workbook. */
export async function readOutline(container: ZipContainer, part: ZipPart): Promise<WorkbookOutline> {
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
