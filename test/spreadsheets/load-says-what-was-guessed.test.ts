/**
 * Nothing is guessed in secret: everything that the service decides about a file is in the answer (`load`, the types in `table`)
 * or in a warning. Each case is one kind of decision.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { sheetOf, sheetXml } from '../support/workbook.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

interface Decision {
  what: string;
  file: Buffer | string;
  query?: string;
  /** Members of `load` that show the decision. */
  load?: Record<string, unknown>;
  types?: string;
  warnings?: string[];
}

const cover = [['Report 2026'], ['by Ann']];
const orders = [
  ['id', 'name'],
  [1, 'Ann'],
  [2, 'Bob'],
];
const titled = [['Report 2026'], [], ...orders, ['Total', 3]];
const book = buildWorkbook({
  sheets: [
    { name: 'Cover', xml: sheetXml(cover) },
    { name: 'Orders', xml: sheetXml(orders) },
  ],
});

const decisions: Decision[] = [
  { what: 'the comma between fields', file: 'a,b\n1,2\n', load: { delimiter: ',' } },
  { what: 'another delimiter', file: 'a|b\n1|2\n', load: { delimiter: '|' }, warnings: ['delimiter'] },
  {
    what: 'a stated delimiter',
    file: 'sep=;\na;b\n1;2\n',
    load: { delimiter: ';' },
    warnings: ['delimiter'],
  },
  { what: 'UTF-8', file: 'a\né\n', load: { encoding: 'utf-8' } },
  {
    what: 'another encoding',
    file: Buffer.from('a\n\xe9\n', 'latin1'),
    load: { encoding: 'windows-1252' },
    warnings: ['encoding'],
  },
  { what: 'the format', file: sheetOf(orders, 'S'), load: { format: 'xlsx', sheet: 'S', range: 'A1:B3' } },
  { what: 'the first row with a value as the header', file: '\n\na\n1\n', load: { header_row: 3 } },
  {
    what: 'a title as the header',
    file: sheetOf(titled),
    warnings: ['header-row', 'blank-header', 'total-row'],
  },
  { what: 'values as the header', file: '5,2\n3,4\n', load: { header_row: 1 }, warnings: ['header-row'] },
  {
    what: 'the table of a sheet',
    file: sheetOf(titled),
    query: 'header_row=auto',
    load: { header_row: 3, range: 'A3:B6' },
    warnings: ['proposal-taken', 'total-row', 'mixed-column'],
  },
  { what: 'the first sheet', file: book, load: { sheet: 'Cover' }, warnings: ['other-sheets'] },
  {
    what: 'the sheet with a table',
    file: book,
    query: 'sheet=auto',
    load: { sheet: 'Orders' },
    warnings: ['proposal-taken'],
  },
  { what: 'types', file: 'n,d,u\n1,2026-11-21,x\n', types: 'bigint date text' },
  { what: 'text because of one value', file: 'n\n1\n2\n3\nx\n', types: 'text', warnings: ['mixed-column'] },
  { what: 'text of dates', file: 'd\n21/11/2026\n', types: 'text', warnings: ['other-notation'] },
  { what: 'text of amounts', file: 'd\n€ 5\n', types: 'text', warnings: ['other-notation'] },
  { what: 'a point as the decimal sign', file: 'n\n1.234\n', types: 'numeric', warnings: ['other-notation'] },
  {
    what: 'the century of a year',
    file: 'd\n21/11/26\n',
    query: 'date_order=dmy',
    types: 'date',
    warnings: ['two-digit-year'],
  },
  { what: 'a formula as a text', file: 'a\n="007"\n', types: 'text', warnings: ['text-formulas'] },
  { what: 'the names of columns', file: 'a,,a\n1,2,3\n', warnings: ['blank-header', 'repeated-header'] },
  {
    what: 'missing and surplus fields',
    file: 'a,b\n1\n1,2,3\n',
    warnings: ['blank-header', 'short-rows', 'long-rows'],
  },
  { what: 'a new table for append', file: 'a\n1\n', query: 'if_exists=append', warnings: ['table-created'] },
];

decisions.forEach(({ what, file, query = '', load = {}, types, warnings = [] }, index) => {
  test(`the answer says what was decided: ${what}`, async () => {
    const content = typeof file === 'string' ? Buffer.from(file) : file;
    const { status, body } = await service.upload(`/table/decided_${index}/upload/excel?${query}`, content);
    assert.equal(status, 201, JSON.stringify(body));
    assert.partialDeepStrictEqual(body.load, load);
    assert.deepEqual(
      body.load.warnings.map(({ code }: { code: string }) => code).toSorted(),
      warnings.toSorted(),
    );
    if (types !== undefined) {
      assert.equal(body.table.columns.map(({ type }: { type: string }) => type).join(' '), types);
    }
  });
});
