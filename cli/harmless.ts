/** Makes text of other people harmless for a terminal. */

/**
 * Characters that command a terminal (C0, DEL and C1), and those that change the direction of the text or the lines: with them a
 * cell could change what a person reads.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is searched
const commanding = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Returns the text with every such character written as `\u001b`. */
export function harmless(text: string): string {
  return text.replace(commanding, escaped);
}

/** Returns the value as JSON in one line, with every such character escaped. */
export function harmlessJson(value: unknown): string {
  // JSON has such characters only inside of its texts, where an escape has the same meaning.
  return JSON.stringify(value).replace(commanding, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
