/** Turns the lines of NDJSON into the items of a JSON array, for `{"table": …, "data": […]}`. The caller adds the brackets. */

const lineFeed = 0x0a;
const comma = 0x2c;
const space = 0x20;

/** Removes a byte order mark, which is allowed only at the beginning of a file. */
export function withoutByteOrderMark(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/**
 * Returns a function that converts the chunks of one file in their order. It writes a comma before each row except the first. Blank
 * lines stay, because JSON allows them. Each line feed ends a line, because JSON has none inside a string.
 */
export function linesAsItems(): (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> {
  let isFirst = true;
  let isLineStart = true;
  return (chunk) => {
    const bytes = isFirst ? withoutByteOrderMark(chunk) : chunk;
    const starts: number[] = [];
    for (let at = 0; at < bytes.length; at++) {
      if (!isLineStart) {
        at = bytes.indexOf(lineFeed, at);
        if (at === -1) break;
        isLineStart = true;
      } else if (bytes[at]! > space) {
        if (!isFirst) starts.push(at);
        isFirst = false;
        isLineStart = false;
      }
    }
    return starts.length === 0 ? bytes : withCommas(bytes, starts);
  };
}

function withCommas(bytes: Uint8Array<ArrayBuffer>, starts: number[]): Uint8Array<ArrayBuffer> {
  const written = new Uint8Array(bytes.length + starts.length);
  let copied = 0;
  for (const [count, start] of starts.entries()) {
    written.set(bytes.subarray(copied, start), copied + count);
    written[start + count] = comma;
    copied = start;
  }
  written.set(bytes.subarray(copied), copied + starts.length);
  return written;
}
