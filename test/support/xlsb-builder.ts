/** Builds .xlsb workbooks record by record (MS-XLSB), small ones and large ones, for tests. */

import { crc32, deflateRawSync } from 'node:zlib';
import { buildZip, workbookParts, type ZipEntry } from './xlsx-builder.ts';

/** Returns a record: its type, the size of its content, the content. */
export function record(type: number, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const head = type < 0x80 ? [type] : [(type & 0x7f) | 0x80, type >> 7];
  let size = bytes.length;
  for (; size >= 0x80; size >>>= 7) head.push((size & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, size]), bytes]);
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, 4 * index);
  return bytes;
}

export function uint16(...values: number[]): Buffer {
  return Buffer.from(Uint16Array.from(values).buffer);
}

export function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

export function wideString(text: string): Buffer {
  return Buffer.concat([uint32(text.length), Buffer.from(text, 'utf16le')]);
}

export const rowHeader = (row: number): Buffer => record(0, uint32(row - 1, 0), Buffer.alloc(9));

/** A cell with a column, from 0. */
export const cell = (type: number, column: number, style: number, ...value: Buffer[]): Buffer =>
  record(type, uint32(column, style), ...value);

/** A cell in the column after the last one. */
export const shortCell = (type: number, style: number, ...value: Buffer[]): Buffer =>
  record(type, uint32(style), ...value);

/** The number formats that cells have as style 1, 2, …; style 0 is General. */
export const xlsbFormats = ['yyyy-mm-dd', '00000', '[h]:mm'];

export interface XlsbSpec {
  /** The records between the beginning and the end of the sheet's data; or the whole part. */
  rows: Buffer[];
  wholeSheet?: Buffer;
  sharedStrings?: string[];
  is1904?: boolean;
  /** Parts that replace those of the same name, or are added. */
  parts?: Record<string, Buffer>;
}

export function buildXlsb(spec: XlsbSpec): Buffer {
  return buildZip(Object.entries(xlsbParts(spec)).map(([name, data]) => ({ name, data })));
}

/** Returns the parts of a workbook with one sheet, `Data`. */
export function xlsbParts(spec: XlsbSpec): Record<string, Buffer> {
  const xml = workbookParts({ sheets: [{ name: 'Data', xml: '' }], sharedStrings: '' });
  const asBinary = (part: string): Buffer =>
    Buffer.from(String(xml[part]).replaceAll(/(workbook|sheet1|styles|sharedStrings)\.xml"/g, '$1.bin"'));
  const strings = spec.sharedStrings ?? [];
  return {
    '_rels/.rels': asBinary('_rels/.rels'),
    'xl/workbook.bin': Buffer.concat([
      record(131),
      record(153, uint32(spec.is1904 ? 1 : 0, 0), wideString('')),
      record(156, uint32(0, 1), wideString('rId1'), wideString('Data')),
      record(132),
    ]),
    'xl/_rels/workbook.bin.rels': asBinary('xl/_rels/workbook.xml.rels'),
    'xl/styles.bin': Buffer.concat([
      record(278),
      ...xlsbFormats.map((code, index) => record(44, uint16(200 + index), wideString(code))),
      // The formats of named styles do not count.
      record(626, uint32(1)),
      record(47, uint16(0, 14), Buffer.alloc(12)),
      record(627),
      record(617, uint32(xlsbFormats.length + 1)),
      record(47, uint16(0, 0), Buffer.alloc(12)),
      ...xlsbFormats.map((_, index) => record(47, uint16(0, 200 + index), Buffer.alloc(12))),
      record(618),
      record(279),
    ]),
    'xl/sharedStrings.bin': Buffer.concat([
      record(159, uint32(strings.length, strings.length)),
      ...strings.map((text) => record(19, Buffer.from([0]), wideString(text))),
      record(160),
    ]),
    'xl/worksheets/sheet1.bin': spec.wholeSheet ?? wholeSheet(spec.rows),
    ...spec.parts,
  };
}

export function wholeSheet(rows: Buffer[]): Buffer {
  return Buffer.concat([...sheetStart, ...rows, ...sheetEnd]);
}

const sheetStart = [record(129), record(148, uint32(0, 0, 0, 0)), record(145)];
const sheetEnd = [record(146), record(130)];

const cities = 5000;
const rowsPerPiece = 2000;

/** Returns a workbook of many rows, with eight columns: id, code, city, price, day, paid, share and note. */
export function bigXlsb(rowCount: number): Buffer {
  const sharedStrings = Array.from({ length: cities }, (_, city) => `City & Côté ${city}`);
  const { 'xl/worksheets/sheet1.bin': _, ...others } = xlsbParts({ rows: [], sharedStrings });
  // Deflate streams that end on a byte can be joined: each piece is stored as blocks of its own.
  const packed: Buffer[] = [];
  let crc = 0;
  let size = 0;
  const add = (bytes: Buffer): void => {
    crc = crc32(bytes, crc);
    size += bytes.length;
    packed.push(deflateRawSync(bytes, { finishFlush: fullFlush, level: 1 }));
  };
  const headers = ['id', 'code', 'city', 'price', 'day', 'paid', 'share', 'note'];
  add(
    Buffer.concat([
      ...sheetStart,
      rowHeader(1),
      ...headers.map((name, n) => cell(6, n, 0, wideString(name))),
    ]),
  );
  for (let first = 1; first <= rowCount; first += rowsPerPiece)
    add(bigPiece(first, Math.min(rowCount, first + rowsPerPiece - 1)));
  add(Buffer.concat(sheetEnd));
  packed.push(Buffer.from([3, 0]));
  const entries: ZipEntry[] = Object.entries(others).map(([name, data]) => ({ name, data }));
  const sheet = {
    name: 'xl/worksheets/sheet1.bin',
    data: '',
    packed: Buffer.concat(packed),
    stated: { size, crc },
  };
  return buildZip([...entries, sheet]);
}

/** The flag of a full flush in zlib (`Z_FULL_FLUSH`). */
const fullFlush = 3;

function bigPiece(first: number, last: number): Buffer {
  const records: Buffer[] = [];
  for (let id = first; id <= last; id++) {
    records.push(
      rowHeader(id + 1),
      cell(2, 0, 0, uint32((id << 2) | 2)),
      cell(6, 1, 0, wideString(`00${id}`)),
      cell(7, 2, 0, uint32(id % cities)),
      cell(5, 3, 0, double(id / 4)),
      cell(2, 4, 1, uint32(((40_000 + (id % 5000)) << 2) | 2)),
      cell(4, 5, 0, Buffer.from([id % 2])),
      cell(5, 6, 0, double(id / 7)),
      cell(8, 7, 0, wideString(`note ${id % 1000}`), uint16(0), uint32(0, 0)),
    );
  }
  return Buffer.concat(records);
}
