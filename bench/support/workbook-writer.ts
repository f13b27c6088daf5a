/** Writes the rows of a shape as a workbook of any size: streamed, with shared strings, and dates as serials. */
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import { columnLetters } from '../../src/readers/spreadsheet/cell-address.ts';
import type { Shape } from './shapes.ts';

const rowsPerChunk = 500;
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelationships = 'http://schemas.openxmlformats.org/package/2006/relationships';

/** The serial of 1970-01-01 in the 1900 system. */
const epochSerial = 25_569;
const dayMs = 86_400_000;

/** The styles of the workbook. */
const dateStyle = 1;
const dateTimeStyle = 2;

/**
 * Writes a workbook with the rows of a shape.
 *
 * @returns the number of different shared strings
 */
export async function writeWorkbook(shape: Shape, path: string): Promise<number> {
  const zip = await ZipWriter.create(path);
  const strings = new Map<string, number>();
  await zip.add('[Content_Types].xml', [
    `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>`,
  ]);
  await zip.add('_rels/.rels', [relationships(['officeDocument', 'xl/workbook.xml'])]);
  await zip.add('xl/workbook.xml', [
    `${declaration}<workbook xmlns="${main}" xmlns:r="${office}"><sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  ]);
  await zip.add('xl/_rels/workbook.xml.rels', [
    relationships(
      ['worksheet', 'worksheets/sheet1.xml'],
      ['styles', 'styles.xml'],
      ['sharedStrings', 'sharedStrings.xml'],
    ),
  ]);
  await zip.add('xl/styles.xml', [
    `${declaration}<styleSheet xmlns="${main}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="164" applyNumberFormat="1"/></cellXfs></styleSheet>`,
  ]);
  await zip.add('xl/worksheets/sheet1.xml', sheetXml(shape, strings));
  await zip.add('xl/sharedStrings.xml', stringsXml(strings));
  await zip.end();
  return strings.size;
}

function relationships(...targets: [type: string, target: string][]): string {
  const items = targets.map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `${declaration}<Relationships xmlns="${packageRelationships}">${items.join('')}</Relationships>`;
}

function* sheetXml(shape: Shape, strings: Map<string, number>): Generator<string> {
  const letters = shape.columns.map((_, column) => columnLetters(column + 1));
  const types = shape.columns.map(({ type }) => type);
  const rowXml = (row: number, cells: string[]) =>
    `<row r="${row}" spans="1:${letters.length}">${cells.join('')}</row>`;
  const header = shape.columns.map(({ name }, column) =>
    cellXml(`${letters[column]}1`, 'text', name, strings),
  );
  yield `${declaration}<worksheet xmlns="${main}"><dimension ref="A1:${letters.at(-1)}${shape.rows + 1}"/><sheetData>`;
  yield rowXml(1, header);
  for (let start = 0; start < shape.rows; start += rowsPerChunk) {
    const lines: string[] = [];
    for (let index = start; index < Math.min(shape.rows, start + rowsPerChunk); index++) {
      const cells = shape
        .row(index)
        .map((value, column) => cellXml(`${letters[column]}${index + 2}`, types[column]!, value, strings));
      lines.push(rowXml(index + 2, cells));
    }
    yield lines.join('');
  }
  yield '</sheetData></worksheet>';
}

function cellXml(reference: string, type: string, value: unknown, strings: Map<string, number>): string {
  if (value === null) return '';
  if (typeof value === 'number') return `<c r="${reference}"><v>${value}</v></c>`;
  if (typeof value === 'boolean') return `<c r="${reference}" t="b"><v>${value ? 1 : 0}</v></c>`;
  const text = String(value);
  if (type === 'date') return `<c r="${reference}" s="${dateStyle}"><v>${serial(text)}</v></c>`;
  if (type === 'timestamp')
    return `<c r="${reference}" s="${dateTimeStyle}"><v>${serial(`${text}Z`)}</v></c>`;
  let index = strings.get(text);
  if (index === undefined) {
    index = strings.size;
    strings.set(text, index);
  }
  return `<c r="${reference}" t="s"><v>${index}</v></c>`;
}

function serial(text: string): number {
  return Date.parse(text) / dayMs + epochSerial;
}

function* stringsXml(strings: Map<string, number>): Generator<string> {
  yield `${declaration}<sst xmlns="${main}" uniqueCount="${strings.size}">`;
  let items: string[] = [];
  for (const text of strings.keys()) {
    items.push(`<si><t>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</t></si>`);
    if (items.length < 10 * rowsPerChunk) continue;
    yield items.join('');
    items = [];
  }
  yield `${items.join('')}</sst>`;
}

/** Writes entries one after the other, with their sizes after the data (PKWARE APPNOTE 4.3.9), without zip64. */
class ZipWriter {
  readonly #file: FileHandle;
  readonly #directory: Buffer[] = [];
  #offset = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<ZipWriter> {
    return new ZipWriter(await open(path, 'w'));
  }

  async add(name: string, texts: Iterable<string>): Promise<void> {
    const offset = this.#offset;
    const nameBytes = Buffer.from(name);
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50, 0);
    this.#common(header, 4, nameBytes.length);
    await this.#write(Buffer.concat([header, nameBytes]));
    const start = this.#offset;
    const counted = { size: 0, crc: 0 };
    const source = Readable.from(counting(texts, counted), { objectMode: false, highWaterMark: 1 << 20 });
    for await (const chunk of source.pipe(createDeflateRaw({ level: 6, chunkSize: 1 << 18 }))) {
      await this.#write(chunk as Buffer);
    }
    const sizes = Buffer.alloc(12);
    sizes.writeUInt32LE(counted.crc, 0);
    sizes.writeUInt32LE(this.#offset - start, 4);
    sizes.writeUInt32LE(counted.size, 8);
    await this.#write(Buffer.concat([Buffer.from([0x50, 0x4b, 0x07, 0x08]), sizes]));
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(20, 4);
    this.#common(entry, 6, nameBytes.length);
    sizes.copy(entry, 16);
    entry.writeUInt32LE(offset, 42);
    this.#directory.push(entry, nameBytes);
  }

  /** Writes what is equal in both headers: the version, flags (sizes follow the data), method and length of the name. */
  #common(header: Buffer, at: number, nameLength: number): void {
    header.writeUInt16LE(20, at);
    header.writeUInt16LE(0x08, at + 2);
    header.writeUInt16LE(8, at + 4);
    header.writeUInt16LE(nameLength, at + 22);
  }

  async #write(bytes: Buffer): Promise<void> {
    await this.#file.write(bytes);
    this.#offset += bytes.length;
  }

  async end(): Promise<void> {
    const directory = Buffer.concat(this.#directory);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(this.#directory.length / 2, 8);
    end.writeUInt16LE(this.#directory.length / 2, 10);
    end.writeUInt32LE(directory.length, 12);
    end.writeUInt32LE(this.#offset, 16);
    await this.#write(Buffer.concat([directory, end]));
    await this.#file.close();
  }
}

function* counting(texts: Iterable<string>, counted: { size: number; crc: number }): Generator<Buffer> {
  for (const text of texts) {
    const bytes = Buffer.from(text);
    counted.size += bytes.length;
    counted.crc = crc32(bytes, counted.crc);
    yield bytes;
  }
}
