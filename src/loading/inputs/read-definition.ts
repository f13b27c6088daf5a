/** Parses the JSON text of a definition. */
import { AppError } from '../../errors.ts';
import { pointerTo } from '../../sources/json/json-pointer.ts';
import { parseDefinitionJson } from '../../sources/json/parse-definition-json.ts';
import { shortenValue } from '../problems.ts';
import { findRepeatedKey, repeatedKey } from '../repeated-keys.ts';

/**
 * @param text valid JSON
 * @throws AppError `invalid-definition` if an object names a key twice, because all values but the last would be lost
 */
export function readDefinition(text: Buffer): unknown {
  if (findRepeatedKey(text, 0, text.length)) {
    const { start, end } = repeatedKey;
    const key = JSON.parse(text.toString('utf8', start - 1, end + 1)) as string;
    const pointer = `/table${pathTo(text, start - 1)}${pointerTo(key)}`;
    const detail = `the key "${shortenValue(key)}" occurs twice in this object; send it once`;
    throw new AppError('invalid-definition', `The definition has a key twice: ${pointer}.`, {
      errors: [{ pointer, code: 'repeated-key', detail }],
    });
  }
  return parseDefinitionJson(text.toString());
}

/** Returns the JSON Pointer of the object that contains the key at the position. */
function pathTo(text: Buffer, position: number): string {
  const before = text.toString('utf8', 0, position);
  /** The index in each open array and the key in each open object. */
  const steps: (string | number)[] = [];
  for (const [token] of before.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[[\]{},]/gs)) {
    const last = steps.length - 1;
    if (token === '[') steps.push(0);
    else if (token === '{') steps.push('');
    else if (token === ']' || token === '}') steps.pop();
    else if (token === ',') steps[last] = typeof steps[last] === 'number' ? steps[last] + 1 : '';
    else if (token.endsWith(':')) steps[last] = JSON.parse(token.slice(0, -1)) as string;
  }
  return steps
    .slice(0, -1)
    .map((step) => pointerTo(String(step)))
    .join('');
}
