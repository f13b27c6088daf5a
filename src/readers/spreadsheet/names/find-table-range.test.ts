import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../../../test/support/growth.ts';
import type { SheetSummary } from '../spreadsheet-options.ts';
import { listNamedCells } from './find-table-range.ts';
import { WorkbookNames } from './workbook-names.ts';

const sheet = (name: string): SheetSummary => ({ name, visibility: 'visible', hasCells: true });

function namesOf(count: number, refersTo: (index: number) => string): WorkbookNames {
  const names = new WorkbookNames();
  for (let index = 0; index < count; index++)
    names.add({ name: `n${index}`, kind: 'name', refersTo: refersTo(index) });
  return names;
}

test('names are found in sheets whatever their case, and not in sheets without cells', async () => {
  const sheets = [sheet('Straße'), { ...sheet('Chart'), hasCells: false }];
  const names = namesOf(3, (index) => `${['STRAßE', 'Chart', 'Other'][index]}!$A$1:$B$2`);
  const { listed, count } = await listNamedCells(sheets, names);
  assert.equal(count, 1);
  assert.deepEqual(listed, [{ name: 'n0', kind: 'name', sheet: 'Straße', range: 'A1:B2' }]);
});

test('the time to list names is proportional to the names and the sheets', async () => {
  await assertLinear((size) => {
    const sheets = Array.from({ length: size }, (_, index) => sheet(`Sheet ${index}`));
    return listNamedCells(
      sheets,
      namesOf(size, (index) => `Missing${index}!$A$1:$B$2`),
    );
  }, 1000);
});
