/** OpenDocument spreadsheets: files that are built from parts, and one that LibreOffice wrote. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { randomNumbers } from '../../../../test/support/random-numbers.ts';
import { type RecordedRows, recordRows } from '../../../../test/support/recorded-cells.ts';
import { sized } from '../../../../test/support/sized.ts';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { buildWorkbook, buildZip, memoryFile } from '../../../../test/support/xlsx-builder.ts';
import { AppError, type ErrorCode } from '../../../core/errors.ts';
import { openSpreadsheet } from '../open-spreadsheet.ts';
import type { SheetSource } from '../sheet-source.ts';
import type { SpreadsheetOptions } from '../spreadsheet-options.ts';

const limits = spreadsheetLimits({ maxRows: 2_000_000 });
const never = new AbortController().signal;
const spreadsheetType = 'application/vnd.oasis.opendocument.spreadsheet';
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

interface OdsSpec {
  /** The content of the spreadsheet element: tables. */
  body?: string;
  /** The content of automatic-styles in content.xml, and of styles in styles.xml. */
  automaticStyles?: string;
  styles?: string;
  type?: string;
  manifest?: string;
  /** All of content.xml. */
  content?: string;
}

function buildOds(spec: OdsSpec): Buffer {
  const content =
    spec.content ??
    `${declaration}<office:document-content><office:automatic-styles>${spec.automaticStyles ?? ''}</office:automatic-styles><office:body><office:spreadsheet>${spec.body ?? ''}</office:spreadsheet></office:body></office:document-content>`;
  const manifest =
    spec.manifest ??
    `<manifest:file-entry manifest:full-path="/" manifest:media-type="${spec.type ?? spreadsheetType}"/>`;
  return buildZip([
    { name: 'mimetype', data: spec.type ?? spreadsheetType, isStored: true },
    { name: 'content.xml', data: content },
    {
      name: 'styles.xml',
      data: `${declaration}<office:document-styles><office:styles>${spec.styles ?? ''}</office:styles></office:document-styles>`,
    },
    {
      name: 'META-INF/manifest.xml',
      data: `${declaration}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">${manifest}</manifest:manifest>`,
    },
  ]);
}

const table = (rows: string, attributes = 'table:name="Data"'): string =>
  `<table:table ${attributes}>${rows}</table:table>`;
const row = (cells: string, attributes = ''): string =>
  `<table:table-row ${attributes}>${cells}</table:table-row>`;
const text = (content: string, attributes = ''): string =>
  `<table:table-cell office:value-type="string" ${attributes}><text:p>${content}</text:p></table:table-cell>`;
const cell = (attributes: string, content = ''): string =>
  `<table:table-cell ${attributes}>${content}</table:table-cell>`;
const number = (value: number | string, attributes = ''): string =>
  cell(`office:value-type="float" office:value="${value}" ${attributes}`, `<text:p>shown</text:p>`);
const header = (...names: string[]): string => row(names.map((name) => text(name)).join(''));

function open(bytes: Buffer, options: Partial<SpreadsheetOptions> = {}, more: Partial<typeof limits> = {}) {
  return openSpreadsheet(
    memoryFile(bytes),
    { columnNames: 'exact', cellErrors: 'problem', ...options },
    { ...limits, ...more },
  );
}

async function pass(source: SheetSource): Promise<RecordedRows> {
  const sink = recordRows();
  await source.read(sink, never);
  return sink;
}

const cellsOf = ({ rows }: RecordedRows): [number, Record<string, string>][] =>
  rows.map(({ row, cells }) => [row, { ...cells }]);

const read = async (spec: OdsSpec, options: Partial<SpreadsheetOptions> = {}) =>
  cellsOf(await pass(await open(buildOds(spec), options)));

/** Returns the values of one column `a`. */
const readColumn = async (cells: string[], spec: OdsSpec = {}): Promise<(string | undefined)[]> => {
  const rows = await read({ ...spec, body: table(header('a') + cells.map((each) => row(each)).join('')) });
  const found = new Map(rows.map(([index, { a }]) => [index, a]));
  return cells.map((_, index) => found.get(index + 1));
};

const fails = (code: ErrorCode, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code, error.detail);
  assert.match(error.detail, detail);
  return true;
};

test('an error that a cell shows is an error, whatever the type of the cell is', async () => {
  const shown = (type: string, text: string): string => cell(type, `<text:p>${text}</text:p>`);
  const float = 'office:value-type="float" office:value="0"';
  const cells: [xml: string, expected: string][] = [
    [shown(`${float} table:formula="of:=1/0"`, '#DIV/0!'), 'fault ERROR_CELL #DIV/0!'],
    [shown(float, '#N/A'), 'fault ERROR_CELL #N/A'],
    [shown(float, ' #REF! '), 'fault ERROR_CELL #REF!'],
    [shown(float, '<text:span>#VAL</text:span><text:span>UE!</text:span>'), 'fault ERROR_CELL #VALUE!'],
    [shown('office:value-type="percentage" office:value="0"', '#NUM!'), 'fault ERROR_CELL #NUM!'],
    [shown('office:value-type="currency" office:value="0"', '#NAME?'), 'fault ERROR_CELL #NAME?'],
    [shown('office:value-type="boolean" office:boolean-value="false"', '#N/A'), 'fault ERROR_CELL #N/A'],
    [shown('office:value-type="date" office:date-value="1899-12-30"', '#NULL!'), 'fault ERROR_CELL #NULL!'],
    [shown('office:value-type="time" office:time-value="PT0S"', '#REF!'), 'fault ERROR_CELL #REF!'],
    [shown(`${float} table:formula="of:=X"`, 'Err:502'), 'fault ERROR_CELL Err:502'],
    [shown(float, '#BEZUG!'), 'fault ERROR_CELL #BEZUG!'],
    [shown(float, '#NV'), 'fault ERROR_CELL #NV'],
    [shown(float, '#¡DIV/0!'), 'fault ERROR_CELL #¡DIV/0!'],
    [shown(float, '#ДЕЛ/0!'), 'fault ERROR_CELL #ДЕЛ/0!'],
    [
      shown('office:value-type="string" office:string-value="" table:formula="of:=X"', '#N/A'),
      'fault ERROR_CELL #N/A',
    ],
  ];
  assert.deepEqual(
    await readColumn(cells.map(([xml]) => xml)),
    cells.map(([, expected]) => expected),
  );
});

test('a number that is shown as ### or with a sign before it is a number', async () => {
  for (const text of [
    '###',
    '#5',
    '#A5',
    'Error',
    'Err:5020',
    '#DIV/0! and more words than any error has in it',
  ]) {
    const xml = cell('office:value-type="float" office:value="5"', `<text:p>${text}</text:p>`);
    assert.deepEqual(await readColumn([xml]), ['number 5'], text);
  }
  const errorAsText = cell('office:value-type="string" office:string-value="#N/A"', '<text:p>#N/A</text:p>');
  assert.deepEqual(await readColumn([errorAsText]), ['string #N/A']);
});

test('values have their types, whatever the cell shows', async () => {
  const cells: [xml: string, expected: string | undefined][] = [
    [number(1.5), 'number 1.5'],
    [number('1.1000000000000001'), 'number 1.1'],
    [number('1.2345678E7'), 'number 12345678'],
    [cell('office:value-type="percentage" office:value="0.125"'), 'number 0.125'],
    [cell('office:value-type="currency" office:currency="EUR" office:value="-5"'), 'number -5'],
    [cell('office:value-type="boolean" office:boolean-value="true"'), 'true'],
    [cell('office:value-type="boolean" office:boolean-value="false"'), 'false'],
    [number(1, 'table:formula="of:=TRUE()"'), 'true'],
    [cell('office:value-type="date" office:date-value="2021-01-31"'), 'date 2021-01-31'],
    [cell('office:value-type="date" office:date-value="1823-01-31T00:00:00"'), 'date 1823-01-31'],
    [
      cell('office:value-type="date" office:date-value="2021-01-31T10:10:10.123456"'),
      'timestamp 2021-01-31 10:10:10.123456',
    ],
    [cell('office:value-type="date" office:date-value="2021-02-30"'), 'fault UNREADABLE_CELL 2021-02-30'],
    [cell('office:value-type="time" office:time-value="PT10H10M10.5S"'), 'time 10:10:10.500000'],
    [cell('office:value-type="time" office:time-value="PT36H00M00S"'), 'interval 1d 12:00:00'],
    [cell('office:value-type="time" office:time-value="-PT01H30M00S"'), 'negative interval 0d 01:30:00'],
    [
      cell('office:value-type="string" office:string-value="from the attribute"', '<text:p>no</text:p>'),
      'string from the attribute',
    ],
    [
      cell('office:value-type="string" office:string-value="5 &lt; 6"').replace('></table:table-cell>', '/>'),
      'string 5 < 6',
    ],
    [cell('office:value-type="float" office:value="x"'), 'fault UNREADABLE_CELL x'],
    [cell('table:style-name="ce1"'), undefined],
    [cell('office:value-type="string"', '<text:p/>'), undefined],
    [cell('', '<text:p>untyped</text:p>'), 'string untyped'],
  ];
  assert.deepEqual(
    await readColumn(cells.map(([xml]) => xml)),
    cells.map(([, expected]) => expected),
  );
});

test('texts have their paragraphs and spaces, without notes and shapes', async () => {
  const cells: [xml: string, expected: string][] = [
    [text('a</text:p><text:p>b</text:p><text:p/><text:p>c'), 'string a\nb\n\nc'],
    [text('\n  two\t \n words <text:s text:c="2"/>x<text:s/>'), 'string two words   x '],
    [text('<text:s text:c="300"/>x'), `string ${' '.repeat(300)}x`],
    [text('a<text:tab/>b<text:line-break/>c'), 'string a\tb\nc'],
    [
      text('one <text:span>t<text:a>w</text:a>o</text:span> <text:span> three</text:span>'),
      'string one two three',
    ],
    [
      text('<text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>かん</text:ruby-text></text:ruby>'),
      'string 漢',
    ],
    [
      cell(
        'office:value-type="string"',
        '<office:annotation><text:p>a note</text:p></office:annotation><text:p>text</text:p><draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>',
      ),
      'string text',
    ],
    [text('a<![CDATA[<b>]]>&amp;<!-- no -->c'), 'string a<b>&c'],
  ];
  assert.deepEqual(
    await readColumn(cells.map(([xml]) => xml)),
    cells.map(([, expected]) => expected),
  );
});

test('a cell that shows a value which the file does not hold is a problem, and one that shows nothing is empty', async () => {
  const long = 'a value that is longer than any error that a cell may show';
  const shown = (attributes: string, content = '5'): string =>
    cell(attributes, `<text:p>${content}</text:p>`);
  const cells: [xml: string, expected: string | undefined][] = [
    [shown('office:value-type="float"'), 'fault UNREADABLE_CELL 5'],
    [shown('office:value-type="float" office:value=""'), 'fault UNREADABLE_CELL 5'],
    [shown('office:value-type="float" office:value="" table:formula="of:=A1"'), 'fault UNREADABLE_CELL 5'],
    [
      shown('office:value-type="float"', '<text:span>1</text:span><text:span>2</text:span>'),
      'fault UNREADABLE_CELL 12',
    ],
    [shown('office:value-type="date"', '21.11.2026'), 'fault UNREADABLE_CELL 21.11.2026'],
    [shown('office:value-type="boolean" office:value="1"', 'TRUE'), 'fault UNREADABLE_CELL TRUE'],
    [shown('office:value-type="currency"', long), 'fault UNREADABLE_CELL'],
    [shown('office:value-type="float"', '#N/A'), 'fault ERROR_CELL #N/A'],
    [shown('office:value-type="float"', ' '), undefined],
    [cell('office:value-type="float" office:value=""'), undefined],
  ];
  assert.deepEqual(
    await readColumn(cells.map(([xml]) => xml)),
    cells.map(([, expected]) => expected),
  );
});

test('errors and formulas without a result are problems', async () => {
  const shown = (error: string): string => `<text:p>${error}</text:p>`;
  const cells: [xml: string, expected: string][] = [
    [
      cell(
        'table:formula="of:=NA()" office:value-type="string" office:string-value="" calcext:value-type="error"',
        shown('#N/A'),
      ),
      'fault ERROR_CELL #N/A',
    ],
    [
      cell(
        'table:formula="of:=1/0" office:value-type="float" office:value="0" calcext:value-type="error"',
        shown('#DIV/0!'),
      ),
      'fault ERROR_CELL #DIV/0!',
    ],
    [
      cell('table:formula="of:=X()" office:value-type="string" office:string-value="#NAME?"'),
      'fault ERROR_CELL #NAME?',
    ],
    [
      cell('table:formula="of:=X()" office:value-type="string"', shown('Err:502')),
      'fault ERROR_CELL Err:502',
    ],
    [text('#N/A'), 'string #N/A'],
    [cell('table:formula="of:=X()"'), 'fault FORMULA_WITHOUT_VALUE'],
    [cell('table:formula="of:=X()" office:value-type="float"'), 'fault FORMULA_WITHOUT_VALUE'],
    [cell('table:formula="of:=A1" office:value-type="float" office:value="7"'), 'number 7'],
  ];
  assert.deepEqual(
    await readColumn(cells.map(([xml]) => xml)),
    cells.map(([, expected]) => expected),
  );
  const nothing = cell('table:formula="of:=A1" office:value-type="string" office:string-value=""');
  assert.deepEqual(await readColumn([nothing]), [undefined]);
});

const styles = `
  <number:number-style style:name="N1"><number:number number:decimal-places="0" number:min-integer-digits="5"/></number:number-style>
  <number:number-style style:name="N2"><number:number number:decimal-places="0" number:min-integer-digits="6"><number:embedded-text number:position="3">-</number:embedded-text></number:number></number:number-style>
  <number:number-style style:name="N3"><number:number number:decimal-places="2" number:min-integer-digits="3"/></number:number-style>
  <number:date-style style:name="N4"><number:day/><number:text>.</number:text><number:month/></number:date-style>
  <number:date-style style:name="N5"><number:day/><number:text> </number:text><number:hours/></number:date-style>
  <number:time-style style:name="N6"><number:hours/><number:text>:</number:text><number:minutes/></number:time-style>
  <number:time-style style:name="N7" number:truncate-on-overflow="false"><number:hours/></number:time-style>
  ${[1, 2, 3, 4, 5, 6, 7].map((n) => `<style:style style:name="c${n}" style:family="table-cell" style:data-style-name="N${n}"/>`).join('')}
  <style:style style:name="child" style:family="table-cell" style:parent-style-name="c1"/>
  <style:style style:name="x" style:family="table-cell" style:parent-style-name="y"/>
  <style:style style:name="y" style:family="table-cell" style:parent-style-name="x"/>`;

test('styles decide what numbers, dates and times mean', async () => {
  const styled = (style: string, type: string, value: string): string =>
    cell(
      `table:style-name="${style}" office:value-type="${type}" office:${type === 'float' ? '' : `${type}-`}value="${value}"`,
    );
  const cells: [xml: string, expected: string][] = [
    [styled('c1', 'float', '501'), 'string 00501'],
    [styled('c1', 'float', '1.5'), 'number 1.5'],
    [styled('c2', 'float', '7'), 'string 000-007'],
    [styled('c3', 'float', '7'), 'number 7'],
    [styled('child', 'float', '42'), 'string 00042'],
    [styled('x', 'float', '42'), 'number 42'],
    [styled('unknown', 'float', '42'), 'number 42'],
    [styled('c4', 'date', '2021-01-31T00:00:00'), 'date 2021-01-31'],
    [styled('c5', 'date', '2021-01-31'), 'timestamp 2021-01-31 00:00:00'],
    [styled('c7', 'time', 'PT01H00M00S'), 'interval 0d 01:00:00'],
    [styled('c6', 'time', 'PT01H00M00S'), 'time 01:00:00'],
    // Some programs write dates as numbers.
    [styled('c4', 'float', '44197'), 'date 2021-01-01'],
    [styled('c5', 'float', '44197.5'), 'timestamp 2021-01-01 12:00:00'],
    [styled('c6', 'float', '0.5'), 'time 12:00:00'],
    [styled('c7', 'float', '1.5'), 'interval 1d 12:00:00'],
  ];
  for (const spec of [{ automaticStyles: styles }, { styles }]) {
    assert.deepEqual(
      await readColumn(
        cells.map(([xml]) => xml),
        spec,
      ),
      cells.map(([, expected]) => expected),
    );
  }
});

/** A data style with its sections as `style:map`, which LibreOffice and Excel write for `positive;negative`. */
function sectionStyles(sections: [condition: string, content: string][], element = 'number-style'): string {
  const all = sections.map(([condition, content], index) => ({ condition, content, name: `S${index}` }));
  const last = all.pop()!;
  const maps = all.map(
    ({ condition, name }) =>
      `<style:map style:condition="value()${condition}" style:apply-style-name="${name}"/>`,
  );
  const before = all.map(
    ({ name, content }) => `<number:number-style style:name="${name}">${content}</number:number-style>`,
  );
  return `${before.join('')}<number:${element} style:name="S">${last.content}${maps.join('')}</number:${element}>
    <style:style style:name="s" style:family="table-cell" style:data-style-name="S"/>`;
}

test('the condition of a data style decides whether a number is a date', async () => {
  const automaticStyles = `<number:date-style style:name="S0"><number:year number:style="long"/></number:date-style>
    <number:number-style style:name="S"><number:number number:min-integer-digits="1"/><style:map style:condition="value()&gt;100" style:apply-style-name="S0"/></number:number-style>
    <style:style style:name="s" style:family="table-cell" style:data-style-name="S"/>`;
  const cells = [50, 44_197].map((value) => number(value, 'table:style-name="s"'));
  assert.deepEqual(await readColumn(cells, { automaticStyles }), ['number 50', 'date 2021-01-01']);
});

test('a number is padded by its section of the format, as in .xlsx', async () => {
  const digits = (count: number): string =>
    `<number:number number:decimal-places="0" number:min-integer-digits="${count}"/>`;
  const literal = (content: string): string => `<number:text>${content}</number:text>`;
  const phone = `<number:number number:min-integer-digits="10"><number:embedded-text number:position="4">-</number:embedded-text><number:embedded-text number:position="7">-</number:embedded-text></number:number>`;
  const cases: [code: string, styles: string, values: [value: string, expected: string][]][] = [
    [
      '00000;-00000',
      sectionStyles([
        ['&gt;=0', digits(5)],
        ['', literal('-') + digits(5)],
      ]),
      [
        ['5', 'string 00005'],
        ['-5', 'string -00005'],
        ['0', 'string 00000'],
      ],
    ],
    [
      '0000_);(0000)',
      sectionStyles([
        ['>=0', digits(4) + literal(' ')],
        ['', literal('(') + digits(4) + literal(')')],
      ]),
      [
        ['5', 'string 0005'],
        ['-5', 'string -0005'],
      ],
    ],
    [
      '[<=9999999]000-0000;000-000-0000',
      sectionStyles([
        [
          '<=9999999',
          `<number:number number:min-integer-digits="7"><number:embedded-text number:position="4">-</number:embedded-text></number:number>`,
        ],
        ['', phone],
      ]),
      [
        ['5', 'string 000-0005'],
        ['2125551234', 'string 212-555-1234'],
      ],
    ],
    [
      '000;-000;"zero";@',
      sectionStyles(
        [
          ['>0', digits(3)],
          ['<0', literal('-') + digits(3)],
          ['=0', literal('zero')],
          ['', '<number:text-content/>'],
        ],
        'text-style',
      ),
      [
        ['5', 'string 005'],
        ['-5', 'string -005'],
      ],
    ],
    [
      '#,##0.00 "€";[Red]-#,##0.00 "€"',
      sectionStyles(
        [
          ['>=0', '<number:number number:decimal-places="2" number:grouping="true"/>'],
          ['', literal('-') + digits(2)],
        ],
        'currency-style',
      ),
      [['5', 'number 5']],
    ],
  ];
  for (const [code, automaticStyles, values] of cases) {
    const inOds = await readColumn(
      values.map(([value]) => number(value, 'table:style-name="s"')),
      { automaticStyles },
    );
    assert.deepEqual(
      inOds.map((each) => each?.replace(/ $/, '')),
      values.map(([, expected]) => expected),
      code,
    );
    const rows = values.map(
      ([value], index) => `<row r="${index + 2}"><c r="A${index + 2}" s="1"><v>${value}</v></c></row>`,
    );
    const xml = `<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>${rows.join('')}`;
    const inXlsx = cellsOf(
      await pass(await open(buildWorkbook({ formats: [code], sheets: [{ name: 'Data', xml }] }))),
    );
    assert.deepEqual(
      inXlsx.map(([, { a }]) => a?.replace(/ $/, '')),
      values.map(([, expected]) => expected),
      code,
    );
  }
});

test('a duration whose format has a section for text is a duration', async () => {
  const automaticStyles = `<number:time-style style:name="S0" number:truncate-on-overflow="false"><number:hours/></number:time-style>
    <number:text-style style:name="S"><number:text-content/><style:map style:condition="value()&gt;=0" style:apply-style-name="S0"/></number:text-style>
    <style:style style:name="s" style:family="table-cell" style:data-style-name="S"/>`;
  const xml = cell('table:style-name="s" office:value-type="time" office:time-value="PT08H00M00S"');
  assert.deepEqual(await readColumn([xml], { automaticStyles }), ['interval 0d 08:00:00']);
});

test('the style of a column or row applies to cells without one, and the 1904 system to dates as numbers', async () => {
  const columns =
    '<table:table-column table:default-cell-style-name="c1" table:number-columns-repeated="2"/><table:table-column/>';
  const body = table(
    columns +
      header('a', 'b', 'c') +
      row(number(1) + number(2) + number(3)) +
      row(number(1) + number(2), 'table:default-cell-style-name="c4"'),
  );
  const nullDate =
    '<table:calculation-settings><table:null-date table:date-value="1904-01-01"/></table:calculation-settings>';
  assert.deepEqual(await read({ automaticStyles: styles, body: nullDate + body }), [
    [1, { a: 'string 00001', b: 'string 00002', c: 'number 3' }],
    [2, { a: 'date 1904-01-02', b: 'date 1904-01-03' }],
  ]);
});

test('repeated cells and rows, covered cells and groups of rows are read', async () => {
  const body = table(
    `<table:shapes>${table(row(text('in a shape')))}</table:shapes>` +
      `<table:table-header-rows>${header('a', 'b', 'c', 'd')}</table:table-header-rows>` +
      row(cell('table:number-columns-repeated="16384"'), 'table:number-rows-repeated="3"') +
      `<table:table-row-group>${row(number(1, 'table:number-columns-repeated="2"') + cell('') + text('x'))}</table:table-row-group>` +
      row(
        text('same') + cell('table:number-columns-repeated="2"') + number(5),
        'table:number-rows-repeated="2"',
      ) +
      row(
        `${text('merged', 'table:number-columns-spanned="2"')}<table:covered-table-cell office:value-type="string"><text:p>hidden</text:p></table:covered-table-cell>${number(9)}`,
      ) +
      row(cell('table:number-columns-repeated="16384"'), 'table:number-rows-repeated="1048565"'),
  );
  const source = await open(buildOds({ body }));
  const result = await pass(source);
  assert.deepEqual(cellsOf(result), [
    [4, { a: 'number 1', b: 'number 1', d: 'string x' }],
    [5, { a: 'string same', d: 'number 5' }],
    [6, { a: 'string same', d: 'number 5' }],
    [7, { a: 'string merged', c: 'number 9' }],
  ]);
  assert.deepEqual(source.locate(7, 2, 'c'), { sheet: 'Data', cell: 'Data!C8' });
  assert.deepEqual(source.warnings, [
    {
      code: 'merged-cells',
      detail:
        'One value beneath merged cells was left out. It is in Data!B8, in the merged cells A8:B8. Only the top-left cell of merged cells has a value; to load the others, unmerge them.',
    },
  ]);
  assert.deepEqual(cellsOf(await pass(source)), cellsOf(result));
});

test('sheets are listed and chosen, and hidden ones are marked', async () => {
  const spec = {
    automaticStyles:
      '<style:style style:name="ta1" style:family="table"><style:table-properties table:display="false"/></style:style><style:style style:name="ta2" style:family="table"><style:table-properties table:display="true"/></style:style>',
    body: [
      table(header('h') + row(number(1)), 'table:name="Hidden" table:style-name="ta1"'),
      table(header('a') + row(number(2)), 'table:name="A &amp; B" table:style-name="ta2"'),
      table(header('c') + row(number(3)), 'table:name="Last"'),
    ].join(''),
  };
  const source = await open(buildOds(spec));
  assert.deepEqual(
    source.sheets.map(({ name, visibility }) => [name, visibility]),
    [
      ['Hidden', 'hidden'],
      ['A & B', 'visible'],
      ['Last', 'visible'],
    ],
  );
  assert.equal(source.sheet, 'A & B');
  assert.deepEqual(await read(spec), [[1, { a: 'number 2' }]]);
  assert.deepEqual(await read(spec, { sheet: 'Hidden' }), [[1, { h: 'number 1' }]]);
  assert.deepEqual(await read(spec, { sheet: '3' }), [[1, { c: 'number 3' }]]);
  await assert.rejects(read(spec, { sheet: 'x' }), fails('invalid-parameter', /no sheet "x"/));
  const last = source.openSheet!('Last')!;
  assert.deepEqual(cellsOf(await pass(last)), [[1, { c: 'number 3' }]]);
  assert.deepEqual(last.locate(1, 0, 'c'), { sheet: 'Last', cell: 'Last!A2' });
});

test('a workbook that LibreOffice wrote is read', async () => {
  const bytes = readFileSync(join(import.meta.dirname, '../../../../test/fixtures/kinds.ods'));
  const source = await open(bytes);
  assert.deepEqual(
    source.sheets.map(({ name, visibility }) => `${name} ${visibility}`),
    ['Kinds visible', 'Secret hidden', 'Deep hidden'],
  );
  const { rows } = await pass(source);
  assert.deepEqual(
    rows.slice(0, 3).map(({ cells }) => ({ ...cells })),
    [
      {
        text: 'string plain',
        whole: 'number 1',
        fraction: 'number 1.5',
        day: 'date 2021-01-01',
        moment: 'timestamp 2021-01-01 12:00:00',
        clock: 'time 10:10:10',
        duration: 'interval 1d 12:00:00',
        code: 'string 00501',
        share: 'number 0.125',
        price: 'number 1234.5',
        flag: 'true',
        formula: 'number 2',
      },
      {
        text: 'string   two  spaces ',
        whole: 'number -7',
        fraction: 'number 1.1',
        day: 'date 1900-02-28',
        moment: 'timestamp 2021-01-02 00:00:00',
        clock: 'time 00:00:00',
        duration: 'interval 0d 06:00:00',
        code: 'string 00042',
        share: 'number 1',
        price: 'number -5',
        flag: 'false',
        formula: 'string ab',
      },
      {
        text: 'string line\nbreak\ttab',
        whole: 'number 9007199254740990',
        fraction: 'number 0.3',
        day: 'date 1899-12-31',
        moment: 'timestamp 2021-01-01 10:10:00',
        clock: 'time 23:59:59.991360',
        duration: 'interval 100d 00:00:01',
        code: 'string 000-007',
        share: 'number 0',
        price: 'number 0.1',
        flag: 'true',
        formula: 'fault ERROR_CELL #DIV/0!',
      },
    ],
  );
  assert.deepEqual({ ...rows[4]!.cells }, { text: 'string merged' });
});

test('other documents, encrypted and broken files are refused', async () => {
  const encrypted =
    '<manifest:file-entry manifest:full-path="content.xml" manifest:size="5"><manifest:encryption-data/></manifest:file-entry>';
  const sheet = `<office:spreadsheet>${table(header('a'))}</office:spreadsheet>`;
  const document = `<office:document-content><office:body>${sheet}</office:body></office:document-content>`;
  const specs: [spec: OdsSpec, code: ErrorCode, detail: RegExp][] = [
    [{ manifest: encrypted }, 'unsupported-file', /encrypted/],
    [{ type: 'application/vnd.oasis.opendocument.text' }, 'unsupported-file', /OpenDocument file of another/],
    [{ body: '' }, 'unsupported-file', /no worksheet/],
    [{ content: document.slice(0, 90) }, 'invalid-file', /content\.xml.*too early/],
    [{ content: `<!DOCTYPE x [<!ENTITY a "b">]>${document}` }, 'invalid-file', /document type/],
    [{ content: '' }, 'invalid-file', /too early/],
    [{ body: table(row(cell('table:number-columns-repeated="x"'))) }, 'invalid-file', /repetition/],
    [
      {
        body: table(
          header('a', 'b') +
            row(text('1') + cell('', table(row(text('inner')), 'table:is-sub-table="true"'))),
        ),
      },
      'unsupported-file',
      /^The cell B2 contains another table/,
    ],
    [
      { body: table(row(text('a', 'table:number-columns-repeated="16385"'))) },
      'invalid-file',
      /beyond the last column/,
    ],
    [
      { body: table(row(cell(''), 'table:number-rows-repeated="1048576"') + row(text('a'))) },
      'invalid-file',
      /beyond the last row/,
    ],
  ];
  for (const [spec, code, detail] of specs) {
    await assert.rejects(read(spec), fails(code, detail), JSON.stringify(spec).slice(0, 200));
  }
  const withoutContent = buildZip([{ name: 'META-INF/manifest.xml', data: '<m:manifest xmlns:m="m"/>' }]);
  await assert.rejects(open(withoutContent), fails('invalid-file', /content\.xml/));
});

test('a few bytes that mean billions of cells are refused early, and other work runs meanwhile', async () => {
  const many = table(
    header(...Array.from({ length: 40 }, (_, index) => `c${index}`)) +
      row(text('x', 'table:number-columns-repeated="40"'), 'table:number-rows-repeated="1000000"'),
  );
  const source = await open(buildOds({ body: many }));
  // The processor time of this thread is measured, because other programs may interrupt it.
  let longestMs = 0;
  const begun = process.threadCpuUsage();
  const threadMs = () => {
    const { user, system } = process.threadCpuUsage(begun);
    return (user + system) / 1000;
  };
  let last = threadMs();
  const watch = setInterval(() => {
    longestMs = Math.max(longestMs, threadMs() - last);
    last = threadMs();
  }, 1);
  const nothing = () => {};
  const sink = { ...recordRows(), column: nothing, beginRow: nothing, cell: nothing, endRow: nothing };
  await assert.rejects(source.read(sink, never), fails('limit-exceeded', /20,000,000 cells/));
  clearInterval(watch);
  longestMs = Math.max(longestMs, threadMs() - last);
  assert.ok(longestMs < 200, `${longestMs} ms`);
  const wide = table(row(text('x', 'table:number-columns-repeated="16384"')));
  await assert.rejects(read({ body: wide }), fails('limit-exceeded', /50 columns/));
});

test('limits and signals end a pass', async () => {
  const bytes = buildOds({ body: table(header('a') + row(text('y'.repeat(200))) + row(number(1))) });
  await assert.rejects(
    pass(await open(bytes, {}, { maxCellBytes: 100 })),
    fails('limit-exceeded', /100 bytes/),
  );
  await assert.rejects(
    pass(await open(bytes, {}, { maxRows: 1 })),
    fails('limit-exceeded', /1 row \(MAX_ROWS\)/),
  );
  await assert.rejects(open(bytes, { range: 'nonsense' }), fails('invalid-parameter', /range/));
  const cancelled = AbortSignal.abort(new Error('cancelled'));
  await assert.rejects((await open(bytes)).read(recordRows(), cancelled), /cancelled/);
});

test('spaces and spans give the same text wherever they are cut', async () => {
  const piece = fc.constantFrom(
    'a',
    ' ',
    '\n',
    '<text:s/>',
    '<text:span> b</text:span>',
    '&amp;',
    '<text:tab/>',
    'é',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const xml = pieces.join('');
      // A comment divides a text into two pieces.
      const torn = pieces.map((each) => (each.length === 1 ? `${each}<!---->` : each)).join('');
      const [plain, other] = await readColumn([text(xml), text(torn)]);
      assert.equal(other, plain);
    }),
    { numRuns: 60 },
  );
});

test('every mutated file is read or refused', async () => {
  const random = randomNumbers(3);
  const interesting = Buffer.from('<>&"\'/=;! \n\0\xff:09AZ', 'latin1');
  const content = Buffer.from(
    `${declaration}<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:spreadsheet>${table(
      header('a', 'b') +
        row(number(1, 'table:style-name="c1"') + text('x<text:s/>y'), 'table:number-rows-repeated="2"') +
        row(
          cell('office:value-type="date" office:date-value="2021-01-31"') +
            cell('table:number-columns-repeated="3"'),
        ),
    )}</office:spreadsheet></office:body></office:document-content>`,
  );
  const runs = sized(200, 1500);
  let isRead = 0;
  for (let run = 0; run < runs; run++) {
    const mutant = Buffer.from(content);
    for (let flips = 1 + random(3); flips > 0; flips--) {
      mutant[random(mutant.length)] = interesting[random(interesting.length)]!;
    }
    const whole = run % 10 === 0 ? mutant.subarray(0, random(mutant.length)) : mutant;
    try {
      await pass(await open(buildOds({ content: whole.toString('latin1') })));
      isRead++;
    } catch (error) {
      assert.ok(error instanceof AppError && error.status < 500, error instanceof Error ? error.stack : '');
    }
  }
  assert.ok(isRead > runs / 15 && isRead < (14 * runs) / 15, String(isRead));
});

/** Returns the maximum number of bytes of values that are pushed between two checks whether the source must wait for the sink. */
async function mostBetweenDrains(source: SheetSource): Promise<{ most: number; cells: number }> {
  const found = { most: 0, cells: 0 };
  let bytes = 0;
  await source.read(
    {
      column() {},
      beginRow() {},
      cell(_column, _kind, _bytes, start, end) {
        found.cells++;
        bytes += end - start;
      },
      moment() {},
      fault() {},
      endRow() {},
      drain() {
        found.most = Math.max(found.most, bytes);
        bytes = 0;
        return undefined;
      },
    },
    never,
  );
  return found;
}

test('long values are repeated in portions, over rows and over columns', async () => {
  const long = 'y'.repeat(90_000);
  const rows = table(header('a') + row(text(long), 'table:number-rows-repeated="200"'));
  const columns = table(header('a') + row(text(long, 'table:number-columns-repeated="40"')));
  const roomy = { maxRowBytes: 10_000_000 };
  const overRows = await mostBetweenDrains(await open(buildOds({ body: rows }), {}, roomy));
  assert.equal(overRows.cells, 200);
  assert.ok(overRows.most < 500_000, `${overRows.most} bytes in one turn`);
  const overColumns = await mostBetweenDrains(await open(buildOds({ body: columns }), {}, roomy));
  assert.equal(overColumns.cells, 40);
  assert.ok(overColumns.most < 500_000, `${overColumns.most} bytes in one turn`);
});

test('the bytes of a row are limited, counted as often as cells are repeated', async () => {
  const five = row(text('y'.repeat(90_000), 'table:number-columns-repeated="5"'));
  const bytes = buildOds({ body: table(header('a') + row(text('x')) + five) });
  await assert.rejects(
    pass(await open(bytes)),
    fails('limit-exceeded', /^Row 3 is too long: .* 400,000 bytes \(MAX_ROW_BYTES\)/),
  );
});

test('the bytes of all values are limited, counted as often as cells are repeated', async () => {
  const rows = row(text('y'.repeat(90_000)), 'table:number-rows-repeated="100000"');
  const bytes = buildOds({ body: table(header('a') + rows) });
  await assert.rejects(
    mostBetweenDrains(await open(bytes)),
    fails(
      'limit-exceeded',
      /^The cells have too many bytes for a file of this size, up to row 7\d\d: the limit is 64 MiB\./,
    ),
  );
});

test('spaces that the file has as a count are limited, and their cells are passed on one by one', async () => {
  const spaces = (count: number) => `<text:p><text:s text:c="${count}"/>x</text:p>`;
  const rows = (count: number) =>
    row(`<table:table-cell office:value-type="string">${spaces(90_000)}</table:table-cell>`).repeat(count);
  const some = await mostBetweenDrains(await open(buildOds({ body: table(header('a') + rows(300)) })));
  assert.equal(some.cells, 300);
  assert.ok(some.most < 500_000, `${some.most} bytes in one turn`);
  await assert.rejects(
    mostBetweenDrains(await open(buildOds({ body: table(header('a') + rows(1000)) }))),
    fails('limit-exceeded', /^The cells have too many bytes for a file of this size, up to row 7\d\d: /),
  );
});

const spanning = (content: string, columns: number | string, rows = 1, attributes = ''): string =>
  text(
    content,
    `table:number-columns-spanned="${columns}" table:number-rows-spanned="${rows}" ${attributes}`,
  );
const covered = (content: string, count = 1): string =>
  `<table:covered-table-cell table:number-columns-repeated="${count}">${content && `<text:p>${content}</text:p>`}</table:covered-table-cell>`;

/** Returns the names of the columns, joined from the header rows. */
async function namesOf(rows: string, headerRows: number, more: Partial<SpreadsheetOptions> = {}) {
  const { columns } = await pass(await open(buildOds({ body: table(rows) }), { headerRows, ...more }));
  return columns.join(', ');
}

test('the merged areas decide the names that header rows are joined to, whatever numbers they have', async () => {
  const last = header('', 'Q1', 'Q2', 'Total') + row([1, 2, 3, 4].map((value) => number(value)).join(''));
  const empty = cell('');
  const groups: [cells: string, names: string][] = [
    [spanning('2025', 2) + covered(''), '2025 Q1, 2025 Q2, Total'],
    [spanning('2025', 2), '2025 Q1, 2025 Q2, Total'],
    [spanning('2025', '9'.repeat(400)) + covered(''), '2025 Q1, 2025 Q2, 2025 Total'],
    [spanning('2025', 1, 2) + empty, '2025 Q1, 2025 Q2, 2025 Total'],
    [spanning('2025', '-2') + empty, '2025 Q1, 2025 Q2, 2025 Total'],
    [spanning('2025', 'many') + empty, '2025 Q1, 2025 Q2, 2025 Total'],
    // An area over empty cells shows that the sheet has merged cells, so the text applies to its own column only.
    [`${text('2025')}${cell('table:number-columns-spanned="2"')}`, '2025 Q1, Q2, Total'],
    [spanning('2025', 2, 1, 'table:number-columns-repeated="2"'), '2025 Q1, 2025 Q2, 2025 Total'],
    [spanning('2025', 2, 99_999_999) + covered(''), '2025 Q1, 2025 Q2, Total'],
  ];
  for (const [cells, names] of groups)
    assert.equal(await namesOf(row(text('id') + cells) + last, 2), `id, ${names}`, cells);
  const repeated =
    row(text('id') + spanning('2025', 2) + covered(''), 'table:number-rows-repeated="2"') + last;
  assert.equal(await namesOf(repeated, 2, { headerRow: 2 }), 'id, 2025 Q1, 2025 Q2, Total');
});

test('an .ods with more than a million merged areas is refused, but not for rows without values', async () => {
  const cells = text('x') + cell('table:number-columns-spanned="2" table:number-columns-repeated="10000"');
  const repeated = (attributes: string): string => header('a') + row(cells, attributes);
  const refused = fails(
    'limit-exceeded',
    /^The sheet has too many merged cells: the limit is 1,000,000 areas\.$/,
  );
  for (const rows of [repeated('table:number-rows-repeated="101"'), repeated('').repeat(101)])
    await assert.rejects(namesOf(rows, 1), refused);
  const wide = cell('table:number-columns-spanned="2" table:number-columns-repeated="16384"');
  const filler = row(wide, 'table:number-rows-repeated="1048575"');
  assert.equal(await namesOf(header('a') + filler, 1), 'a');
});

test('values beneath repeated merged cells are counted, but not white space', async () => {
  const body = table(
    header('a', 'b', 'c') +
      row(spanning('x', 3) + covered('hidden', 2), 'table:number-rows-repeated="2"') +
      row(spanning('y', 2, 2) + covered(' <text:s/>') + text('z')) +
      row(covered('hidden') + covered('hidden', 100_000_000)),
  );
  const source = await open(buildOds({ body }));
  assert.deepEqual(cellsOf(await pass(source)), [
    [1, { a: 'string x' }],
    [2, { a: 'string x' }],
    [3, { a: 'string y', c: 'string z' }],
  ]);
  assert.match(
    source.warnings[0]!.detail,
    /^16388 values beneath merged cells were left out\. The first is in Data!B2, in the merged cells A2:C2\./,
  );
});

test('spaces beneath merged cells are not made', async () => {
  const covered = `<table:covered-table-cell office:value-type="string"><text:p><text:s text:c="1000000000"/></text:p></table:covered-table-cell>`;
  const { cells } = await mostBetweenDrains(
    await open(buildOds({ body: table(header('a') + row(text('x') + covered)) })),
  );
  assert.equal(cells, 1);
});

test('the header of a name is found in a sheet that begins far behind the start of the file', async () => {
  const long = table(header('note') + row(text('x'.repeat(90_000))).repeat(20), 'table:name="Long"');
  const cities = table(header('city', 'people') + row(text('Oslo') + number(1)), 'table:name="Cities"');
  const name = `<table:named-expressions><table:named-range table:name="all" table:cell-range-address="$Cities.$A$1:.$B$2"/></table:named-expressions>`;
  const { listed } = await (await open(buildOds({ body: long + cities + name }))).namedCells(never);
  assert.deepEqual(listed[0]?.header, ['city', 'people']);
});

test('two sheets with the same name are refused', async () => {
  const body = table(header('a') + row(number(1))) + table(header('a') + row(number(2)));
  await assert.rejects(open(buildOds({ body })), fails('invalid-file', /two sheets have the name "Data"/));
});

test('the number of sheets is limited as in other formats', async () => {
  const body = table('', 'table:name="x"').repeat(10_001);
  await assert.rejects(
    open(buildOds({ body })),
    fails('limit-exceeded', /^The workbook has too many sheets: the limit is 10,000 sheets\.$/),
  );
});
