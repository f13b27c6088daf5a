/** Writes and reads JSON whose numbers may have more digits than a JavaScript number. */

/** JSON.rawJSON and the source text in a reviver are new (ECMAScript 2026), so the types do not have them. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };

/** Writes a bigint as a number with all its digits. Older runtimes write it as text, which the service reads as the same number. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, member) => {
    if (typeof member !== 'bigint') return member;
    return rawJSON ? rawJSON(String(member)) : String(member);
  });
}

const safeDigits = 15;

/** Reads JSON. A number with more digits than a JavaScript number can hold is read as text. Older runtimes round it. */
export function fromJson(text: string): unknown {
  return JSON.parse(text, (_, value, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined) return value;
    const digits = source.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
    return digits.length <= safeDigits || String(value) === source ? value : source;
  });
}
