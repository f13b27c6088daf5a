/** Shows the progress of an upload or an export: as a bar on a terminal, and otherwise as a line every few seconds. */
import process from 'node:process';
import { drawBar, inBytes, inCount, note, removeBar } from './print.ts';

export interface Progress {
  /** The bytes of the body that were sent, or received. */
  sent: (bytes: number) => void;
  /** The rows that the service has read. */
  rows: (count: number) => void;
  /** Removes the bar. */
  stop: () => void;
}

const barMs = 100;
const lineMs = 5_000;
const longestBar = 24;
const shortestBar = 6;
/** The number of characters that the texts before and after the bar usually need. */
const textWidth = 56;

/** @param total the size of the file in bytes; undefined: unknown. @param verb what happens to the bytes */
export function showProgress(
  name: string,
  total: number | undefined,
  isQuiet: boolean,
  verb = 'sent',
): Progress {
  const startedAt = performance.now();
  let sent = 0;
  let rows = 0;
  const isTerminal = canDraw();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const show = isTerminal ? drawBar : note;
  const tell = (): void =>
    show(
      progressText({
        name,
        total,
        sent,
        rows,
        verb,
        seconds: seconds(),
        columns: isTerminal ? process.stderr.columns : 1,
      }),
    );
  const timer = isQuiet ? undefined : setInterval(tell, isTerminal ? barMs : lineMs);
  timer?.unref();
  return {
    sent: (bytes) => {
      sent = bytes;
    },
    rows: (count) => {
      rows = count;
    },
    stop: () => {
      clearInterval(timer);
      removeBar();
    },
  };
}

/** Returns whether the standard error is a terminal that can redraw a line and shows the characters of the bar. */
function canDraw({ TERM, CI, LC_ALL, LC_CTYPE, LANG } = process.env): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  const knowsBlocks = locale === undefined || /utf-?8/i.test(locale);
  return process.stderr.isTTY === true && TERM !== 'dumb' && !CI && knowsBlocks;
}

export interface ProgressFacts {
  name: string;
  total: number | undefined;
  sent: number;
  rows: number;
  /** What happened to the bytes. Default: `sent`. */
  verb?: string;
  seconds: number;
  /** The width of the terminal. If it is narrow, the bar is shortened or left out. Default: wide enough. */
  columns?: number | undefined;
}

/** Returns the line: the sent part, the number of rows, the rate and the remaining time. */
export function progressText({
  name,
  total,
  sent,
  rows,
  verb = 'sent',
  seconds,
  columns,
}: ProgressFacts): string {
  const parts = [name];
  if (total !== undefined && total > 0) {
    const share = Math.min(sent / total, 1);
    const width = Math.min((columns || Infinity) - textWidth, longestBar);
    const filled = Math.round(share * width);
    if (width >= shortestBar) parts.push(`${'█'.repeat(filled)}${'░'.repeat(width - filled)}`);
    parts.push(`${Math.floor(share * 100)}%`);
  }
  parts.push(`${inBytes(sent)} ${verb}`);
  if (rows > 0) parts.push(inCount(rows, 'row'), `${inCount(Math.round(rows / seconds), 'row')}/s`);
  if (total !== undefined && sent > 0 && sent < total && seconds > 1) {
    parts.push(`${inTime((seconds / sent) * (total - sent))} left`);
  }
  return parts.join('  ');
}

export function inTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
