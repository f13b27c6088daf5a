/** Correcting cells in the check of the console, in a real browser. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { noBrowser } from '../support/browser.ts';
import {
  check,
  choose,
  consoleInBrowser,
  isNotWiderThanTheScreen,
  load,
  narrow,
  press,
} from '../support/console-in-browser.ts';
import { isAccessible, tabTo } from '../support/console-page.ts';
import { until } from '../support/until.ts';
import { bookOf } from '../support/workbook.ts';

describe('cells corrected in the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser();

  const type = (page: Page, column: string, to: string): Promise<void> =>
    page.getByLabel(`Type of ${column}`, { exact: true }).fill(to);
  const field = (page: Page, place: string): Locator =>
    page.locator('.problem').getByLabel(new RegExp(`^Value of ${place}\\b`));
  const verdict = (page: Page, place: string, words: string): Promise<void> =>
    page
      .locator('.corrected', { hasText: new RegExp(`^${place}`) })
      .locator('.verdict', { hasText: words })
      .waitFor();
  const fits = (page: Page): Promise<void> => page.locator('.check-step .notice.good').waitFor();

  test('a cell is corrected where it is shown, refused, undone, and loaded; the record says who did it', async () => {
    await service.inPage(async (page) => {
      await choose(page, 'parcels.csv', 'no,parcels,day\n1,n/a,2026-01-32\n2,x7,\n3,3,2026-01-03\n');
      await type(page, 'parcels', 'integer');
      await type(page, 'day', 'date');
      await page.getByLabel('day is optional').uncheck();
      await check(page);
      await field(page, 'B2').fill('twelve');
      await field(page, 'B2').press('Enter');
      await verdict(page, 'B2', 'refused: not a whole number');
      assert.match(await page.evaluate("document.activeElement.getAttribute('aria-label')"), /^Value of B3/);
      await isAccessible(page, 'a refused correction');
      await field(page, 'B2').fill('12');
      await field(page, 'B2').blur();
      await verdict(page, 'B2', 'accepted');
      await field(page, 'B2').waitFor({ state: 'detached' });
      await field(page, 'B3').fill('7');
      await field(page, 'B3').press('Enter');
      await verdict(page, 'B3', 'accepted');
      await page.locator('.group-title', { hasText: 'a value is missing' }).click();
      await field(page, 'C3').fill('2026-01-02');
      await field(page, 'C3').press('Enter');
      await verdict(page, 'C3', 'accepted');
      // The next group is open now.
      await field(page, 'C2').fill('2026-01-01');
      await field(page, 'C2').press('Enter');
      await fits(page);
      await page.getByRole('heading', { name: '4 cells corrected' }).waitFor();
      await isAccessible(page, 'corrected');

      await press(page, 'Undo the correction of B3');
      await page.locator('.notice.bad', { hasText: '1 problem in the data' }).waitFor();
      assert.equal(await field(page, 'B3').inputValue(), 'x7');
      assert.ok(await page.locator('#load').isDisabled());
      await field(page, 'B3').fill('77');
      await field(page, 'B3').press('Enter');
      await fits(page);
      const [list] = await Promise.all([page.waitForEvent('download'), press(page, 'Save the list as .csv')]);
      assert.deepEqual(
        (await readFile(await list.path(), 'utf8')).replace('\ufeff', '').trim().split('\r\n'),
        [
          'cell,column,old value,new value',
          'B2,parcels,n/a,12',
          'C3,day,,2026-01-02',
          'C2,day,2026-01-32,2026-01-01',
          'B3,parcels,x7,77',
        ],
      );
      const download = async () => {
        const button = 'Download the repaired rows (.csv)';
        const [file] = await Promise.all([page.waitForEvent('download'), press(page, button)]);
        await page.getByText('The browser saves parcels-repaired.csv').waitFor();
        assert.equal(file.suggestedFilename(), 'parcels-repaired.csv');
        return readFile(await file.path(), 'utf8');
      };
      const repaired = 'no,parcels,day\n1,12,2026-01-01\n2,77,2026-01-02\n3,3,2026-01-03\n';
      assert.equal(await download(), repaired);
      await load(page);
      await page.getByRole('heading', { name: '4 cells corrected' }).waitFor();
      assert.equal(await download(), repaired);
      await isAccessible(page, 'loaded with corrections');
      assert.deepEqual(await service.rows('SELECT no::int, parcels, day::text FROM parcels ORDER BY no'), [
        { no: 1, parcels: 12, day: '2026-01-01' },
        { no: 2, parcels: 77, day: '2026-01-02' },
        { no: 3, parcels: 3, day: '2026-01-03' },
      ]);
      await page.getByRole('link', { name: 'Loads', exact: true }).click();
      await page.locator('a.list-row', { hasText: 'loaded' }).first().click();
      await page.getByRole('heading', { name: '4 cells corrected by' }).waitFor();
      await page.locator('.corrected', { hasText: 'before: n/a → after: 12' }).waitFor();
      await isAccessible(page, 'a load with corrections');
    });
  });

  test('a correction is made for all cells with the same value, also those that are not listed', async () => {
    await service.inPage(async (page) => {
      const lines = Array.from({ length: 300 }, (_, at) => `${at + 1},${at % 2 === 0 ? '-' : at}`);
      lines[299] = '300,other';
      await choose(page, 'many.csv', `no,v\n${lines.join('\n')}\n`);
      await type(page, 'v', 'bigint');
      await check(page);
      await field(page, 'B2').fill('0');
      await field(page, 'B2').press('Enter');
      await verdict(page, 'B2', 'accepted');
      await press(page, 'Replace the other 149 “-” by “0”');
      await page.getByRole('heading', { name: '150 cells corrected' }).waitFor();
      await page.locator('.notice.bad', { hasText: '1 problem in the data' }).waitFor();
      await field(page, 'B301').fill('5');
      // The field makes its correction before the click, whose button must not move or vanish.
      await page.locator('.action-bar').getByRole('button', { name: 'Check again' }).click();
      await fits(page);
      await load(page);
      assert.deepEqual(
        await service.rows(
          'SELECT count(*)::int AS rows, (count(*) FILTER (WHERE v = 0))::int AS zeros, max(v)::int AS max FROM many',
        ),
        [{ rows: 300, zeros: 150, max: 297 }],
      );
    });
  });

  test('more corrections than the service takes are not made, and the page says so', async () => {
    await service.inPage(async (page) => {
      const lines = Array.from({ length: 10_002 }, (_, at) => `${at + 1},x`);
      await choose(page, 'toomany.csv', `no,v\n${lines.join('\n')}\n`);
      await type(page, 'v', 'bigint');
      await check(page);
      await field(page, 'B2').fill('0');
      await field(page, 'B2').press('Enter');
      await press(page, 'Replace all other “x” by “0”');
      await page.locator('.corrections .notice.bad', { hasText: 'At most 10,000 cells' }).waitFor();
      await page.getByRole('heading', { name: '1 cell corrected' }).waitFor();
    });
  });

  test('corrections belong to their sheet, and a cell of a key over two columns is corrected in its row', async () => {
    const book = bookOf({
      'First sheet': [
        ['a', 'b'],
        [1, 2],
        [1, 2],
        [3, 'x'],
      ],
      other: [['a'], ['y']],
    });
    await service.inPage(async (page) => {
      await choose(page, 'sheets.xlsx', book);
      for (const name of ['a', 'b']) await page.getByLabel(`${name} is in the primary key`).check();
      await type(page, 'b', 'integer');
      await check(page);
      await page.locator('.group-title', { hasText: 'not a whole number' }).click();
      await field(page, 'B4').waitFor();
      await field(page, 'B4').fill('4');
      await field(page, 'B4').press('Enter');
      await page.locator('.group-title', { hasText: 'a key occurs more than once' }).waitFor();
      await page.getByRole('button', { name: /A3/ }).first().click();
      await page
        .locator('.shown-row')
        .getByLabel(/^Value of B3/)
        .fill('9');
      await page
        .locator('.shown-row')
        .getByLabel(/^Value of B3/)
        .press('Enter');
      await fits(page);
      await press(page, 'Back to the columns');
      await page.getByRole('button', { name: /^other/ }).click();
      await page.locator('.chip[aria-pressed=true]', { hasText: 'other' }).waitFor();
      await page.locator('section[aria-busy=false]').first().waitFor();
      await check(page);
      await page.getByText('2 corrections of other sheets wait').waitFor();
      await press(page, 'Back to the columns');
      await page.getByRole('button', { name: /^First sheet/ }).click();
      await page.locator('.chip[aria-pressed=true]', { hasText: 'First sheet' }).waitFor();
      await check(page);
      await fits(page);
      await load(page);
      assert.deepEqual(await service.rows('SELECT a::int, b FROM sheets ORDER BY a, b'), [
        { a: 1, b: 2 },
        { a: 1, b: 9 },
        { a: 3, b: 4 },
      ]);
    });
  });

  test('cells of JSON and of lines are corrected, also a key that comes in a later row', async () => {
    await service.rows('CREATE TABLE items (id int PRIMARY KEY, n numeric, name text NOT NULL)');
    await service.inPage(async (page) => {
      const append = async () => {
        await page.locator('select[name=if_exists]').selectOption('append');
        await check(page);
      };
      await choose(page, 'items.json', '[{"id": 1, "n": "x"}, {"id": 2, "n": 1, "name": "two"}]');
      await append();
      await field(page, 'row 1').first().waitFor();
      await page.locator('.group-title', { hasText: 'a value is missing' }).click();
      await field(page, 'row 1, name').fill('one');
      await field(page, 'row 1, name').press('Enter');
      await verdict(page, 'row 1', 'accepted');
      await field(page, 'row 1, n').fill('12345678901234567.50');
      await field(page, 'row 1, n').press('Enter');
      await fits(page);
      await load(page);
      await press(page, 'Load another file');

      await choose(page, 'items.ndjson', '{"id": 3, "name": "three"}\n\n{"id": "y", "name": "four"}\n');
      await append();
      await press(page, 'row 2');
      await page.locator('.shown-row .at-fault textarea').waitFor();
      await page
        .locator('.shown-row')
        .getByLabel(/^Value of row 2, id/)
        .fill('4');
      await page
        .locator('.shown-row')
        .getByLabel(/^Value of row 2, id/)
        .press('Enter');
      await fits(page);
      await load(page);
      assert.deepEqual(await service.rows('SELECT id, n::text, name FROM items ORDER BY id'), [
        { id: 1, n: '12345678901234567.50', name: 'one' },
        { id: 2, n: '1', name: 'two' },
        { id: 3, n: null, name: 'three' },
        { id: 4, n: null, name: 'four' },
      ]);
    });
  });

  test('a value that is too long to show is replaced as a whole, and a choice of the columns is not lost by a click', async () => {
    await service.inPage(async (page) => {
      await choose(page, 'long.csv', `code,count\n1,2\n2,3\n3,4\n${'x'.repeat(500)},n/a\n`);
      await type(page, 'code', 'bigint');
      await page.getByText('How values are read').click();
      await page.getByLabel(/^Texts that mean/).fill('n/a');
      await check(page);
      assert.equal(await field(page, 'A5').inputValue(), '');
      assert.match((await field(page, 'A5').getAttribute('placeholder'))!, /too long/);
      await field(page, 'A5').fill('5');
      await field(page, 'A5').press('Enter');
      await fits(page);
      await load(page);
      assert.deepEqual(await service.rows('SELECT code::int, count::int FROM long ORDER BY code'), [
        { code: 1, count: 2 },
        { code: 2, count: 3 },
        { code: 3, count: 4 },
        { code: 5, count: null },
      ]);
    });
  });

  test('the row of a problem is read with the delimiter that the user has chosen', async () => {
    await service.inPage(async (page) => {
      await choose(page, 'bars.csv', 'a,b|c\n1,x|2\n3,y|4\n');
      await page.getByText('How values are read').click();
      await page.getByText('More about the file').click();
      await page.locator('input[name=delimiter]').fill('|');
      await page.locator('input[name=delimiter]').press('Enter');
      await page.getByLabel('Name of the column for a,b').waitFor();
      await type(page, 'a,b', 'integer');
      await check(page);
      await page.getByRole('button', { name: 'A2', exact: true }).click();
      const shown = page.locator('.shown-row').getByLabel(/^Value of A2/);
      await until('the cell', async () => (await shown.inputValue()) === '1,x');
      await shown.fill('1');
      await shown.press('Enter');
      await verdict(page, 'A2', 'accepted');
    });
  });

  test('the keyboard is enough, on a narrow screen too', async () => {
    await service.inPage(
      async (page) => {
        await choose(page, 'keys.csv', 'no,v\n1,one\n2,two\n');
        await type(page, 'v', 'bigint');
        await check(page);
        await tabTo(page, /^Value of B2/);
        await page.keyboard.press('ControlOrMeta+A');
        await page.keyboard.type('1');
        await page.keyboard.press('Enter');
        await page.keyboard.press('ControlOrMeta+A');
        await page.keyboard.type('2');
        await page.keyboard.press('Enter');
        await fits(page);
        await until(
          'the focus',
          async () => (await page.evaluate('document.activeElement.id')) === 'corrections',
        );
        await isNotWiderThanTheScreen(page);
        await isAccessible(page, 'narrow');
        await tabTo(page, /^Undo the correction of B3/);
        await page.keyboard.press('Enter');
        await page.locator('.notice.bad', { hasText: '1 problem in the data' }).waitFor();
        await isNotWiderThanTheScreen(page);
        await isAccessible(page, 'narrow, with a problem');
      },
      { viewport: narrow },
    );
  });
});
