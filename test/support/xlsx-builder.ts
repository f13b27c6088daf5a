/** Builds zip files and workbooks byte by byte for tests: valid ones, and ones with a chosen error. */

import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  /** The bytes of the name, if it is not UTF-8. */
  nameBytes?: Buffer;
  data: Buffer | string;
  isStored?: boolean;
  /** true: the sizes and the CRC follow the data, as programs that write streams put them. */
  hasDataDescriptor?: boolean;
  /** true: the central directory has 64-bit sizes and offsets. */
  isZip64?: boolean;
  /** The bytes in the file instead of the packed `data`. */
  packed?: Buffer;
  /** An extra field that only the local header has. Its length moves the data. */
  localExtra?: Buffer;
  /** The values in the local header instead of those in the central directory. */
  statedLocally?: { size?: number; packedSize?: number; crc?: number; flags?: number };
  /** The values in the central directory instead of the true ones. */
  stated?: {
    size?: number;
    packedSize?: number;
    crc?: number;
    offset?: number;
    flags?: number;
    method?: number;
  };
}

export function buildZip(entries: ZipEntry[]): Buffer {
  const body: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const record = zipRecord(entry, offset);
    body.push(record.local);
    directory.push(record.central);
    offset += record.local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...body, central, end]);
}

function zipRecord(entry: ZipEntry, offset: number): { local: Buffer; central: Buffer } {
  const name = entry.nameBytes ?? Buffer.from(entry.name);
  const data = Buffer.from(entry.data as string);
  const packed = entry.packed ?? (entry.isStored ? data : deflateRawSync(data));
  const stated = {
    size: data.length,
    packedSize: packed.length,
    crc: crc32(data),
    offset,
    flags: entry.hasDataDescriptor ? 0x808 : 0x800,
    method: entry.isStored ? 0 : 8,
    ...entry.stated,
  };
  const statedLocally = { ...stated, ...entry.statedLocally };
  const extra = entry.localExtra ?? Buffer.alloc(0);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(statedLocally.flags, 6);
  header.writeUInt16LE(stated.method, 8);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(statedLocally.crc, 0);
  sizes.writeUInt32LE(Math.min(statedLocally.packedSize, 0xffffffff), 4);
  sizes.writeUInt32LE(Math.min(statedLocally.size, 0xffffffff), 8);
  if (!entry.hasDataDescriptor) sizes.copy(header, 14);
  const descriptor = entry.hasDataDescriptor ? [Buffer.from([0x50, 0x4b, 0x07, 0x08]), sizes] : [];
  return {
    local: Buffer.concat([header, name, extra, packed, ...descriptor]),
    central: centralRecord(name, stated, entry.isZip64 ?? false),
  };
}

function centralRecord(
  name: Buffer,
  stated: { size: number; packedSize: number; crc: number; offset: number; flags: number; method: number },
  isZip64: boolean,
): Buffer {
  const extra = Buffer.alloc(isZip64 ? 28 : 0);
  if (isZip64) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(24, 2);
    extra.writeBigUInt64LE(BigInt(stated.size), 4);
    extra.writeBigUInt64LE(BigInt(stated.packedSize), 12);
    extra.writeBigUInt64LE(BigInt(stated.offset), 20);
  }
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(20, 6);
  header.writeUInt16LE(stated.flags, 8);
  header.writeUInt16LE(stated.method, 10);
  header.writeUInt32LE(stated.crc, 16);
  header.writeUInt32LE(isZip64 ? 0xffffffff : stated.packedSize, 20);
  header.writeUInt32LE(isZip64 ? 0xffffffff : stated.size, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(isZip64 ? 0xffffffff : stated.offset, 42);
  return Buffer.concat([header, name, extra]);
}

export interface SheetSpec {
  name: string;
  /** The content of `sheetData`, or the whole part if it begins with `<?xml` or is a buffer. */
  xml: string | Buffer;
  state?: 'hidden' | 'veryHidden';
  /** The relationship's type; default `worksheet`. */
  type?: string;
  /** The elements `table` of the table parts of the sheet. */
  tables?: string[];
}

export interface WorkbookSpec {
  sheets: SheetSpec[];
  /** The `si` elements. */
  sharedStrings?: string;
  /** The format codes, or built-in ids, of the styles 1, 2, …; style 0 is General. */
  formats?: (string | number)[];
  /** The elements `definedName`. */
  definedNames?: string;
  is1904?: boolean;
  isStrict?: boolean;
  /** Parts that replace those of the same name, or are added. */
  parts?: Record<string, string | Buffer>;
}

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const packageRelationships = 'http://schemas.openxmlformats.org/package/2006/relationships';

export function buildWorkbook(spec: WorkbookSpec): Buffer {
  const parts = workbookParts(spec);
  return buildZip(Object.entries(parts).map(([name, data]) => ({ name, data })));
}

/** Returns the parts of a workbook by name, for tests that write the zip file themselves. */
export function workbookParts(spec: WorkbookSpec): Record<string, string | Buffer> {
  const main = spec.isStrict
    ? 'http://purl.oclc.org/ooxml/spreadsheetml/main'
    : 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const types = spec.isStrict
    ? 'http://purl.oclc.org/ooxml/officeDocument/relationships'
    : 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const relationship = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${types}/${type}" Target="${target}"/>`;
  const relationships = (content: string): string =>
    `${declaration}<Relationships xmlns="${packageRelationships}">${content}</Relationships>`;
  const sheets = spec.sheets.map(
    (sheet, index) =>
      `<sheet name="${escapeXml(sheet.name)}" sheetId="${index + 1}" r:id="rId${index + 1}"` +
      `${sheet.state === undefined ? '' : ` state="${sheet.state}"`}/>`,
  );
  const sheetRelationships = spec.sheets.map((sheet, index) =>
    relationship(`rId${index + 1}`, sheet.type ?? 'worksheet', `worksheets/sheet${index + 1}.xml`),
  );
  const parts: Record<string, string | Buffer> = {
    '[Content_Types].xml': `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
    '_rels/.rels': relationships(relationship('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `${declaration}<workbook xmlns="${main}" xmlns:r="${types}"><workbookPr${
      spec.is1904 ? ' date1904="1"' : ''
    }/><sheets>${sheets.join('')}</sheets>${
      spec.definedNames === undefined ? '' : `<definedNames>${spec.definedNames}</definedNames>`
    }</workbook>`,
    'xl/_rels/workbook.xml.rels': relationships(
      sheetRelationships.join('') +
        relationship('rIdStyles', 'styles', 'styles.xml') +
        (spec.sharedStrings === undefined
          ? ''
          : relationship('rIdStrings', 'sharedStrings', '/xl/sharedStrings.xml')),
    ),
    'xl/styles.xml': `${declaration}<styleSheet xmlns="${main}">${stylesXml(spec.formats ?? [])}</styleSheet>`,
  };
  spec.sheets.forEach((sheet, index) => {
    const isWhole = typeof sheet.xml !== 'string' || sheet.xml.startsWith('<?xml');
    parts[`xl/worksheets/sheet${index + 1}.xml`] = isWhole
      ? sheet.xml
      : `${declaration}<worksheet xmlns="${main}"><sheetData>${sheet.xml}</sheetData></worksheet>`;
  });
  const tables = spec.sheets.flatMap((sheet, index) => (sheet.tables ?? []).map((xml) => ({ index, xml })));
  for (const [index] of spec.sheets.entries()) {
    const targets = tables.flatMap((table, number) =>
      table.index === index
        ? relationship(`rId${number + 1}`, 'table', `../tables/table${number + 1}.xml`)
        : [],
    );
    if (targets.length > 0)
      parts[`xl/worksheets/_rels/sheet${index + 1}.xml.rels`] = relationships(targets.join(''));
  }
  for (const [number, { xml }] of tables.entries())
    parts[`xl/tables/table${number + 1}.xml`] =
      `${declaration}${xml.replace('<table ', `<table xmlns="${main}" `)}`;
  if (spec.sharedStrings !== undefined) {
    parts['xl/sharedStrings.xml'] = `${declaration}<sst xmlns="${main}">${spec.sharedStrings}</sst>`;
  }
  return { ...parts, ...spec.parts };
}

function stylesXml(formats: (string | number)[]): string {
  const custom = formats.flatMap((format, index) =>
    typeof format === 'string' ? `<numFmt numFmtId="${200 + index}" formatCode="${escapeXml(format)}"/>` : [],
  );
  const styles = formats.map(
    (format, index) => `<xf numFmtId="${typeof format === 'string' ? 200 + index : format}"/>`,
  );
  return `<numFmts>${custom.join('')}</numFmts><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs>`;
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** Returns the file as an upload in memory. */
export function memoryFile(bytes: Buffer): {
  size: number;
  read(target: Buffer, position: number): Promise<number>;
} {
  return { size: bytes.length, read: async (target, position) => bytes.copy(target, 0, position) };
}
