/** Parses the JSON text of a definition. */

import {
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
} from '../../../core/bytes/ascii.ts';
import { AppError } from '../../../core/errors.ts';
import { pointerTo } from '../../../core/json-pointer.ts';
import { findRepeatedKey, repeatedKey } from '../../../encoding/encoders/repeated-keys.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { parseDefinitionJson } from '../../../readers/json/parse-definition-json.ts';
import { afterBlanks, endOfString, parseInTurns } from '../../../readers/json/parse-in-turns.ts';

/**
 * Parses a definition. A large text is parsed in turns.
 *
 * @param text valid JSON
 * @param root the JSON Pointer of the text, for errors
 * @throws AppError `invalid-definition` if an object names a key twice, because all values but the last would be lost
 */
export function readDefinition(text: Buffer, root = '/table'): Promise<unknown> {
  const refuseRepeated = (key: string, position: number): never => {
    throw repeatedKeyError(key, `${root}${pathTo(text, position)}`);
  };
  return parseInTurns(text, {
    parse: (part, offset) => {
      if (findRepeatedKey(part, 0, part.length)) {
        const { start, end } = repeatedKey;
        const key = JSON.parse(part.toString('utf8', start - 1, end + 1)) as string;
        refuseRepeated(key, offset + start - 1);
      }
      return parseDefinitionJson(part);
    },
    refuseRepeated,
  });
}

function repeatedKeyError(key: string, path: string): AppError {
  const pointer = `${path}${pointerTo(key)}`;
  const detail = `the key "${shortenValue(key)}" occurs twice in this object; send it once`;
  return new AppError('invalid-definition', `The definition has a key twice: ${pointer}.`, {
    errors: [{ pointer, code: 'repeated-key', detail }],
  });
}

/** Returns the JSON Pointer of the object that contains the key at the position. */
function pathTo(text: Buffer, position: number): string {
  /** For each open array the index of the current element, and for each open object the position of the current key. */
  const steps: number[] = [];
  const areArrays: boolean[] = [];
  for (let at = 0; at < position; at++) {
    const byte = text[at];
    const last = steps.length - 1;
    if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      steps.push(0);
      areArrays.push(byte === OPENING_BRACKET);
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
      steps.pop();
      areArrays.pop();
    } else if (byte === COMMA && areArrays[last]) {
      steps[last]!++;
    } else if (byte === QUOTE) {
      const end = endOfString(text, at);
      if (areArrays[last] === false && isKey(text, end)) steps[last] = at;
      at = end - 1;
    }
  }
  const nameOf = (step: number, index: number): string =>
    areArrays[index] ? String(step) : JSON.parse(text.toString('utf8', step, endOfString(text, step)));
  // The last step is the key itself.
  return steps.slice(0, -1).map(nameOf).map(pointerTo).join('');
}

/** Returns whether the string that ends at `end` is a key: a colon follows it. */
function isKey(text: Buffer, end: number): boolean {
  return text[afterBlanks(text, end)] === COLON;
}
