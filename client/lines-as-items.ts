/** Makes the lines of NDJSON the items of a JSON array, for `{"table": …, "data": […]}`. Only the brackets are left to the caller. */

const lineFeed = 0x0a;
const comma = 0x2c;
const space = 0x20;

/** Returns the bytes after the byte order mark, which may be at the beginning of a file only. */
export function withoutByteOrderMark(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/**
 * Returns a function for the chunks of one file, in their order. It writes a comma before each line with a row, except the first. Lines of white
 * space stay as they are, because JSON allows them. No text of JSON has a line feed.
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
