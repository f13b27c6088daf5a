/**
 * Writes rows as JSON: one object on each line (NDJSON), or a document `{"data": […]}`, which uploads accept. The COPY has the binary format and one
 * column, the JSON of the row, because the text format would escape backslashes.
 */
import { CR, LF, SPACE } from '../../../core/bytes/ascii.ts';
import type { Chunks } from './chunks.ts';
import type { RowWriter } from './row-stream.ts';

/** The header of the binary format: a signature, flags and the length of an extension (documentation of COPY). It is sent with the first row. */
const headerBytes = 19;
/** The number of columns and the length of the value. The end of the rows has only the first one, which is then -1. */
const fieldBytes = 6;

const beginning = Buffer.from('{"data":[');
const firstRow = Buffer.from('\n');
const nextRow = Buffer.from(',\n');
const ending = Buffer.from('\n]}\n');
const lineEnd = Buffer.from('\n');

export function jsonLines(): RowWriter {
  const read = valueReader();
  return {
    row(part, out, isLast) {
      const json = read(part, isLast);
      if (json === undefined) return;
      // Only values of the type `json` have line breaks: between their tokens, because a string in JSON has none.
      replaceAll(json, LF, SPACE);
      replaceAll(json, CR, SPACE);
      out.append(json);
      if (isLast) out.append(lineEnd);
    },
  };
}

export function jsonDocument(): RowWriter {
  const read = valueReader();
  let separator = firstRow;
  let isInRow = false;
  return {
    begin: (out) => out.append(beginning),
    row(part, out, isLast) {
      const json = read(part, isLast);
      if (json === undefined) return;
      if (!isInRow) out.append(separator);
      out.append(json);
      separator = nextRow;
      isInRow = !isLast;
    },
    end: (out: Chunks) => out.append(ending),
  };
}

/** Returns a function that takes the parts of all messages and returns what they have of the value of a row; undefined: nothing, or the message ends the rows. */
function valueReader(): (part: Buffer, isLast: boolean) => Buffer | undefined {
  let start = headerBytes + fieldBytes;
  return (part, isLast) => {
    const value = part.length < start ? undefined : part.subarray(start);
    start = isLast ? fieldBytes : Math.max(0, start - part.length);
    return value;
  };
}

function replaceAll(bytes: Buffer, byte: number, other: number): void {
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at)) bytes[at] = other;
}
