/**
 * Words all errors for an exceeded limit. They name the thing that is too large, the limit with its unit, and the setting
 * that raises it.
 */
import { bytesInWords } from './bytes-in-words.ts';
import { AppError } from './errors.ts';
import { type SettingName, settings } from './settings/config.ts';

/** The unit of a limit, such as `bytes`, or the setting that has the limit and its unit. */
export type LimitUnit = string | { setting: SettingName };

/** Returns the error, for example `The sheet has too many rows: the limit is 1,000 rows (MAX_ROWS).` */
export function limitExceeded(what: string, limit: number, unit: LimitUnit, remedy = ''): AppError {
  const detail = limitDetail(what, limit, unit);
  return new AppError('limit-exceeded', remedy === '' ? detail : `${detail} ${remedy}`);
}

/** Returns only the text of the error, for errors with another code. */
export function limitDetail(what: string, limit: number, unit: LimitUnit): string {
  return `${overLimit(what, limit, unit)}.`;
}

/** Returns the text without a full stop, for problems. */
export function overLimit(what: string, limit: number, unit: LimitUnit): string {
  return `${what}: the limit is ${limitInWords(limit, unit)}`;
}

/** Returns a limit as messages name it, for example `1,000 rows (MAX_ROWS)`, `30 s (BODY_IDLE_TIMEOUT_MS)` or `64 styles`. */
export function limitInWords(limit: number, unit: LimitUnit): string {
  if (typeof unit === 'string') return amountInWords(limit, unit);
  const setting = settings.find(({ name }) => name === unit.setting);
  return `${amountInWords(limit, setting?.unit ?? '')} (${unit.setting})`;
}

/** Returns a number with its unit, a plural: `2 rows`, `1 row`. Bytes become `64 MiB`, and milliseconds seconds, if these are whole. */
export function amountInWords(amount: number, unit: string): string {
  if (unit === 'bytes') return bytesInWords(amount);
  if (unit === 'bytes per second') return `${bytesInWords(amount)} per second`;
  if (unit === 'ms' && amount % 1000 === 0) return `${(amount / 1000).toLocaleString('en-US')} s`;
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? unit.replace(/(ss)es\b|s\b/, '$1') : unit}`;
}
