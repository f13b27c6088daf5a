/** Tells what kind of file an upload is by its first bytes; its name says nothing reliable. */

import { readTextStart } from './csv/text-encoding.ts';

export type SpreadsheetFormat =
  | 'zip'
  | 'compound-file'
  | 'biff'
  | 'excel-xml'
  | 'html'
  | 'json'
  | 'pdf'
  | 'rtf'
  | 'image'
  | 'archive'
  | 'parquet'
  | 'sqlite'
  | 'csv'
  | 'empty'
  | 'unknown';

/** How many of the first bytes `recognizeFormat` looks at, at most. */
export const recognizedBytes = 512;

const signatures: [bytes: number[], format: SpreadsheetFormat][] = [
  [[0x50, 0x4b, 0x03, 0x04], 'zip'],
  // A zip without any entry, and one that is cut into volumes.
  [[0x50, 0x4b, 0x05, 0x06], 'zip'],
  [[0x50, 0x4b, 0x07, 0x08], 'zip'],
  [[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1], 'compound-file'],
  // The records of Excel 2 to 4, which have no container around them: BOF, by version (MS-XLS 2.4.21).
  [[0x09, 0x00, 0x04, 0x00], 'biff'],
  [[0x09, 0x02, 0x06, 0x00], 'biff'],
  [[0x09, 0x04, 0x06, 0x00], 'biff'],
  ...signature('pdf', '%PDF'),
  ...signature('rtf', '{\\rtf'),
  ...signature('image', '\x89PNG', 'GIF87a', 'GIF89a', '\xff\xd8\xff', 'II*\0', 'MM\0*'),
  ...signature(
    'archive',
    '\x1f\x8b',
    'BZh91AY&SY',
    '7z\xbc\xaf',
    'Rar!\x1a\x07',
    '\xfd7zXZ',
    '\x28\xb5\x2f\xfd',
  ),
  ...signature('parquet', 'PAR1\x15'),
  ...signature('sqlite', 'SQLite format 3\0'),
];

function signature(format: SpreadsheetFormat, ...texts: string[]): [number[], SpreadsheetFormat][] {
  return texts.map((text) => [[...Buffer.from(text, 'latin1')], format]);
}

/** @param head the file's first bytes, `recognizedBytes` of them or all */
export function recognizeFormat(head: Buffer): SpreadsheetFormat {
  if (head.length === 0) return 'empty';
  for (const [bytes, format] of signatures) {
    if (bytes.every((byte, index) => head[index] === byte)) return format;
  }
  const start = head.toString('latin1').replace(/^(ï»¿)?\s+|^ï»¿/, '');
  if (/^<\?xml/i.test(start)) return 'excel-xml';
  if (/^<(!doctype html|html|table|head|meta)/i.test(start)) return 'html';
  // What may be a column's name, as `[id]`, is left to be text.
  if (/^(\{\s*["}]|\[\s*[[{"\]])/.test(start)) return 'json';
  return isText(head) ? 'csv' : 'unknown';
}

/** UTF-16, or bytes without any that text does not have. */
function isText(head: Buffer): boolean {
  const encoding = readTextStart(head).encoding;
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return true;
  return head.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}
