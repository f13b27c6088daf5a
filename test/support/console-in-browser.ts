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
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** Runs a test in a window of its own, which is signed in. */
  inPage(
    work: (page: Page, context: BrowserContext) => Promise<void>,
    options?: { scope?: string | undefined; viewport?: typeof narrow | undefined },
  ): Promise<void>;
}

/** Starts everything before the tests of the suite, and stops it after them. The members can be used in the tests. */
export function consoleInBrowser(): ConsoleInBrowser {
  const tools = {} as ConsoleInBrowser;
  let folder: string;
  let service: Service;
  let browser: Browser;

  before(async () => {
    const database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'tablewright-console-'));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    service = await startService(readConfig(testEnvironment(database, folder, { PORT: String(port) })));
    const client = await serviceClient(url);
    browser = await startBrowser();
    Object.assign(tools, {
      url,
      client,
      database,
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
  await page.waitForSelector('#check');
}

export async function isNotWiderThanTheScreen(page: Page): Promise<void> {
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  assert.ok(width <= narrow.width, `the page is ${width} px wide`);
}
