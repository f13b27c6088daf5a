/** Tells what kind of file an upload is by its first bytes; its name says nothing reliable. */

export type SpreadsheetFormat =
  | 'xlsx'
  | 'compound-file'
  | 'excel-xml'
  | 'html'
  | 'pdf'
  | 'text'
  | 'empty'
  | 'unknown';

/** How many of the first bytes `recognizeFormat` looks at, at most. */
export const recognizedBytes = 512;

const signatures: [bytes: number[], format: SpreadsheetFormat][] = [
  [[0x50, 0x4b, 0x03, 0x04], 'xlsx'],
  // A zip without any entry, and one that is cut into volumes.
  [[0x50, 0x4b, 0x05, 0x06], 'xlsx'],
  [[0x50, 0x4b, 0x07, 0x08], 'xlsx'],
  [[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1], 'compound-file'],
  [[0x25, 0x50, 0x44, 0x46], 'pdf'],
];

/** @param head the file's first bytes, `recognizedBytes` of them or all */
export function recognizeFormat(head: Buffer): SpreadsheetFormat {
  if (head.length === 0) return 'empty';
  for (const [bytes, format] of signatures) {
    if (bytes.every((byte, index) => head[index] === byte)) return format;
  }
  const start = head.toString('latin1').replace(/^(ï»¿)?\s+|^ï»¿/, '');
  if (/^<\?xml/i.test(start)) return 'excel-xml';
  if (/^<(!doctype html|html|table|head|meta)/i.test(start)) return 'html';
  return isText(head) ? 'text' : 'unknown';
}

/** UTF-16 with its mark, or bytes without any that text does not have. */
function isText(head: Buffer): boolean {
  const mark = head.length >= 2 ? head.readUInt16BE(0) : 0;
  if (mark === 0xfffe || mark === 0xfeff) return true;
  return head.every(
    (byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === 0x0c,
  );
}
