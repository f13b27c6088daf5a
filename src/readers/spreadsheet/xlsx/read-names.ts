/** The defined names (ECMA-376 part 1, 18.2.5) and the tables (18.5.1.2) of an .xlsx workbook. */

import { quoteSheetName } from '../cell-address.ts';
import {
  addColumn,
  isInternalName,
  shownName,
  type TableParts,
  type WorkbookNames,
} from '../names/workbook-names.ts';
import { attributeOf, readSmallPart } from '../package/small-part.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';

const definedName = 'workbook/definedNames/definedName';

/**
 * Adds the defined names that are visible to users.
 *
 * @param part the part of the workbook
 * @param sheets the names of the sheets
 */
export async function readDefinedNames(
  container: ZipContainer,
  part: ZipPart,
  sheets: string[],
  found: WorkbookNames,
): Promise<void> {
  let name: string | undefined;
  let localTo: string | undefined;
  await readSmallPart(
    container,
    part,
    (tag, path) => {
      if (path !== definedName) return;
      name = undefined;
      const written = attributeOf(tag, 'name') ?? '';
      if (isOn(attributeOf(tag, 'hidden')) || isOn(attributeOf(tag, 'function')) || isInternalName(written))
        return;
      const localSheet = attributeOf(tag, 'localSheetId');
      localTo = localSheet === undefined ? undefined : sheets[Number(localSheet)];
      // A name that belongs to a sheet that does not exist is ignored.
      if (localSheet === undefined || localTo !== undefined) name = shownName(written);
    },
    (text, path) => {
      if (path !== definedName || name === undefined) return;
      found.add({ name, kind: 'name', ...(localTo !== undefined && { localTo }), refersTo: text.trim() });
      name = undefined;
    },
  );
}

/** Adds the table of a table part of the sheet with this name. */
export async function readTable(
  container: ZipContainer,
  part: ZipPart,
  sheet: string,
  found: WorkbookNames,
): Promise<void> {
  let name = '';
  let ref = '';
  const table: TableParts = { headerRows: 1, totalsRows: 0, header: [] };
  await readSmallPart(container, part, (tag, path) => {
    if (path === 'table') {
      name = attributeOf(tag, 'displayName') ?? attributeOf(tag, 'name') ?? '';
      ref = attributeOf(tag, 'ref') ?? '';
      table.headerRows = rowCount(attributeOf(tag, 'headerRowCount'), 1);
      table.totalsRows = rowCount(attributeOf(tag, 'totalsRowCount'), 0);
    } else if (path === 'table/tableColumns/tableColumn') {
      addColumn(table, attributeOf(tag, 'name') ?? '');
    }
  });
  if (name !== '') found.add({ name, kind: 'table', refersTo: `${quoteSheetName(sheet)}!${ref}`, table });
}

/** Returns a number of rows. If the text is absent or not a possible number, it returns `missing`. */
function rowCount(text: string | undefined, missing: number): number {
  return text !== undefined && /^\d{1,7}$/.test(text) ? Number(text) : missing;
}

function isOn(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}
