/** Puts the XML of a sheet into a workbook (ECMA-376 part 1). */
import { Chunks } from '../chunks.ts';
import { appendField, fieldOf } from './cell-text.ts';
import { type ArchivedFile, zipArchive } from './zip-archive.ts';

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';
const spreadsheetType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The formats of cells by their number, `s="1"`: dates, dates with a time, times of day. Cells that are marked have the numbers from 4 on: 4 without a format. */
const formats = ['yyyy\\-mm\\-dd', 'yyyy\\-mm\\-dd\\ hh:mm:ss.000', 'hh:mm:ss.000'];
const firstFormat = 164;
/** The number of the fill of marked cells. */
const markFill = 2;

const contentTypes = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${spreadsheetType}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${spreadsheetType}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${spreadsheetType}.styles+xml"/></Types>`;
const packageRelationships = `<Relationships xmlns="${packageRelations}"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`;
const workbookRelationships = `<Relationships xmlns="${packageRelations}"><Relationship Id="rId1" Type="${relations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${relations}/styles" Target="styles.xml"/></Relationships>`;
const numberFormats = formats.map(
  (code, index) => `<numFmt numFmtId="${firstFormat + index}" formatCode="${code}"/>`,
);
const formatIds = [0, ...formats.map((_, index) => firstFormat + index)];
const cellFormats = [0, markFill].flatMap((fill) =>
  formatIds.map(
    (id) =>
      `<xf numFmtId="${id}" fontId="0" fillId="${fill}" borderId="0" xfId="0" applyNumberFormat="1" applyFill="1"/>`,
  ),
);
const styles = `<styleSheet xmlns="${main}"><numFmts count="${formats.length}">${numberFormats.join('')}</numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill><fill><patternFill patternType="solid"><fgColor rgb="FFFFC7CE"/><bgColor indexed="64"/></patternFill></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="${cellFormats.length}">${cellFormats.join('')}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

/**
 * Yields the bytes of a workbook with one sheet. Waits for the first bytes of the sheet before it yields anything.
 *
 * @param sheet the XML of the sheet
 * @param name the wanted name of the sheet
 */
export async function* workbook(sheet: AsyncGenerator<Buffer>, name: string): AsyncGenerator<Buffer> {
  const first = await sheet.next();
  const book = `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="${sheetName(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`;
  yield* zipArchive([
    part('[Content_Types].xml', contentTypes),
    part('_rels/.rels', packageRelationships),
    part('xl/workbook.xml', book),
    part('xl/_rels/workbook.xml.rels', workbookRelationships),
    part('xl/styles.xml', styles),
    { name: 'xl/worksheets/sheet1.xml', content: after(first.value as Buffer, sheet) },
  ]);
}

function part(name: string, xml: string): ArchivedFile {
  return { name, content: [Buffer.from(declaration + xml)] };
}

async function* after(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

const maxNameLength = 31;

/** Returns the name as Excel allows it, for an attribute. */
function sheetName(name: string): string {
  let short = name
    .replaceAll(/[[\]:*?/\\]|^'/g, '_')
    .slice(0, maxNameLength)
    .replace(/'$/, '_');
  // Half a surrogate pair cannot be written.
  if (!short.isWellFormed()) short = short.slice(0, -1);
  // Excel uses this name itself.
  if (short.toLowerCase() === 'history') short += '_';
  const out = new Chunks();
  const field = fieldOf(short);
  appendField(out, field, 0, field.length);
  return out.bytes.toString('utf8', 0, out.length).replaceAll('"', '&quot;');
}
