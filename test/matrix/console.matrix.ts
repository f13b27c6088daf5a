/** The console in a real browser, on a real service: whole ways from a file to a table, problems, cancelling, reloading, tokens and keyboards. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
import { deadlineMs, isAccessible, tabTo } from '../support/console-page.ts';
import { startConsoleProvider } from '../support/console-provider.ts';
import { encryptAgile } from '../support/encrypt-workbook.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';
import { buildWorkbook } from '../support/xlsx-builder.ts';

const root = join(import.meta.dirname, '..', '..');

describe('the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser();

  /** Follows a link of the page, and waits until the page with this heading is drawn. */
  async function follow(page: Page, link: Locator, heading: string): Promise<void> {
    await link.click();
    await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor();
  }

  /** Opens a dialog, and waits until it takes keys. */
  async function openDialog(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name, exact: true }).click();
    await page.locator('dialog[open]').waitFor();
  }

  async function closeDialog(page: Page): Promise<void> {
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
  }

  const rows = (sql: string) => service.rows(sql);

  test('a workbook becomes a table with a column made text and a primary key, and every screen is accessible', () =>
    service.inPage(async (page) => {
      await page.waitForURL(`${service.url}/#/`);
      await isAccessible(page, 'file');
      await choose(page, 'orders.xlsx', await readFile(join(root, 'examples', 'orders.xlsx')));
      await isAccessible(page, 'columns');
      await page.getByLabel('Type of EAN').fill('text');
      await page.getByLabel('Order no is in the primary key').check();
      await openDialog(page, 'More about Article');
      await isAccessible(page, 'column');
      await closeDialog(page);
      await openDialog(page, 'curl');
      await page.locator('dialog pre', { hasText: `-F 'body={"table":` }).waitFor();
      await closeDialog(page);
      await check(page);
      await isAccessible(page, 'check');
      await load(page);
      await isAccessible(page, 'loaded');
      await page.locator('.numbers div:first-child dd', { hasText: /^300$/ }).waitFor();
      const [types] = await rows(
        `SELECT pg_typeof("EAN")::text AS ean, count(*) OVER () AS count FROM orders LIMIT 1`,
      );
      assert.deepEqual(types, { ean: 'text', count: '300' });
      const [key] = await rows(
        `SELECT pg_get_constraintdef(oid) AS key FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p'`,
      );
      assert.equal(key!.key, 'PRIMARY KEY ("Order no")');
      await follow(page, page.getByRole('link', { name: 'Tables', exact: true }), 'Tables');
      await page.waitForSelector('.list-row');
      await isAccessible(page, 'tables');
      await follow(page, page.locator('a.list-row', { hasText: 'orders' }), 'public.orders');
      await page.waitForSelector('.grid-row');
      await isAccessible(page, 'table');
      await follow(page, page.getByRole('link', { name: 'Loads', exact: true }), 'Loads');
      await page.waitForSelector('.list-row');
      await isAccessible(page, 'loads');
      await follow(page, page.locator('a.list-row').first(), 'orders.xlsx');
      await page.waitForSelector('.keys');
      await isAccessible(page, 'one load');
    }));

  test('an encrypted workbook is opened, checked and loaded with its password, which is in no address', () =>
    service.inPage(async (page, context) => {
      const urls: string[] = [];
      context.on('request', (request) => urls.push(request.url()));
      const locked = encryptAgile(sheetOf([['a'], [7], [8]]), 'Größe 77', 100);
      const file = { name: 'locked.xlsx', mimeType: 'application/octet-stream', buffer: locked };
      await page.setInputFiles('#file', file);
      const field = page.getByLabel('Password of locked.xlsx');
      await field.waitFor();
      assert.equal(await field.getAttribute('type'), 'password');
      await isAccessible(page, 'password');
      await field.fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('The password does not open the workbook.').waitFor();
      await field.fill('Größe 77');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.head-cell');
      await check(page);
      await load(page);
      assert.deepEqual(await rows('SELECT a::int FROM locked ORDER BY a'), [{ a: 7 }, { a: 8 }]);
      const stored = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
      for (const text of [stored, ...urls.map(decodeURIComponent)]) assert.ok(!text.includes('Größe'), text);
    }));

  test('a title above the header is left out, and another row can be the header', () =>
    service.inPage(async (page) => {
      await choose(page, 'visits.xlsx', await readFile(join(root, 'examples', 'visits.xlsx')));
      const name = page.getByLabel('Name of the column for Site no');
      await until('the name of the header', async () => (await name.inputValue()) === 'Site no');
      await page.locator('.head-reason', { hasText: 'because all 3 values are dates' }).first().waitFor();
      await press(page, 'Move the header or the range');
      await press(page, 'Row 4 is the header');
      await page.getByLabel('Name of the column for V-001').waitFor();
      await isAccessible(page, 'header');
      await page.getByLabel(/^Range/).fill('A3:ZZZZ9');
      await page.keyboard.press('Enter');
      await page.locator('.notice.bad').waitFor();
      await press(page, 'Row 3 is the header');
      await until('the name of the header', async () => (await name.inputValue()) === 'Site no');
      await press(page, 'Close header and range');
      await page.locator('.header-choice').waitFor({ state: 'detached' });
      assert.equal(await page.evaluate('document.activeElement.id'), 'move-header');
    }));

  test('the choices of warnings are buttons that read dates and numbers in other notations', () =>
    service.inPage(async (page) => {
      await choose(page, 'dates.csv', 'day,n\n31/12/2024,1\n01/11/2024,2\n');
      const type = page.getByLabel('Type of day');
      const undo = page.getByRole('button', { name: /^Undo: Read as people write them: “day” as dates/ });
      await undo.focus();
      await page.keyboard.press('Enter');
      const dates = page.getByRole('button', { name: 'Read dates as day, month, year' });
      await dates.waitFor();
      assert.equal(await type.inputValue(), 'text');
      await isAccessible(page, 'choices');
      await dates.focus();
      await page.keyboard.press('Enter');
      await dates.waitFor({ state: 'detached' });
      await until('the type of the dates', async () => (await type.inputValue()) === 'date');
      await check(page);
      await load(page);
      assert.deepEqual(await rows(`SELECT day::text, pg_typeof(day)::text AS type FROM dates ORDER BY n`), [
        { day: '2024-12-31', type: 'date' },
        { day: '2024-11-01', type: 'date' },
      ]);
      await press(page, 'Load another file');
      await choose(page, 'ambiguous.csv', 'day,n\n03/04/2024,1\n');
      await page.getByRole('button', { name: 'Read dates as month, day, year' }).waitFor();
      await press(page, 'Read dates as day, month, year');
      await page.getByText('“day” as dates in the order day/month/year').waitFor();
      await check(page);
      await load(page);
      assert.deepEqual(await rows('SELECT day::text FROM ambiguous'), [{ day: '2024-04-03' }]);
      await press(page, 'Load another file');
      const amounts = [
        ['no', 'amount'],
        [1, '1.234,50'],
        [2, '99,00'],
        ['Total', '1.333,50'],
      ];
      await choose(page, 'amounts.xlsx', sheetOf(amounts, 'Amounts'));
      await check(page);
      await press(page, 'Load only A1:B3');
      await page.locator('.check-step .notice.good', { hasText: '2 rows would be loaded' }).waitFor();
      await load(page);
      const [sum] = await rows(
        'SELECT pg_typeof(amount)::text AS type, sum(amount) OVER ()::text AS sum FROM amounts',
      );
      assert.deepEqual(sum, { type: 'numeric', sum: '1333.50' });
    }));

  test('an encoding, a delimiter and columns to fill down are chosen on the page', () =>
    service.inPage(async (page) => {
      // "Łódź" in Windows-1250 is valid in Windows-1252, too.
      const text = Buffer.concat([Buffer.from('town;region\n'), Buffer.from([0xa3, 0xf3, 0x64, 0x9f])]);
      await choose(page, 'towns.csv', Buffer.concat([text, Buffer.from(';north\nx;\n')]));
      await page.getByText('How values are read').click();
      await page.getByText('More about the file').click();
      await isAccessible(page, 'file parameters');
      const fill = async (name: string, value: string): Promise<void> => {
        await page.locator(`input[name=${name}]`).fill(value);
        await page.locator(`input[name=${name}]`).blur();
      };
      await fill('encoding', 'windows-1250');
      await page.locator('.grid-cell', { hasText: 'Łódź' }).waitFor();
      await fill('fill_down', 'region');
      await page.locator('.grid-row:nth-child(2) .grid-cell', { hasText: 'north' }).waitFor();
      await page.locator('select[name=column_names]').selectOption('snake_case');
      await page.locator('section[aria-busy=false]').waitFor();
      await check(page);
      await load(page);
      assert.deepEqual(await rows('SELECT * FROM towns'), [
        { town: 'Łódź', region: 'north' },
        { town: 'x', region: 'north' },
      ]);
    }));

  test('Back and Forward of the browser go through the steps and lose nothing', () =>
    service.inPage(async (page) => {
      const isStep = (name: string): Promise<void> =>
        page.locator('.steps [aria-current=step]', { hasText: name }).waitFor();
      await choose(page, 'steps.csv', 'a,b\n1,2\n');
      const name = page.getByLabel('Name of the column for a');
      await name.fill('kept');
      await check(page);
      await page.goBack();
      await isStep('Columns');
      assert.equal(await name.inputValue(), 'kept');
      await page.goBack();
      await isStep('File');
      await page.getByText('steps.csv is chosen.').waitFor();
      await page.goForward();
      await page.goForward();
      await isStep('Check');
      await press(page, 'Back to the columns');
      await isStep('Columns');
      await page.goBack();
      await isStep('File');
      await page.goForward();
      await isStep('Columns');
      await follow(page, page.getByRole('link', { name: 'Tables', exact: true }), 'Tables');
      await page.goBack();
      await isStep('Columns');
      await check(page);
      await load(page);
      // The check belongs to the table before the load, so Back passes over it.
      await page.goBack();
      await isStep('Columns');
      assert.equal(await name.inputValue(), 'kept');
      // Forward passes over it, too, and shows the result.
      await page.goForward();
      await page.waitForSelector('.numbers');
      await page.reload();
      await page.locator('.lead', { hasText: 'steps.csv' }).waitFor();
      await page.goBack();
      await isStep('File');
      assert.deepEqual(await rows('SELECT * FROM steps'), [{ kept: '1', b: '2' }]);
    }));

  test('a token that may not read tables loads into an existing table, and the page says what it cannot see', async () => {
    await rows('CREATE TABLE unseen (a bigint PRIMARY KEY); INSERT INTO unseen VALUES (1)');
    await service.inPage(
      async (page) => {
        await choose(page, 'unseen.csv', 'a\n1\n2\n');
        await page.locator('.notice.warn', { hasText: 'it lacks the scope table:read' }).waitFor();
        await isAccessible(page, 'unseen');
        await openDialog(page, 'More about a');
        await page.getByText('There is no table that this token may read').waitFor();
        await closeDialog(page);
        await page.click('#check');
        await page.locator('.notice.bad', { hasText: 'already exists' }).waitFor();
        await press(page, 'Back to the columns');
        await page.locator('select[name=if_exists]').selectOption('append');
        await check(page);
        await press(page, 'Keep the existing rows');
        await page.locator('.check-step .notice.good').waitFor();
        await load(page);
        await page.getByText('The rows of the table cannot be shown here.').waitFor();
        assert.deepEqual(await rows('SELECT a::int FROM unseen ORDER BY a'), [{ a: 1 }, { a: 2 }]);
      },
      { scope: 'table:create table:load' },
    );
  });

  test('choices that are made quickly are all kept, and their fields stay open', () =>
    service.inPage(async (page) => {
      await choose(page, 'quick.csv', 'a,b\n"1.234,5",x\nn/a,y\n');
      // The answers wait, so that the choices come before them.
      let answer = (): void => {};
      const asked = new Promise<void>((resolve) => (answer = resolve));
      await page.route('**/inspect/*', async (route) => {
        await asked;
        await route.continue().catch(() => {});
      });
      await page.getByText('How values are read').click();
      await page.getByLabel('Decimal sign in texts').selectOption(',');
      await page.getByLabel('Thousands sign in texts').selectOption('.');
      await page.getByLabel('Remove white space around texts').check();
      await page.locator('section[aria-busy=true]').waitFor();
      await page.getByLabel('Texts that mean “empty”').fill('n/a');
      answer();
      await page.getByLabel('Texts that mean “empty”').blur();
      const type = page.getByLabel('Type of a');
      await until('the type of the numbers', async () => (await type.inputValue()) === 'numeric');
      await page.locator('section[aria-busy=false]').waitFor();
      assert.equal(await page.getByLabel('Decimal sign in texts').inputValue(), ',');
      assert.equal(await page.getByLabel('Thousands sign in texts').inputValue(), '.');
      assert.ok(await page.getByLabel('Remove white space around texts').isChecked());
      assert.ok(await page.getByLabel('Remove white space around texts').isVisible());
    }));

  test('every kind of problem is found, shown in its row, and fixed by a button', () =>
    service.inPage(async (page) => {
      const lines = Array.from({ length: 300 }, (_, index) => `${index + 1},${index},2026-11-20,ok`);
      lines[10] = '11,n/a,2026-11-20,ok';
      lines[20] = '21,x7,2026-11-31,ok';
      lines[30] = '31,30,2026-11-20,';
      lines[40] = '40,40,2026-11-20,ok';
      await choose(page, 'problems.csv', `no,parcels,day,note\n${lines.join('\n')}\n`);
      await page.getByLabel('no is in the primary key').check();
      await page.getByLabel('Type of parcels').fill('integer');
      await page.getByLabel('Type of day').fill('date');
      await page.getByLabel('note is optional').uncheck();
      await check(page);
      await isAccessible(page, 'problems');
      await page.locator('.group-title').nth(3).waitFor();
      const groups = await page.locator('.group-title').allInnerTexts();
      assert.deepEqual(groups.map((text) => text.replace(/\s+/g, ' ')).sort(), [
        '1 day no such date',
        '1 no a key occurs more than once',
        '1 note a value is missing',
        '2 parcels not a whole number',
      ]);
      await page.locator('.group-title', { hasText: 'note' }).click();
      await page.getByRole('button', { name: /D32/ }).click();
      await page.locator('.shown-row .at-fault').getByPlaceholder('empty').waitFor();
      await page.locator('.group-title', { hasText: 'parcels' }).click();
      await page.getByRole('button', { name: /B12/ }).click();
      const shown = page.locator('.shown-row .at-fault textarea');
      await until('the cell', async () => (await shown.inputValue()) === 'n/a');
      await isAccessible(page, 'row of a problem');
      const saved = page.waitForEvent('download');
      await press(page, 'Save all problems as .csv');
      assert.match(
        await readFile(await (await saved).path(), 'utf8'),
        /,B12,11,parcels,n\/a,not-a-whole-number,/,
      );
      await press(page, 'Treat “n/a” as empty');
      await page.locator('.group-title', { hasText: '1parcels' }).waitFor();
      await press(page, 'Make “parcels” text');
      await page.locator('.group-title', { hasText: 'parcels' }).waitFor({ state: 'detached' });
      await press(page, 'Allow empty cells in “note”');
      await page.locator('.group-title', { hasText: 'note' }).waitFor({ state: 'detached' });
      await press(page, 'Make “no” no key');
      await page
        .locator('.group-title', { hasText: 'a key occurs more than once' })
        .waitFor({ state: 'detached' });
      await press(page, 'Leave out the rows with problems');
      await page.locator('.check-step .notice.good', { hasText: '299 rows' }).waitFor();
      await load(page);
      const [found] = await rows('SELECT count(*) AS count, count(parcels) AS parcels FROM problems');
      assert.deepEqual(found, { count: '299', parcels: '298' });
    }));

  test('JSON rows, and lines of JSON with a definition, become tables with all their digits', () =>
    service.inPage(async (page) => {
      await choose(page, 'items.json', '[{"id": 1, "n": 12345678901234567890.12}, {"id": 2, "n": 1}]');
      await page.getByLabel('id is in the primary key').check();
      await check(page);
      await load(page);
      assert.deepEqual(await rows('SELECT n::text FROM items ORDER BY id'), [
        { n: '12345678901234567890.12' },
        { n: '1' },
      ]);
      await page.locator('.grid-cell', { hasText: '12345678901234567890.12' }).waitFor();
      await press(page, 'Load another file');
      await choose(page, 'lines.ndjson', '{"id": 1}\n\n{"id": 2, "t": "x"}\r\n');
      await page.getByLabel('Type of id').fill('smallint');
      await check(page);
      await load(page);
      assert.deepEqual(await rows('SELECT id, t, pg_typeof(id)::text AS type FROM lines ORDER BY id'), [
        { id: 1, t: null, type: 'smallint' },
        { id: 2, t: 'x', type: 'smallint' },
      ]);
    }));

  test('hostile names of sheets, headers and values are text', () =>
    service.inPage(async (page) => {
      const hostile = `<img src=x onerror="document.title='broken'">`;
      const escaped = hostile
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;');
      const cell = (address: string, text: string) =>
        `<c r="${address}" t="inlineStr"><is><t>${text}</t></is></c>`;
      const xml = `<row r="1">${cell('A1', escaped)}${cell('B1', '\u202Eevil')}</row><row r="2">${cell('A2', escaped)}${cell('B2', 'y'.repeat(30_000))}</row>`;
      await choose(
        page,
        `${hostile.replaceAll('/', '')}.xlsx`,
        buildWorkbook({
          sheets: [
            { name: '<b>a', xml },
            { name: '<i>b', xml },
          ],
        }),
      );
      await check(page);
      await load(page);
      await page.getByText(hostile).first().waitFor();
      await page.locator('.grid-cell', { hasText: hostile }).first().waitFor();
      await page.locator('.grid-cell', { hasText: '‹U+202E›evil' }).first().waitFor();
      assert.equal(await page.title(), 'Tablewright');
      assert.equal(await page.locator('img').count(), 0);
    }));

  test('a cell with 16 MB of text is shown in part', () =>
    service.inPage(async (page) => {
      await rows(`CREATE TABLE long AS SELECT U&'\\202E' || repeat('x', 16000000) AS a`);
      await page.goto(`${service.url}/#/tables/public/long`);
      await page.locator('.grid-cell', { hasText: 'x'.repeat(300) }).waitFor();
      assert.ok((await page.content()).length < 200_000);
    }));

  test('1,600 columns and 10,000 problems are shown with few elements', () =>
    service.inPage(async (page) => {
      const header = Array.from({ length: 1500 }, (_, index) => `c${index}`).join(',');
      await choose(page, 'wide.csv', `${header}\n${header}\n`);
      assert.ok((await page.locator('*').count()) < 2500);
      await page
        .getByRole('table', { name: 'The columns and the first rows of the file' })
        .evaluate((element) => element.scrollTo(1e6, 0));
      await page.getByLabel('Name of the column for c1499').waitFor();
      await page.getByLabel('Type of c1499', { exact: true }).fill('integer');
      await check(page);
      await page.locator('.problem button').first().click();
      await page
        .locator('.shown-row .at-fault')
        .getByLabel(/^Value of .*, c1499$/)
        .waitFor();
      await press(page, 'Back to the columns');
      await press(page, 'Choose another file');
      const values = Array.from({ length: 10_000 }, (_, index) => `v${index}`).join('\n');
      await choose(page, 'many.csv', `a\n${values}\n`);
      await page.getByLabel('Type of a').fill('integer');
      await check(page);
      const listAll = page.getByRole('button', { name: 'List all 10,000 problems' });
      await listAll.click();
      await listAll.waitFor({ state: 'detached' });
      await page.getByRole('region', { name: /^Problems/ }).evaluate((element) => element.scrollTo(0, 1e6));
      await page.getByRole('button', { name: /A10001/ }).waitFor();
      assert.ok((await page.locator('*').count()) < 2500);
    }));

  /** Holds a lock on the table, so that a load into it waits. */
  async function holding(
    table: string,
    work: (release: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const session = await service.database.pool.connect();
    await session.query(`CREATE TABLE IF NOT EXISTS ${table} (a text)`);
    await session.query(`BEGIN; LOCK TABLE ${table}`);
    let isHeld = true;
    const release = async (): Promise<void> => {
      if (isHeld) await session.query('ROLLBACK');
      isHeld = false;
    };
    try {
      await work(release);
    } finally {
      await release();
      session.release();
    }
  }

  /** Makes the page begin a load that waits for the table. */
  async function beginWaiting(page: Page, table: string): Promise<void> {
    await choose(page, `${table}.csv`, 'a\nx\ny\n');
    await page.locator('select[name=if_exists]').selectOption('append');
    await check(page);
  }

  test('a load that is cancelled changes nothing', () =>
    service.inPage(async (page) => {
      await rows('CREATE TABLE cancelled (a text)');
      await beginWaiting(page, 'cancelled');
      await holding('cancelled', async () => {
        await page.click('#load');
        await page.waitForSelector('#cancel');
        await isAccessible(page, 'loading');
        await page.locator('.busy', { hasText: 'The rows are being' }).waitFor();
        await page.click('#cancel');
        await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
      });
      assert.deepEqual(await rows('SELECT * FROM cancelled'), []);
    }));

  test('a load that is cancelled before the page knows its record ends as its record says', () =>
    service.inPage(async (page) => {
      const upload = '**/upload/excel?*';
      for (const [table, isDone] of [
        ['cancel_late', true],
        ['cancel_early', false],
      ] as const) {
        await rows(`CREATE TABLE ${table} (a text)`);
        await beginWaiting(page, table);
        // The answer of the upload, or the upload itself, waits until the person has cancelled.
        const cancelled = page.waitForRequest(/loads\/[^/]+\/cancel$/);
        await page.route(
          upload,
          async (route) => {
            if (isDone) {
              const answer = await route.fetch();
              const { id } = await answer.json();
              await until(
                'the commit',
                async () => (await service.client.get(`/api/v1/loads/${id}`)).body.state === 'committed',
              );
              await Promise.race([cancelled, page.waitForTimeout(deadlineMs)]);
              await route.fulfill({ response: answer }).catch(() => {});
            } else await route.continue();
          },
          { times: 1 },
        );
        const isHeld = isDone ? (work: () => Promise<void>) => work() : holding.bind(null, table);
        await isHeld(async () => {
          await page.click('#load');
          if (isDone) await until('the rows', async () => (await rows(`SELECT FROM ${table}`)).length === 2);
          await page.click('#cancel');
          const heading = isDone ? 'Loaded' : 'Cancelled';
          await page.getByRole('heading', { name: heading, exact: true }).waitFor();
        });
        assert.equal((await rows(`SELECT FROM ${table}`)).length, isDone ? 2 : 0);
        await page.unroute(upload);
        await page.getByRole('button', { name: /Load another file|Back to the columns/ }).click();
      }
    }));

  test('a service that does not answer is not shown as work', () =>
    service.inPage(async (page) => {
      await rows('CREATE TABLE silent (a text)');
      await beginWaiting(page, 'silent');
      await holding('silent', async (release) => {
        await page.click('#load');
        await page.locator('.busy', { hasText: 'The rows are being' }).waitFor();
        assert.equal(await page.locator('.unanswered').count(), 0);
        // The stream of the load stays open, and says nothing.
        await page.route('**/healthz', () => {}, { times: 1 });
        await page.locator('.unanswered').waitFor();
        await isAccessible(page, 'no answer');
        await page.locator('.unanswered').waitFor({ state: 'detached' });
        await release();
        await page.waitForSelector('.numbers');
      });
    }));

  test('a fix for a problem that was listed with all others sends the value of the file', () =>
    service.inPage(async (page) => {
      const lines = Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? `${n},-` : `${n},${n}`));
      await choose(page, 'dashes.csv', `n,v\n${lines.join('\n')}\n`);
      await page.getByLabel('Type of v').fill('bigint');
      await check(page);
      await press(page, 'List all 150 problems');
      await page.getByText('150 problems').first().waitFor();
      await page.getByRole('button', { name: 'List all 150 problems' }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Treat “-” as empty' }).first().click();
      await page.waitForSelector('.check-step .notice.good');
    }));

  test('a sign-in link of another person asks first, and the file of one person is never sent by another', () =>
    service.inPage(async (page) => {
      const mallory = await service.client.token({ subject: 'mallory' });
      await choose(page, 'salaries.csv', 'a\n1\n');
      const person = page.locator('.subject');
      const before = await person.innerText();
      await page.evaluate(`location.assign('#token=${mallory}')`);
      await page.getByRole('heading', { name: 'Continue as mallory?' }).waitFor();
      await isAccessible(page, 'link of another person');
      await press(page, 'Stay');
      assert.equal(await person.innerText(), before);
      await page.getByText('salaries.csv').first().waitFor();
      await page.evaluate(`location.assign('#token=x')`);
      await page.getByRole('heading', { name: 'The link cannot be used' }).waitFor();
      await closeDialog(page);
      assert.equal(await person.innerText(), before);
      await page.evaluate(`location.assign('#token=${mallory}')`);
      await press(page, 'Continue as mallory');
      await page.locator('.subject', { hasText: 'mallory' }).waitFor();
      await page.waitForSelector('.drop');
      assert.equal(await page.getByText('salaries.csv').count(), 0);
    }));

  test('the list of types has the enums and domains of the database', () =>
    service.inPage(async (page) => {
      await rows(
        `CREATE TYPE "Pace" AS ENUM ('slow', 'fast'); CREATE DOMAIN share AS int CHECK (VALUE <= 100)`,
      );
      await choose(page, 'paces.csv', 'pace,share\nslow,7\n');
      await page.waitForSelector('#types option[value="share"]', { state: 'attached' });
      const options = await page
        .locator('#types option')
        .evaluateAll((found) =>
          found.slice(0, 2).map((option) => [option.getAttribute('value'), option.textContent]),
        );
      assert.deepEqual(options, [
        ['"Pace"', 'one of slow, fast'],
        ['share', 'integer with (VALUE <= 100)'],
      ]);
      await page.getByLabel('Type of pace').fill('"Pace"');
      await check(page);
      await load(page);
      const [type] = await rows('SELECT pg_typeof(pace)::text AS pace FROM paces');
      assert.deepEqual(type, { pace: '"Pace"' });
    }));

  test('the choices of a sheet stay while another sheet is shown', () =>
    service.inPage(async (page) => {
      await page.setInputFiles('#file', join(root, 'examples', 'orders.xlsx'));
      await page.waitForSelector('.head-cell');
      const type = page.getByLabel('Type of EAN');
      await type.fill('text');
      await page.getByRole('button', { name: /^Summary/ }).click();
      await type.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: /^Orders/ }).click();
      await type.waitFor();
      assert.equal(await type.inputValue(), 'text');
    }));

  test('Forward goes back to the result of a load, although its check is gone', () =>
    service.inPage(async (page) => {
      await choose(page, 'forward.csv', 'a\n1\n');
      await check(page);
      await load(page);
      await page.goBack();
      await page.waitForSelector('.head-cell');
      await page.goForward();
      await page.waitForSelector('.numbers');
    }));

  test('a page that is loaded again finds its load, and a restart of the service loses nothing', () =>
    service.inPage(async (page) => {
      await rows('CREATE TABLE resumed (a text)');
      await beginWaiting(page, 'resumed');
      await holding('resumed', async (release) => {
        await page.click('#load');
        await page.locator('.busy', { hasText: 'The rows are being' }).waitFor();
        await page.reload();
        await page.getByRole('heading', { name: /Loading/ }).waitFor();
        await service.restart();
        await release();
        await page.waitForSelector('.numbers');
      });
      assert.deepEqual(await rows('SELECT * FROM resumed ORDER BY a'), [{ a: 'x' }, { a: 'y' }]);
    }));

  test('a load whose answer is lost is not called “Not loaded” if its second upload is refused', () =>
    service.inPage(async (page) => {
      await rows('CREATE TABLE refused_later (a text)');
      await beginWaiting(page, 'refused_later');
      let uploads = 0;
      await page.route('**/upload/excel?*', async (route) => {
        if (uploads++ === 0) {
          await route.fetch();
          await route.abort();
        } else {
          const headers = { ...route.request().headers(), authorization: 'Bearer expired' };
          await route.continue({ headers });
        }
      });
      await page.click('#load');
      await page.getByLabel('Access token').waitFor();
      assert.equal(await page.getByRole('heading', { name: 'Not loaded' }).count(), 0);
      await page.getByLabel('Access token').fill(await service.client.token());
      await press(page, 'Sign in');
      await page.waitForSelector('.numbers');
      assert.equal(uploads, 2);
      assert.deepEqual(await rows('SELECT * FROM refused_later ORDER BY a'), [{ a: 'x' }, { a: 'y' }]);
    }));

  test('a load whose connection or token is lost is not called “Not loaded”, and a load that is done needs a new check', () =>
    service.inPage(async (page) => {
      await rows('CREATE TABLE lost (a text)');
      await page.clock.install();
      await beginWaiting(page, 'lost');
      const ofLoad = /\/api\/v1\/loads\/[^/?]+(\/events)?$/;
      await holding('lost', async (release) => {
        await page.route(ofLoad, (route) => route.abort());
        const failed = page.waitForEvent('requestfailed', (request) => /loads\/[^/]+$/.test(request.url()));
        await page.click('#load');
        await failed;
        await page.clock.fastForward(90_000);
        await page.getByText('The connection is lost. The load goes on at the service.').waitFor();
        await isAccessible(page, 'lost');
        await page.unroute(ofLoad);
        const body = JSON.stringify({
          status: 401,
          code: 'invalid-token',
          title: 'No',
          detail: 'The token has expired.',
        });
        await page.route(
          ofLoad,
          (route) => route.fulfill({ status: 401, contentType: 'application/problem+json', body }),
          { times: 1 },
        );
        await page.click('#look-again');
        await page.getByLabel('Access token').fill(await service.client.token());
        await press(page, 'Sign in');
        await page.locator('.busy', { hasText: 'The rows are being' }).waitFor();
        await release();
        await page.waitForSelector('.numbers');
      });
      assert.deepEqual(await rows('SELECT * FROM lost ORDER BY a'), [{ a: 'x' }, { a: 'y' }]);
      const steps = page.getByRole('navigation', { name: 'Steps' }).getByRole('button');
      assert.deepEqual(
        (await steps.allInnerTexts()).map((text) => text.replace(/[^A-Za-z]/g, '')),
        ['File', 'Columns'],
      );
    }));

  test('what a load would delete, leave out or update is said before it, and a changed file is chosen again', () =>
    service.inPage(async (page) => {
      await rows(
        `CREATE TABLE stock AS SELECT 1 AS id, 'old' AS note; ALTER TABLE stock ADD PRIMARY KEY (id)`,
      );
      const path = join(service.folder, 'stock.csv');
      await writeFile(path, 'id,note\n1,new\n');
      await page.setInputFiles('#file', path);
      await page.getByText('Choose what happens to the existing table.').waitFor();
      const ifExists = page.locator('select[name=if_exists]');
      await ifExists.selectOption('truncate');
      await check(page);
      await page.getByText('The existing rows of public.stock are deleted first.').waitFor();
      await page.getByRole('button', { name: /^Empty .+ and load$/ }).waitFor();
      await isAccessible(page, 'loss');
      await press(page, 'Back to the columns');
      await ifExists.selectOption('append');
      await check(page);
      await press(page, 'Keep the existing rows');
      await page.locator('.notice.warn', { hasText: 'No row would be loaded' }).waitFor();
      await press(page, 'Back to the columns');
      await writeFile(path, 'id,note\n1,newer\nx,bad\n');
      await page.locator('select[name=on_conflict]').selectOption('update');
      await page.click('#check');
      await page.getByText('stock.csv was changed or removed after you chose it. Choose it again.').waitFor();
      await press(page, 'Choose it again');
      await page.setInputFiles('#file', path);
      await page.waitForSelector('.head-cell');
      await check(page);
      await press(page, 'Leave out the rows with problems');
      await page.locator('.notice.good li', { hasText: 'A3' }).waitFor();
      await press(page, 'Do not leave out rows');
      await press(page, 'Leave out the rows with problems');
      await page.getByText('The other rows fit the table').waitFor();
      await isAccessible(page, 'left out');
      await load(page);
      assert.deepEqual(await rows('SELECT * FROM stock'), [{ id: 1, note: 'newer' }]);
    }));

  test('a token that expires costs no work, and two tabs have tokens of their own', () =>
    service.inPage(async (page, context) => {
      const expired = await service.client.token({ ttlSeconds: -60 });
      await choose(page, 'kept.csv', 'a\n1\n');
      await page.waitForSelector('#load');
      // The token that was valid for the inspection has expired when the file is checked again.
      await page.route(
        '**/upload/excel?*',
        (route) =>
          route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${expired}` } }),
        { times: 1 },
      );
      await page.getByLabel('Name of the column for a').fill('kept name');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await isAccessible(page, 'sign in');
      const other = await context.newPage();
      await other.goto(`${service.url}/`);
      await other.getByRole('heading', { name: 'Sign in' }).waitFor();
      await other.close();
      await page.getByLabel('Access token').fill(await service.client.token());
      await press(page, 'Sign in');
      await press(page, 'Check');
      await page.waitForSelector('.notice.good');
      await load(page);
      assert.deepEqual(await rows('SELECT "kept name" FROM kept'), [{ 'kept name': '1' }]);
    }));

  test('a link signs in a tab that has the console, a wrong token does not sign in, and signing out removes the work', () =>
    service.inPage(async (page) => {
      await choose(page, 'private.csv', 'a\n1\n');
      const leaving = page.waitForEvent('dialog');
      await page.evaluate('setTimeout(() => location.reload())');
      await (await leaving).dismiss();
      await page.getByLabel('Name of the column for a').waitFor();
      await press(page, 'Sign out');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      assert.equal(await page.evaluate('sessionStorage.length'), 0);
      await page.getByLabel('Access token').fill('wrong');
      await page.keyboard.press('Enter');
      await page.locator('.sign-in .notice.bad', { hasText: 'token' }).waitFor();
      await page.evaluate(`location.assign('#token=${await service.client.token()}')`);
      await page.waitForSelector('.drop');
      await page.waitForURL(`${service.url}/#/`);
      assert.equal(await page.getByText('private.csv').count(), 0);
      await choose(page, 'done.csv', 'a\n1\n');
      await check(page);
      await load(page);
      await page.reload();
      await page.locator('.lead', { hasText: 'done.csv' }).waitFor();
      await press(page, 'Load another file');
      await page.reload();
      await page.waitForSelector('.drop');
      assert.equal(await page.locator('.numbers').count(), 0);
    }));

  test('the keyboard is enough, on a narrow screen too', () =>
    service.inPage(
      async (page) => {
        await tabTo(page, /^file$/);
        const chooser = page.waitForEvent('filechooser');
        // A busy browser sometimes does not take the first key.
        const again = setInterval(() => void page.keyboard.press('Enter').catch(() => {}), 3000);
        await page.keyboard.press('Enter');
        await (await chooser.finally(() => clearInterval(again))).setFiles({
          name: 'keys.csv',
          mimeType: 'text/csv',
          buffer: Buffer.from('a,b\n1,2\n'),
        });
        await page.waitForSelector('.head-cell');
        await tabTo(page, /^a is in the primary key$/);
        await page.keyboard.press('Space');
        await tabTo(page, /^check$/);
        await page.keyboard.press('Enter');
        await page.waitForSelector('.notice.good');
        await tabTo(page, /^load$/);
        await page.keyboard.press('Enter');
        await page.waitForSelector('.numbers');
        await isNotWiderThanTheScreen(page);
        assert.equal((await rows('SELECT * FROM keys')).length, 1);
      },
      { viewport: narrow },
    ));

  test('people sign in at the identity provider', async () => {
    const provider = await startConsoleProvider(`${service.url}/`);
    try {
      await service.restart({
        TOKEN_SECRET: undefined,
        TOKEN_ISSUER: provider.issuer,
        TOKEN_AUDIENCE: provider.audience,
        CONSOLE_OIDC_CLIENT_ID: provider.clientId,
        CONSOLE_OIDC_RESOURCE: provider.audience,
      });
      const context = await service.browser.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(deadlineMs);
      await page.goto(service.url);
      await page.getByRole('button', { name: /^Sign in with/ }).click();
      await page.fill('input[name=login]', 'ann');
      await page.fill('input[name=password]', 'any');
      await page.click('form:has(input[name=login]) button[type=submit]');
      // The next page of the provider asks for consent.
      await page.click('form:not(:has(input[name=login])) button[type=submit]');
      await page.waitForSelector('.drop');
      await page.waitForURL(`${service.url}/#/`);
      await follow(page, page.getByRole('link', { name: 'Tables', exact: true }), 'Tables');
      await page.waitForSelector('.list-row, .empty');
      assert.equal(await page.locator('.notice.bad').count(), 0);
      await page.getByRole('link', { name: 'Load a file' }).click();
      await choose(page, 'other-window.csv', 'a\n1\n');
      await page.waitForSelector('#load');
      // The token expires.
      await page.route(
        '**/upload/excel?*',
        (route) =>
          route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer expired' } }),
        { times: 1 },
      );
      await page.getByLabel('Name of the column for a').fill('still here');
      // The provider does not answer, so the window stays open until it is closed.
      await context.route('**/auth?*', () => {});
      const closed = context.waitForEvent('page');
      await page.getByRole('button', { name: /^Sign in with/ }).click();
      await (await closed).close();
      await page.locator('.notice.bad', { hasText: 'was closed' }).waitFor();
      await context.unroute('**/auth?*');
      const other = context.waitForEvent('page');
      await page.getByRole('button', { name: /^Sign in with/ }).click();
      await other;
      await page.getByLabel('Name of the column for a').waitFor();
      assert.equal(await page.getByLabel('Name of the column for a').inputValue(), 'still here');
      await until('the other window to be closed', () => context.pages().length === 1);
      page.on('dialog', (dialog) => dialog.accept());
      await press(page, 'Sign out');
      await page.waitForURL(`${provider.issuer}/session/end?*`);
      assert.match(page.url(), /[?&]client_id=.*&id_token_hint=/);
      await page.goto(`${service.url}/?error=access_denied&error_description=Call+me&state=forged`);
      await page.locator('.notice.bad', { hasText: 'not started in this tab' }).waitFor();
      assert.equal(await page.getByText('Call me').count(), 0);
      await context.close();
    } finally {
      await service.restart();
      await provider.stop();
    }
  });
});
