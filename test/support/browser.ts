/** A real browser for tests of the console: Debian's Chromium, or the program that CHROMIUM names. */
import { existsSync } from 'node:fs';
import process from 'node:process';
import { type Browser, chromium } from 'playwright-core';

const programs = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const program = programs.find((path) => path !== undefined && existsSync(path));

/** Why there is no browser; undefined: there is one. */
export const noBrowser =
  program === undefined
    ? 'this machine has no Chromium: install the package chromium, or set CHROMIUM to the path of the program'
    : undefined;

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: program!,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--enable-precise-memory-info',
    ],
  });
}
