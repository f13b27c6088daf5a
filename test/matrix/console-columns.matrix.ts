/** The columns step of the console in a real browser: a file that is loaded with one click, and the mapping to an existing table. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
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
import { sheetOf } from '../support/workbook.ts';

describe('the columns of a file in the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser();

  /** Chooses the table, and that rows are added to it. */
  async function append(page: Page, table: string): Promise<void> {
    await page.locator('input[name=table]').fill(table);
    await page.locator('select[name=if_exists]').selectOption('append');
  }

  const place = (page: Page, header: string) =>
    page.getByLabel(`Column of the table for ${header}`, { exact: true });

  test('a file about which nothing is asked is loaded with one click, and its only possible readings are taken', () =>
    service.inPage(async (page) => {
      await choose(
        page,
        'paid.csv',
        'day,temp,paid,amount\n,degC,,EUR\n31/12/2024,12.5,Yes,.097\n13/11/2024,13.5,No,.5\n',
      );
      await page.getByText('Rows 1 and 2 were joined for each column').waitFor();
      await page.getByText('“day” as dates in the order day/month/year').waitFor();
      await page.waitForSelector('#load');
      await page.getByText('Checked: 2 rows would be added to public.paid.').waitFor();
      assert.equal(await page.getByText('header_row').count(), 0);
      await isAccessible(page, 'checked columns');
      await load(page);
      const [row] = await service.rows(
        `SELECT day::text, pg_typeof("temp degC")::text AS temp, paid, "amount EUR"::text AS eur FROM paid ORDER BY 1 DESC`,
      );
      assert.deepEqual(row, { day: '2024-12-31', temp: 'numeric', paid: true, eur: '0.097' });
      assert.equal((await service.rows('SELECT FROM paid')).length, 2);
    }));

  test('problems, two readings and a proposed column are shown in place of Load', () =>
    service.inPage(async (page) => {
      await service.rows('CREATE TABLE guests (guest_no bigint PRIMARY KEY); INSERT INTO guests VALUES (1)');
      await choose(page, 'when.csv', 'n,when\n1,03/04/2024\n');
      await page.getByText('Checked:').waitFor();
      assert.equal(await page.locator('#load').count(), 0);
      // A click on it while the button beside it appears must not begin a load.
      const sidesOfCheck = async () => {
        const { x, width } = (await page.locator('#check').boundingBox())!;
        return [x, x + width];
      };
      const before = await sidesOfCheck();
      await press(page, 'Read dates as day, month, year');
      await page.waitForSelector('#load');
      assert.deepEqual(await sidesOfCheck(), before);
      // Load takes its place in the next step, and the second click of a double click must not begin a load either.
      await page.click('#check');
      await page.locator('.check-step #load:enabled').hover();
      await page.mouse.down({ clickCount: 2 });
      await page.mouse.up({ clickCount: 2 });
      // A slower second click comes while the button ignores clicks. Here it does so for longer.
      await press(page, 'Back to the columns');
      const animations = await page.context().newCDPSession(page);
      await animations.send('Animation.enable');
      await animations.send('Animation.setPlaybackRate', { playbackRate: 0 });
      const place = (await page.locator('#check').boundingBox())!;
      await page.click('#check');
      await page.locator('.check-step #load:enabled').waitFor();
      await page.mouse.click(place.x + place.width / 2, place.y + place.height / 2);
      await animations.send('Animation.setPlaybackRate', { playbackRate: 1 });
      await page.locator('#load').click({ trial: true });
      assert.equal(await page.locator('.check-step').count(), 1);
      await press(page, 'Back to the columns');
      await press(page, 'Choose another file');
      await choose(page, 'guests.csv', 'No\n1\n');
      await page.getByText('Choose what happens to the existing table.').waitFor();
      await append(page, 'guests');
      await page.getByText('proposed: similar name').waitFor();
      await press(page, 'Show the problems');
      await page.locator('.notice.bad', { hasText: '1 problem' }).waitFor();
      assert.equal((await service.rows('SELECT FROM guests')).length, 1);
    }));

  test('words for yes and no in another language are read as true and false when the user says so', () =>
    service.inPage(async (page) => {
      await choose(page, 'words.csv', 'n;aktiv;mixed\n1;Ja;ja\n2;nein;x\n3;;nein\n');
      await page.getByText('“aktiv” can be true or false instead of text.').waitFor();
      await isAccessible(page, 'yes and no');
      await press(page, 'Read “Ja” and “nein” as true and false');
      const type = page.getByLabel('Type of aktiv');
      await until('the type of the column', async () => (await type.inputValue()) === 'boolean');
      assert.equal(await page.getByText('instead of text').count(), 0);
      await check(page);
      await load(page);
      const rows = await service.rows('SELECT aktiv, mixed FROM words ORDER BY n');
      assert.deepEqual(rows, [
        { aktiv: true, mixed: 'ja' },
        { aktiv: false, mixed: 'x' },
        { aktiv: null, mixed: 'nein' },
      ]);
      await press(page, 'Load more into it');
      await choose(page, 'words-2.csv', 'n;aktiv;mixed\n4;ja;z\n');
      await page.getByText('The settings of the last load of a file with this header are used.').waitFor();
      await check(page);
      await load(page);
      assert.deepEqual(await service.rows('SELECT aktiv FROM words WHERE n = 4'), [{ aktiv: true }]);
    }));

  test('words for yes and no that a boolean column refuses are read as true and false with one click', () =>
    service.inPage(async (page) => {
      await service.rows('CREATE TABLE answers (n bigint PRIMARY KEY, aktiv boolean)');
      await page.goto(`${service.url}/#/tables/public/answers`);
      await press(page, 'Load a file into it');
      await choose(page, 'answers.csv', 'n;aktiv\n1;nein\n2;nein\n');
      await press(page, 'Show the problems');
      await page.locator('.notice.bad', { hasText: '2 problems' }).waitFor();
      assert.equal(await page.getByText('as empty').count(), 0);
      await press(page, 'Read “ja” and “nein” as true and false');
      await page.locator('.check-step .notice.good').waitFor();
      await load(page);
      const rows = await service.rows('SELECT count(*)::int, bool_or(aktiv) AS some FROM answers');
      assert.deepEqual(rows, [{ count: 2, some: false }]);
    }));

  test('a wrong cell in the first rows is named, and corrected like any other', () =>
    service.inPage(async (page) => {
      const values = Array.from({ length: 40 }, (_, index) => `${index + 1};${index === 1 ? '1o' : index}`);
      await choose(page, 'first.csv', ['no;parcels', ...values, ''].join('\n'));
      await page.locator('.notice.warn', { hasText: '1o' }).waitFor();
      await press(page, 'Make “parcels” whole numbers');
      await check(page);
      await page.getByLabel('Value of B3').fill('10');
      await page.getByLabel('Value of B3').press('Enter');
      await page.locator('.check-step .notice.good').waitFor();
      await load(page);
      assert.deepEqual(await service.rows('SELECT parcels::int FROM first WHERE no = 2'), [{ parcels: 10 }]);
    }));

  test('columns are mapped to an existing table with the keyboard, and the next file with this header needs one click', () =>
    service.inPage(
      async (page) => {
        await service.rows(
          `CREATE TABLE customers (customer_no bigint, full_name text NOT NULL, created date, note text, code text NOT NULL DEFAULT '-')`,
        );
        await choose(page, 'october.csv', 'Cust No,Name,Created,Remark,Hint\n1,Ann,31/12/2024,x,y\n');
        await append(page, 'customers');
        await page.getByText('The table has no column for 2 columns of the file').waitFor();
        await page.getByText('These columns of the table get nothing from the file: note, code.').waitFor();
        await isAccessible(page, 'mapping');
        assert.equal(await place(page, 'Cust No').inputValue(), ':customer_no');
        assert.equal(await place(page, 'Name').inputValue(), ':full_name');
        assert.equal(await place(page, 'Created').inputValue(), ':created');
        await tabTo(page, /^Column of the table for Remark$/);
        await page.keyboard.type('note');
        await page.getByText('get nothing from the file: code.').waitFor();
        await place(page, 'Hint').selectOption('none');
        await isNotWiderThanTheScreen(page);
        await page.click('#check');
        await page.locator('.check-step .notice.good').waitFor();
        await load(page);

        await press(page, 'Load another file');
        await choose(page, 'november.csv', 'Cust No,Name,Created,Remark,Hint\n2,Bob,30/11/2024,z,y\n');
        await page.getByText('The settings of the last load of a file with this header are used.').waitFor();
        await load(page);
        const stored = await service.rows(
          'SELECT customer_no::int, full_name, created::text, note FROM customers ORDER BY 1',
        );
        assert.deepEqual(
          stored.map((row) => Object.values(row)),
          [
            [1, 'Ann', '2024-12-31', 'x'],
            [2, 'Bob', '2024-11-30', 'z'],
          ],
        );
      },
      { scope: 'table:create table:load table:read', viewport: narrow },
    ));

  test('a column that is chosen twice is asked for again, and a new one is added to the table', () =>
    service.inPage(async (page) => {
      await service.rows('CREATE TABLE stock (sku text, pieces bigint)');
      await choose(
        page,
        'stock.xlsx',
        sheetOf(
          [
            ['sku', 'pieces', 'more'],
            ['A1', 7, 1.5],
          ],
          'Stock',
        ),
      );
      await append(page, 'stock');
      await place(page, 'more').selectOption('pieces');
      await page.getByText('Choose a column of the table for “pieces”, or leave it out.').waitFor();
      await place(page, 'pieces').selectOption('pieces');
      await place(page, 'more').selectOption('new');
      await load(page);
      const [row] = await service.rows('SELECT sku, pieces::int, more::text FROM stock');
      assert.deepEqual(row, { sku: 'A1', pieces: 7, more: '1.5' });
    }));
});
