import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FileKind, recognizeFile } from './recognize-file.ts';

const dbase = Buffer.alloc(97);
dbase.set([0x03, 120, 5, 17, 2, 0, 0, 0, 65, 0, 11, 0]);
dbase.write('NAME', 32);
dbase[43] = 'C'.charCodeAt(0);

const files: [content: string | Buffer, format: FileKind][] = [
  [
    'ID;PWXL;N;E\r\nP;PGeneral\r\nP;P0\r\nF;P0;DG0G8\r\nB;Y2;X2\r\nC;Y1;X1;K"id"\r\nC;X2;K"name"\r\nE\r\n',
    'sylk',
  ],
  ['ID;PCALCOOO32\nB;Y1;X1;D0 0 0 0\nC;Y1;X1;K1\nE\n', 'sylk'],
  ['TABLE\r\n0,1\r\n"EXCEL"\r\nVECTORS\r\n0,2\r\n""\r\n', 'dif'],
  [Buffer.from([0, 0, 2, 0, 6, 4, 6, 0, 8, 0]), 'lotus'],
  [Buffer.from([0, 0, 0x1a, 0, 0, 0x10, 4, 0]), 'lotus'],
  [dbase, 'dbase'],
  ['<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n<Workbook>', 'xml-spreadsheet'],
  [
    '<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0">',
    'flat-opendocument',
  ],
  ['<?xml version="1.0"?><rows/>', 'excel-xml'],
  ['MIME-Version: 1.0\r\nX-Document-Type: Workbook\r\n', 'web-archive'],
  ['%PDF-1.7', 'pdf'],
  ['PAR1\x15\0', 'parquet'],
  ['PAR1\x01\x02\x03', 'parquet'],
  ['PARE\x15\0\x01\x02', 'parquet'],
  ['PAR1,PARENT\n1,2\n', 'csv'],
  // Texts that begin like one of them.
  ['ID;Price\nA1;5\nA2;6\n', 'csv'],
  ['ID;PRICE\nP;5\nB;6\nC;7\n', 'csv'],
  ['ID;P\nC;1\nE;2\n', 'csv'],
  ['TABLE\n0,1\n2,3\n', 'csv'],
  ['MIME-Version,Name\n1.0,a\n', 'csv'],
  ['a,b\n1,\x0e2\n', 'csv'],
];

for (const [content, format] of files) {
  test(`${JSON.stringify(content.toString().slice(0, 24))} is ${format}`, () => {
    assert.equal(recognizeFile(Buffer.from(content as string)), format);
  });
}
