/** The names of an OpenDocument spreadsheet (OpenDocument 1.3 part 3, 9.4.11 and 9.4.14): named ranges, named formulas and database ranges. */

import { quoteSheetName } from '../cell-address.ts';
import { isInternalName, shownName, type WorkbookNames } from '../names/workbook-names.ts';
import type { XmlTokens } from '../package/xml-tokens.ts';
import { attributeText } from './ods-styles.ts';

const namedRange = Buffer.from('named-range');
const namedExpression = Buffer.from('named-expression');
const databaseRange = Buffer.from('database-range');
const nameName = Buffer.from('name');
const hiddenName = Buffer.from('hidden');
const addressName = Buffer.from('cell-range-address');
const expressionName = Buffer.from('expression');
const targetName = Buffer.from('target-range-address');
const containsHeaderName = Buffer.from('contains-header');

/** The beginning of the names that LibreOffice gives to database ranges without a name, such as those of filters. */
const anonymous = '__Anonymous_';

/**
 * Adds the name that an element of a list of names defines.
 *
 * @param localTo the only sheet in which the name is valid; undefined: it is valid in the whole document
 */
export function takeName(xml: XmlTokens, localTo: string | undefined, found: WorkbookNames): void {
  const name = attributeText(xml, nameName);
  if (name === '' || name.startsWith(anonymous) || isInternalName(name)) return;
  if (attributeText(xml, hiddenName) === 'true') return;
  const scope = localTo === undefined ? {} : { localTo };
  if (xml.isNamed(namedRange)) {
    const refersTo = toExcelReference(attributeText(xml, addressName));
    found.add({ name: shownName(name), kind: 'name', ...scope, refersTo });
  } else if (xml.isNamed(namedExpression)) {
    const refersTo = attributeText(xml, expressionName).replace(/^[a-z]+:=?/, '');
    found.add({ name, kind: 'name', ...scope, refersTo });
  } else if (xml.isNamed(databaseRange)) {
    const headerRows = attributeText(xml, containsHeaderName) === 'false' ? 0 : 1;
    found.add({
      name,
      kind: 'table',
      refersTo: toExcelReference(attributeText(xml, targetName)),
      table: { headerRows, totalsRows: 0, header: [] },
    });
  }
}

const sheet = "\\$?('(?:[^']|'')+'|[^.':$]+)";
const corner = '(\\$?[A-Z]{0,3}\\$?\\d{0,7})';
const address = new RegExp(`^${sheet}\\.${corner}(?::(?:${sheet})?\\.?${corner})?$`, 'i');

/** Converts `$'Sales Data'.$B$4:.$F$20` to `'Sales Data'!$B$4:$F$20`. A text of another form is returned unchanged. */
function toExcelReference(text: string): string {
  const found = address.exec(text.trim());
  if (found === null) return text;
  const [, firstSheet = '', first = '', lastSheet = firstSheet, last = first] = found;
  if (firstSheet !== lastSheet) return text;
  const name = firstSheet.startsWith("'") ? firstSheet.slice(1, -1).replaceAll("''", "'") : firstSheet;
  return `${quoteSheetName(name)}!${first}:${last}`;
}
