/** Writes and reads JSON with integers that have more digits than a JavaScript number can hold. */

/** `JSON.rawJSON` and the source text in a reviver are new (ECMAScript 2026), so the TypeScript library does not declare them. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };

/** Marks the digits of a bigint in runtimes without `JSON.rawJSON`. The mark is random, so that no text of a row contains it. */
const mark = `bigint ${Math.random()} `;
const marked = new RegExp(`"${mark}(-?\\d+)"`, 'g');

/** Writes a bigint as a JSON number with all its digits. */
export function toJson(value: unknown): string {
  let hasMarks = false;
  const text = JSON.stringify(value, (_, member) => {
    if (typeof member !== 'bigint') return member;
    if (rawJSON) return rawJSON(String(member));
    hasMarks = true;
    return `${mark}${member}`;
  });
  return hasMarks ? text.replace(marked, '$1') : text;
}

const safeDigits = 15;

/**
 * Parses JSON. A number that a JavaScript number cannot hold exactly becomes a string. Older runtimes round it.
 *
 * @param rowsOf returns the rows in the value. In their members, a number such as 10.50 also becomes a string, because a JavaScript number would lose its digits
 */
// biome-ignore lint/suspicious/noExplicitAny: the callers name the type
export function fromJson(text: string, rowsOf: (value: any) => Record<string, unknown>[]): any {
  const written = new Map<unknown, [key: string, source: string][]>();
  const parsed = JSON.parse(text, function (this: unknown, key, value, context?: { source?: string }) {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    const digits = source.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
    if (digits.length > safeDigits) return source;
    // An exponent is how PostgreSQL writes a binary number, which has no digits to keep.
    if (/e/i.test(source)) return value;
    const members = written.get(this);
    if (members === undefined) written.set(this, [[key, source]]);
    else members.push([key, source]);
    return value;
  });
  for (const row of rowsOf(parsed)) for (const [key, source] of written.get(row) ?? []) row[key] = source;
  return parsed;
}
