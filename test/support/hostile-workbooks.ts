/** Lists hostile workbooks, each with the answer that it must get, and some that look hostile but must be loaded. */
import { constants, deflateRawSync } from 'node:zlib';
import type { ErrorCode } from '../../src/core/errors.ts';
import { randomNumbers } from './random-numbers.ts';
import { sized } from './sized.ts';
import {
  buildWorkbook,
  buildZip,
  escapeXml,
  type WorkbookSpec,
  workbookParts,
  type ZipEntry,
} from './xlsx-builder.ts';

export interface HostileWorkbook {
  name: string;
  build: () => Buffer;
  code: ErrorCode;
  /** The text that the detail, or that of the first problem, must have: the limit, the part or the cell. */
  names: RegExp;
}

export interface HarmlessWorkbook {
  name: string;
  build: () => Buffer;
  /** The query of the upload. */
  query?: string;
  rows: number;
  columns: string[];
}

const megabyte = 1024 * 1024;

/** A size that is more than a cell may have, and more than a quarter of the limit for a workbook. */
const hugeBytes = sized(24, 100) * megabyte;
const huge = `${hugeBytes / megabyte} MB`;
const maxUnpackedBytes = sized(64, 256) * megabyte;

/** The settings of the service to which they are sent. */
export const hostileLimits = {
  MAX_UNPACKED_BYTES: String(maxUnpackedBytes),
  // The limit of memory for the strings of a workbook. With the default the service would need 400 MB for them.
  MAX_SHARED_STRING_BYTES: String(sized(16, 64) * megabyte),
};

const text = (reference: string, value: string): string =>
  `<c r="${reference}" t="inlineStr"><is><t>${escapeXml(value)}</t></is></c>`;
const headerRow = `<row r="1">${text('A1', 'id')}${text('B1', 'name')}</row>`;
const dataRow = `<row r="2"><c r="A2"><v>1</v></c>${text('B2', 'one')}</row>`;
const plain: WorkbookSpec = { sheets: [{ name: 'Data', xml: headerRow + dataRow }] };
const sheetPart = 'xl/worksheets/sheet1.xml';

/** Returns the normal workbook with some of its parts replaced, added or (undefined) removed. */
function withParts(changes: Record<string, string | Buffer | undefined>, spec = plain): Buffer {
  const parts = { ...workbookParts(spec), ...changes };
  const kept = Object.entries(parts).filter(
    (entry): entry is [string, string | Buffer] => entry[1] !== undefined,
  );
  return buildZip(kept.map(([name, data]) => ({ name, data })));
}

/** Returns the normal workbook with changed zip entries. */
function withEntries(
  change: (entry: ZipEntry) => Partial<ZipEntry> | undefined,
  more: ZipEntry[] = [],
): Buffer {
  const entries = Object.entries(workbookParts(plain)).map(([name, data]): ZipEntry => ({ name, data }));
  return buildZip([...entries.map((entry) => ({ ...entry, ...change(entry) })), ...more]);
}

const withSheetEntry = (change: Partial<ZipEntry>): Buffer =>
  withEntries(({ name }) => (name === sheetPart ? change : undefined));

const mainNamespace = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const officeTypes = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const xml = '<?xml version="1.0" encoding="UTF-8"?>';
const worksheet = (content: string, prolog = ''): string =>
  `${xml}${prolog}<worksheet xmlns="${mainNamespace}">${content}</worksheet>`;
const sheetOf = (rows: string): string => worksheet(`<sheetData>${rows}</sheetData>`);
const withRows = (rows: string, sharedStrings?: string): Buffer =>
  buildWorkbook({
    sheets: [{ name: 'Data', xml: rows }],
    ...(sharedStrings !== undefined && { sharedStrings }),
  });
const relationships = (content: string): string =>
  `${xml}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${content}</Relationships>`;
const relationship = (id: string, type: string, target: string, more = ''): string =>
  `<Relationship Id="${id}" Type="${officeTypes}/${type}" Target="${escapeXml(target)}"${more}/>`;
const workbookOf = (content: string, prolog = ''): string =>
  `${xml}${prolog}<workbook xmlns="${mainNamespace}" xmlns:r="${officeTypes}">${content}</workbook>`;
const stylesOf = (content: string, prolog = ''): string =>
  `${xml}${prolog}<styleSheet xmlns="${mainNamespace}">${content}</styleSheet>`;
const workbookRelationships = 'xl/_rels/workbook.xml.rels';

/** Letters that pack to about a fiftieth, far below the limit of the ratio. */
function letters(bytes: number): Buffer {
  const block = Buffer.alloc(1024, 'abcdefghijklmnopqrstuvwxyz');
  const all = Buffer.alloc(bytes);
  const random = randomNumbers(1);
  for (let at = 0; at < bytes; at += block.length) {
    for (let i = 0; i < 12; i++) block[i] = 0x61 + random(26);
    block.copy(all, at);
  }
  return all;
}

let hugeLetters: Buffer | undefined;
function hugeText(): Buffer {
  hugeLetters ??= letters(hugeBytes);
  return hugeLetters;
}
const around = (head: string, middle: Buffer, tail: string): Buffer =>
  Buffer.concat([Buffer.from(head), middle, Buffer.from(tail)]);
/** The start and the end of a sheet with one row. */
const sheetStart = `${xml}<worksheet xmlns="${mainNamespace}"><sheetData>${headerRow}<row r="2">`;
const sheetEnd = '</row></sheetData></worksheet>';

const entityBomb = `<!DOCTYPE x [<!ENTITY a "ha">${Array.from(
  { length: 12 },
  (_, index) =>
    `<!ENTITY ${String.fromCharCode(98 + index)} "${`&${String.fromCharCode(97 + index)};`.repeat(10)}">`,
).join('')}]>`;

/** Bytes that cannot be packed. */
function noise(bytes: number): Buffer {
  const all = Buffer.alloc(bytes);
  const random = randomNumbers(1);
  for (let at = 0; at < bytes; at++) all[at] = random(256);
  return all;
}

/** Bytes that cannot be packed, in a comment, so that the ratio of the part is no reason to refuse it. */
const padding = (bytes: number): string => `<!--${noise(bytes).toString('hex')}-->`;

const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');

export const hostileWorkbooks: HostileWorkbook[] = [
  // The container.
  {
    name: 'a zip bomb: a sheet that packs to a thousandth',
    build: () => withParts({ [sheetPart]: around(sheetStart, Buffer.alloc(hugeBytes, ' '), sheetEnd) }),
    code: 'limit-exceeded',
    names: /sheet1\.xml.*250 unpacked bytes per packed byte/,
  },
  {
    name: 'a zip bomb in the styles',
    build: () => withParts({ 'xl/styles.xml': around(`${xml}<a>`, Buffer.alloc(hugeBytes, ' '), '</a>') }),
    code: 'limit-exceeded',
    names: /styles\.xml.*1 MiB/,
  },
  {
    name: 'a zip bomb in all: more bytes than the limit, at an honest ratio',
    build: () => {
      const text = hugeText();
      const pack = (bytes: Buffer) =>
        deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_SYNC_FLUSH });
      const packed = pack(text);
      const all = [pack(Buffer.from(worksheet('').replace('</worksheet>', ''))), packed, packed, packed];
      return withSheetEntry({ packed: Buffer.concat(all), stated: { size: maxUnpackedBytes } });
    },
    code: 'limit-exceeded',
    names: new RegExp(`${maxUnpackedBytes / 2 ** 20} MiB`),
  },
  {
    name: 'a size stated of 21 GB',
    build: () => withSheetEntry({ isZip64: true, stated: { size: 21_000_000_000 } }),
    code: 'limit-exceeded',
    names: new RegExp(`sheet1\\.xml.*${maxUnpackedBytes / 2 ** 20} MiB`),
  },
  {
    name: 'a zip within a zip: a sheet that is a zip',
    build: () => withParts({ [sheetPart]: buildWorkbook(plain) }),
    code: 'invalid-file',
    names: /sheet1\.xml/,
  },
  ...[0, 1, 100_000, 0xffffffff].map(
    (size): HostileWorkbook => ({
      name: `a size in the directory that is none: ${size}`,
      build: () => withSheetEntry({ stated: { size } }),
      code: size === 0xffffffff ? 'limit-exceeded' : 'invalid-file',
      names: /sheet1\.xml/,
    }),
  ),
  ...[0, 10, 400, 0xfffffff0].map(
    (packedSize): HostileWorkbook => ({
      name: `a packed size in the directory that is none: ${packedSize}`,
      build: () => withSheetEntry({ stated: { packedSize } }),
      code: 'invalid-file',
      names: /sheet1\.xml|bytes at offset/,
    }),
  ),
  ...[{ size: 1 }, { size: 0xfffffff0 }, { packedSize: 1 }, { packedSize: 0xfffffff0 }, { crc: 1 }].map(
    (statedLocally): HostileWorkbook => ({
      name: `a local header that says otherwise: ${JSON.stringify(statedLocally)}`,
      build: () => withSheetEntry({ statedLocally }),
      code: 'invalid-file',
      names: /sheet1\.xml.*header/,
    }),
  ),
  {
    name: 'a wrong CRC',
    build: () => withSheetEntry({ stated: { crc: 1 }, hasDataDescriptor: true }),
    code: 'invalid-file',
    names: /sheet1\.xml.*CRC/,
  },
  {
    name: 'entries that are one another',
    build: () => withEntries(() => ({ stated: { offset: 0 } })),
    code: 'invalid-file',
    names: /share the bytes at offset/,
  },
  {
    name: 'entries that share bytes by way of a local header',
    build: () => {
      // The local header states that the data begins this many bytes later, at the header of another entry.
      const bytes = withEntries(() => undefined, [{ name: 'other', data: noise(70_000), isStored: true }]);
      const header = bytes.lastIndexOf(sheetPart, bytes.indexOf('other')) - 30;
      bytes.writeUInt16LE(300, header + 28);
      return bytes;
    },
    code: 'invalid-file',
    names: /sheet1\.xml|share the bytes/,
  },
  {
    name: 'a central directory that says more entries than it has',
    build: () => {
      const bytes = buildWorkbook(plain);
      bytes.writeUInt16LE(60_000, bytes.length - 12);
      return bytes;
    },
    code: 'invalid-file',
    names: /zip container|its end is missing/,
  },
  {
    name: 'a hundred thousand parts',
    build: () => {
      const entries: ZipEntry[] = Array.from({ length: 60_000 }, (_, index) => ({
        name: `p${index}`,
        data: '',
        isStored: true,
      }));
      return withEntries(() => undefined, entries);
    },
    code: 'limit-exceeded',
    names: /20,000 parts/,
  },
  {
    name: 'a directory of 20 MB',
    build: () => {
      const entries = Array.from({ length: 300 }, (_, index): ZipEntry => {
        return { name: `${index}`.padEnd(64_000, 'n'), data: '', isStored: true };
      });
      return withEntries(() => undefined, entries);
    },
    code: 'limit-exceeded',
    names: /directory/,
  },
  {
    name: 'a part that is there twice',
    build: () => withEntries(() => undefined, [{ name: sheetPart, data: sheetOf('') }]),
    code: 'invalid-file',
    names: /sheet1\.xml twice/,
  },
  {
    name: 'a part that is there twice but for its case',
    build: () => withEntries(() => undefined, [{ name: 'XL/Worksheets/SHEET1.xml', data: sheetOf('') }]),
    code: 'invalid-file',
    names: /SHEET1\.xml twice/,
  },
  // Names that are paths.
  ...[
    '../../../../etc/passwd',
    '/etc/passwd',
    'C:\\Windows\\win.ini',
    '..\\..\\etc\\passwd',
    'file:///etc/passwd',
  ].map(
    (target): HostileWorkbook => ({
      name: `a sheet whose part is ${target}`,
      build: () =>
        withParts({ [workbookRelationships]: relationships(relationship('rId1', 'worksheet', target)) }),
      code: 'invalid-file',
      names: /part of sheet "Data"/,
    }),
  ),
  {
    name: 'a sheet whose part has a NUL in its name',
    build: () =>
      withParts({
        [workbookRelationships]: relationships(
          relationship('rId1', 'worksheet', 'worksheets/sheet1.xml%00.png'),
        ),
      }),
    code: 'invalid-file',
    names: /part of sheet "Data"/,
  },
  {
    name: 'a target of a megabyte',
    build: () =>
      withParts({
        '_rels/.rels': relationships(relationship('rId1', 'officeDocument', letters(megabyte).toString())),
      }),
    code: 'invalid-file',
    names: /refers to the part .{0,100}, but does not contain it/,
  },
  // Relationships.
  {
    name: 'a sheet that is the workbook',
    build: () =>
      withParts({
        [workbookRelationships]: relationships(relationship('rId1', 'worksheet', 'workbook.xml')),
      }),
    code: 'invalid-file',
    names: /workbook\.xml.*not a worksheet/,
  },
  {
    name: 'a workbook that is its own relationships',
    build: () =>
      withParts({ '_rels/.rels': relationships(relationship('rId1', 'officeDocument', '_rels/.rels')) }),
    code: 'unsupported-file',
    names: /another kind/,
  },
  {
    name: 'shared strings that are the sheet that uses them',
    build: () =>
      withParts({
        [workbookRelationships]: relationships(
          relationship('rId1', 'worksheet', 'worksheets/sheet1.xml') +
            relationship('rId2', 'sharedStrings', 'worksheets/sheet1.xml'),
        ),
        [sheetPart]: sheetOf(`${headerRow}<row r="2"><c r="A2" t="s"><v>0</v></c></row>`),
      }),
    code: 'invalid-data',
    names: /Data!A2/,
  },
  {
    name: 'a workbook that is outside',
    build: () =>
      withParts({
        '_rels/.rels': relationships(
          relationship('rId1', 'officeDocument', 'http://127.0.0.1:1/workbook.xml', ' TargetMode="External"'),
        ),
      }),
    code: 'unsupported-file',
    names: /another kind/,
  },
  // Large numbers of things.
  {
    name: 'a million sheets',
    build: () =>
      withParts({
        'xl/workbook.xml': workbookOf(
          `<sheets>${'<sheet name="a" r:id="rId1"/>'.repeat(1_000_000)}</sheets>${padding(150_000)}`,
        ),
      }),
    code: 'limit-exceeded',
    names: /sheets/,
  },
  {
    name: 'sheets that are one part',
    build: () =>
      withParts({
        'xl/workbook.xml': workbookOf(
          `<sheets>${Array.from({ length: 500 }, (_, i) => `<sheet name="a${i}" r:id="rId1"/>`).join('')}</sheets>`,
        ),
      }),
    code: 'invalid-file',
    names: /sheet1\.xml|one part/,
  },
  {
    name: 'a sheet with a name of half a megabyte',
    build: () => withRowsNamed(letters(megabyte / 2).toString()),
    code: 'limit-exceeded',
    names: /name of a sheet.*255 characters/,
  },
  {
    name: 'millions of styles',
    build: () =>
      withParts({
        'xl/styles.xml': stylesOf(`<cellXfs>${'<xf/>'.repeat(6_000_000)}</cellXfs>${padding(200_000)}`),
      }),
    code: 'limit-exceeded',
    names: /styles\.xml|styles/,
  },
  {
    name: 'millions of styles that pad with zeros',
    build: () =>
      withParts({
        'xl/styles.xml': stylesOf(
          `<numFmts><numFmt numFmtId="200" formatCode="${'0'.repeat(1000)}"/></numFmts><cellXfs>${'<xf numFmtId="200"/>'.repeat(1_500_000)}</cellXfs>${padding(200_000)}`,
        ),
      }),
    code: 'limit-exceeded',
    names: /styles\.xml|styles/,
  },
  {
    name: 'millions of elements, one in another, in the workbook',
    build: () =>
      withParts({
        'xl/workbook.xml': workbookOf(`${'<a>'.repeat(sized(2_000_000, 8_000_000))}${padding(150_000)}`),
      }),
    code: 'invalid-file',
    names: /workbook\.xml.*deep/,
  },
  {
    name: 'millions of elements, one in another, in the sheet',
    build: () =>
      withParts({
        [sheetPart]: worksheet(`${'<a>'.repeat(sized(2_000_000, 8_000_000))}${padding(150_000)}`),
      }),
    code: 'invalid-file',
    names: /sheet1\.xml/,
  },
  {
    name: 'a million attributes of one element in the workbook',
    build: () =>
      withParts({
        'xl/workbook.xml': workbookOf(
          `<a${Array.from({ length: 1_000_000 }, (_, i) => ` a${i.toString(36)}=""`).join('')}/>`,
        ),
      }),
    code: 'limit-exceeded',
    names: /workbook\.xml.*1,000 attributes/,
  },
  {
    name: 'a million attributes in a cell',
    build: () =>
      withRows(
        `<row r="1"><c${Array.from({ length: 50_000 }, (_, i) => ` a${i.toString(36)}=""`).join('')}/></row>`,
      ),
    code: 'invalid-file',
    names: /sheet1\.xml.*attributes/,
  },
  {
    name: 'a million columns in one row',
    build: () => withRows(`${headerRow}<row r="2">${'<c><v>1</v></c>'.repeat(500_000)}</row>`),
    code: 'limit-exceeded',
    names: /1,600 columns/,
  },
  {
    name: 'a million columns in the first row',
    build: () => withRows(`<row r="1">${'<c t="b"><v>1</v></c>'.repeat(300_000)}</row>`),
    code: 'invalid-file',
    names: /sheet1\.xml.*XFD in row 1/,
  },
  {
    name: 'sixteen thousand columns',
    build: () => withRows(`<row r="1">${'<c t="str"><v>x</v></c>'.repeat(16_384)}</row>${dataRow}`),
    code: 'limit-exceeded',
    names: /1,600 columns/,
  },
  {
    name: 'more rows than a sheet has',
    build: () => withRows(headerRow + '<row/>'.repeat(1_048_577)),
    code: 'invalid-file',
    names: /1 to 1048576/,
  },
  {
    name: 'empty rows for gigabytes',
    build: () =>
      withRows(headerRow + '<row r="9" s="1" customFormat="1" ht="15"/>'.repeat(sized(400_000, 3_000_000))),
    code: 'limit-exceeded',
    names: /sheet1\.xml.*250 unpacked bytes per packed byte/,
  },
  ...['XFE1', 'ZZZ1', 'AAAA1', 'ZZZZZZZZZ1', 'A1048577', 'A99999999999', 'A0', 'A-1', '1', 'A', 'A1:B2'].map(
    (reference): HostileWorkbook => ({
      name: `a cell ${reference}`,
      build: () => withRows(`<row><c r="${reference}"><v>1</v></c></row>`),
      code: 'invalid-file',
      names: /sheet1\.xml.*(row|column)/,
    }),
  ),
  ...['1048577', '0', '-1', '4294967297', '1e9', 'x'].map(
    (row): HostileWorkbook => ({
      name: `a row ${row}`,
      build: () => withRows(`${headerRow}<row r="${row}"><c><v>1</v></c></row>`),
      code: 'invalid-file',
      names: /sheet1\.xml.*row/,
    }),
  ),
  // XML.
  ...[
    ['the sheet', sheetPart, worksheet('<sheetData><row><c><v>&m;</v></c></row></sheetData>', entityBomb)],
    ['the workbook', 'xl/workbook.xml', workbookOf('<sheets><sheet name="&m;"/></sheets>', entityBomb)],
    ['the styles', 'xl/styles.xml', stylesOf('<numFmts><numFmt formatCode="&m;"/></numFmts>', entityBomb)],
    ['the relationships', workbookRelationships, `${xml}${entityBomb}<Relationships>&m;</Relationships>`],
  ].map(
    ([place, part, content]): HostileWorkbook => ({
      name: `entities that expand to gigabytes in ${place}`,
      build: () => withParts({ [part!]: content! }),
      code: 'invalid-file',
      names: /document type declaration/,
    }),
  ),
  {
    name: 'entities that expand to gigabytes in the shared strings',
    build: () =>
      withParts(
        {
          'xl/sharedStrings.xml': `${xml}${entityBomb}<sst xmlns="${mainNamespace}"><si><t>&m;</t></si></sst>`,
        },
        { ...plain, sharedStrings: '' },
      ),
    code: 'invalid-file',
    names: /sharedStrings\.xml.*document type declaration/,
  },
  {
    name: 'an external entity',
    build: () =>
      withParts({
        [sheetPart]: worksheet(
          '<sheetData><row><c><v>&x;</v></c></row></sheetData>',
          '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        ),
      }),
    code: 'invalid-file',
    names: /document type declaration/,
  },
  {
    name: 'an entity that is not declared',
    build: () => withRows('<row><c t="str"><v>&x;</v></c></row>'),
    code: 'invalid-file',
    names: /sheet1\.xml.*reference/,
  },
  {
    name: `an attribute of ${huge} in the sheet`,
    build: () =>
      withParts({ [sheetPart]: around(`${sheetStart}<c r="A2" x="`, hugeText(), `"/>${sheetEnd}`) }),
    code: 'limit-exceeded',
    names: /sheet1\.xml.*1 MiB/,
  },
  {
    name: `an attribute of ${huge} in the workbook`,
    build: () => withParts({ 'xl/workbook.xml': around(`${xml}<workbook x="`, hugeText(), '"/>') }),
    code: 'limit-exceeded',
    names: /workbook\.xml.*1 MiB/,
  },
  {
    name: `the name of an element of ${huge} in the sheet`,
    build: () => withParts({ [sheetPart]: around(`${sheetStart}<`, hugeText(), `/>${sheetEnd}`) }),
    code: 'limit-exceeded',
    names: /sheet1\.xml.*1 MiB/,
  },
  {
    name: `a closing tag of ${huge} in the sheet`,
    build: () => withParts({ [sheetPart]: around(`${sheetStart}</`, hugeText(), `>${sheetEnd}`) }),
    code: 'limit-exceeded',
    names: /sheet1\.xml.*1 MiB/,
  },
  {
    name: `the name of an element of ${huge} in the styles`,
    build: () => withParts({ 'xl/styles.xml': around(`${xml}<`, hugeText(), '/>') }),
    code: 'limit-exceeded',
    names: /styles\.xml.*1 MiB/,
  },
  ...[
    ['an inline text', '<c r="A2" t="inlineStr"><is><t>', '</t></is></c>'],
    ['a text of a formula', '<c r="A2" t="str"><v>', '</v></c>'],
    ['a number', '<c r="A2"><v>', '</v></c>'],
    ['a CDATA section', '<c r="A2" t="str"><v><![CDATA[', ']]></v></c>'],
  ].map(
    ([what, start, end]): HostileWorkbook => ({
      name: `${what} of ${huge}`,
      build: () => withParts({ [sheetPart]: around(sheetStart + start, hugeText(), end + sheetEnd) }),
      code: 'limit-exceeded',
      names: /16 MiB/,
    }),
  ),
  {
    name: `a shared string of ${huge}`,
    build: () =>
      withParts(
        {
          'xl/sharedStrings.xml': around(
            `${xml}<sst xmlns="${mainNamespace}"><si><t>`,
            hugeText(),
            '</t></si></sst>',
          ),
        },
        { ...plain, sharedStrings: '' },
      ),
    code: 'limit-exceeded',
    names: /16 MiB/,
  },
  // Strings that are defined once and used often.
  {
    name: 'a header of 16,384 times a text of 7 MB',
    build: () =>
      withRows(
        `<row>${'<c t="s"><v>0</v></c>'.repeat(16_384)}</row>${dataRow}`,
        `<si><t>${letters(7 * megabyte)}</t></si>`,
      ),
    code: 'limit-exceeded',
    names: /1,600 columns|MAX_ROW_BYTES/,
  },
  {
    name: 'a row of 1,600 times a text of 7 MB',
    build: () =>
      withRows(
        `<row>${Array.from({ length: 1600 }, (_, i) => `<c t="str"><v>c${i}</v></c>`).join('')}</row><row>${'<c t="s"><v>0</v></c>'.repeat(1600)}</row>`,
        `<si><t>${letters(7 * megabyte)}</t></si>`,
      ),
    code: 'limit-exceeded',
    names: /row 2.*MAX_ROW_BYTES/i,
  },
  {
    name: 'a million rows of a text of 1 MB',
    build: () =>
      withRows(
        headerRow + '<row><c t="s"><v>0</v></c></row>'.repeat(200_000),
        `<si><t>${letters(megabyte)}</t></si>`,
      ),
    code: 'limit-exceeded',
    names: /row 65.*MAX_UNPACK_RATIO/,
  },
  {
    name: 'shared strings without end',
    build: () =>
      withRows(headerRow + dataRow, '<si/>'.repeat(sized(5_000_000, 20_000_000)) + padding(450_000)),
    code: 'limit-exceeded',
    names: /shared strings.*bytes/i,
  },
  ...['1', '4294967295', '99999999999999999999', '-1', '1.5', 'x'].map(
    (index): HostileWorkbook => ({
      name: `the shared string ${index}`,
      build: () =>
        withRows(`${headerRow}<row r="2"><c r="A2" t="s"><v>${index}</v></c></row>`, '<si><t>a</t></si>'),
      code: 'invalid-data',
      names: /Data!A2/,
    }),
  ),
  {
    name: 'shared strings that are not there',
    build: () => withRows(`${headerRow}<row r="2"><c r="A2" t="s"><v>0</v></c></row>`),
    code: 'invalid-data',
    names: /Data!A2/,
  },
  // Missing or different parts.
  {
    name: 'no workbook',
    build: () => withParts({ 'xl/workbook.xml': undefined }),
    code: 'invalid-file',
    names: /xl\/workbook\.xml/,
  },
  {
    name: 'no sheet',
    build: () => withParts({ [sheetPart]: undefined }),
    code: 'invalid-file',
    names: /part of sheet "Data"/,
  },
  {
    name: 'no relationships',
    build: () => withParts({ '_rels/.rels': undefined }),
    code: 'unsupported-file',
    names: /another kind/,
  },
  {
    name: 'no relationships of the workbook',
    build: () => withParts({ [workbookRelationships]: undefined }),
    code: 'invalid-file',
    names: /part of sheet "Data"/,
  },
  ...[sheetPart, 'xl/workbook.xml', 'xl/styles.xml', workbookRelationships, '_rels/.rels'].flatMap((part) =>
    [
      ['a picture', png],
      ['nothing', Buffer.alloc(0)],
      ['half of itself', Buffer.from(workbookParts(plain)[part]!).subarray(0, 150)],
    ].map(
      ([what, content]): HostileWorkbook => ({
        name: `a part ${part} that is ${what}`,
        build: () => withParts({ [part]: content! }),
        code: 'invalid-file',
        names: new RegExp(part),
      }),
    ),
  ),
  {
    name: 'shared strings that are a picture',
    build: () => withParts({ 'xl/sharedStrings.xml': png }, { ...plain, sharedStrings: '' }),
    code: 'invalid-file',
    names: /sharedStrings\.xml/,
  },
  {
    name: 'a sheet that is HTML',
    build: () => withParts({ [sheetPart]: '<html><body><table><tr><td>1</td></tr></table></body></html>' }),
    code: 'invalid-file',
    names: /sheet1\.xml.*not a worksheet/,
  },
];

function withRowsNamed(name: string): Buffer {
  return buildWorkbook({ sheets: [{ name, xml: headerRow + dataRow }] });
}

export const harmlessWorkbooks: HarmlessWorkbook[] = [
  {
    name: 'a used range, columns and spans that stand for gigabytes',
    build: () =>
      withParts({
        [sheetPart]: worksheet(
          `<dimension ref="A1:XFD1048576"/><sheetFormatPr outlineLevelRow="255"/><cols><col min="1" max="16384" width="9" style="1"/>${'<col min="1" max="4294967295" width="1e300"/>'.repeat(100)}</cols><sheetData>${headerRow}<row r="2" spans="1:4294967295"><c r="A2"><v>1</v></c></row><row r="1048576" spans="1:16384" s="1" customFormat="1"/></sheetData><mergeCells count="4294967295"><mergeCell ref="B2:XFD1048576"/></mergeCells>`,
        ),
      }),
    rows: 1,
    columns: ['id', 'name'],
  },
  {
    name: 'a row below 150,000 empty ones with styles',
    build: () =>
      withRows(
        `${headerRow}${Array.from({ length: 150_000 }, (_, i) => `<row r="${i + 2}" s="1" customFormat="1"><c r="A${i + 2}" s="1"/></row>`).join('')}<row r="150002"><c r="A150002"><v>1</v></c></row>`,
      ),
    rows: 1,
    columns: ['id', 'name'],
  },
  {
    name: 'a count of shared strings of four billion',
    build: () =>
      withParts(
        {
          'xl/sharedStrings.xml': `${xml}<sst xmlns="${mainNamespace}" count="4294967295" uniqueCount="4294967295"><si><t>a</t></si></sst>`,
        },
        { ...plain, sharedStrings: '' },
      ),
    rows: 1,
    columns: ['id', 'name'],
  },
  {
    name: 'headers that are members of every object',
    build: () =>
      withRows(
        `<row r="1">${['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'].map((name, i) => text(`${'ABCDE'[i]}1`, name)).join('')}</row><row r="2">${[...'ABCDE'].map((letter) => `<c r="${letter}2"><v>1</v></c>`).join('')}</row>`,
      ),
    rows: 1,
    columns: ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'],
  },
  ...['__proto__', 'constructor', 'toString'].map(
    (name): HarmlessWorkbook => ({
      name: `a sheet that is named ${name}`,
      build: () => withRowsNamed(name),
      query: `?sheet=${name}`,
      rows: 1,
      columns: ['id', 'name'],
    }),
  ),
  {
    name: 'other parts with names that would be paths',
    build: () =>
      withEntries(
        () => undefined,
        ['../../etc/passwd', '/etc/shadow', 'C:\\x', '..\\..\\x', 'a\0b', '__proto__', '', '.', '..'].map(
          (name) => ({
            name,
            data: 'x',
          }),
        ),
      ),
    rows: 1,
    columns: ['id', 'name'],
  },
  {
    name: 'links to the outside',
    build: () =>
      withParts({
        [workbookRelationships]: relationships(
          relationship('rId1', 'worksheet', 'worksheets/sheet1.xml') +
            relationship('rId2', 'externalLink', 'http://127.0.0.1:1/x.xlsx', ' TargetMode="External"') +
            relationship('rId3', 'styles', 'http://127.0.0.1:1/styles.xml', ' TargetMode="External"') +
            relationship('rId4', 'sharedStrings', 'file:///etc/passwd', ' TargetMode="External"'),
        ),
      }),
    rows: 1,
    columns: ['id', 'name'],
  },
  {
    name: 'no styles',
    build: () => withParts({ 'xl/styles.xml': undefined }),
    rows: 1,
    columns: ['id', 'name'],
  },
  {
    name: `a comment of ${huge}`,
    build: () =>
      withParts({
        [sheetPart]: around(
          `${sheetStart}<c r="A2"><v>1</v></c></row><!--`,
          hugeText(),
          `--><row r="3"><c r="A3"><v>2</v></c>${sheetEnd}`,
        ),
      }),
    rows: 2,
    columns: ['id', 'name'],
  },
];
