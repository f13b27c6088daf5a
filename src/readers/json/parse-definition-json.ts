import * as ascii from '../../core/bytes/ascii.ts';
import { afterBlanks } from './parse-in-turns.ts';

/**
 * Parses the JSON text of a definition. If the value of `default` is a number or a boolean, it becomes its text, with every digit as it was sent.
 *
 * To do this, the value is put in quotes before the text is parsed. A reviver of `JSON.parse` would also see the text, but makes parsing ten times
 * as long.
 *
 * @param text valid JSON
 */
export function parseDefinitionJson(text: Buffer): unknown {
  const bounds = findPlainDefaults(text);
  return JSON.parse((bounds.length === 0 ? text : withQuotes(text, bounds)).toString());
}

/** Returns the start and the end of each number and boolean that is the value of a key `default`, one after the other. */
function findPlainDefaults(text: Buffer): number[] {
  const bounds: number[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== ascii.QUOTE) continue;
    const start = at + 1;
    let hasEscape = false;
    for (at = start; text[at] !== ascii.QUOTE; at++) {
      if (text[at] !== ascii.BACKSLASH) continue;
      hasEscape = true;
      at++;
    }
    if (!isDefault(text, start, at, hasEscape)) continue;
    const colon = afterBlanks(text, at + 1);
    if (text[colon] !== ascii.COLON) continue;
    const value = afterBlanks(text, colon + 1);
    if (!beginsPlainValue(text[value]!)) continue;
    at = value;
    while (!endsPlainValue(text[at]!)) at++;
    bounds.push(value, at);
    at--;
  }
  return bounds;
}

const word = Buffer.from('default');
/** The longest form of the key `default`, in which each letter is an escape of six bytes. */
const longestWord = word.length * 6;

function isDefault(text: Buffer, start: number, end: number, hasEscape: boolean): boolean {
  if (!hasEscape) return end - start === word.length && text.compare(word, 0, word.length, start, end) === 0;
  if (end - start > longestWord || (end - start - word.length) % 5 !== 0) return false;
  return JSON.parse(text.toString('utf8', start - 1, end + 1)) === 'default';
}

function beginsPlainValue(byte: number): boolean {
  return (
    byte === ascii.MINUS ||
    (byte >= ascii.ZERO && byte <= ascii.NINE) ||
    byte === ascii.LOWER_T ||
    byte === ascii.LOWER_F
  );
}

function endsPlainValue(byte: number): boolean {
  return (
    byte === ascii.COMMA ||
    byte === ascii.CLOSING_BRACE ||
    byte === ascii.CLOSING_BRACKET ||
    ascii.isWhiteSpace(byte)
  );
}

/**
 * Returns the text with quotes before the given positions.
 *
 * @param positions the positions in ascending order
 */
function withQuotes(text: Buffer, positions: number[]): Buffer {
  const quoted = Buffer.allocUnsafe(text.length + positions.length);
  let written = 0;
  let next = 0;
  for (let at = 0; at < text.length; at++) {
    if (at === positions[next]) {
      quoted[written++] = ascii.QUOTE;
      next++;
    }
    quoted[written++] = text[at]!;
  }
  return quoted;
}
