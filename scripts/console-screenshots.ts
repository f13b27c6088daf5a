/** `npm run screenshots`: makes the pictures in docs/images/ anew, with the console in Chromium on a temporary database. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { chromium, type Page } from 'playwright-core';
import { readConfig } from '../src/core/settings/config.ts';
import { startService } from '../src/service/service.ts';

const root = join(import.meta.dirname, '..');
const images = join(root, 'docs', 'images');
const folder = mkdtempSync(join(tmpdir(), 'tablewright-screenshots-'));
const service = await startService(readConfig({ DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'warn' }));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
try {
  mkdirSync(images, { recursive: true });
  const [link = ''] = /http\S+#token=\S+/.exec(await service.banner(true)) ?? [];
  await takePictures(link);
} finally {
  await browser.close();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function takePictures(link: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1100, height: 760 }, reducedMotion: 'reduce' });
  await page.goto(link);
  await page.waitForSelector('.drop');
  await take(page, 'console-file');
  await page.setInputFiles('#file', join(root, 'examples', 'visits.xlsx'));
  await takeColumns(page, 'console-columns');
  await page.getByLabel('Visit is in the primary key', { exact: true }).check();
  await page.click('#check');
  await page.locator('.problem button').first().click();
  await page.waitForSelector('.at-fault');
  await take(page, 'console-check');
  await page.locator('.button.fix').first().click();
  await page.waitForSelector('.notice.good');
  await page.click('#load');
  await page.waitForSelector('.numbers');
  await page.waitForSelector('.grid-row');
  await take(page, 'console-loaded');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.getByRole('button', { name: 'Load another file' }).click();
  await page.setInputFiles('#file', join(root, 'examples', 'orders.xlsx'));
  await takeColumns(page, 'console-dark');
}

/** The picture is higher than the others, because the columns are below the warnings. */
async function takeColumns(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 1100, height: 1060 });
  await page.getByText('A new table').waitFor();
  await page.waitForSelector('.grid-row');
  await take(page, name);
  await page.setViewportSize({ width: 1100, height: 760 });
}

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(images, `${name}.png`) });
}
