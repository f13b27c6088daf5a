/** The console in a window of a real browser, for its tests. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';

/** Longer than any step takes, even on a busy machine. */
export const deadlineMs = 60_000;
const axeSource = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export interface WindowOptions {
  url: string;
  token: string;
  viewport?: { width: number; height: number };
}

/** Signs in in a window of its own, and fails if the page had an error or asked another host. */
export async function inWindow(
  browser: Browser,
  { url, token, viewport = { width: 1280, height: 900 } }: WindowOptions,
  work: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  // While colours fade, a text may have too little contrast for a moment. Nothing moves or fades for people who ask for it.
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce' });
  const faults: string[] = [];
  context.on('request', (request) => {
    if (!/^(blob:|data:)/.test(request.url()) && new URL(request.url()).origin !== url)
      faults.push(request.url());
  });
  context.on('weberror', (error) => faults.push(error.error().stack ?? ''));
  context.on('console', (message) => {
    if (message.type() === 'error' && !/status of|ERR_/.test(message.text())) faults.push(message.text());
  });
  const page = await context.newPage();
  page.setDefaultTimeout(deadlineMs);
  try {
    await page.goto(`${url}/#token=${token}`);
    await page.waitForSelector('.drop');
    await work(page, context);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

let axeText: Promise<string> | undefined;

/** Fails if axe-core finds anything on the page, in light or dark colours. */
export async function isAccessible(page: Page, screen: string): Promise<void> {
  axeText ??= readFile(axeSource, 'utf8');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(await axeText);
    const found = await page.evaluate(async () => {
      // @ts-expect-error axe is a global of the page
      const { violations } = await globalThis.axe.run();
      return violations.map(
        ({ id, nodes }: { id: string; nodes: { html: string; failureSummary: string }[] }) => [
          id,
          nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`),
        ],
      );
    });
    assert.deepEqual(found, [], `${screen}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Presses Tab until the focused element has the label or the id. */
export async function tabTo(page: Page, label: RegExp): Promise<void> {
  const focused = (): Promise<string> =>
    page.evaluate(
      "document.activeElement.getAttribute('aria-label') || document.activeElement.id || document.activeElement.name || document.activeElement.textContent",
    );
  for (let step = 0; step < 80; step++) {
    await page.keyboard.press('Tab');
    if (label.test(await focused())) return;
  }
  assert.fail(`Tab does not reach ${label}`);
}
