/**
 * Finds words in bytes, ignoring case, without making a string. Letters outside of ASCII are compared in three forms: `märz`, `März`
 * and `MÄRZ`.
 */

/** The bit that turns a capital letter into a small one. */
const LOWER = 0x20;

export class WordList {
  /** The words in small letters, by their length in bytes and their first letter. */
  readonly #words: ({ bytes: Buffer; value: number }[] | undefined)[] = [];

  /** @param words the words with their values, which are not 0 */
  constructor(words: Iterable<[string, number]>) {
    const forms = new Map<string, number>();
    for (const [word, value] of words) {
      const title = word.charAt(0).toUpperCase() + word.slice(1);
      for (const form of [word, title, word.toUpperCase()]) forms.set(withSmallLetters(form), value);
    }
    for (const [form, value] of forms) {
      const bytes = Buffer.from(form);
      const place = placeOf(bytes.length, bytes[0]!);
      this.#words[place] ??= [];
      this.#words[place]!.push({ bytes, value });
    }
  }

  /** Returns the value of the word; 0: the text is none of the words. */
  find(bytes: Buffer, start: number, end: number): number {
    const words = this.#words[placeOf(end - start, bytes[start]!)];
    if (words === undefined) return 0;
    for (const { bytes: word, value } of words) if (isWord(bytes, start, word)) return value;
    return 0;
  }
}

/** Returns the index for a length and a first letter. A capital and its small letter have the same index. */
function placeOf(length: number, first: number): number {
  return length * 32 + (first & 31);
}

function withSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function isWord(bytes: Buffer, start: number, word: Buffer): boolean {
  for (let at = 0; at < word.length; at++) {
    const byte = bytes[start + at]!;
    const isCapital = byte >= 0x41 && byte <= 0x5a;
    if ((isCapital ? byte | LOWER : byte) !== word[at]) return false;
  }
  return true;
}

/** Returns the end of the word at `at`. A word consists of ASCII letters and all bytes above ASCII. */
export function afterWord(bytes: Buffer, at: number, end: number): number {
  let next = at;
  while (next < end && isLetter(bytes[next]!)) next++;
  return next;
}

function isLetter(byte: number): boolean {
  return byte >= 0x80 || ((byte | LOWER) >= 0x61 && (byte | LOWER) <= 0x7a);
}
