/** How the parts of the JSON scanner fail: in terms of the chunk. The scanner of the body adds the place in the document. */

/** The byte at `position` of the chunk (negative: in a chunk before) is not what the grammar of RFC 8259 allows. */
export class JsonFault extends Error {
  readonly position: number;
  readonly showsByte: boolean;

  /** @param message what was expected; where `showsByte` is false, all there is to say */
  constructor(position: number, message: string, showsByte = true) {
    super(message);
    this.position = position;
    this.showsByte = showsByte;
  }
}

/** A limit with what it counts: `{ setting: 'MAX_CELL_BYTES', value: 1048576, unit: 'bytes' }`. */
export interface Limit {
  /** undefined: it cannot be set. */
  setting?: string;
  value: number;
  unit: string;
}

export class LimitFault extends Error {
  constructor(subject: string, { setting, value, unit }: Limit) {
    super(`${subject} is over the limit of ${value} ${unit}${setting === undefined ? '' : ` (${setting})`}.`);
  }
}

/** Words of Python, JavaScript and SQL that programs write in place of JSON's, such as Python's `json.dumps`, and what to send. */
const foreignWords = new Map(
  Object.entries({
    null: 'NaN nan -NaN -nan Infinity -Infinity inf -inf undefined None NULL Null nil NaT',
    true: 'True TRUE',
    false: 'False FALSE',
  }).flatMap(([remedy, words]) => words.split(' ').map((word): [string, string] => [word, remedy])),
);

/** Says what to send in place of the word at the fault; undefined if it is no known word, or the chunk cuts it. */
export function foreignWordAt({ position, message }: JsonFault, chunk: Buffer): string | undefined {
  const isValue = message === 'a value' || message === 'a digit in the number' || / of \w+$/.test(message);
  if (!isValue || position < 0) return undefined;
  const start = Math.max(0, position - 10);
  const before = /-?[A-Za-z]*$/.exec(chunk.toString('latin1', start, position))![0];
  const word = before + /^\w*/.exec(chunk.toString('latin1', position, position + 16))![0];
  const remedy = foreignWords.get(word);
  return remedy === undefined ? undefined : `${word} is not JSON; send ${remedy}`;
}

/** A byte as a person reads it: `"x"`, or `0x0A` where it has no face of its own. */
export function showByte(byte: number): string {
  if (byte === 0x22) return `'"'`;
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `0x${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
