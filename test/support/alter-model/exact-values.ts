/** Says whether a value in a new type is the one that was there before, without PostgreSQL's casts. */

type Family = 'number' | 'float' | 'text' | 'instant' | 'day' | 'boolean' | 'json' | 'other';

const families: [RegExp, Family][] = [
  [/\[\]$/, 'other'],
  [/^(smallint|integer|bigint|numeric|oid|money|positive|serial)/, 'number'],
  [/^(real|double)/, 'float'],
  [/^(text|character|name|short)/, 'text'],
  [/^timestamp.*without/, 'instant'],
  [/^date$/, 'day'],
  [/^boolean/, 'boolean'],
  [/^json/, 'json'],
];

function familyOf(type: string): Family {
  const name = type.replace(/^public\./, '');
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}

/**
 * Returns what is wrong with the new value; undefined: nothing.
 *
 * @param mayLose rounding, precision and the time of day may be lost
 */
export function wrongValue(
  from: string,
  old: string,
  to: string,
  now: string,
  mayLose: boolean,
): string | undefined {
  if (old === now) return undefined;
  const says = `${old} (${from}) became ${now} (${to})`;
  const [before, after] = [familyOf(from), familyOf(to)];
  const isNumber = (family: Family) => family === 'number' || family === 'float';
  if (isNumber(before) && isNumber(after)) return sameNumber(old, now, mayLose) ? undefined : says;
  if (before === 'text' && isNumber(after))
    return /^-?\d/.test(old) && sameNumber(old, now, mayLose) ? undefined : says;
  if (before === 'text' && after === 'text') return old.trimEnd() === now.trimEnd() ? undefined : says;
  if (before === 'day' && after === 'instant') return now.replace(' 00:00:00', '') === old ? undefined : says;
  if (before === 'instant' && after === 'day')
    return now === old.replace(/ \d\d:\d\d:\d\d(\.\d+)?/, '') && (mayLose || old.includes(' 00:00:00'))
      ? undefined
      : says;
  if (before === 'instant' && after === 'instant') return mayLose ? undefined : says;
  if (after === 'json') return sameJson(old, now) ? undefined : says;
  if (before === 'boolean' && isNumber(after)) return (old === 'true') === (now === '1') ? undefined : says;
  if (isNumber(before) && after === 'boolean') return old === (now === 'true' ? '1' : '0') ? undefined : says;
  // Texts of other types may have several spellings, and PostgreSQL decides which one it writes.
  if (before === 'text') return undefined;
  if (after === 'text') return now.trimEnd() === old.trimEnd() ? undefined : says;
  return mayLose ? undefined : `${says}: unexpected`;
}

/** Two texts of numbers are equal, or the new one is a rounding of the old one. */
export function sameNumber(old: string, now: string, mayLose: boolean): boolean {
  const [a, b] = [exact(old), exact(now)];
  if (a === undefined || b === undefined) return old === now;
  const scale = a.scale > b.scale ? a.scale : b.scale;
  const difference = a.digits * 10n ** (scale - a.scale) - b.digits * 10n ** (scale - b.scale);
  if (difference === 0n) return true;
  if (!mayLose) return false;
  // A rounding changes at most half of the last digit, or one of seven digits of a real.
  const size = a.digits < 0n ? -a.digits : a.digits;
  const distance = difference < 0n ? -difference : difference;
  const roundsTo = 10n ** (scale - (b.scale > 0n ? b.scale : 0n));
  return distance * 2n <= roundsTo * 10n || distance * 1_000_000n <= size * 10n ** (scale - a.scale);
}

/** Reads a number without loss. Returns undefined for NaN, Infinity and other texts. */
function exact(text: string): { digits: bigint; scale: bigint } | undefined {
  const parts = /^\$?(-?)\$?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim().replaceAll(',', ''));
  if (parts === null || parts[2]! + parts[3]! === '') return undefined;
  const [, sign, whole, fraction, exponent = '0'] = parts;
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n);
  const scale = BigInt(fraction!.length) - BigInt(exponent);
  return scale >= 0n ? { digits, scale } : { digits: digits * 10n ** -scale, scale: 0n };
}

function sameJson(old: string, now: string): boolean {
  try {
    const sorted = (_: string, value: unknown) =>
      value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted())
        : value;
    return JSON.stringify(JSON.parse(old), sorted) === JSON.stringify(JSON.parse(now), sorted);
  } catch {
    return false;
  }
}
