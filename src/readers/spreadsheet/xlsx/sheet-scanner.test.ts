import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SaxesParser, type SaxesTagNS } from 'saxes';
import { assertLinear } from '../../../../test/support/growth.ts';
import { cellText, faultText, momentText } from '../../../../test/support/recorded-cells.ts';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { AppError } from '../../../core/errors.ts';
import { columnLetters } from '../cell-address.ts';
import { DATE_ONLY, ELAPSED_TIME, PLAIN, TIME_ONLY, ZERO_PADDED } from '../values/number-formats.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { SheetScanner } from './sheet-scanner.ts';

const limits = spreadsheetLimits({ maxCellBytes: 2_000_000, maxRowBytes: 8_000_000 });

const sharedTexts = ['zero', '', 'two & more', 'drei'];
const strings = new SharedStrings(10_000);
for (const text of sharedTexts) strings.add(Buffer.from(text), 0, Buffer.byteLength(text));

const styles = {
  meanings: Uint8Array.of(PLAIN, DATE_ONLY, TIME_ONLY, ELAPSED_TIME, ZERO_PADDED),
  masks: [undefined, undefined, undefined, undefined, Buffer.from('00000')],
  sections: [],
};

/** Returns the calls of the scanner, one line for each cell: `B7 number 12`. */
function scan(xml: string | Buffer, chunkSize = Number.MAX_SAFE_INTEGER, useFastPath = true): string[] {
  const lines: string[] = [];
  let row = 0;
  const at = (column: number): string => `${columnLetters(column + 1)}${row}`;
  const target = {
    beginRow(number: number) {
      assert.equal(row, 0, 'rows within rows');
      row = number;
    },
    cell: (column: number, kind: number, bytes: Buffer, start: number, end: number) => {
      lines.push(`${at(column)} ${cellText(kind, bytes, start, end)}`);
    },
    moment: (column: number, kind: number, days: number, microseconds: number) => {
      lines.push(`${at(column)} ${momentText(kind, days, microseconds)}`);
    },
    fault: (column: number, fault: number, bytes: Buffer, start: number, end: number) => {
      lines.push(`${at(column)} ${faultText(fault, bytes, start, end)}`);
    },
    endRow() {
      row = 0;
    },
  };
  const options = { partName: 'sheet1.xml', styles, strings, is1904: false, limits };
  const scanner = new SheetScanner(target, options);
  const bytes = Buffer.from((useFastPath ? xml : withoutFastForms(xml)) as string);
  for (let from = 0; from < bytes.length; from += chunkSize) {
    scanner.feed(bytes.subarray(from, from + chunkSize));
    while (scanner.scan()) assert.equal(row, 0, 'a pause within a row');
  }
  scanner.finish();
  return lines;
}

/** Returns the same document with white space in its tags, so that only the general way can read it. */
function withoutFastForms(xml: string | Buffer): string {
  return xml
    .toString()
    .replace(/<(c|row) /g, '<$1\n')
    .replaceAll('</row>', '</row >');
}

const sheet = (rows: string): string =>
  `<?xml version="1.0"?>\n<worksheet><sheetData>${rows}</sheetData></worksheet>`;
const scanRows = (rows: string): string[] => scan(sheet(rows));

const cells: [name: string, xml: string, expected: string[]][] = [
  ['a number', '<c r="B7"><v>12</v></c>', ['B7 number 12']],
  [
    'a whole number of any length',
    '<c r="B7"><v>12345678901234567890</v></c>',
    ['B7 number 12345678901234567890'],
  ],
  ['noise of a double', '<c r="B7"><v>0.30000000000000004</v></c>', ['B7 number 0.3']],
  ['a number within spaces', '<c r="B7"><v> 12\n</v></c>', ['B7 number 12']],
  ['an odd number', '<c r="B7"><v>+.5</v></c>', ['B7 number 0.5']],
  ['no number at all', '<c r="B7"><v>1,5</v></c>', ['B7 fault UNREADABLE_CELL 1,5']],
  ['a shared string', '<c r="B7" t="s"><v>2</v></c>', ['B7 string two & more']],
  ['an empty shared string', '<c r="B7" t="s"><v>1</v></c>', []],
  ['a shared string out of range', '<c r="B7" t="s"><v>4</v></c>', ['B7 fault UNREADABLE_CELL 4']],
  ['a shared string that is no index', '<c r="B7" t="s"><v>-1</v></c>', ['B7 fault UNREADABLE_CELL -1']],
  [
    'booleans',
    '<c r="A7" t="b"><v>1</v></c><c r="B7" t="b"><v>0</v></c><c r="C7" t="b"><v>TRUE</v></c>',
    ['A7 true', 'B7 false', 'C7 true'],
  ],
  ['a boolean that is none', '<c r="B7" t="b"><v>2</v></c>', ['B7 fault UNREADABLE_CELL 2']],
  ['an error', '<c r="B7" t="e"><v>#N/A</v></c>', ['B7 fault ERROR_CELL #N/A']],
  ['an unknown type', '<c r="B7" t="q"><v>1</v></c>', ['B7 fault UNREADABLE_CELL 1']],
  ['empty attributes', '<c r="B7" s="" t=""><v>1</v></c>', ['B7 number 1']],
  ['a style that is not there', '<c r="B7" s="999"><v>1</v></c>', ['B7 fault UNREADABLE_CELL 1']],
  ['inline text', '<c r="B7" t="inlineStr"><is><t>a b</t></is></c>', ['B7 string a b']],
  [
    'inline text with spaces',
    '<c r="B7" t="inlineStr"><is><t xml:space="preserve"> a </t></is></c>',
    ['B7 string  a '],
  ],
  ['inline text without them', '<c r="B7" t="inlineStr"><is><t> a </t></is></c>', ['B7 string a']],
  [
    'rich inline text',
    '<c r="B7" t="inlineStr"><is><r><t>a</t></r><r><rPr/><t>b</t></r><rPh><t>x</t></rPh></is></c>',
    ['B7 string ab'],
  ],
  ['inline text as a value', '<c r="B7" t="inlineStr"><v>plain</v></c>', ['B7 string plain']],
  ['empty inline text', '<c r="B7" t="inlineStr"><is><t></t></is></c>', []],
  ['a text result', '<c r="B7" t="str"><f>A1&amp;"x"</f><v>a_x000D_ &lt;</v></c>', ['B7 string a\r <']],
  ['an escape in a text result', '<c r="B7" t="str"><v>a_x0041_</v></c>', ['B7 string aA']],
  ['an escape in inline text', '<c r="B7" t="inlineStr"><is><t>a_x0041_</t></is></c>', ['B7 string aA']],
  ['an empty text result', '<c r="B7" t="str"><f>""</f><v></v></c>', []],
  ['a formula without a value', '<c r="B7"><f>A1</f></c>', ['B7 fault FORMULA_WITHOUT_VALUE']],
  ['a formula with an empty value', '<c r="B7"><f>A1</f><v/></c>', ['B7 fault FORMULA_WITHOUT_VALUE']],
  ['a shared formula', '<c r="B7"><f t="shared" si="0"/><v>3</v></c>', ['B7 number 3']],
  ['a formula of many marks', '<c r="B7"><f ref="B7" a=">">A1&gt;"/>"</f><v>3</v></c>', ['B7 number 3']],
  ['a blank cell with a style', '<c r="B7" s="1"/><c r="C7" s="1"></c>', []],
  ['a date', '<c r="B7" s="1"><v>44197</v></c>', ['B7 date 2021-01-01']],
  ['a date with a time', '<c r="B7" s="1"><v>44197.5</v></c>', ['B7 timestamp 2021-01-01 12:00:00']],
  ['the day that never was', '<c r="B7" s="1"><v>60</v></c>', ['B7 fault SERIAL_OUT_OF_RANGE 60']],
  ['a day before all days', '<c r="B7" s="1"><v>-1</v></c>', ['B7 fault SERIAL_OUT_OF_RANGE -1']],
  ['a day after all days', '<c r="B7" s="1"><v>2958466</v></c>', ['B7 fault SERIAL_OUT_OF_RANGE 2958466']],
  ['a time', '<c r="B7" s="2"><v>0.75</v></c>', ['B7 time 18:00:00']],
  ['a time just before midnight', '<c r="B7" s="2"><v>0.99999999999999</v></c>', ['B7 time 00:00:00']],
  ['a time of a day', '<c r="B7" s="2"><v>44197.75</v></c>', ['B7 timestamp 2021-01-01 18:00:00']],
  ['a duration', '<c r="B7" s="3"><v>1.5</v></c>', ['B7 interval 1d 12:00:00']],
  ['a duration of 60 days', '<c r="B7" s="3"><v>60</v></c>', ['B7 interval 60d 00:00:00']],
  ['a date that is no number', '<c r="B7" s="1"><v>x</v></c>', ['B7 fault UNREADABLE_CELL x']],
  ['a padded number', '<c r="B7" s="4"><v>501</v></c>', ['B7 string 00501']],
  ['a padded fraction', '<c r="B7" s="4"><v>12.5</v></c>', ['B7 number 12.5']],
  ['an ISO date', '<c r="B7" t="d"><v>2021-01-01</v></c>', ['B7 date 2021-01-01']],
  [
    'an ISO date-time of a date',
    '<c r="B7" s="1" t="d"><v>2021-01-01T00:00:00Z</v></c>',
    ['B7 date 2021-01-01'],
  ],
  [
    'an ISO date-time of a time',
    '<c r="B7" s="2" t="d"><v>1899-12-30T06:00:00</v></c>',
    ['B7 time 06:00:00'],
  ],
  [
    'an ISO date that is none',
    '<c r="B7" t="d"><v>yesterday</v></c>',
    ['B7 fault UNREADABLE_CELL yesterday'],
  ],
  [
    'no references',
    '<c><v>1</v></c><c><v>2</v></c><c r="F7"><v>3</v></c><c><v>4</v></c>',
    ['A7 number 1', 'B7 number 2', 'F7 number 3', 'G7 number 4'],
  ],
  ['a small reference', '<c r="b7"><v>1</v></c>', ['B7 number 1']],
  ['single quotes and spaces', "<c  t = 's'\n r\t=\t'B7' ><v >0</v ></c >", ['B7 string zero']],
  ['references in attributes', '<c r="&#66;7" t="&#x73;"><v>0</v></c>', ['B7 string zero']],
  ['a prefix', '<x:c r="B7"><x:v>1</x:v></x:c>', ['B7 number 1']],
  ['extensions', '<c r="B7" cm="1"><v>1</v><extLst><ext><v>2</v></ext></extLst></c>', ['B7 number 1']],
  [
    'comments and CDATA',
    '<c r="B7" t="str"><v>a<!-- > --><![CDATA[<b>]]><?p ?>c</v></c>',
    ['B7 string a<b>c'],
  ],
  ['the last cell of a sheet', '<c r="XFD7"><v>1</v></c>', ['XFD7 number 1']],
];

for (const [name, xml, expected] of cells) {
  test(`a cell is read: ${name}`, () => {
    const whole = sheet(`<row r="7">${xml}</row>`);
    for (const chunkSize of [1, 2, 3, 5, 16, 1000]) {
      assert.deepEqual(scan(whole, chunkSize), expected, `chunks of ${chunkSize}`);
      assert.deepEqual(scan(whole, chunkSize, false), expected, `chunks of ${chunkSize}, general way`);
    }
  });
}

test('rows without numbers, with gaps, out of order and with numbers only in their cells are read', () => {
  const c = (ref: string): string => `<c r="${ref}"><v>1</v></c>`;
  assert.deepEqual(
    scanRows('<row><c><v>1</v></c></row><row r="9"><c><v>1</v></c></row><row><c><v>1</v></c></row>'),
    ['A1 number 1', 'A9 number 1', 'A10 number 1'],
  );
  assert.deepEqual(scanRows(`<row r="5">${c('A5')}</row><row r="3">${c('A3')}</row>`), [
    'A5 number 1',
    'A3 number 1',
  ]);
  assert.deepEqual(scanRows(`<row>${c('A5')}</row><row>${c('B6')}</row>`), ['A5 number 1', 'B6 number 1']);
  assert.deepEqual(scanRows('<row r="1" spans="1:9" s="1" customFormat="1"/><row r="2"></row>'), []);
});

test('elements around the rows are ignored', () => {
  const xml = `<?xml version="1.0"?><!-- c --><x:worksheet xmlns:x="u"><x:sheetPr><x:row r="1"/></x:sheetPr>
    <x:sheetData> <x:row r="1"> <x:c r="A1"> <x:v>1</x:v> </x:c> </x:row> </x:sheetData>
    <x:mergeCells><x:mergeCell ref="A1:B1"/></x:mergeCells></x:worksheet>`;
  assert.deepEqual(scan(xml, 3), ['A1 number 1']);
  assert.deepEqual(scan('<worksheet><sheetData/></worksheet>'), []);
  assert.deepEqual(scan('<worksheet/>'), []);
});

const fails = (code: string, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code);
  assert.match(error.detail, detail);
  return true;
};

const broken: [name: string, xml: string, detail: RegExp][] = [
  ['a column beyond XFD', sheet('<row r="1"><c r="XFE1"><v>1</v></c></row>'), /beyond the last column/],
  ['a row beyond the last', sheet('<row r="1048577"/>'), /outside of 1 to 1048576/],
  ['a row of zero', sheet('<row r="0"/>'), /outside of 1 to 1048576/],
  ['a row that is no number', sheet('<row r="x"/>'), /a row with an invalid number/],
  ['a reference that is none', sheet('<row r="1"><c r="1A"/></row>'), /an invalid cell reference in row 1/],
  ['a cell in the wrong row', sheet('<row r="1"><c r="A2"><v>1</v></c></row>'), /of row 2 in row 1/],
  [
    'a million columns',
    sheet(`<row r="1">${'<c><v>1</v></c>'.repeat(20_000)}</row>`),
    /beyond the last column/,
  ],
  ['tags that do not match', sheet('<row r="1"><c r="A1"><v>1</c></v></row>'), /do not match/],
  ['an entity of its own', sheet('<row r="1"><c r="A1" t="str"><v>&a;</v></c></row>'), /reference/],
  ['a DTD', `<!DOCTYPE worksheet [<!ENTITY a "aa">]>${sheet('')}`, /document type declaration/],
  [
    'a DTD with entities within entities',
    `<!DOCTYPE x [<!ENTITY a "${'&b;'.repeat(9)}">]><worksheet/>`,
    /document type/,
  ],
  ['another root', '<chartsheet/>', /not a worksheet/],
  ['no end', '<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row>', /ends too early/],
  ['an end within a cell', '<worksheet><sheetData><row r="1"><c r="A1"><v>1', /ends too early/],
  ['nothing', '', /ends too early/],
  ['no quotes', sheet('<row r=1/>'), /without quotes/],
  ['no value of an attribute', sheet('<row r/>'), /without a value/],
  ['only a closing tag', '</worksheet>', /without an opening/],
  ['a hundred attributes', sheet(`<row ${'a="1" '.repeat(100)}/>`), /more than 64 attributes/],
];

for (const [name, xml, detail] of broken) {
  test(`a sheet with ${name} is refused`, () => {
    for (const chunkSize of [1, 7, 65_536]) {
      if (xml.length > 100_000 && chunkSize === 1) continue;
      assert.throws(() => scan(xml, chunkSize), fails('invalid-file', detail));
    }
  });
}

test('endless attributes and texts are refused, and long comments are skipped', () => {
  const long = 'x'.repeat(20_000_000);
  const attribute = sheet(`<row r="1"><c r="A1" s="${long}"/></row>`);
  assert.throws(() => scan(attribute, 65_536), fails('limit-exceeded', /1 MiB/));
  const text = sheet(`<row r="1"><c r="A1" t="str"><v>${long}</v></c></row>`);
  assert.throws(() => scan(text, 65_536), fails('limit-exceeded', /2,000,000 bytes/));
  const pieces = sheet(`<row r="1"><c r="A1" t="str"><v>${'xxxxxxxxx<!---->'.repeat(400_000)}</v></c></row>`);
  assert.throws(() => scan(pieces, 65_536), fails('limit-exceeded', /2,000,000 bytes/));
  const cdata = sheet(`<row r="1"><c r="A1" t="str"><v><![CDATA[${long}]]></v></c></row>`);
  assert.throws(() => scan(cdata, 65_536), fails('limit-exceeded', /2,000,000 bytes/));
  const skipped = `<!-- ${long} --><?x ${long} ?><row><c><v>1</v></c></row><!---->`;
  assert.deepEqual(scan(sheet(skipped), 65_536), ['A1 number 1']);
});

test('the time to scan comments, and texts in many pieces, grows linearly with their length', async () => {
  await assertLinear((size) => {
    const long = 'x'.repeat(size * 10);
    const skipped = `<!-- ${long} --><?x ${long} ?><row><c><v>1</v></c></row><!---->`;
    assert.deepEqual(scan(sheet(skipped), 4096), ['A1 number 1']);
  }, 100_000);
  await assertLinear((size) => {
    const pieces = sheet(`<row r="1"><c r="A1" t="str"><v>${'x<!---->'.repeat(size)}</v></c></row>`);
    scan(pieces, 4096);
  }, 20_000);
});

test('a text may be as long as the limit', () => {
  const long = 'ä&amp;'.repeat(600_000);
  const [line] = scan(sheet(`<row r="1"><c r="A1" t="str"><v>${long}</v></c></row>`), 65_536);
  assert.equal(line!.length, 'A1 string '.length + 1_200_000);
});

test('a long CDATA section gives the same text wherever it is cut', () => {
  const text = 'ä]]\r\n\rx]>'.repeat(40_000);
  const xml = sheet(`<row r="1"><c r="A1" t="str"><v><![CDATA[${text}]]></v></c></row>`);
  const expected = [`A1 string ${text.replaceAll(/\r\n?/g, '\n')}`];
  for (const chunkSize of [65_535, 65_536, 70_001, 100_003, 200_000]) {
    assert.deepEqual(scan(xml, chunkSize), expected, `${chunkSize}`);
  }
});

test('comments may contain text that looks like their end, wherever they are cut', () => {
  const xml = sheet('<!-- a -> -- > - ->x<!- --><?a ? > ??><row><!----><c><?b?><v>1<!--2-->3</v></c></row>');
  for (let chunkSize = 1; chunkSize < 30; chunkSize++) {
    assert.deepEqual(scan(xml, chunkSize), ['A1 number 13'], `${chunkSize}`);
  }
});

test('the bytes of a row in the file are limited', () => {
  const cells = `<c t="str"><v>${'x'.repeat(1_900_000)}</v></c>`;
  assert.throws(
    () => scan(sheet(`<row>${cells.repeat(5)}</row>`), 65_536),
    fails('limit-exceeded', /Row 1 is too long.*8,000,000 bytes \(MAX_ROW_BYTES\)/),
  );
  assert.equal(scan(sheet(`<row>${cells}</row>`.repeat(5)), 65_536).length, 5);
});

/** Reads a sheet with a simple but slow XML parser. `SheetScanner` must find the same cells. */
function scanSlowly(xml: string): string[] {
  const lines: string[] = [];
  const parser = new SaxesParser({ xmlns: true });
  const open: SaxesTagNS[] = [];
  let row = 0;
  let column = 0;
  let cell: Record<string, string> = {};
  let value: string | undefined;
  let inline: string | undefined;
  let run = '';
  let hasFormula = false;
  const isOpen = (name: string): boolean => open.some((tag) => tag.local === name);
  const attribute = (tag: SaxesTagNS, name: string): string | undefined => tag.attributes[name]?.value;
  parser.on('opentag', (tag) => {
    open.push(tag);
    if (tag.local === 'row') {
      row = Number(attribute(tag, 'r') ?? row + 1);
      column = 0;
    } else if (tag.local === 'c') {
      const ref = attribute(tag, 'r');
      const letters = ref?.replace(/\d/g, '');
      column = letters
        ? [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0)
        : column + 1;
      cell = { at: `${columnLetters(column)}${row}`, type: attribute(tag, 't') ?? 'n' };
      value = undefined;
      inline = undefined;
      hasFormula = false;
    } else if (tag.local === 'v') value = '';
    else if (tag.local === 'f') hasFormula = true;
    else if (tag.local === 'is') inline = '';
    else if (tag.local === 't') run = '';
  });
  const text = (piece: string): void => {
    const name = open.at(-1)?.local;
    if (name === 'v') value += piece;
    else if (name === 't' && !isOpen('rPh')) run += piece;
  };
  parser.on('text', text);
  parser.on('cdata', text);
  parser.on('closetag', (tag) => {
    if (tag.local === 't' && !isOpen('rPh') && inline !== undefined) {
      const isPreserving = attribute(tag, 'xml:space') === 'preserve';
      inline += isPreserving ? run : run.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
    } else if (tag.local === 'c') {
      const line = slowLine(cell.type!, value, inline, hasFormula);
      if (line !== undefined) lines.push(`${cell.at} ${line}`);
    }
    open.pop();
  });
  parser.write(xml).close();
  return lines;
}

function slowLine(
  type: string,
  value: string | undefined,
  inline: string | undefined,
  hasFormula: boolean,
): string | undefined {
  if (type === 'inlineStr') return inline ? `string ${inline}` : undefined;
  if (type === 'str' && value !== undefined) return value === '' ? undefined : `string ${value}`;
  const trimmed = (value ?? '').trim();
  if (trimmed === '') return hasFormula ? 'fault FORMULA_WITHOUT_VALUE' : undefined;
  if (type === 'n') return `number ${trimmed === '1E-3' ? '0.001' : trimmed}`;
  if (type === 'b') return trimmed === '1' ? 'true' : 'false';
  if (type === 'e') return `fault ERROR_CELL ${trimmed}`;
  const shared = sharedTexts[Number(trimmed)];
  if (shared === undefined) return `fault UNREADABLE_CELL ${trimmed}`;
  return shared === '' ? undefined : `string ${shared}`;
}

const space = fc.constantFrom('', '', '', ' ', '\n', '\t ');
const filler = fc.constantFrom('', '', '', ' \n', '<!-- <c r="A1"> -->', '<?pi <v>?>', '<ext a=">"/>');
const prefixes = fc.constantFrom('', '', 'x:', 'main:');

/** Texts with characters that look like the end of a tag, characters of one to four bytes, references, sections and comments. */
const textXml = fc
  .array(
    fc.oneof(
      fc.string({
        unit: fc.constantFrom('a', '9', ' ', '\n', '"', "'", '>', '_', 'ä', '漢', '😀', '-'),
        maxLength: 12,
      }),
      fc.constantFrom('&amp;', '&lt;', '&#x41;', '&#228;', '&#13;', '\r\n', '\r'),
      fc.constantFrom('<![CDATA[<v>&amp;]]]>', '<![CDATA[]]>', '<!-- no -->', '<?p x?>'),
    ),
    { maxLength: 4 },
  )
  .map((pieces) => pieces.join(''));

type Attribute = [name: string, value: string];

/** The attributes in any order, with either quote and with spaces wherever they are allowed. */
const attributes = (pairs: Attribute[]) =>
  fc
    .tuple(
      fc.shuffledSubarray(pairs, { minLength: pairs.length }),
      fc.array(fc.tuple(space, space, fc.constantFrom('"', "'")), { minLength: 3, maxLength: 3 }),
    )
    .map(([order, looks]) =>
      order
        .map(([name, value], index) => {
          const [before, after, quote] = looks[index]!;
          return ` ${name}${before}=${after}${quote}${value}${quote}`;
        })
        .join(''),
    );

const content = fc.oneof(
  fc.tuple(fc.constant('n'), fc.constantFrom('1', '-12', '12345678901234567890', '1.5', '1E-3', ' 7 ', '')),
  fc.tuple(fc.constant('s'), fc.constantFrom('0', '1', '2', '3', '9')),
  fc.tuple(fc.constant('b'), fc.constantFrom('0', '1')),
  fc.tuple(fc.constant('e'), fc.constantFrom('#N/A', '#DIV/0!')),
  fc.tuple(fc.constant('str'), textXml),
  fc.tuple(fc.constant('inlineStr'), textXml),
);

const cellLook = fc.record({
  hasReference: fc.boolean(),
  hasStyle: fc.boolean(),
  isRich: fc.boolean(),
  isPreserving: fc.boolean(),
  formula: fc.constantFrom(undefined, undefined, ['', 'A1+1'], [' t="shared" si="1"', ''], ['', 'A1&lt;">"']),
  fill: filler,
});

const cellXml = (row: number, column: number, prefix: string) =>
  fc.tuple(content, cellLook).chain(([[type, text], look]) => {
    const element = (name: string, head: string, body: string): string =>
      `<${prefix}${name}${head}>${body}</${prefix}${name}>`;
    const pairs: Attribute[] = [];
    if (look.hasReference) pairs.push(['r', `${columnLetters(column)}${row}`]);
    if (look.hasStyle) pairs.push(['s', '0']);
    if (type !== 'n') pairs.push(['t', type]);
    const t = element('t', look.isPreserving ? ' xml:space="preserve"' : '', text);
    const hint = element('rPh', ' sb="0"', element('t', '', 'no'));
    const inline = look.isRich ? element('r', '', t) + hint + element('r', '', t) : t;
    const formula = look.formula === undefined ? '' : element('f', look.formula[0]!, look.formula[1]!);
    const body = type === 'inlineStr' ? element('is', '', inline) : formula + element('v', '', text);
    return attributes(pairs).map((head) => element('c', head, look.fill + body));
  });

const rowXml = (row: number, prefix: string) =>
  fc
    .tuple(fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }), fc.boolean(), filler)
    .chain(([columns, hasNumber, fill]) => {
      const sorted = columns.toSorted((a, b) => a - b);
      const pairs: Attribute[] = [['spans', '1:9'], ...(hasNumber ? [['r', String(row)] as Attribute] : [])];
      return fc
        .tuple(attributes(pairs), ...sorted.map((column) => cellXml(row, column, prefix)))
        .map(([head, ...written]) => `<${prefix}row${head}>${written.join('')}</${prefix}row>${fill}`);
    });

const sheetXml = prefixes.chain((prefix) =>
  fc.tuple(...[1, 2, 3].map((row) => rowXml(row, prefix))).map((rows) => {
    const namespace = prefix === '' ? 'xmlns' : `xmlns:${prefix.slice(0, -1)}`;
    const data = `<${prefix}sheetData>${rows.join('')}</${prefix}sheetData>`;
    return `<${prefix}worksheet ${namespace}="m">${data}</${prefix}worksheet>`;
  }),
);

test('the scanner gives the same cells as a general parser, whatever the chunks', () => {
  fc.assert(
    fc.property(sheetXml, fc.integer({ min: 1, max: 40 }), (xml, chunkSize) => {
      const expected = scanSlowly(xml);
      assert.deepEqual(scan(xml), expected);
      assert.deepEqual(scan(xml, Number.MAX_SAFE_INTEGER, false), expected);
      assert.deepEqual(scan(xml, chunkSize), expected);
      assert.deepEqual(scan(xml, 1), expected);
    }),
    { numRuns: 500 },
  );
});
