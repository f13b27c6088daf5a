/**
 * Random ways through the console in a real browser, with cancels, lost connections, killed services and two tabs: what the page
 * says last about each load, and its pages of tables and loads, are what the database has. `CONSOLE_SEEDS=9,100-199` takes other ways.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { noBrowser, startBrowser } from '../support/browser.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { choose, press } from '../support/console-in-browser.ts';
import { deadlineMs, inWindow } from '../support/console-page.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type MovingProxy, startMovingProxy } from '../support/moving-proxy.ts';
import { corrected, goodRows, randomWay, rowsAfter, rowsBefore, type Way } from '../support/random-way.ts';
import { until } from '../support/until.ts';

const seeds = (process.env.CONSOLE_SEEDS ?? '5,8,20,21,25,26,40,43').split(',').flatMap((part) => {
  const [first, last = first] = part.split('-').map(Number);
  return Array.from({ length: last! - first! + 1 }, (_, at) => first! + at);
});

/** What the page says about a load: `silent` if it was closed, or says that it does not know. */
type Word = { is: 'loaded'; rows: number } | { is: 'nothing' } | { is: 'silent' };

describe('random ways through the console', { skip: noBrowser }, () => {
  let database: TestDatabase;
  let folder: string;
  let child: ChildService;
  let proxy: MovingProxy;
  let browser: Browser;

  before(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'tablewright-ways-'));
    child = await startService();
    proxy = await startMovingProxy(portOf(child));
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await proxy?.stop();
    await child?.end('SIGKILL');
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const startService = () => startChildService(database, { DATA_DIR: folder, LOG_LEVEL: 'info' });
  const portOf = ({ url }: ChildService) => Number(new URL(url).port);

  for (const seed of seeds) {
    const way = randomWay(seed);
    const { target, rows, wrong, repair, trouble, during, tabs } = way;
    const about = `${target}, ${rows.length} rows, ${wrong.length} wrong (${repair}), ${trouble} during the ${during}, ${tabs} tabs`;
    test(`way ${seed}: ${about}`, async (t) => {
      if (target !== 'new') await createTable(way);
      const url = `http://127.0.0.1:${proxy.port}`;
      await inWindow(browser, { url, token: await child.token() }, async (page, context) => {
        t.diagnostic(await walk(way, page, context));
      });
    });
  }

  async function createTable({ table, target }: Way): Promise<void> {
    const key = target === 'keyed' ? ' PRIMARY KEY' : '';
    const values = rowsBefore.map((row) => `(${row})`).join();
    await database.pool.query(
      `CREATE TABLE ${table} (id bigint${key}, v bigint); INSERT INTO ${table} VALUES ${values}`,
    );
  }

  /** Goes the way in all tabs, and compares. @returns what the page has said */
  async function walk(way: Way, first: Page, context: BrowserContext): Promise<string> {
    context.setDefaultTimeout(deadlineMs);
    const words: Word[] = [];
    const pages = [first];
    for (let tab = 1; tab < way.tabs; tab++) pages.push(await newTab(context));
    for (const page of pages) {
      page.on('dialog', (dialog) => dialog.accept().catch(() => {}));
      await chooseFile(page, way, way.target === 'new' ? undefined : way.target);
    }
    words.push(await tryToLoad(pages[0]!, way, way.trouble));
    for (const page of pages.slice(1)) words.push(await tryToLoad(page, way, 'none'));
    if (way.again) {
      const page = await newTab(context);
      const exists = (await rowsOf(way)) !== undefined;
      await chooseFile(page, way, !exists ? undefined : way.target === 'new' ? 'append' : way.target);
      words.push(await tryToLoad(page, way, 'none'));
    }
    await compare(way, words, await newTab(context));
    return words.map((word) => ('rows' in word ? `loaded ${word.rows}` : word.is)).join(', ');
  }

  async function newTab(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${proxy.port}/#token=${await child.token()}`);
    await page.waitForSelector('.drop');
    return page;
  }

  async function chooseFile(page: Page, way: Way, action: Way['target'] | undefined): Promise<void> {
    const lines = way.rows.map((row) => row.join()).join('\n');
    await choose(page, `${way.table}.csv`, `id,v\n${lines}\n`);
    if (action !== undefined)
      await page.locator('select[name=if_exists]').selectOption(action === 'keyed' ? 'append' : action);
    if (action !== undefined && action !== 'replace') return;
    await page.getByLabel('Type of v', { exact: true }).fill('bigint');
    await page.getByLabel('Type of v', { exact: true }).blur();
  }

  /** Checks and repairs the file, and loads it. @returns the last word of the page */
  async function tryToLoad(page: Page, way: Way, trouble: Way['trouble']): Promise<Word> {
    const isOfCheck = way.during === 'check';
    const canLoad = await inTrouble(page, way, isOfCheck ? trouble : 'none', async () => {
      const isDirect = way.isShort && way.wrong.length === 0 && (await page.locator('#load').isVisible());
      if (!isDirect) await beginCheck(page);
    });
    if (!canLoad || !(await bringToLoad(page, way))) return { is: page.isClosed() ? 'silent' : 'nothing' };
    const isThere = await inTrouble(page, way, isOfCheck ? 'none' : trouble, () => page.click('#load'));
    return isThere ? lastWord(page) : { is: 'silent' };
  }

  /** Clicks once, and waits for the next step: another click there would load the file. */
  async function beginCheck(page: Page, timeout = deadlineMs): Promise<void> {
    await page.click('#check', { timeout });
    await page.locator('.columns-step').waitFor({ state: 'detached', timeout });
  }

  /** Does what is left to do until the file may be loaded. @returns whether it may */
  async function bringToLoad(page: Page, way: Way): Promise<boolean> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const at = await placeOf(page);
      if (at === 'loadable') return true;
      if (at === 'file') return false;
      if (at === 'problems') {
        if (way.repair === 'give up' || !(await repair(page, way))) return false;
      } else {
        const again = () => page.click('.check-step .action-bar button.main', { timeout: 2000 });
        // The check may begin or end just now, and then the button is gone.
        await (at === 'columns' ? beginCheck(page, 2000) : again()).catch(() => {});
      }
    }
    return false;
  }

  /** Waits until the page says what can be done. */
  async function placeOf(page: Page): Promise<'file' | 'columns' | 'failed' | 'problems' | 'loadable'> {
    const places = {
      loadable: '#load:enabled',
      problems: '.check-step .group',
      failed: '.check-step .action-bar:not(:has(#load))',
      columns: '.columns-step #check',
      file: '.file-step .drop',
    } as const;
    await page.locator(Object.values(places).join()).first().waitFor();
    for (const [place, selector] of Object.entries(places))
      if (await page.locator(selector).first().isVisible()) return place as keyof typeof places;
    return 'failed';
  }

  /** @returns whether the wrong cells could be repaired */
  async function repair(page: Page, { wrong, repair }: Way): Promise<boolean> {
    if (repair === 'leave out') {
      const leave = page.getByRole('button', { name: 'Leave out the rows with problems' });
      // Repeated keys are left out, too, but then the counts are others.
      if ((await page.locator('.check-step .problem').count()) !== wrong.length || !(await leave.isVisible()))
        return false;
      await leave.click();
      const left = page.locator('.check-step .notice.good, .check-step .notice.warn');
      await left.or(page.getByText('no row is left to load')).first().waitFor();
      return left.first().isVisible();
    }
    for (const at of wrong) {
      const field = page.locator('.problem').getByLabel(new RegExp(`^Value of B${at + 2}\\b`));
      if ((await field.count()) === 0) return false;
      await field.fill(corrected(at));
      await field.press('Enter');
      await page
        .locator('.corrected', { hasText: `B${at + 2}` })
        .first()
        .waitFor();
      if (repair === 'correct' || at !== wrong[0]) continue;
      await press(page, `Undo the correction of B${at + 2}`);
      await field.fill(corrected(at));
      await field.press('Enter');
    }
    await page.locator('.check-step .busy').waitFor({ state: 'detached' });
    return true;
  }

  /** Begins something, and makes the trouble after some events of the network. @returns false: the page was closed or has lost the file */
  async function inTrouble(
    page: Page,
    way: Way,
    trouble: Way['trouble'],
    begin: () => Promise<void>,
  ): Promise<boolean> {
    const release = await hold(way, trouble);
    try {
      if (trouble === 'lost answer')
        await page.route(
          '**/upload/excel?*',
          async (route) => {
            await route.fetch().catch(() => {});
            await route.abort().catch(() => {});
          },
          { times: 1 },
        );
      if (trouble === 'long cut') await page.clock.install();
      const passed = networkEvents(page, way.after);
      await begin();
      if (trouble === 'none' || trouble === 'lost answer') return true;
      await Promise.race([passed, page.waitForSelector(settled).catch(() => {})]);
      return await makeTrouble(page, trouble);
    } finally {
      await release();
    }
  }

  /** Makes loads into the table wait until the function is called that it returns. */
  async function hold(
    { table, target, isHeld, during }: Way,
    trouble: Way['trouble'],
  ): Promise<() => Promise<void>> {
    if (!isHeld || target === 'new' || trouble === 'none' || during === 'check') return async () => {};
    const session = await database.pool.connect();
    await session.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
    return async () => {
      await session.query('ROLLBACK');
      session.release();
    };
  }

  async function makeTrouble(page: Page, trouble: Way['trouble']): Promise<boolean> {
    if (trouble === 'cancel') {
      const cancel = page.locator('#cancel:enabled, .check-step .card button');
      if (await cancel.isVisible()) await cancel.click({ timeout: 2000 }).catch(() => {});
    } else if (trouble === 'reload') {
      await page.reload();
      await page.locator('.file-step .drop, .load-step').first().waitFor();
      return (await page.locator('.load-step').count()) > 0;
    } else if (trouble === 'close') {
      await page.close();
      return false;
    } else if (trouble === 'kill') {
      await child.end('SIGKILL');
      child = await startService();
      proxy.leadTo(portOf(child));
    } else {
      proxy.cut();
      await page.locator(`.unanswered, ${settled}`).first().waitFor();
      if (trouble === 'long cut') await page.clock.fastForward(90_000);
      proxy.leadTo(portOf(child));
    }
    return true;
  }

  /** Waits until the page says how the load has ended, or that it does not know. */
  async function lastWord(page: Page): Promise<Word> {
    const ends = page.locator(
      '.load-step .numbers, .load-step h1:text-matches("^(Not loaded|Cancelled)$"), #look-again',
    );
    for (let attempt = 0; attempt < 3; attempt++) {
      await ends.first().waitFor();
      const again = page.locator('#look-again');
      if (!(await again.isVisible())) break;
      await again.click();
      await page.locator('.load-step .numbers, .load-step .notice').first().waitFor();
    }
    if (await page.locator('.load-step .numbers').isVisible()) {
      const [, rows] = /Rows added\s+(\d+)/.exec(await page.locator('.load-step .numbers').innerText())!;
      return { is: 'loaded', rows: Number(rows) };
    }
    return (await page.locator('#look-again').isVisible()) ? { is: 'silent' } : { is: 'nothing' };
  }

  async function rowsOf({ table }: Way): Promise<[string, string][] | undefined> {
    const { rows: found } = await database.pool.query(`SELECT to_regclass('${table}') IS NOT NULL AS exists`);
    if (!found[0].exists) return undefined;
    const { rows } = await database.pool.query(`SELECT id::text, v::text FROM ${table}`);
    return rows.map(({ id, v }) => [id, v]);
  }

  const sorted = (rows: [string, string][] | undefined) => rows?.map((row) => row.join()).sort();

  /** Compares the words of the page, and its pages, with the table. */
  async function compare(way: Way, words: Word[], page: Page): Promise<void> {
    await until('the end of all loads', async () => {
      const { loads } = (await child.get('/api/v1/loads?limit=100')).body;
      return loads.every(({ ended_at }: { ended_at: string | null }) => ended_at !== null);
    });
    const found = await rowsOf(way);
    for (const word of words) if (word.is === 'loaded') assert.equal(word.rows, goodRows(way).length);
    const count = (is: Word['is']): number => words.filter((word) => word.is === is).length;
    const loaded = count('loaded');
    const possible = Array.from({ length: count('silent') + 1 }, (_, more) => loaded + more);
    const isAfter = (loads: number) => String(sorted(found)) === String(sorted(rowsAfter(way, loads)));
    const listed = await listedLoads(page, way, possible.find(isAfter) ?? loaded);
    const said = JSON.stringify({ words, listed });
    assert.ok(listed >= loaded && listed <= loaded + count('silent'), said);
    assert.deepEqual(sorted(found), sorted(rowsAfter(way, listed)), said);
    await page.evaluate(`location.hash = '#/tables/public/${way.table}'`);
    if (found === undefined) await page.locator('.notice-title', { hasText: 'No such table' }).waitFor();
    else {
      const shown = found.length === 1 ? '1 row' : `${found.length} rows`;
      await page.locator('.rows h2', { hasText: new RegExp(`^${shown}$`) }).waitFor();
      const shownLoads = page.locator('.last-loads li');
      await until(
        `${listed} loads on the page of the table`,
        async () => (await shownLoads.count()) === listed,
      );
    }
  }

  /** Returns how many loads into the table are committed, as the page lists them. @param atLeast as many as the page has said, or the table has */
  async function listedLoads(page: Page, { table, rows }: Way, atLeast: number): Promise<number> {
    await page.evaluate(`location.hash = '#/loads'`);
    await page.getByLabel('Find a table, file or person').fill(table);
    await page.locator('p[role=status], .empty').filter({ hasText: /load/ }).waitFor();
    const own = page.locator('a.list-row', {
      has: page.locator('.list-name', { hasText: new RegExp(`\\.${table}$`) }),
    });
    const committed = own.filter({ has: page.locator('.state.committed') });
    // The list is drawn again when it is filtered.
    await until(`${atLeast} loads in the list`, async () => (await committed.count()) >= atLeast);
    for (const facts of await committed.locator('.list-comment').allInnerTexts())
      assert.match(facts, new RegExp(`, ${rows.length} rows?\\b`));
    return committed.count();
  }
});

/** The page says how the load has ended, or that it does not know, or it waits for the user. */
const settled =
  '.load-step .numbers, .load-step h1:text-matches("^(Not loaded|Cancelled)$"), #look-again, .check-step .action-bar';

function networkEvents(page: Page, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const note = (): void => {
      if (left-- <= 0) resolve();
    };
    note();
    for (const event of ['request', 'requestfinished', 'requestfailed'] as const)
      page.on(event as 'request', note);
  });
}
