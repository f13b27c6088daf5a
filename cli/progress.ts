/** Shows how an upload goes on: a bar on a terminal, and a line every few seconds elsewhere. */
import process from 'node:process';
import { drawBar, inBytes, inCount, note, removeBar } from './print.ts';

export interface Progress {
  /** The bytes of the body that were sent. */
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
/** What the texts before and after the bar need most of the time. */
const textWidth = 56;

/** @param total the bytes of the file; undefined: not known */
export function showProgress(name: string, total: number | undefined, isQuiet: boolean): Progress {
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

/** Returns whether the standard error is a terminal that can draw a bar over another one, in characters that it knows. */
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
  seconds: number;
  /** The width of the terminal. In a narrow one the bar is short or left out. Default: wide enough. */
  columns?: number | undefined;
}

/** Returns the line: the part that was sent, the rows, the rate and the time that is left. */
export function progressText({ name, total, sent, rows, seconds, columns }: ProgressFacts): string {
  const parts = [name];
  if (total !== undefined && total > 0) {
    const share = Math.min(sent / total, 1);
    const width = Math.min((columns || Infinity) - textWidth, longestBar);
    const filled = Math.round(share * width);
    if (width >= shortestBar) parts.push(`${'█'.repeat(filled)}${'░'.repeat(width - filled)}`);
    parts.push(`${Math.floor(share * 100)}%`);
  }
  parts.push(`${inBytes(sent)} sent`);
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
