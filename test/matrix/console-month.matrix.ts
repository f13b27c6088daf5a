/** The file of each month in the console, in a real browser: the first load, the next file, its rows with problems, and the same file again. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import * as library from '@e965/xlsx';
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
import { bookOf } from '../support/workbook.ts';

describe('a file that comes each month, in the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser();

  type Row = (string | number)[];
  const header: Row = ['sku', 'price', 'stock'];

  const bookWith = (...rows: Row[]): Buffer => bookOf({ Stock: [header, ...rows] });
  const rowsOf = async (table: string) =>
    (await service.rows(`SELECT sku, price::text, stock::int FROM ${table} ORDER BY sku`)).map((row) =>
      Object.values(row),
    );

  /** Returns the count that the page shows with the label. */
  const count = (page: Page, label: string): Promise<string> =>
    page
      .locator('.numbers > div', { has: page.getByText(label, { exact: true }) })
      .locator('dd')
      .innerText();

  async function saved(page: Page, button: string): Promise<{ name: string; content: Buffer }> {
    const [file] = await Promise.all([page.waitForEvent('download'), press(page, button)]);
    return { name: file.suggestedFilename(), content: await readFile((await file.path())!) };
  }

  /** Writes numbers into the cells, as a person does in a spreadsheet program. */
  function repaired(file: Buffer, cells: Record<string, number>): Buffer {
    const book = library.read(file);
    const sheet = book.Sheets[book.SheetNames[0]!]!;
    for (const [cell, value] of Object.entries(cells)) sheet[cell] = { t: 'n', v: value };
    return library.write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer;
  }

  /** Opens step 2 with a file for an existing table, whose rows update those with the same key. */
  async function update(page: Page, table: string, name: string, content: Buffer): Promise<void> {
    await page.goto(`${service.url}/#/tables/public/${table}`);
    await press(page, 'Load a file into it');
    await choose(page, name, content);
    await page.locator('select[name=on_conflict]').selectOption('update');
  }

  test('the next file updates its table after the page has shown the difference, and repaired rows follow', async () => {
    await service.inPage(async (page) => {
      const first = Array.from({ length: 20 }, (_, at): Row => [`A${at + 10}`, 1.5, at]);
      await choose(page, 'stock.xlsx', bookWith(...first));
      await page.getByLabel('sku is in the primary key').check();
      await check(page);
      await load(page);
      assert.equal(await count(page, 'Rows added'), '20');

      // 15 rows are unchanged, 1 is changed, 1 is new, 3 have problems, and 1 (A29) is missing.
      const next: Row[] = first.slice(0, 19).map((row) => [...row]);
      next[1]![1] = 2.25;
      for (const [at, word] of [
        [4, 'much'],
        [5, 'n.n.'],
        [6, '?'],
      ] as const)
        next[at]![2] = word;
      next.push(['B10', 9, 90]);
      await update(page, 'stock', 'december.xlsx', bookWith(...next));
      await page.locator('select[name=missing_rows]').selectOption('delete');
      await isAccessible(page, 'missing rows');
      await page.click('#check');
      await page.locator('.notice.bad', { hasText: '3 problems in the data' }).waitFor();
      const csv = await saved(page, 'Download the rows with problems (.csv)');
      assert.equal(csv.name, 'stock-faulty-rows.csv');
      assert.equal(csv.content.toString().trim().split('\n').length, 4);
      await isAccessible(page, 'refused');
      await press(page, 'Leave out the rows with problems');

      await page.locator('.difference .grid').waitFor();
      const counts = ['New', 'Changed', 'Unchanged', 'Missing', 'Deleted'];
      const shown = await Promise.all(counts.map((label) => count(page, label)));
      assert.deepEqual(shown, ['1', '1', '15', '1', '1']);
      const change = page.locator('.change.changed');
      assert.match(await change.innerText(), /changed[\s\S]*A11/);
      assert.equal(await change.locator('del bdi').innerText(), '1.5');
      assert.equal(await change.locator('ins bdi').innerText(), '2.25');
      assert.match(await page.locator('.change.inserted').innerText(), /new[\s\S]*B10/);
      assert.match(await page.locator('.change.deleted').innerText(), /deleted[\s\S]*A29/);
      await page.getByText('1 to 3 of 3 changes').waitFor();
      await page.getByText('1 row of public.stock that the file does not have is deleted.').waitFor();
      await isAccessible(page, 'difference');
      await load(page);
      assert.equal(await count(page, 'Rows left out'), '3');
      await isAccessible(page, 'rows to repair');

      const file = await saved(page, 'Download the rows with problems (.xlsx)');
      assert.equal(file.name, 'stock-faulty-rows.xlsx');
      const whole = repaired(file.content, { C2: 40, C3: 50, C4: 60 });
      await choose(page, file.name, whole, '#repaired');
      assert.equal(await page.locator('input[name=table]').inputValue(), 'stock');
      // The file has only the repaired rows, so no row may be missing.
      assert.equal(await page.locator('select[name=missing_rows]').inputValue(), 'keep');
      await check(page);
      await load(page);
      assert.equal(await count(page, 'Changed'), '3');

      const expected = [...next.filter(([sku]) => sku !== 'A29')].map((row) => [...row]);
      for (const [at, stock] of [
        [4, 40],
        [5, 50],
        [6, 60],
      ] as const)
        expected[at]![2] = stock;
      assert.deepEqual(
        await rowsOf('stock'),
        expected.map(([sku, price, stock]) => [sku, String(price), stock]),
      );
    });
  });

  test('too many missing rows are refused with what to do, and can be marked instead', async () => {
    await service.rows(`CREATE TABLE shelf (sku text PRIMARY KEY, price numeric, stock bigint, is_gone boolean);
      INSERT INTO shelf SELECT 'A' || i, i, i FROM generate_series(10, 309) i`);
    await service.inPage(
      async (page) => {
        const kept = Array.from({ length: 150 }, (_, at): Row => [`A${at + 10}`, at + 0.5, at + 10]);
        await update(page, 'shelf', 'half.xlsx', bookWith(...kept));
        await page.locator('select[name=missing_rows]').selectOption('delete');
        await page.click('#check');
        await page.locator('.notice.bad', { hasText: 'lacks 150 of the 300 rows' }).waitFor();
        await isAccessible(page, 'too many missing rows');
        await press(page, 'Allow 150 missing rows');
        await page.getByText('150 rows of public.shelf that the file does not have are deleted.').waitFor();
        await page.getByText('1 to 100 of 300 changes').waitFor();

        await press(page, 'Back to the columns');
        assert.equal(await page.locator('input[name=max_missing_rows]').inputValue(), '150');
        await page.locator('select[name=missing_rows]').selectOption('mark');
        await page.getByText('Choose the column that marks missing rows.').waitFor();
        await page.locator('select[name=missing_column]').selectOption('is_gone');
        await page.click('#check');
        await page.getByText('1 to 100 of 300 changes').waitFor();
        await tabTo(page, /^Next changes$/);
        await page.keyboard.press('Enter');
        await page.getByText('101 to 200 of 300 changes').waitFor();
        await isNotWiderThanTheScreen(page);
        await press(page, 'Next changes');
        await page.getByText('201 to 300 of 300 changes').waitFor();
        assert.ok(await page.getByRole('button', { name: 'Next changes' }).isDisabled());
        await press(page, 'Previous changes');
        await page.getByText('101 to 200 of 300 changes').waitFor();
        await load(page);
        assert.equal(await count(page, 'Marked'), '150');
        await press(page, 'Show the changes');
        await page.getByText('1 to 100 of 300 changes').waitFor();
      },
      { viewport: narrow },
    );
    const rows = await service.rows(
      `SELECT is_gone, count(*)::int AS count FROM shelf GROUP BY 1 ORDER BY 1`,
    );
    assert.deepEqual(rows, [
      { is_gone: true, count: 150 },
      { is_gone: null, count: 150 },
    ]);
  });

  test('the same file again is warned about with a link, and the page of the load has its rows with problems', async () => {
    await service.rows('CREATE TABLE twice (sku text, price numeric, stock bigint)');
    await service.inPage(async (page) => {
      const book = bookWith(['A1', 1, 1], ['A2', 2, 'many']);
      const begin = async () => {
        await page.goto(`${service.url}/#/tables/public/twice`);
        await press(page, 'Load a file into it');
        await choose(page, 'twice.xlsx', book);
        await page.locator('input[name=leave_out_faulty]').check();
        await check(page);
      };
      await begin();
      assert.equal(await page.locator('.notice.warn strong').count(), 0);
      await load(page);
      await begin();
      const [first] = await page.locator('.notice.warn li').allInnerTexts();
      assert.match(first!, /^The same file was loaded into this table before, at 20[-\d]+ [:\d]+ UTC/);
      await isAccessible(page, 'same file');
      await page.getByRole('link', { name: 'the earlier load' }).click();
      await page.getByText('loaded', { exact: true }).waitFor();
      const { content } = await saved(page, 'Download the rows with problems (.xlsx)');
      await page.getByText('The browser saves').waitFor();
      await isAccessible(page, 'page of a load with problems');
      await press(page, 'Load the repaired file');
      await press(page, 'Choose another file');
      await choose(page, 'repaired.xlsx', repaired(content, { C2: 7 }));
      await check(page);
      await load(page);
    });
    assert.deepEqual(await rowsOf('twice'), [
      ['A1', '1', 1],
      ['A2', '2', 7],
    ]);
  });

  test('settings are saved, offered for the next file with the same header, and deleted', async () => {
    await service.rows('CREATE TABLE shop (sku text PRIMARY KEY, price numeric, pieces bigint, day date)');
    const bookOfDay = (day: string) =>
      bookOf({
        Shop: [
          ['sku', 'price', 'stock: now', 'day'],
          ['A1', '-', 1, day],
        ],
      });
    await service.inPage(async (page) => {
      await update(page, 'shop', 'november.xlsx', bookOfDay('01.11.2026'));
      const place = page.getByLabel('Column of the table for stock: now');
      await page.getByText('Choose a column of the table for “stock: now”, or leave it out.').waitFor();
      await isAccessible(page, 'columns of an existing table');
      await place.selectOption('pieces');
      await page.getByText('How values are read').click();
      await page.getByLabel('Texts that mean “empty”').fill('-');
      await page.keyboard.press('Tab');
      await page.getByLabel('Order of dates in texts').selectOption('dmy');
      await page.locator('select[name=missing_rows]').selectOption('delete');
      await check(page);
      await press(page, 'Save these settings');
      await page.locator('input[name=profile]').fill('monthly shop');
      await isAccessible(page, 'save settings');
      await page.click('#save-profile');
      await page.getByText('The settings are saved as monthly shop').waitFor();
      await press(page, 'Close');
      await load(page);

      // The list of saved settings may be the last answer that arrives.
      await page.route(/\/api\/v1\/profiles(\?|$)/, async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 2000));
        await route.continue();
      });
      await page.goto(`${service.url}/#/tables/public/shop`);
      await press(page, 'Load a file into it');
      await choose(page, 'december.xlsx', bookOfDay('01.12.2026'));
      await page.getByText('The settings monthly shop are used.').first().waitFor();
      await isAccessible(page, 'used settings');
      assert.equal(await place.inputValue(), ':pieces');
      assert.equal(await page.locator('select[name=missing_rows]').inputValue(), 'delete');
      await check(page);
      await load(page);
      assert.equal(await count(page, 'Changed'), '1');

      await press(page, 'Load another file');
      await choose(page, 'other.xlsx', bookWith(['A1', 1, 1]));
      await page.getByText('Saved settings (1)').click();
      assert.equal(await page.getByText('The settings monthly shop are used.').count(), 0);
      await press(page, 'Delete monthly shop');
      await page.getByText('Saved settings (1)').waitFor({ state: 'detached' });
    });
    const rows = await service.rows('SELECT sku, price, pieces::int, day::text FROM shop');
    assert.deepEqual(rows, [{ sku: 'A1', price: null, pieces: 1, day: '2026-12-01' }]);
  });

  test('after rows were added to a table, its last rows by the key are shown, and the menu begins with a new file', async () => {
    await service.rows('CREATE TABLE parcels (no bigint PRIMARY KEY, note text)');
    await service.rows('CREATE TABLE notes (no bigint, note text)');
    for (const table of ['parcels', 'notes'])
      await service.rows(`INSERT INTO ${table} SELECT n, 'old' FROM generate_series(1, 30) AS n`);
    await service.inPage(async (page) => {
      const begun = page.getByRole('heading', { name: 'Load a file into a table' });
      const menu = page.getByRole('link', { name: 'Load a file', exact: true });
      const title = page.locator('.load-step .pages');
      const add = async (table: string): Promise<void> => {
        await page.goto(`${service.url}/#/tables/public/${table}`);
        await press(page, 'Load a file into it');
        await choose(page, 'more.csv', 'no,note\n31,new\n32,newest\n');
        await check(page);
        await load(page);
        await title.waitFor();
      };
      await add('parcels');
      assert.match(await title.innerText(), /^First 20 rows of the table\s+by no, downwards/);
      const first = page.getByRole('table', { name: 'First rows' }).getByRole('row').nth(1);
      assert.match(await first.innerText(), /32\s+newest/);
      await menu.click();
      await begun.waitFor();
      assert.equal(await page.getByText('The rows go into the table').count(), 0);
      await add('notes');
      assert.match(
        await title.innerText(),
        /^First 20 rows of the table\s+They may be rows of earlier loads\./,
      );
      await isAccessible(page, 'rows after an append');
      await page.getByRole('link', { name: 'Tables', exact: true }).click();
      await page.getByRole('heading', { name: 'Tables' }).waitFor();
      await menu.click();
      await begun.waitFor();
    });
  });

  test('the wrong cells of a European file are named before it is loaded, and the next month is added to its table only when the user says so', async () => {
    const month = (...rows: string[]) =>
      Buffer.from(`Ums\u00e4tze;;\r\n;;\r\nTag;Kunde;Betrag\r\n${rows.join('\r\n')}\r\n`, 'latin1');
    const october = [
      '13.10.2026;M\u00fcller;1.234,50',
      '14.10.2026;Wei\u00df;2,25',
      '15.10.2026;Wei\u00df;3,00',
    ];
    await service.inPage(async (page) => {
      const wrong = ['16.10.2026;Wei\u00df;12,5O', '3l.10.2026;Wei\u00df;4,00'];
      await choose(page, 'umsatz_oktober.csv', month(...october, ...wrong));
      await page.getByText(/^Checked: .* 3 warnings are listed above\.$/).waitFor();
      assert.equal(await page.locator('#load').count(), 0);
      await press(page, 'Make “Tag” dates');
      await press(page, 'Make “Betrag” numbers');
      await page.getByText('2 problems in the file.').waitFor();
      await page.click('#check');
      const corrected = ['12,50', '31.10.2026'];
      for (const [at, value] of corrected.entries()) {
        await page.locator('.group textarea').fill(value);
        await page.keyboard.press('Enter');
        await page.getByText('accepted').nth(at).waitFor();
      }
      await load(page);

      await press(page, 'Load another file');
      await choose(page, 'umsatz_november.csv', month('17.11.2026;M\u00fcller;1.000,75'));
      await page.getByText('A new table').waitFor();
      await press(page, 'Add these rows to public.umsatz_oktober');
      const named = page.locator('.notice.warn .notice-title', {
        hasText: 'existing table public.umsatz_oktober',
      });
      await named.waitFor();
      await isAccessible(page, 'used settings of an existing table');
      await page.getByRole('button', { name: 'Load into umsatz_oktober' }).click();
      await page.getByRole('heading', { name: 'Loaded' }).waitFor();

      await press(page, 'Load another file');
      await choose(page, 'umsatz_dezember.csv', month('18.12.2026;M\u00fcller;7,00'));
      await named.waitFor();
      await page.getByRole('button', { name: 'Load into umsatz_oktober' }).click();
      await page.getByRole('heading', { name: 'Loaded' }).waitFor();
    });
    const rows = await service.rows('SELECT "Tag"::text, "Betrag"::text FROM umsatz_oktober ORDER BY 1');
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        ['2026-10-13', '1234.50'],
        ['2026-10-14', '2.25'],
        ['2026-10-15', '3.00'],
        ['2026-10-16', '12.50'],
        ['2026-10-31', '4.00'],
        ['2026-11-17', '1000.75'],
        ['2026-12-18', '7.00'],
      ],
    );
  });

  test('a column that is left out keeps its values in an existing table', async () => {
    await service.rows(
      `CREATE TABLE partly (sku text PRIMARY KEY, price numeric, stock bigint); INSERT INTO partly VALUES ('A1', 1, 1)`,
    );
    await service.inPage(async (page) => {
      await update(page, 'partly', 'partly.xlsx', bookWith(['A1', 2, 2]));
      await page.getByLabel('Column of the table for price').selectOption('none');
      await check(page);
      await load(page);
    });
    assert.deepEqual(await rowsOf('partly'), [['A1', '1', 2]]);
  });
});
