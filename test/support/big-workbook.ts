/**
 * Generates a workbook of many rows as Excel writes it: quickly and in pieces, so that its text is never in memory as a whole.
 */
import { crc32, createDeflateRaw } from 'node:zlib';
import { buildZip, workbookParts } from './xlsx-builder.ts';

const sheetPart = 'xl/worksheets/sheet1.xml';
const cities = 5000;
const rowsPerPiece = 2000;

/** Columns id (1, 2, …), code (text with leading zeros), city (shared strings), price, day (a date) and paid. */
export async function bigWorkbook(rowCount: number): Promise<Buffer> {
  const strings = Array.from({ length: cities }, (_, city) => `<si><t>City &amp; Côté ${city}</t></si>`);
  const { [sheetPart]: _, ...others } = workbookParts({
    sheets: [{ name: 'Orders', xml: '' }],
    formats: [14],
    sharedStrings: strings.join(''),
  });
  const packing = createDeflateRaw({ level: 1 });
  const packed: Buffer[] = [];
  packing.on('data', (chunk: Buffer) => packed.push(chunk));
  const isPacked = new Promise((resolve, reject) => packing.once('end', resolve).once('error', reject));
  let crc = 0;
  let size = 0;
  for (const piece of sheetPieces(rowCount)) {
    const bytes = Buffer.from(piece);
    crc = crc32(bytes, crc);
    size += bytes.length;
    if (!packing.write(bytes)) await new Promise((resolve) => packing.once('drain', resolve));
  }
  packing.end();
  await isPacked;
  return buildZip([
    ...Object.entries(others).map(([name, data]) => ({ name, data })),
    { name: sheetPart, data: '', packed: Buffer.concat(packed), stated: { size, crc } },
  ]);
}

function* sheetPieces(rowCount: number): Generator<string> {
  const headers = ['id', 'code', 'city', 'price', 'day', 'paid'];
  const cells = headers.map(
    (name, column) => `<c r="${'ABCDEF'[column]}1" t="inlineStr"><is><t>${name}</t></is></c>`,
  );
  yield `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">${cells.join('')}</row>`;
  for (let first = 1; first <= rowCount; first += rowsPerPiece) {
    let piece = '';
    for (let id = first; id < first + rowsPerPiece && id <= rowCount; id += 1) {
      const r = id + 1;
      piece +=
        `<row r="${r}" spans="1:6"><c r="A${r}"><v>${id}</v></c><c r="B${r}" t="inlineStr"><is><t>00${id}</t></is></c>` +
        `<c r="C${r}" t="s"><v>${id % cities}</v></c><c r="D${r}"><v>${id / 4}</v></c>` +
        `<c r="E${r}" s="1"><v>${40_000 + (id % 5000)}</v></c><c r="F${r}" t="b"><v>${id % 2}</v></c></row>`;
    }
    yield piece;
  }
  yield '</sheetData></worksheet>';
}
