/** Prints lines. Text from a file or from the service is made safe for a terminal. */
import process from 'node:process';
import { harmless, harmlessJson } from './harmless.ts';

/** true: the last line on the terminal is a progress bar. */
let hasBar = false;

/** Prints a line of the result. */
export function say(line: string): void {
  removeBar();
  process.stdout.write(`${harmless(line)}\n`);
}

/** Prints a line that is not a part of the result: an error, a warning, progress. */
export function note(line: string): void {
  removeBar();
  process.stderr.write(`${harmless(line)}\n`);
}

export function sayJson(value: unknown): void {
  removeBar();
  process.stdout.write(`${harmlessJson(value)}\n`);
}

/** Draws a progress bar in place of the previous one. The next printed line replaces it. */
export function drawBar(text: string): void {
  // Some terminals report a width of 0.
  const width = (process.stderr.columns || 80) - 1;
  process.stderr.write(`\r\u001b[K${harmless(text).slice(0, width)}`);
  hasBar = true;
}

export function removeBar(): void {
  if (hasBar) process.stderr.write('\r\u001b[K');
  hasBar = false;
}

/** Prints a table. */
export function sayTable(...table: Parameters<typeof tableLines>): void {
  for (const line of tableLines(...table)) say(line);
}

/**
 * Returns the rows as lines in which each column is as wide as its longest text. Texts longer than `maxWidth` are shortened; in the
 * last column those longer than `lastMaxWidth`.
 */
export function tableLines(
  head: string[],
  rows: string[][],
  maxWidth = 60,
  lastMaxWidth = maxWidth,
): string[] {
  const widthOf = (column: number) => (column === head.length - 1 ? lastMaxWidth : maxWidth);
  const all = [head, ...rows].map((row) =>
    row.map((cell, column) => shorten(harmless(cell), widthOf(column))),
  );
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => '-'.repeat(Math.min(width, maxWidth))).join('  '));
  return lines;
}

function shorten(text: string, maxWidth: number): string {
  return text.length <= maxWidth ? text : `${text.slice(0, maxWidth - 1)}…`;
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

export function inBytes(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const amount = bytes / 1024 ** power;
  return `${power === 0 ? amount : amount.toFixed(1)} ${units[power]}`;
}

export function inCount(count: number, one: string, many = `${one}s`): string {
  return `${inThousands(count)} ${count === 1 ? one : many}`;
}

/** Adds commas between thousands. The first call of `toLocaleString` would take longer than the start of Node.js. */
export function inThousands(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
