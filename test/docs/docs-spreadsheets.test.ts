/**
 * Tests that docs/spreadsheets.md is true: its requests get the answers that it shows, and each row of its tables of cells is
 * tried.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sendShown } from '../support/follow-recipe.ts';
import { rowsUnder } from '../support/markdown.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { shellExamples } from '../support/shell-examples.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'spreadsheets.md'), 'utf8');
const examples = shellExamples(page);

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test('every request on the page has its answer', () => {
  assert.equal(examples.length, page.split('```sh\n').length - 1);
  assert.ok(examples.length >= 2);
});

for (const { command, shown } of examples) {
  test(/"http\S+"/.exec(command)![0], async () => {
    await sendShown(command, shown, { url: service.url, token: await service.token(), folder: root });
  });
}

function uploadCells(format: string, cells: string[]): Promise<TestAnswer> {
  const rows = cells.map((cell, index) => `<row r="${index + 2}">${cell}</row>`).join('');
  const header = '<row r="1"><c r="A1" t="inlineStr"><is><t>v</t></is></c></row>';
  const file = buildWorkbook({ formats: [format], sheets: [{ name: 'Data', xml: header + rows }] });
  return service.upload('/table/cells/upload/excel?if_exists=replace', file);
}

const plainRowsUnder = (head: string) =>
  rowsUnder(page, head).map((row) => row.map((cell) => cell.replaceAll('`', '')));

const values = plainRowsUnder('| in the file | number format | in the table | type |');
test('the page has cells to try', () => assert.ok(values.length >= 12));

for (const [value, format, stored, type] of values) {
  test(`${value} as ${format} is ${stored}`, async () => {
    const answer = await uploadCells(format!, [`<c s="1"><v>${value}</v></c>`]);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.table.columns[0].type, type);
    const [row] = await service.rows('SELECT v::text FROM cells');
    assert.equal(row!.v, stored);
  });
}

for (const [value, format, code] of plainRowsUnder('| in the file | number format | code | |')) {
  test(`${value} as ${format} is the problem ${code}`, async () => {
    const cell = value!.startsWith('#N/A')
      ? '<c t="e"><v>#N/A</v></c>'
      : value!.startsWith('a formula')
        ? '<c><f>1+1</f></c>'
        : `<c s="1"><v>${value}</v></c>`;
    const { status, body } = await uploadCells(format!, [cell]);
    assert.equal(status, 422, JSON.stringify(body));
    assert.deepEqual([body.errors[0].code, body.errors[0].cell], [code, 'Data!A2']);
  });
}

test('a column of dates and points in time becomes timestamp, and with other values text', async () => {
  const day = '<c s="1"><v>44197</v></c>';
  const moment = '<c s="1"><v>44197.5</v></c>';
  const both = await uploadCells('d/m/yyyy', [day, moment]);
  assert.equal(both.body.table.columns[0].type, 'timestamp without time zone');
  const mixed = await uploadCells('d/m/yyyy', [day, '<c><v>5</v></c>']);
  assert.equal(mixed.body.table.columns[0].type, 'text');
});
