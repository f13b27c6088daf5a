/** Puts a definition into the body of a JSON upload without reading the file into memory: the browser joins the parts when it sends them. */

const sliceBytes = 1 << 20;
const newline = 10;
const comma = 44;
const openBrace = 123;
const openBracket = 91;

/** Returns `{"table": …, "data": …}` with the rows of the file. @param definition JSON */
export async function jsonWithDefinition(
  file: Blob,
  kind: 'json' | 'ndjson',
  definition: string,
): Promise<Blob> {
  const table = `{"table":${definition}`;
  if (kind === 'ndjson') return new Blob([`${table},"data":[`, ...(await linesAsItems(file)), ']}']);
  const { at, sign } = await firstSign(file);
  // The rows of an object may be anywhere in it. `rows_at` names them.
  if (sign === openBrace) return new Blob([`${table},`, file.slice(at + 1)]);
  return new Blob([`${table},"data":`, file.slice(sign === openBracket ? at : 0), '}']);
}

async function firstSign(file: Blob): Promise<{ at: number; sign: number }> {
  const bytes = new Uint8Array(await file.slice(0, sliceBytes).arrayBuffer());
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  let at = start;
  while (at < bytes.length && isSpace(bytes[at]!)) at++;
  return { at, sign: bytes[at] ?? 0 };
}

/** Writes a comma before each line with a row, except the first. No string of JSON has a newline. */
async function linesAsItems(file: Blob): Promise<Blob[]> {
  const parts: Blob[] = [];
  let isFirst = true;
  let isInRow = false;
  for (let from = 0; from < file.size; from += sliceBytes) {
    const bytes = new Uint8Array(await file.slice(from, from + sliceBytes).arrayBuffer());
    const written = new Uint8Array(bytes.length * 2);
    let length = 0;
    for (const byte of bytes) {
      if (byte === newline) isInRow = false;
      else if (!isInRow && !isSpace(byte)) {
        isInRow = true;
        if (!isFirst) written[length++] = comma;
        isFirst = false;
      }
      written[length++] = byte;
    }
    parts.push(new Blob([written.subarray(0, length)]));
  }
  return parts;
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === newline || byte === 13 || byte === 9;
}
