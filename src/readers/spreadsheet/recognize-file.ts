/** Recognizes the kind of a file by its first bytes, because its name is not reliable. */

import { CTRL_Z } from '../../core/bytes/ascii.ts';
import { readTextStart } from '../bytes/text-encoding.ts';

export type FileKind =
  | 'zip'
  | 'compound-file'
  | 'biff'
  | 'excel-xml'
  | 'xml-spreadsheet'
  | 'flat-opendocument'
  | 'web-archive'
  | 'sylk'
  | 'dif'
  | 'lotus'
  | 'dbase'
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

/** The number of bytes at the start of a file that `recognizeFile` checks. */
export const recognizedBytes = 4096;

const signatures: [bytes: number[], format: FileKind][] = [
  [[0x50, 0x4b, 0x03, 0x04], 'zip'],
  // An empty zip file, and one that is divided into several files.
  [[0x50, 0x4b, 0x05, 0x06], 'zip'],
  [[0x50, 0x4b, 0x07, 0x08], 'zip'],
  [[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1], 'compound-file'],
  // The first record of files of Excel 2 to 4, which have no container (BOF, MS-XLS 2.4.21).
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
  // BOF of Lotus 1-2-3 (.wk1, .wks; .wk3, .wk4, .123) and of Quattro Pro, which uses the same format.
  ...signature('lotus', '\0\0\x02\0\x04\x04', '\0\0\x02\0\x05\x04', '\0\0\x02\0\x06\x04'),
  ...signature('lotus', '\0\0\x1a\0\0\x10', '\0\0\x1a\0\x02\x10', '\0\0\x1a\0\x03\x10', '\0\0\x1a\0\x05\x10'),
  ...signature(
    'lotus',
    '\0\0\x02\0\x20\x51',
    '\0\0\x02\0\x21\x51',
    '\0\0\x02\0\x01\x10',
    '\0\0\x02\0\x02\x10',
  ),
  ...signature('parquet', 'PAR1\x15'),
  ...signature('sqlite', 'SQLite format 3\0'),
];

function signature(format: FileKind, ...texts: string[]): [number[], FileKind][] {
  return texts.map((text) => [[...Buffer.from(text, 'latin1')], format]);
}

/**
 * Recognizes the format of a file from its content.
 *
 * @param head the file's first bytes, `recognizedBytes` of them or all
 */
export function recognizeFile(head: Buffer): FileKind {
  if (head.length === 0) return 'empty';
  for (const [bytes, format] of signatures) {
    if (bytes.every((byte, index) => head[index] === byte)) return format;
  }
  const start = head.toString('latin1').replace(/^(ï»¿)?\s+|^ï»¿/, '');
  if (/^<\?xml/i.test(start)) return xmlFormat(start);
  if (/^MIME-Version: *1\.0\r?\n/i.test(start)) return 'web-archive';
  if (isSylk(start)) return 'sylk';
  if (difStart.test(start)) return 'dif';
  if (isDbase(head)) return 'dbase';
  if (/^<(!doctype html|html|table|head|meta)/i.test(start)) return 'html';
  // `[id]` is more likely the name of a column than JSON, so the file is text.
  if (/^(\{\s*["}]|\[\s*[[{"\]])/.test(start)) return 'json';
  if (isText(head.subarray(0, textBytes))) return 'csv';
  // A text may begin with these letters, too. PARE is an encrypted Parquet file.
  if (/^PAR[1E]/.test(start)) return 'parquet';
  return head.toString('latin1', 257, 262) === 'ustar' ? 'archive' : 'unknown';
}

function xmlFormat(start: string): FileKind {
  if (start.includes('urn:schemas-microsoft-com:office:spreadsheet') || /progid="Excel\.Sheet"/.test(start)) {
    return 'xml-spreadsheet';
  }
  const isFlat = start.includes('<office:document') && start.includes('oasis:names:tc:opendocument');
  return isFlat ? 'flat-opendocument' : 'excel-xml';
}

/** A cell or the bounds of the sheet in SYLK. */
const sylkCell = /^(C;(Y\d+;)?X\d+;|C;X\d+;Y\d+;|B;Y\d+;X\d+)/;
const sylkRecord = /^(ID;P|[BCFOPUWE](;|$)|N[NEUL];)/;

/**
 * Returns whether a text is SYLK. A CSV file with the header `ID;Price` begins in the same way. So every line must be a record of
 * SYLK, and at least one must be a cell or the bounds of the sheet.
 */
function isSylk(start: string): boolean {
  if (!/^ID;P[A-Z0-9]*(;[NE])*\r?\n/.test(start)) return false;
  const lines = start.split(/\r?\n/).slice(0, -1);
  return lines.every((line) => sylkRecord.test(line)) && lines.some((line) => sylkCell.test(line));
}

/** The header of DIF: the item TABLE with its two lines, then another item. */
const difStart = /^TABLE\r?\n0,1\r?\n"[^"\r\n]*"\r?\n(VECTORS|TUPLES|LABEL|COMMENT|SIZE|DATA)\r?\n/;

const dbaseVersions = [0x02, 0x03, 0x30, 0x31, 0x32, 0x43, 0x63, 0x83, 0x8b, 0x8e, 0xcb, 0xf5, 0xfb];

/**
 * Returns whether a file begins with the header of dBase: version, a date, sizes that fit each other, two reserved bytes, and a
 * field of a known type.
 */
function isDbase(head: Buffer): boolean {
  if (head.length < 65 || !dbaseVersions.includes(head[0]!)) return false;
  const month = head[2]!;
  const day = head[3]!;
  const headerBytes = head.readUInt16LE(8);
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= 31;
  const isSized = headerBytes >= 65 && head.readUInt16LE(10) >= 2;
  return (
    isDate &&
    isSized &&
    head.readUInt16LE(12) === 0 &&
    'CNLDMFBGPYTI@O+VQW0'.includes(String.fromCharCode(head[43]!))
  );
}

/** The number of bytes that are checked to recognize a text. */
const textBytes = 512;

/** A text may contain one control character for this many bytes. White space is not counted. */
const bytesPerControl = 64;

/**
 * Returns whether the bytes are UTF-16, or have few control characters. Texts may have a few control characters that were copied
 * with a value. `openCsv` refuses a text with NUL and names the place.
 */
function isText(head: Buffer): boolean {
  const encoding = readTextStart(head).encoding;
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return true;
  let controls = 0;
  for (const byte of head) {
    if (byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== CTRL_Z)) controls++;
  }
  return controls <= Math.ceil(head.length / bytesPerControl);
}
