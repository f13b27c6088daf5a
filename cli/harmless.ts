/** Makes text from files and from the service safe to print on a terminal. */

/**
 * Characters that control a terminal (C0, DEL and C1), and characters that change the direction of text or begin a line. With them
 * a cell could change what the user sees.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is searched
const commanding = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Replaces each of these characters by an escape such as `\u001b`. */
export function harmless(text: string): string {
  return text.replace(commanding, escaped);
}

/** Returns the value as one line of JSON in which each of these characters is escaped. */
export function harmlessJson(value: unknown): string {
  // In JSON these characters occur only inside strings, and there the escape means the same character.
  return JSON.stringify(value).replace(commanding, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
