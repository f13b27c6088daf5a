/** Shortens long texts. The result does not keep the long text in memory, as a slice of it would. */

/** The maximum number of characters of a message that other people decide, such as that of RAISE in a trigger, or of an expression of a table. */
export const maxMessageCharacters = 1000;

/** Returns the beginning of a text that is too long, with `…` at the end. */
export function cutText(text: string, max: number = maxMessageCharacters): string {
  return text.length <= max ? text : `${copyOf(text, 0, max - 1)}…`;
}

/** Returns the beginning and the end of a text that is too long, with `…` between them. */
export function cutMiddle(text: string, first: number, last: number): string {
  if (text.length <= first + last) return text;
  return `${copyOf(text, 0, first)}…${copyOf(text, text.length - last, text.length)}`;
}

/** Copies a part of a text without halves of surrogate pairs at its ends. */
function copyOf(text: string, start: number, end: number): string {
  const from = isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start;
  const to = isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
  return Buffer.from(text.slice(from, to), 'utf16le').toString('utf16le');
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
