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
    row(message, out) {
      const json = read(message);
      if (json === undefined) return;
      // Only values of the type `json` have line breaks: between their tokens, because a string in JSON has none.
      replaceAll(json, LF, SPACE);
      replaceAll(json, CR, SPACE);
      out.append(json);
      out.append(lineEnd);
    },
  };
}

export function jsonDocument(): RowWriter {
  const read = valueReader();
  let separator = firstRow;
  return {
    begin: (out) => out.append(beginning),
    row(message, out) {
      const json = read(message);
      if (json === undefined) return;
      out.append(separator);
      out.append(json);
      separator = nextRow;
    },
    end: (out: Chunks) => out.append(ending),
  };
}

/** Returns a function that takes each message of the COPY, in their order, and returns the value of its row; undefined: the message ends the rows. */
function valueReader(): (message: Buffer) => Buffer | undefined {
  let start = headerBytes + fieldBytes;
  return (message) => {
    const value = message.length < start ? undefined : message.subarray(start);
    start = fieldBytes;
    return value;
  };
}

function replaceAll(bytes: Buffer, byte: number, other: number): void {
  for (let at = bytes.indexOf(byte); at !== -1; at = bytes.indexOf(byte, at)) bytes[at] = other;
}
