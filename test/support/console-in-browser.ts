/** A service with its own database and a browser for a file of tests of the console. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { readConfig } from '../../src/core/settings/config.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { startBrowser } from './browser.ts';
import { inWindow } from './console-page.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { freePort } from './free-port.ts';
import { type ServiceClient, serviceClient, testEnvironment } from './service.ts';

export const narrow = { width: 360, height: 740 };

export interface ConsoleInBrowser {
  url: string;
  client: ServiceClient;
  database: TestDatabase;
  /** For files, which are removed after the tests. */
  folder: string;
  browser: Browser;
  /** Stops the service, and starts it again at the same address. @param change settings that differ */
  restart(change?: Record<string, string | undefined>): Promise<void>;
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** Runs a test in a window of its own, which is signed in. */
  inPage(
    work: (page: Page, context: BrowserContext) => Promise<void>,
    options?: { scope?: string | undefined; viewport?: typeof narrow | undefined },
  ): Promise<void>;
}

/** Starts everything before the tests of the suite, and stops it after them. The members can be used in the tests. @param settings of the service */
export function consoleInBrowser(settings: Record<string, string> = {}): ConsoleInBrowser {
  const tools = {} as ConsoleInBrowser;
  let folder: string;
  let service: Service;
  let browser: Browser;

  before(async () => {
    const database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'tablewright-console-'));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const start = (change = {}): Promise<Service> => {
      const environment = testEnvironment(database, folder, { PORT: String(port), ...settings });
      return startService(readConfig({ ...environment, ...change }));
    };
    service = await start();
    const client = await serviceClient(url);
    browser = await startBrowser();
    Object.assign(tools, {
      url,
      client,
      database,
      folder,
      browser,
      restart: async (change) => {
        await service.stop();
        service = await start(change);
      },
      rows: async (sql) => (await database.pool.query(sql)).rows,
      inPage: async (work, { scope, viewport } = {}) => {
        const token = await client.token(scope === undefined ? {} : { scope });
        await inWindow(browser, { url, token, ...(viewport && { viewport }) }, work);
      },
    } satisfies ConsoleInBrowser);
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
    await tools.database?.drop();
    await rm(folder, { recursive: true, force: true });
  });
  return tools;
}

export function press(page: Page, name: string): Promise<void> {
  return page.getByRole('button', { name, exact: true }).click();
}

/** Chooses a file in step 1, and waits until its columns are shown. @param input the field for the file */
export async function choose(
  page: Page,
  name: string,
  content: Buffer | string,
  input = '#file',
): Promise<void> {
  const buffer = Buffer.from(content as string);
  await page.setInputFiles(input, { name, mimeType: 'application/octet-stream', buffer });
  await page.locator('.columns-step h1', { hasText: name }).waitFor();
  await page.waitForSelector('.head-cell');
}

/** Begins the check, and waits for its end. */
export async function check(page: Page): Promise<void> {
  await page.click('#check');
  await page.waitForSelector('.check-step .notice.good, .check-step .notice.bad');
}

/** Loads the file once it may be loaded, and waits for the end. */
export async function load(page: Page): Promise<void> {
  await page.click('#load');
  await page.getByRole('heading', { name: 'Loaded', exact: true, level: 1 }).waitFor();
  await page.waitForSelector('.numbers');
}

export async function isNotWiderThanTheScreen(page: Page): Promise<void> {
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  assert.ok(width <= narrow.width, `the page is ${width} px wide`);
}
