/** Formats sizes, counts, times and values for the user. */

export function sizeInWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = -1;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Formats a count with commas between the thousands, independent of the language of the browser. */
export function countInWords(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countInWords(count)} ${count === 1 ? one : many}`;
}

/** Formats a duration in words. @param ms milliseconds */
export function timeInWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'less than a second';
  if (seconds < 60) return plural(seconds, 'second');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Says how long ago a time of the service was; after a week, its day. @param now milliseconds since 1970 */
export function agoInWords(text: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(text)) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${plural(minutes, 'minute')} ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${plural(hours, 'hour')} ago`;
  return hours < 24 * 7 ? `${plural(Math.floor(hours / 24), 'day')} ago` : text.slice(0, 10);
}

/** Replaces invisible characters, and those that change the direction of the text, by their number: the right-to-left override becomes ‹U+202E›. */
export function withVisibleControls(text: string): string {
  return text.replace(
    /[^\P{Cc}\t\n\r]|[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    (sign) => `‹U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`,
  );
}

/** Formats a value of a row. Numbers with many digits arrive as text already. */
export function shownValue(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string'
    ? value
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);
}

/** Escapes a name for a query parameter that is a list: commas, colons and backslashes get a backslash. */
export function escapedItem(name: string): string {
  return name.replace(/[\\,:]/g, '\\$&');
}

/** Splits a list at its separators. Separators inside an item have a backslash before them, and the backslash is kept. */
export function splitItems(list: string, separator: ',' | ':'): string[] {
  if (list === '') return [];
  const items = [''];
  for (const [part] of list.matchAll(/\\?./gsu)) {
    if (part === separator) items.push('');
    else items[items.length - 1] += part;
  }
  return items;
}
