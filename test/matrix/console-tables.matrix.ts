/** What a person does with a table in the console, in a real browser: load into it, rename it, drop it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
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
import { buildTableWorkbook } from '../support/table-workbook.ts';

describe('tables in the console', { skip: noBrowser }, () => {
  const service = consoleInBrowser();
  const rows = (sql: string) => service.rows(sql);

  /** Opens the page of a table in a window of its own. */
  async function atTable(
    table: string,
    work: (page: Page) => Promise<void>,
    options: { scope?: string; viewport?: typeof narrow } = {},
  ): Promise<void> {
    await service.inPage(async (page) => {
      await page.goto(`${service.url}/#/tables/public/${table}`);
      await page.getByRole('heading', { name: `public.${table}`, level: 1 }).waitFor();
      await work(page);
    }, options);
  }

  test('a table is dropped only after its name was typed, and what needs it is named', async () => {
    await rows('CREATE TABLE wrong AS SELECT 1 AS a; CREATE VIEW needs_wrong AS SELECT * FROM wrong');
    await atTable('wrong', async (page) => {
      await press(page, 'Drop');
      const drop = page.getByRole('button', { name: 'Drop the table' });
      await page.getByLabel('Type the name of the table').fill('wron');
      assert.ok(await drop.isDisabled());
      await isAccessible(page, 'drop');
      await page.getByLabel('Type the name of the table').fill('wrong');
      await drop.click();
      await page.locator('dialog .notice.bad li', { hasText: 'needs_wrong' }).waitFor();
      await isAccessible(page, 'drop refused');
      await rows('DROP VIEW needs_wrong');
      await drop.click();
      await page.getByText('The table public.wrong was dropped with all its rows.').first().waitFor();
      await page.getByRole('heading', { name: 'Tables', level: 1 }).waitFor();
      await page.waitForSelector('.empty, .dim[role=status]');
      assert.equal(await page.locator('a.list-row', { hasText: 'wrong' }).count(), 0);
      await page.getByRole('link', { name: 'Loads', exact: true }).click();
      await page.getByRole('link', { name: 'Tables', exact: true }).click();
      await page.getByRole('heading', { name: 'Tables', level: 1 }).waitFor();
      assert.equal(await page.locator('.notice.good').count(), 0);
    });
    const [found] = await rows(`SELECT to_regclass('wrong') AS found`);
    assert.equal(found!.found, null);
  });

  test('a table gets another name, schema and comment', async () => {
    await rows('CREATE SCHEMA archive; CREATE TABLE old_name (a int)');
    await atTable('old_name', async (page) => {
      await press(page, 'Rename, move or comment');
      const save = page.getByRole('button', { name: 'Save' });
      assert.ok(await save.isDisabled());
      await page.locator('input[name=name]').fill('new name');
      await page.getByLabel('Schema').fill('missing');
      await page.getByLabel('Comment').fill('One row for each\nvisit');
      await isAccessible(page, 'rename');
      await save.click();
      await page.locator('dialog .notice.bad', { hasText: 'missing' }).waitFor();
      await page.getByLabel('Schema').fill('archive');
      await save.click();
      await page.getByRole('heading', { name: 'archive.new name', level: 1 }).waitFor();
      await page.getByText('The table public.old_name is now archive.new name.').first().waitFor();
      await page.locator('.lead', { hasText: 'One row for each' }).waitFor();
      assert.match(page.url(), /#\/tables\/archive\/new%20name$/);
      await press(page, 'Rename, move or comment');
      await page.getByLabel('Comment').fill('');
      await save.click();
      await page.getByText('The comment of archive.new name was changed.').first().waitFor();
      await page.locator('.lead').waitFor({ state: 'detached' });
    });
    const [{ comment }] = (await rows(
      `SELECT obj_description('archive."new name"'::regclass) AS comment`,
    )) as [{ comment: string | null }];
    assert.equal(comment, null);
  });

  test('a file is loaded into the table that was chosen first, whatever the name of the file is', async () => {
    await rows('CREATE TABLE visits (a bigint); INSERT INTO visits VALUES (1)');
    await atTable('visits', async (page) => {
      await press(page, 'Load a file into it');
      await page.getByText('The rows go into the table public.visits.').waitFor();
      await isAccessible(page, 'file for a table');
      await choose(page, 'wrong.csv', 'b\n2\n');
      await press(page, 'Choose another file');
      await choose(page, 'november.csv', 'a\n2\n');
      assert.equal(await page.locator('input[name=table]').inputValue(), 'visits');
      await check(page);
      await load(page);
      await press(page, 'Load another file');
      await choose(page, 'december.csv', 'a\n3\n');
      await page.getByText('The settings of the last load of a file with this header are used.').waitFor();
      assert.equal(await page.locator('input[name=table]').inputValue(), 'visits');
      await press(page, 'Undo: do not use these settings');
      await page.getByText('A new table').waitFor();
      assert.equal(await page.locator('input[name=table]').inputValue(), 'december');
      // A file that is not loaded yet is kept.
      await page.goto(`${service.url}/#/tables/public/visits`);
      await press(page, 'Load a file into it');
      await page.locator('.title-row', { hasText: 'december.csv' }).waitFor();
      assert.equal(await page.locator('input[name=table]').inputValue(), 'visits');
    });
    assert.deepEqual(await rows('SELECT a::int FROM visits ORDER BY a'), [{ a: 1 }, { a: 2 }]);
  });

  test('columns are changed after the page has shown what happens, and a loss must be ticked', async () => {
    await rows(`CREATE TABLE visits_2026 (id int PRIMARY KEY, day text, note text, site text DEFAULT 'A');
      INSERT INTO visits_2026 VALUES (1, '2026-11-20', 'x'), (2, 'soon', 'y')`);
    await atTable('visits_2026', async (page) => {
      await page.getByRole('link', { name: 'Change columns' }).click();
      await page.getByLabel('Name of site').fill('place');
      await page.getByLabel('Type of day').fill('date');
      await page.getByLabel('Comment of day').fill('When the visit was');
      await page.getByRole('button', { name: 'Drop note' }).click();
      await press(page, 'Add a column');
      await page.getByLabel('Name of new column 5').fill('size');
      await page.getByLabel('Type of new column 5').fill('integer');
      await page.getByLabel('Default of new column 5').fill('0');
      await isAccessible(page, 'columns of a table');
      await page.click('#plan');
      const apply = page.locator('#apply');
      await apply.waitFor();
      assert.ok(await apply.isDisabled());
      await isAccessible(page, 'plan');
      await page.getByLabel(/^Yes, this may be lost:.*note/).check();
      await apply.click();
      // The row that cannot follow is named by its key.
      await page.locator('.problem', { hasText: 'id 2' }).filter({ hasText: 'soon' }).waitFor();
      await isAccessible(page, 'rows that cannot follow');
      await rows(`UPDATE visits_2026 SET day = '2026-11-21' WHERE id = 2`);
      await apply.click();
      await page.getByRole('heading', { name: 'public.visits_2026', level: 1 }).waitFor();
      await page.locator('.notice.good', { hasText: 'The table public.visits_2026 was changed' }).waitFor();
    });
    const columns = await rows(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, col_description(attrelid, attnum) AS comment
       FROM pg_attribute WHERE attrelid = 'visits_2026'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    );
    assert.deepEqual(columns, [
      { name: 'id', type: 'integer', comment: null },
      { name: 'day', type: 'date', comment: 'When the visit was' },
      { name: 'place', type: 'text', comment: null },
      { name: 'size', type: 'integer', comment: null },
    ]);
    assert.deepEqual(await rows('SELECT size FROM visits_2026'), [{ size: 0 }, { size: 0 }]);
  });

  test('the keyboard is enough to change columns, on a narrow screen too', async () => {
    await rows('CREATE TABLE narrow_columns (a int, b text)');
    await atTable(
      'narrow_columns',
      async (page) => {
        await tabTo(page, /^Change columns$/);
        await page.keyboard.press('Enter');
        await page.waitForSelector('.draft-row input');
        await isNotWiderThanTheScreen(page);
        await tabTo(page, /^add-column$/);
        await page.keyboard.press('Enter');
        await page.locator('[aria-label="Name of new column 3"]:focus').waitFor();
        await page.keyboard.type('c');
        await tabTo(page, /^plan$/);
        await page.keyboard.press('Enter');
        await page.waitForSelector('#apply');
        await isAccessible(page, 'narrow plan');
        await isNotWiderThanTheScreen(page);
        await tabTo(page, /^apply$/);
        await page.keyboard.press('Enter');
        await page.getByText('The table public.narrow_columns was changed: 1 change.').first().waitFor();
      },
      { viewport: narrow },
    );
    assert.equal((await rows('SELECT c FROM narrow_columns')).length, 0);
  });

  test('a table that somebody else has changed is read again before it is changed', async () => {
    await rows('CREATE TABLE shared (a int, b int)');
    await atTable('shared', async (page) => {
      await page.getByRole('link', { name: 'Change columns' }).click();
      await page.getByLabel('Name of a', { exact: true }).fill('first');
      await page.click('#plan');
      await page.locator('#apply').waitFor();
      await rows('ALTER TABLE shared ADD COLUMN c int');
      await page.click('#apply');
      await press(page, 'Read the table again');
      await page.getByLabel('Name of c', { exact: true }).waitFor();
      assert.equal(await page.getByLabel('Name of a', { exact: true }).inputValue(), 'a');
    });
  });

  test('the rows of a table are saved as a file, and a file that breaks off is not', async () => {
    await rows(`CREATE TABLE saved (a int, t text); INSERT INTO saved VALUES (1, 'ä'), (2, NULL)`);
    await atTable('saved', async (page) => {
      await press(page, 'Download');
      await page.locator('dialog pre', { hasText: 'format=csv' }).waitFor();
      await isAccessible(page, 'download');
      const saved = page.waitForEvent('download');
      await press(page, 'CSV');
      const file = await saved;
      assert.equal(file.suggestedFilename(), 'saved.csv');
      assert.equal(await readFile(await file.path(), 'utf8'), 'a,t\n1,ä\n2,\n');
      await page.locator('.notice.good', { hasText: 'saved.csv' }).waitFor();
      await press(page, 'Download');
      const workbook = page.waitForEvent('download');
      await press(page, 'Workbook (.xlsx)');
      assert.equal((await workbook).suggestedFilename(), 'saved.xlsx');
      await page.locator('dialog').waitFor({ state: 'detached' });
      let downloads = 0;
      page.on('download', () => downloads++);
      await page.evaluate(() => {
        let sent = 0;
        const rows = new ReadableStream({
          pull: (rest) =>
            sent++ === 0
              ? rest.enqueue(new TextEncoder().encode('a,t\n1,'))
              : rest.error(new TypeError('reset')),
        });
        globalThis.fetch = async () => new Response(rows);
      });
      await press(page, 'Download');
      await press(page, 'CSV');
      await page.getByText('The file broke off before its end. Nothing was saved.').waitFor();
      await isAccessible(page, 'download that broke off');
      assert.equal(downloads, 0);
    });
  });

  test('a workbook becomes a table that is changed, widened, downloaded, corrected and dropped', async () => {
    const workbook = (...lines: string[][]) =>
      buildTableWorkbook([
        { name: 'Hours', about: '', cells: [[], ...lines.map((line, at) => [`${at + 1}`, ...line])] },
      ]);
    const header = ['No', 'Name', 'Hours'];
    const october = workbook(header, ['1', 'Ann', '38'], ['2', 'Bob', '41']);
    const november = workbook(header, ['3', 'Cleo', '37.5']);
    await service.inPage(async (page) => {
      const checkAndLoad = async (): Promise<void> => {
        await check(page);
        await load(page);
      };
      const toTable = async (): Promise<void> => {
        await page.getByRole('link', { name: 'Tables', exact: true }).click();
        await page.locator('a.list-row', { hasText: 'hours' }).click();
        await page.getByRole('heading', { name: 'public.hours', level: 1 }).waitFor();
      };
      await choose(page, 'hours.xlsx', october);
      await page.getByLabel('No is in the primary key').check();
      await checkAndLoad();
      await toTable();

      await page.getByRole('link', { name: 'Change columns' }).click();
      await page.getByLabel('Name of Name').fill('person');
      await page.getByLabel('Type of Hours').fill('smallint');
      await page.click('#plan');
      await page.click('#apply');
      await page.locator('.notice.good', { hasText: 'The table public.hours was changed' }).waitFor();

      await press(page, 'Load a file into it');
      await choose(page, 'november.xlsx', november);
      await page.getByLabel('Column of the table for Name').selectOption('person');
      await page.locator('select[name=misfits]').selectOption('widen');
      await checkAndLoad();
      await toTable();

      await press(page, 'Download');
      const saved = page.waitForEvent('download');
      await press(page, 'CSV');
      const text = await readFile(await (await saved).path(), 'utf8');
      assert.equal(text, 'No,person,Hours\n1,Ann,38\n2,Bob,41\n3,Cleo,37.5\n');

      await press(page, 'Load a file into it');
      await choose(page, 'hours.csv', text.replace('41', '40.5'));
      await page.locator('select[name=on_conflict]').selectOption('update');
      await checkAndLoad();
      assert.deepEqual(await rows('SELECT person, "Hours"::text AS hours FROM hours ORDER BY "No"'), [
        { person: 'Ann', hours: '38' },
        { person: 'Bob', hours: '40.5' },
        { person: 'Cleo', hours: '37.5' },
      ]);

      await toTable();
      await press(page, 'Drop');
      await page.getByLabel('Type the name of the table').fill('hours');
      await press(page, 'Drop the table');
      await page.getByText('The table public.hours was dropped with all its rows.').first().waitFor();
    });
  });

  test('all rows of a table are shown in pages and by a column, with its last loads, also if one comes meanwhile', async () => {
    await rows(`CREATE TABLE paged (id int PRIMARY KEY, price numeric(8,2));
      INSERT INTO paged SELECT i, (251 - i) + 0.50 FROM generate_series(1, 250) i`);
    await atTable('paged', async (page) => {
      const place = page.locator('.rows h2');
      const firstCells = () => page.locator('.rows .grid-row').first().locator('.grid-cell').allInnerTexts();
      await place.filter({ hasText: 'First 100 rows' }).waitFor();
      assert.deepEqual(await firstCells(), ['1', '250.50']);
      await isAccessible(page, 'rows');
      await press(page, 'Next rows');
      await place.filter({ hasText: 'Rows 101 to 200' }).waitFor();
      await press(page, 'Next rows');
      await place.filter({ hasText: 'Rows 201 to 250 of 250' }).waitFor();
      assert.ok(await page.getByRole('button', { name: 'Next rows' }).isDisabled());
      await press(page, 'Previous rows');
      await place.filter({ hasText: 'Rows 101 to 200' }).waitFor();
      assert.deepEqual(await firstCells(), ['101', '150.50']);
      await page.locator('.rows button.head-cell', { hasText: 'price' }).click();
      await page.getByText('1.50', { exact: true }).waitFor();
      assert.deepEqual(await firstCells(), ['250', '1.50']);
      await page.locator('.rows button.head-cell', { hasText: 'price' }).click();
      await page.getByText('by price, downwards').waitFor();
      assert.deepEqual(await firstCells(), ['1', '250.50']);
      await page.getByText('None that you may see.').waitFor();
      const file = Buffer.from('id,price\n0,999\n');
      const answer = await service.client.upload('/table/paged/upload/excel?if_exists=append', file);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      await page.locator('.last-loads li', { hasText: 'upload.xlsx, 1 row' }).waitFor();
      await page.getByText('999.00', { exact: true }).waitFor();
      await isAccessible(page, 'last loads');
      await page.getByRole('link', { name: 'All loads of this table' }).click();
      await page.locator('a.list-row', { hasText: 'upload.xlsx' }).waitFor();
      assert.equal(await page.locator('a.list-row').count(), 1);
    });
  });

  test('the list of tables is sorted, and shows a new table and a new load by itself', async () => {
    await rows(`CREATE SCHEMA lists; CREATE TABLE lists.small AS SELECT 1 AS a;
      CREATE TABLE lists.large AS SELECT generate_series(1, 20_000) AS a; ANALYZE lists.small, lists.large`);
    await service.inPage(async (page) => {
      await page.getByRole('link', { name: 'Tables', exact: true }).click();
      await page.getByLabel('Find a table').fill('lists.');
      const names = () => page.locator('a.table-row .list-name').allInnerTexts();
      await page.locator('a.list-row', { hasText: 'about 20,000 rows' }).waitFor();
      assert.deepEqual(await names(), ['lists.large', 'lists.small']);
      await press(page, 'Name');
      assert.deepEqual(await names(), ['lists.small', 'lists.large']);
      await press(page, 'Rows');
      assert.deepEqual(await names(), ['lists.large', 'lists.small']);
      await isAccessible(page, 'sorted tables');
      const path = '/table/newest/upload/json?schema=lists';
      assert.equal((await service.client.post(path, { data: [{ a: 1 }] })).status, 201);
      await page.locator('a.list-row', { hasText: 'newest' }).filter({ hasText: 'just now' }).waitFor();
      await press(page, 'Last load');
      assert.equal((await names())[0], 'lists.newest');
    });
  });

  test('the list of loads hides checks, and is filtered by state and by the name of table, file or person', async () => {
    const file = Buffer.from('a\n1\n');
    for (const query of ['', '?dry_run=true&if_exists=append', ''])
      await service.client.upload(`/table/listed/upload/excel${query}`, file);
    await service.inPage(
      async (page) => {
        await page.getByRole('link', { name: 'Loads', exact: true }).click();
        await page.getByLabel('Find a table, file or person').fill('listed');
        const states = () => page.locator('a.list-row .state').allInnerTexts();
        await page.locator('a.list-row').nth(1).waitFor();
        assert.deepEqual(await states(), ['refused', 'loaded']);
        await page.getByLabel('Show checks, too').check();
        await page.locator('a.list-row').nth(2).waitFor();
        assert.deepEqual(await states(), ['refused', 'checked', 'loaded']);
        await page.getByLabel('State').selectOption('refused');
        await page.locator('a.list-row', { hasText: 'checked' }).waitFor({ state: 'detached' });
        assert.deepEqual(await states(), ['refused']);
        await isAccessible(page, 'filtered loads');
        await isNotWiderThanTheScreen(page);
      },
      { viewport: narrow },
    );
  });

  test('the page of a refused load saves its problems, and loads the corrected file with the same settings', async () => {
    await rows('CREATE TABLE again (n int, day date)');
    const token = await service.client.token();
    const form = new FormData();
    form.append('file', new Blob(['n;day\nx;31/12/2026\n2;1/2/2026\n']), 'december.csv');
    const query = 'if_exists=append&delimiter=%3B&date_order=dmy&dry_run=true';
    const refused = await fetch(`${service.url}/api/v1/table/again/upload/excel?${query}`, {
      ...{ method: 'POST', body: form },
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(refused.status, 422);
    await service.inPage(async (page) => {
      await page.goto(`${service.url}/#/loads/${refused.headers.get('load-id')}`);
      await page.getByRole('heading', { name: 'december.csv', level: 1 }).waitFor();
      await isAccessible(page, 'refused load');
      const saved = page.waitForEvent('download');
      await press(page, 'Save all problems as .csv');
      assert.match(await readFile(await (await saved).path(), 'utf8'), /not-a-whole-number/);
      await choose(page, 'corrected.csv', 'n;day\n1;31/12/2026\n2;1/2/2026\n', '#again');
      await check(page);
      await load(page);
      assert.deepEqual(await page.locator('.numbers dt').allInnerTexts(), ['Rows added', 'Time']);
      await page.getByRole('link', { name: 'Open the table' }).click();
      await page.getByRole('heading', { name: 'public.again', level: 1 }).waitFor();
    });
    assert.deepEqual(await rows('SELECT n, day::text FROM again ORDER BY n'), [
      { n: 1, day: '2026-12-31' },
      { n: 2, day: '2026-02-01' },
    ]);
  });

  test('a token has the buttons of its scopes, and a refusal says who can help', async () => {
    await rows('CREATE TABLE looked_at (a int)');
    const buttons = async (page: Page): Promise<string[]> => {
      await page.locator('.table-actions').waitFor({ state: 'attached' });
      return page.locator('.table-actions .button').allInnerTexts();
    };
    await atTable('looked_at', async (page) => assert.deepEqual(await buttons(page), []), {
      scope: 'table:read',
    });
    await atTable(
      'looked_at',
      async (page) => {
        assert.deepEqual(await buttons(page), ['Drop']);
        const body = JSON.stringify({
          status: 403,
          code: 'insufficient-scope',
          title: 'The access token lacks a scope',
          detail: 'This needs the scope table:drop, which the access token does not have.',
        });
        await page.route('**/api/v1/table/looked_at?*', (route) =>
          route.request().method() === 'DELETE'
            ? route.fulfill({ status: 403, contentType: 'application/problem+json', body })
            : route.continue(),
        );
        await press(page, 'Drop');
        await page.getByLabel('Type the name of the table').fill('looked_at');
        await press(page, 'Drop the table');
        await page.getByText('Whoever gave you the access token can give you one that allows it.').waitFor();
      },
      { scope: 'table:read table:drop' },
    );
  });

  test('the keyboard is enough to drop a table, on a narrow screen too', async () => {
    await rows('CREATE TABLE keys_only (a int)');
    await atTable(
      'keys_only',
      async (page) => {
        await isNotWiderThanTheScreen(page);
        await tabTo(page, /^Drop$/);
        await page.keyboard.press('Enter');
        await page.locator('dialog[open]').waitFor();
        await tabTo(page, /^typed$/);
        await page.keyboard.type('keys_only');
        await isNotWiderThanTheScreen(page);
        await tabTo(page, /^Drop the table$/);
        await page.keyboard.press('Enter');
        await page.getByText('The table public.keys_only was dropped').first().waitFor();
        await isNotWiderThanTheScreen(page);
        assert.equal(await page.evaluate('document.activeElement.id'), 'main');
      },
      { viewport: narrow },
    );
  });
});
