/** Recognizes texts that are almost JSON, as JavaScript, Python, JSON5 or SQL have them, and explains what to send instead. */
import type { JsonFault } from './json-fault.ts';

/** Words that other languages write in place of JSON's, such as those of Python's `repr`, and what to send instead. */
const foreignWords = new Map(
  Object.entries({
    null: 'NaN nan NAN -NaN -nan Infinity +Infinity -Infinity inf -inf Inf -Inf undefined None NULL Null nil NaT NA',
    true: 'True TRUE',
    false: 'False FALSE',
  }).flatMap(([remedy, words]) => words.split(' ').map((word): [string, string] => [word, remedy])),
);

/** The beginning of a statement of SQL. */
const sqlStatement = /^(create|insert\s+into|select|copy|with|begin|alter|drop|update|delete\s+from)\s/i;

const PYTHON = 'in Python, write it with json.dumps';

/**
 * Returns advice about the byte at which the text stops being JSON.
 *
 * @returns undefined if nothing special is known, or the chunk ends too early to know it
 */
export function explainAlmostJson({ position, message }: JsonFault, chunk: Buffer): string | undefined {
  if (position < 0) return undefined;
  const isKey = message.startsWith('a key in quotes');
  const isValue = message === 'a value' || message === 'a digit in the number' || / of \w+$/.test(message);
  const isSeparator = message.startsWith('"," or') || message.startsWith('the end of the line');
  if (!isKey && !isValue && !isSeparator && !message.startsWith('nothing after')) return undefined;
  const after = chunk.toString('utf8', position, position + 20);
  if (/^(\/[/*]|#)/.test(after)) return 'JSON has no comments; remove the comment';
  if (isSeparator) return explainSeparator(chunk, position, after);
  if (/^['‘’]/.test(after)) {
    const what = isKey ? 'keys' : 'strings';
    return `JSON has ${what} in double quotes, not in single quotes; send "…" (${PYTHON})`;
  }
  if (/^[“”„«]/.test(after)) return 'a typographic quotation mark does not begin a JSON string; send "…"';
  if (/^[\]}]/.test(after) && lastByteBefore(chunk, position) === 0x2c) {
    return `JSON has no comma before ${after[0]}; remove the comma`;
  }
  if (isKey) return explainKey(after);
  return explainValue(chunk, position, after);
}

function explainKey(after: string): string | undefined {
  const key = /^[\p{L}_$][\p{L}\p{N}_$]*(?=\s*:)/u.exec(after)?.[0];
  return key === undefined ? undefined : `JSON has keys in double quotes; send "${key}"`;
}

function explainValue(chunk: Buffer, position: number, after: string): string | undefined {
  const start = Math.max(0, position - 10);
  const before = /[-+]?[A-Za-z]*$/.exec(chunk.toString('latin1', start, position))![0];
  const word = before + /^[-+]?\w*/.exec(after)![0];
  if (position < 10 && sqlStatement.test(chunk.toString('latin1', position, position + 40)))
    return 'this looks like SQL; send JSON, as in {"data": [{"id": 1}]}, and run SQL in PostgreSQL';
  const remedy = foreignWords.get(word);
  if (remedy !== undefined) return `${word} is not JSON; send ${remedy}`;
  if (/^\+\d/.test(after)) return 'a JSON number has no plus sign; leave it out';
  if (/^\.\d/.test(after)) return 'a JSON number has a digit before the point; send 0.5, not .5';
  return undefined;
}

/** Explains a byte at a place where only a comma or a bracket may be. */
function explainSeparator(chunk: Buffer, position: number, after: string): string | undefined {
  const last = chunk[position - 1];
  if (last === 0x30 && /^\d/.test(after)) {
    return 'a JSON number does not begin with 0; send the digits as a string if the zeros matter';
  }
  if (last === 0x30 && /^[xXbBoO][\da-fA-F]/.test(after)) {
    return 'JSON numbers are decimal; send the number in decimal digits, or as a string';
  }
  if (/^_\d/.test(after)) return 'a JSON number has no "_"; leave it out';
  return undefined;
}

/** Returns the last byte that is not white space; undefined: the chunk does not have it. */
function lastByteBefore(chunk: Buffer, position: number): number | undefined {
  let at = position - 1;
  while (at >= 0 && chunk[at]! <= 0x20) at--;
  return chunk[at];
}
