/** Several tables in one load, in a real browser: the sheets of a workbook, several files, and the files in a zip file. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/browser.ts';
import {
  choose,
  consoleInBrowser,
  isNotWiderThanTheScreen,
  narrow,
  press,
} from '../support/console-in-browser.ts';
import { isAccessible } from '../support/console-page.ts';
import { bookOf, type CellSpec } from '../support/workbook.ts';
import { buildZip } from '../support/xlsx-builder.ts';

type Sheets = Record<string, CellSpec[][]>;

/** A workbook as people write it: a title above a header, European dates, and a sheet with notes. */
const shop: Sheets = {
  Customers: [['Our customers'], [], ['id', 'name'], [1, 'Ann'], [2, 'Bob']],
  'Order lines': [
    ['No', 'Customer', 'Date', 'Paid'],
    [10, 1, '31/12/2024', 'Yes'],
    [11, 2, '30/12/2024', 'No'],
    [12, 2, '29/12/2024', 'No'],
  ],
  Stock: [
    ['article', 'pieces'],
    ['A-1', 5],
  ],
  Notes: [['Ask Ann before you change this.'], ['She knows the prices.']],
};

describe('several tables in the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser();

  const part = (page: Page, label: string) => page.locator('.together-part', { hasText: label });

  async function openTogether(page: Page, sheets: Sheets): Promise<void> {
    await choose(page, 'shop.xlsx', bookOf(sheets));
    await page.click('#together');
    await page.waitForSelector('.together-part');
  }

  async function isLoadable(page: Page): Promise<void> {
    await page.locator('#load:enabled').waitFor();
  }

  async function loadThem(page: Page): Promise<void> {
    await isLoadable(page);
    await page.click('#load');
    await page.getByRole('heading', { name: 'Loaded', exact: true, level: 1 }).waitFor();
  }

  const tablesLike = (names: string) =>
    service.rows(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename ~ '^(${names})$' ORDER BY 1`,
    );

  test('a workbook of three sheets becomes three tables, with their headers and dates read as people write them', () =>
    service.inPage(async (page) => {
      await openTogether(page, shop);
      await isAccessible(page, 'several tables');
      await page.getByText('Either all of these tables are loaded, or none.').waitFor();
      assert.match(await part(page, 'Notes').innerText(), /Left out/);
      await isLoadable(page);
      assert.equal(await page.locator('#load').innerText(), 'Load 3 tables');
      assert.match(
        await part(page, 'Order lines').innerText(),
        /3 rows, 4 columns[\s\S]*Read as people write them: “Date” as/,
      );
      await isAccessible(page, 'several tables, checked');
      await loadThem(page);
      await isAccessible(page, 'several tables, loaded');
      assert.deepEqual(await service.rows('SELECT * FROM customers ORDER BY id'), [
        { id: '1', name: 'Ann' },
        { id: '2', name: 'Bob' },
      ]);
      const lines = await service.rows('SELECT "No", "Date"::text, "Paid" FROM order_lines ORDER BY "No"');
      assert.deepEqual(lines, [
        { No: '10', Date: '2024-12-31', Paid: true },
        { No: '11', Date: '2024-12-30', Paid: false },
        { No: '12', Date: '2024-12-29', Paid: false },
      ]);
      assert.deepEqual(await service.rows('SELECT * FROM stock'), [{ article: 'A-1', pieces: '5' }]);
      assert.equal((await tablesLike('notes')).length, 0);
      await part(page, 'public.order_lines').getByText('3 rows').waitFor();
      await page.getByRole('link', { name: 'public.stock' }).click();
      await page.getByRole('heading', { name: 'stock' }).waitFor();
    }));

  test('for a workbook with several tables the main button loads all of them, and one sheet alone is said to be only that sheet', () =>
    service.inPage(
      async (page) => {
        await choose(page, 'shelves.xlsx', bookOf(shop));
        await page.getByText('This file has 3 tables.').waitFor();
        const all = page.getByRole('button', { name: 'Load all 3 as 3 tables, together' });
        const main = page.locator('.columns-step .button.main');
        const single = page.getByRole('button', { name: 'Load only this sheet into shelves' });
        await single.waitFor();
        assert.deepEqual(await main.allInnerTexts(), await all.allInnerTexts());
        await isAccessible(page, 'a workbook with several tables');
        await isNotWiderThanTheScreen(page);
        await single.click();
        await page.getByRole('heading', { name: 'Loaded', exact: true, level: 1 }).waitFor();
        await press(page, 'Load another file');
        await choose(page, 'shelf.xlsx', bookOf({ Shelf: shop.Stock! }));
        await page.getByRole('button', { name: 'Load into shelf' }).waitFor();
        assert.equal(await all.count(), 0);
      },
      { viewport: narrow },
    ));

  test('one sheet with a wrong cell: nothing is loaded, and the cell is named at its sheet, which can be left out', () =>
    service.inPage(
      async (page) => {
        await service.rows('CREATE TABLE prices (article text, price numeric)');
        const prices = [
          ['article', 'price'],
          ['A-1', 5],
          ['A-2', 'five'],
        ];
        await openTogether(page, {
          Colours: [
            ['colour', 'no'],
            ['red', 1],
          ],
          Prices: prices,
          Sizes: [
            ['size', 'no'],
            ['S', 1],
          ],
        });
        await part(page, 'Prices').getByText('Choose what happens to the existing table.').waitFor();
        await page.getByText('1 table needs your choice.').waitFor();
        await part(page, 'Prices').locator('select').selectOption('append');
        await part(page, 'Prices').getByText('1 problem').waitFor();
        assert.match(await part(page, 'Prices').locator('.notice').innerText(), /price: [\s\S]*Prices!B3/);
        assert.equal(await part(page, 'Colours').locator('.notice.bad').count(), 0);
        assert(await page.locator('#load').isDisabled());
        await isAccessible(page, 'a table with a problem');
        await isNotWiderThanTheScreen(page);
        assert.equal((await tablesLike('colours|sizes')).length, 0);
        await part(page, 'Prices').locator('input[type=checkbox]').uncheck();
        await page.getByRole('button', { name: 'Load 2 tables' }).waitFor();
        await loadThem(page);
        await isNotWiderThanTheScreen(page);
        assert.deepEqual(await tablesLike('colours|prices|sizes'), [
          { name: 'colours' },
          { name: 'prices' },
          { name: 'sizes' },
        ]);
        assert.deepEqual(await service.rows('SELECT * FROM prices'), []);
      },
      { viewport: narrow },
    ));

  test('a wrong cell is corrected where it is shown, also undone, and the tables are loaded with it', () =>
    service.inPage(async (page) => {
      await service.rows('CREATE TABLE costs (article text, price numeric)');
      await service.rows('CREATE TABLE weights (article text, kg numeric)');
      await openTogether(page, {
        Costs: [
          ['article', 'price'],
          ['A-1', 5],
          ['A-2', 'five'],
          ['A-3', 'six'],
          ['A-4', 'five'],
        ],
        Weights: [
          ['article', 'kg'],
          ['A-1', '?'],
        ],
      });
      await part(page, 'Weights').locator('select').selectOption('append');
      await part(page, 'Costs').locator('select').selectOption('append');
      await part(page, 'Costs').getByText('3 problems').waitFor();
      const field = (place: string) => page.getByLabel(new RegExp(`^Value of ${place}\\b`));
      const costs = part(page, 'Costs');
      await costs.locator('textarea').first().fill('5.5');
      await costs.locator('textarea').first().press('Enter');
      await costs.getByText('1 cell corrected').waitFor();
      await press(page, 'Replace the other 1 “five” by “5.5”');
      await costs.getByText('2 cells corrected').waitFor();
      await costs.getByText('1 problem', { exact: true }).waitFor();
      await field('B4').fill('6');
      await field('B4').press('Enter');
      await field('B2').fill('0.2');
      await field('B2').press('Enter');
      await isLoadable(page);
      await isAccessible(page, 'corrected tables');
      await press(page, 'Undo the correction of B4');
      await costs.getByText('1 problem', { exact: true }).waitFor();
      await field('B4').fill('6.00');
      await field('B4').press('Enter');
      await loadThem(page);
      await part(page, 'costs').getByText('3 cells corrected').waitFor();
      assert.deepEqual(await service.rows('SELECT price::text FROM costs ORDER BY article'), [
        { price: '5' },
        { price: '5.5' },
        { price: '6.00' },
        { price: '5.5' },
      ]);
      assert.deepEqual(await service.rows('SELECT kg::text FROM weights'), [{ kg: '0.2' }]);
    }));

  test('a column becomes a foreign key to another sheet if its values occur there', () =>
    service.inPage(async (page) => {
      const seats = [
        ['no', 'hall_id', 'Free from'],
        [1, 7, '31/12/2024'],
        [2, 9, '30/12/2024'],
      ];
      await openTogether(page, {
        Halls: [
          ['id', 'name'],
          [7, 'North'],
        ],
        Seats: seats,
      });
      await isLoadable(page);
      const link = part(page, 'Seats').getByLabel('Each hall_id must occur as id in halls');
      await link.check();
      await part(page, 'Seats').getByText('1 problem').waitFor();
      const notice = part(page, 'Seats').locator('.notice');
      assert.match(await notice.innerText(), /Seats!B3/);
      assert.equal(await notice.locator('textarea').inputValue(), '9');
      await isAccessible(page, 'a foreign key whose values do not fit');
      await link.uncheck();
      await isLoadable(page);
      seats[2] = [2, 7, '30/12/2024'];
      await press(page, 'Choose other files');
      await openTogether(page, {
        Halls: [
          ['id', 'name'],
          [7, 'North'],
        ],
        Seats: seats,
      });
      await link.check();
      await loadThem(page);
      assert.match(await part(page, 'public.halls').first().innerText(), /Primary key\s+id/);
      assert.match(
        await part(page, 'public.seats').innerText(),
        /Foreign key\s+hall_id to public\.halls\.id/,
      );
      await isAccessible(page, 'loaded tables with their keys');
      const keys = await service.rows(
        "SELECT pg_get_constraintdef(oid) AS rule FROM pg_constraint WHERE conrelid IN ('seats'::regclass, 'halls'::regclass) AND contype <> 'n' ORDER BY contype",
      );
      assert.deepEqual(keys, [
        { rule: 'FOREIGN KEY (hall_id) REFERENCES halls(id)' },
        { rule: 'PRIMARY KEY (id)' },
      ]);
      const [first] = await service.rows('SELECT "Free from"::text AS day FROM seats ORDER BY no');
      assert.equal(first!.day, '2024-12-31');
    }));

  test('two files become two tables under names of their own, and one of them can be loaded alone', () =>
    service.inPage(async (page) => {
      await page.setInputFiles('#file', [
        { name: 'Cities.csv', mimeType: '', buffer: Buffer.from('city;people\nBonn;300\n') },
        { name: 'cities.tsv', mimeType: '', buffer: Buffer.from('city\tpeople\nUlm\t120\n') },
        { name: 'more.json', mimeType: '', buffer: Buffer.from('[{"a": 1}]') },
      ]);
      await part(page, 'more.json').getByText('JSON files can only be loaded alone.').waitFor();
      await isLoadable(page);
      assert.equal(await page.locator('input[name=table-1]').inputValue(), 'cities_2');
      await page.getByRole('button', { name: 'Load this file alone: “cities.tsv”' }).click();
      await page.locator('.columns-step h1', { hasText: 'cities.tsv' }).waitFor();
      await page.getByRole('button', { name: 'Load all 2 as 2 tables, together' }).click();
      await page.locator('input[name=table-1]').fill('towns');
      await loadThem(page);
      assert.deepEqual(await service.rows('SELECT * FROM cities UNION ALL SELECT * FROM towns'), [
        { city: 'Bonn', people: '300' },
        { city: 'Ulm', people: '120' },
      ]);
    }));

  test('the files in a zip file become tables, and the page of the load lists them', () =>
    service.inPage(async (page) => {
      const entries = ['2026/rivers.csv', '2026/lakes.csv', 'readme.md'];
      const buffer = buildZip(entries.map((name) => ({ name, data: `name,km\n${name},1\n` })));
      await page.setInputFiles('#file', { name: 'water.zip', mimeType: '', buffer });
      await isLoadable(page);
      assert.match(await part(page, 'rivers.csv').innerText(), /1 row, 2 columns/);
      await loadThem(page);
      assert.deepEqual(await service.rows('SELECT name FROM rivers UNION ALL SELECT name FROM lakes'), [
        { name: '2026/rivers.csv' },
        { name: '2026/lakes.csv' },
      ]);
      await part(page, 'public.lakes').getByText('from water.zip, 2026/lakes.csv').waitFor();
      await page.getByRole('link', { name: 'Loads', exact: true }).click();
      await page.locator('a.list-row', { hasText: /rivers and 1 more[\s\S]*water\.zip/ }).click();
      await page.getByRole('heading', { name: '2 tables from water.zip' }).waitFor();
      await page.getByRole('link', { name: 'public.lakes' }).waitFor();
      await part(page, 'public.lakes').getByText('from water.zip, 2026/lakes.csv').waitFor();
      await isAccessible(page, 'the page of a load of several tables');
    }));

  /** Counts the clicks of a person. */
  async function countClicks(page: Page): Promise<() => Promise<number>> {
    await page.evaluate(
      'window.clicks = 0; addEventListener("click", (event) => { window.clicks += Number(event.isTrusted); }, true)',
    );
    return () => page.evaluate<number>('window.clicks');
  }

  const monthOf = (month: string, ...names: string[]) =>
    names.map((name, at) => ({
      name: `${name}_${month}.csv`,
      mimeType: '',
      buffer: Buffer.from(`${name} no,day\n${at + 1},31/12/2024\n`),
    }));

  test('the files of the next month are added to the tables of the last one with two clicks, also in a new tab without saved settings', async () => {
    const add = 'Add the rows to fees_may, pupils_may, rooms_may';
    const next = async (page: Page, month: string) => {
      const clicks = await countClicks(page);
      await page.setInputFiles('#file', monthOf(month, 'fees', 'pupils', 'rooms'));
      await press(page, add);
      await page.getByText('Checked: 3 rows would be loaded into 3 tables.').waitFor();
      await isAccessible(page, 'the next month');
      await loadThem(page);
      assert.equal(await clicks(), 2);
    };
    await service.inPage(async (page) => {
      await page.setInputFiles('#file', monthOf('may', 'fees', 'pupils', 'rooms'));
      await loadThem(page);
      await press(page, 'Load other files');
      await next(page, 'june');
    });
    await service.inPage((page) => next(page, 'july'));
    const rows = await service.rows(
      `SELECT "fees no" AS no FROM fees_may UNION ALL SELECT "pupils no" FROM pupils_may UNION ALL SELECT "rooms no" FROM rooms_may`,
    );
    assert.equal(
      rows
        .map(({ no }) => no)
        .sort()
        .join(''),
      '111222333',
    );
    assert.equal((await tablesLike('fees.*')).length, 1);
  });

  test('the workbook of the next month has the same sheets, whose rows are added with the saved settings of their tables', async () => {
    await service.rows(
      'CREATE TABLE plants (name text, pieces bigint); CREATE TABLE pots (size text, pieces bigint)',
    );
    const profile = {
      parameters: { table: 'plants', if_exists: 'append', null_values: '-' },
      headers: ['name', 'pieces'],
    };
    await service.client.request('PUT', '/api/v1/profiles/monthly-plants', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(profile),
    });
    await service.inPage(async (page) => {
      const clicks = await countClicks(page);
      await openTogether(page, {
        Plants: [
          ['name', 'pieces'],
          ['Rose', '-'],
        ],
        Pots: [
          ['size', 'pieces'],
          ['S', 1],
        ],
      });
      await page.getByText('Saved settings are used: monthly-plants.').waitFor();
      await press(page, 'Add the rows to plants, pots');
      await part(page, 'Plants').getByText('It is read with the settings monthly-plants.').waitFor();
      await loadThem(page);
      assert.equal(await clicks(), 3);
    });
    assert.deepEqual(await service.rows('SELECT * FROM plants'), [{ name: 'Rose', pieces: null }]);
  });

  test('a file with the columns of an existing table is added to it with two clicks in a new tab', async () => {
    await service.rows(
      'CREATE TABLE wages_october (person text, wage bigint); CREATE TABLE wages_other (person text)',
    );
    await service.inPage(async (page) => {
      const clicks = await countClicks(page);
      await choose(page, 'wages_november.csv', 'person,wage\nAnn,7\n');
      await page.getByText('The existing table public.wages_october has the columns of this file.').waitFor();
      await press(page, 'Add these rows to public.wages_october');
      await page.getByRole('button', { name: 'Load into wages_october' }).click();
      await page.getByRole('heading', { name: 'Loaded', exact: true, level: 1 }).waitFor();
      assert.equal(await clicks(), 2);
      await press(page, 'Load another file');
      await choose(page, 'wages_october.csv', 'person,wage\nBob,8\n');
      await page.getByRole('button', { name: 'Load into wages_october' }).click();
      await page.getByRole('heading', { name: 'Loaded', exact: true, level: 1 }).waitFor();
    });
    assert.equal((await service.rows('SELECT * FROM wages_october')).length, 2);
  });

  test('a plan that is refused after its check says which table it was, and that nothing was loaded', () =>
    service.inPage(async (page) => {
      await openTogether(page, {
        Left: [
          ['a', 'no'],
          ['x', 1],
        ],
        Right: [
          ['b', 'no'],
          ['y', 1],
        ],
      });
      await isLoadable(page);
      await service.rows('CREATE TABLE "right" (b text)');
      await page.click('#load');
      await page.getByRole('heading', { name: 'Not loaded', level: 1 }).waitFor();
      await page.getByText('Nothing was loaded into any table.').waitFor();
      await page.locator('.notice', { hasText: '"public"."right" already exists' }).waitFor();
      assert.equal((await tablesLike('left')).length, 0);
      await press(page, 'Back to the tables');
      await part(page, 'Right').getByText('Choose what happens to the existing table.').waitFor();
    }));

  test('a load of several tables that is cancelled leaves no table', () =>
    service.inPage(async (page) => {
      await service.rows('CREATE TABLE held (a text, no bigint)');
      await openTogether(page, {
        Held: [
          ['a', 'no'],
          ['x', 1],
        ],
        Free: [
          ['b', 'no'],
          ['y', 1],
        ],
      });
      await part(page, 'Held').locator('select').selectOption('append');
      await isLoadable(page);
      const holder = await service.database.pool.connect();
      try {
        await holder.query('BEGIN; LOCK TABLE held IN ACCESS EXCLUSIVE MODE');
        await page.click('#load');
        await page.getByText('The rows are being read, checked and written.').waitFor();
        await page.click('#cancel');
        await page.getByRole('heading', { name: 'Cancelled', level: 1 }).waitFor();
      } finally {
        await holder.query('ROLLBACK');
        holder.release();
      }
      assert.equal((await tablesLike('free')).length, 0);
      await press(page, 'Back to the tables');
      await isLoadable(page);
    }));
});
