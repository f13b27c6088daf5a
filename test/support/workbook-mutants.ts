/**
 * Makes broken workbooks and reads them. Tokens in the parts of valid workbooks are changed, and the parts are zipped again with
 * correct sizes and CRCs, so that the changes reach the scanners.
 */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { inflateRawSync } from 'node:zlib';
import { NUMBER, STRING } from '../../src/core/cells/cell-kind.ts';
import type { CellSink } from '../../src/core/cells/cell-sink.ts';
import { withSecondReading } from '../../src/core/cells/row-source.ts';
import { AppError } from '../../src/core/errors.ts';
import { TypeInference } from '../../src/encoding/infer/infer-types.ts';
import { openSpreadsheet } from '../../src/readers/spreadsheet/open-spreadsheet.ts';
import type { RandomNumbers } from './random-numbers.ts';
import { spreadsheetLimits } from './spreadsheet-limits.ts';
import { buildZip, memoryFile, type WorkbookSpec, workbookParts, type ZipEntry } from './xlsx-builder.ts';

type Parts = [name: string, data: Buffer][];

const limits = spreadsheetLimits({
  maxUnpackedBytes: 20_000_000,
  maxRatio: 250,
  maxRows: 5000,
  maxColumns: 200,
  maxCellBytes: 20_000,
  maxRowBytes: 80_000,
  maxLegacyFileBytes: 1_000_000,
});

/** Returns the workbooks that mutants are made of: the example, and some of rarer kinds. */
export async function readSeeds(): Promise<Parts[]> {
  const example = await readFile(new URL('../../examples/orders.xlsx', import.meta.url));
  return [unzip(example), ...specs.map((spec) => partsOf(spec)), utf16(partsOf(specs[0]!))];
}

/** Returns the parts of a valid zip file, as the central directory lists them (PKWARE APPNOTE 4.3.12). */
export function unzip(bytes: Buffer): Parts {
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  const parts: Parts = [];
  for (let at = bytes.readUInt32LE(end + 16); at < end; ) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) =>
      bytes.readUInt16LE(at + field),
    );
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength!);
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const packed = bytes.subarray(start, start + bytes.readUInt32LE(at + 20));
    parts.push([name, bytes.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed)]);
    at += 46 + nameLength! + extraLength! + commentLength!;
  }
  return parts;
}

function partsOf(spec: WorkbookSpec): Parts {
  return Object.entries(workbookParts(spec)).map(([name, data]) => [name, Buffer.from(data as string)]);
}

function utf16(parts: Parts): Parts {
  return parts.map(([name, data]) => [
    name,
    name.includes('worksheets/') ? Buffer.from(`\ufeff${data.toString()}`, 'utf16le') : data,
  ]);
}

const specs: WorkbookSpec[] = [
  {
    formats: [14, 'yyyy-mm-dd hh:mm:ss', '[h]:mm', '00000', 20, '[$-409]d\\-mmm;@', '#,##0.00'],
    sharedStrings:
      '<si><t>id</t></si><si><r><rPr><b/></rPr><t>na</t></r><r><t xml:space="preserve">me </t></r></si><si><t>é&amp;_x000D_</t></si><si/><si><t>漢</t><rPh sb="0" eb="1"><t>かん</t></rPh></si>',
    sheets: [
      {
        name: 'Data',
        xml: `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>day</t></is></c><c r="D1" t="str"><v>d</v></c></row>
          <row r="2" spans="1:5"><c r="A2"><v>12.5</v></c><c r="B2" t="s"><v>2</v></c><c r="C2" s="1"><v>44197</v></c><c r="D2" s="5"><v>0.75</v></c></row>
          <row r="3" hidden="1"><c r="A3" s="4"><v>7</v></c><c r="B3" t="str"><f>A1&amp;"x"</f><v>a<![CDATA[<b>]]></v></c><c s="2"><v>44197.5</v></c></row>
          <row r="5"><c r="A5"><v>1.1000000000000001</v></c><c r="B5" t="b"><v>1</v></c><c r="C5" t="e"><v>#N/A</v></c><c r="D5" s="3"><v>1.5</v></c></row>
          <row><c><v>12345678901234567890</v></c><c t="d"><v>2021-01-01T10:00:00</v></c><c t="inlineStr"><is><r><t>a</t></r><r><t> b</t></r></is></c><c s="6"><v>44197.25</v></c><c r="E6"><f t="shared" si="0"/></c></row>`,
      },
      { name: 'Other', xml: '<row r="1"><c r="A1"><v>1</v></c></row>', state: 'hidden' },
    ],
  },
  {
    isStrict: true,
    is1904: true,
    formats: ['yyyy-mm-dd'],
    sheets: [
      {
        name: 'Prefixed',
        xml: `<?xml version='1.0' encoding='utf-8'?><!-- x --><x:worksheet xmlns:x="http://purl.oclc.org/ooxml/spreadsheetml/main"><x:cols><x:col min="1" max="3"/></x:cols><x:sheetData><x:row r='1'><x:c r='A1' t='inlineStr'><x:is><x:t>a</x:t></x:is></x:c><x:c t='str' r='B1'><x:v>b</x:v></x:c></x:row><x:row><x:c s = "1"><x:v> 100 </x:v></x:c><x:c><x:v>1e5</x:v></x:c></x:row></x:sheetData></x:worksheet>`,
      },
    ],
  },
];

/** Makes a zip of the seed with one to four changes. */
export function mutant(seed: Parts, random: RandomNumbers): Buffer {
  const parts: Parts = [...seed];
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const victim = chooseVictim(parts, random);
    const [name, data] = parts[victim]!;
    parts[victim] = [name, changeXml(data, parts, random)];
  }
  const entries = parts.map(([name, data]): ZipEntry => ({ name, data, isStored: random(2) === 0 }));
  const zip = buildZip(entries);
  return random(12) === 0 ? changeBytes(zip, random) : zip;
}

/** Chooses a sheet most of the time, because the scanners of sheets are written by hand. */
function chooseVictim(parts: Parts, random: RandomNumbers): number {
  const wanted = ['worksheets/', 'worksheets/', 'worksheets/', 'sharedStrings', 'styles', 'xl/workbook', ''][
    random(7)
  ]!;
  const places = parts.flatMap(([name], index) => (name.includes(wanted) ? [index] : []));
  return places.length === 0 ? random(parts.length) : places[random(places.length)]!;
}

const token = /<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[^>]*>|[^<]+/gs;

function changeXml(data: Buffer, parts: Parts, random: RandomNumbers): Buffer {
  if (random(10) === 0) return changeBytes(data, random);
  const isUtf16 = data[0] === 0xff;
  const tokens = data.toString(isUtf16 ? 'utf16le' : 'utf8').match(token) ?? [''];
  changeTokens(tokens, parts, random);
  const text = tokens.join('');
  if (isUtf16) return Buffer.from(text, 'utf16le');
  const asUtf16 = random(60) === 0 && !text.startsWith('<?xml');
  return asUtf16 ? Buffer.from(`\ufeff${text}`, 'utf16le') : Buffer.from(text);
}

function changeTokens(tokens: string[], parts: Parts, random: RandomNumbers): void {
  const at = random(tokens.length);
  const other = random(tokens.length);
  const here = tokens[at]!;
  switch (random(18)) {
    case 0:
      tokens.splice(at, 1 + random(4));
      break;
    case 1:
      tokens.splice(at, 0, ...tokens.slice(at, at + 1 + random(12)));
      break;
    case 2:
      [tokens[at], tokens[other]] = [tokens[other]!, here];
      break;
    case 3:
      tokens.splice(at, 0, pick(pieces, random));
      break;
    case 4:
      tokens.splice(at, 0, ...new Array<string>(1 + random(300)).fill(pick(pieces, random)));
      break;
    case 5:
      tokens[at] = here.startsWith('<') ? renameTag(here, random) : pick(texts, random);
      break;
    case 6:
    case 7:
      tokens[at] = here.startsWith('<') ? changeAttribute(here, random) : pick(texts, random);
      break;
    case 8:
      tokens[at] = here.replace(/\s/, pick(['', '\n', '\r\n', '\t \r', '<!---->'], random));
      break;
    case 9:
      tokens[at] = here.replaceAll('"', "'");
      break;
    case 10:
      tokens[at] = here.replace(/^(<\/?)/, '$1ns0:');
      break;
    case 11: {
      const cut = random(here.length + 1);
      tokens[at] = here.slice(0, cut) + (random(2) === 0 ? '' : pick(texts, random)) + here.slice(cut);
      break;
    }
    case 12:
      tokens[at] = `${here.slice(0, -1)}${random(2) === 0 ? '/>' : ''}`;
      break;
    case 13:
    case 14:
    case 15:
    case 16:
      changeValue(tokens, at, pick(texts, random));
      break;
    default:
      // Inserts a piece of another part at a wrong place.
      tokens.splice(
        at,
        0,
        ...(parts[random(parts.length)]![1].toString().match(token) ?? []).slice(0, random(30)),
      );
  }
}

/** Changes the next text of a cell or a string, if there is one. */
function changeValue(tokens: string[], from: number, text: string): void {
  for (let at = from; at < tokens.length - 1; at++) {
    if (!/^<(\w+:)?[vt](\s[^/]*)?>$/.test(tokens[at]!)) continue;
    tokens[at + 1] = text;
    return;
  }
}

function renameTag(tag: string, random: RandomNumbers): string {
  return tag.replace(/^(<\/?)[^\s/>]*/, (_, start) => start + pick(names, random));
}

function changeAttribute(tag: string, random: RandomNumbers): string {
  const attributes = [...tag.matchAll(/\s+[^\s=]+=("[^"]*"|'[^']*')/g)];
  if (attributes.length === 0 || random(4) === 0) {
    return tag.replace(/\s*(\/?>)$/, ` ${pick(attributeNames, random)}="${pick(texts, random)}"$1`);
  }
  const [whole] = attributes[random(attributes.length)]!;
  switch (random(4)) {
    case 0:
      return tag.replace(whole, '');
    case 1:
      return tag.replace(whole, whole + whole);
    case 2:
      return tag.replace(whole, whole.replace(/=.*/s, '=x'));
    default:
      return tag.replace(whole, whole.replace(/=.*/s, `="${pick(texts, random)}"`));
  }
}

function pick<Item>(items: readonly Item[], random: RandomNumbers): Item {
  return items[random(items.length)]!;
}

const names =
  'row c v f is t r si sst rPh sheetData worksheet xf cellXfs numFmt sheet sheets x: :c c:c'.split(' ');
const attributeNames = 'r s t x:r xml:space xmlns xmlns:x spans numFmtId formatCode name Id Target'.split(
  ' ',
);

/** The texts that replace attribute values and texts of elements. */
const texts = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1',
    '9',
    '255',
    '16385',
    '1048577',
    '4294967296',
    '-0',
    '1e309',
    '1E-400',
    '1e131072',
  ],
  ...[
    '007',
    '.5',
    '+1',
    '1.',
    '1,5',
    '0x10',
    'NaN',
    'Infinity',
    '999999999999999999999999',
    '2958466',
    '2958465.9999999',
  ],
  ...[
    '0.1000000000000000055',
    '9.9999999999999999',
    '60',
    '0.999999999999',
    's',
    'str',
    'inlineStr',
    'b',
    'e',
    'd',
    'n',
    'z',
  ],
  ...[
    'A1',
    'XFD1048576',
    'XFE1',
    'AAAA1',
    'a1',
    'A0',
    '1A',
    '$A$1',
    'A1:B2',
    'R1C1',
    'preserve',
    'default',
    'true',
    'TRUE',
  ],
  ...[
    '#N/A',
    '#REF!',
    '2021-02-30',
    '2021-01-01',
    '2021-01-01T24:00:00Z',
    '10:00',
    'PT1H',
    '_x000D_',
    '_x0000_',
    '_xD800_',
  ],
  ...[
    '_x005F_x0041_',
    '&amp;',
    '&lt;b&gt;',
    '&#0;',
    '&#xD800;',
    '&#x110000;',
    '&#65',
    '&x;',
    '&',
    '&amp',
    ']]>',
    '<![CDATA[x]]>',
  ],
  ...[
    '../../../etc/passwd',
    '/xl/workbook.xml',
    'worksheets/sheet1.xml',
    'rId1',
    '__proto__',
    'constructor',
    '\u0000',
    '\ufffe',
  ],
  ...[
    'é',
    '漢字',
    '😀',
    '\ud83d',
    'x'.repeat(70),
    '1'.repeat(400),
    'y'.repeat(25_000),
    '[h]:mm',
    '00000',
    'yyyy"',
    '[Red]0;\\',
    ';;;@',
  ],
];

const pieces = [
  ...[
    '<row>',
    '</row>',
    '<row/>',
    '<row r="2">',
    '<row r="1048576"/>',
    '<c>',
    '</c>',
    '<c/>',
    '<c r="A2" t="s">',
    '<c t="str">',
  ],
  ...[
    '<c><v>1</v></c>',
    '<c t="s"><v>1</v></c>',
    '<c t="e"><v>x</v></c>',
    '<c s="1"><v>-1</v></c>',
    '<c t="inlineStr"><is/></c>',
  ],
  ...[
    '<v>',
    '</v>',
    '<v/>',
    '<f>',
    '</f>',
    '<f/>',
    '<is>',
    '</is>',
    '<t>',
    '</t>',
    '<t/>',
    '<t xml:space="preserve"> </t>',
  ],
  ...[
    '<si>',
    '</si>',
    '<si/>',
    '<rPh>',
    '</rPh>',
    '<sheetData>',
    '</sheetData>',
    '<sheetData/>',
    '</worksheet>',
    '<worksheet>',
  ],
  ...[
    '<!--',
    '-->',
    '<!-- - -- -->',
    '<?a',
    '?>',
    '<?a?>',
    '<![CDATA[',
    ']]>',
    '<![CDATA[]]>',
    '<!DOCTYPE a>',
    '<!ENTITY x "y">',
  ],
  ...[
    '<',
    '>',
    '</',
    '/>',
    '<>',
    '</>',
    '< c>',
    '<c',
    '<c r',
    '<c r=',
    '<c r="',
    '"',
    "'",
    '&',
    '&amp;',
    '\u0000',
    '\r',
    '\r\n',
  ],
  ...[
    '<xf numFmtId="14"/>',
    '<sheet name="Data" r:id="rId1"/>',
    '<a>',
    '</a>',
    '<x:c xmlns:x="y">',
    '<é>',
    '<row r="3" r="4">',
  ],
];

/** Changes bits, bytes and ranges, whatever the XML is. */
function changeBytes(bytes: Buffer, random: RandomNumbers): Buffer {
  const from = random(bytes.length + 1);
  const to = Math.min(bytes.length, from + random(40));
  const at = random(bytes.length + 1);
  switch (random(5)) {
    case 0:
      return bytes.subarray(0, from);
    case 1:
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, to), bytes.subarray(at)]);
    case 3: {
      const swapped = Buffer.from(bytes);
      bytes.copy(swapped, Math.min(at, bytes.length - (to - from)), from, to);
      return swapped;
    }
    default: {
      const flipped = Buffer.from(bytes);
      for (let flips = 1 + random(4); flips > 0 && flipped.length > 0; flips--) {
        const place = random(flipped.length);
        flipped[place] = flipped[place]! ^ (1 << random(8));
      }
      return flipped;
    }
  }
}

/**
 * Reads the file as a load without a definition would.
 *
 * @returns `read`, or the code of the refusal
 * @throws the error, if the file is neither read nor refused (4xx)
 */
export async function outcomeOf(bytes: Buffer): Promise<string> {
  const signal = AbortSignal.timeout(60_000);
  try {
    const options = { columnNames: 'exact', cellErrors: 'problem' } as const;
    const source = await openSpreadsheet(memoryFile(bytes), options, limits);
    const isInRow = await withSecondReading(async () => {
      const sink = new CheckingSink();
      await source.read(sink, signal);
      return sink.isInRow;
    });
    if (isInRow) throw new Error('the last row has no end');
    return 'read';
  } catch (error) {
    if (error instanceof AppError && error.status >= 400 && error.status < 500) return error.code;
    throw error;
  }
}

const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Infers types, and checks that the source keeps the rules of `CellSink`. */
class CheckingSink implements CellSink {
  isInRow = false;
  readonly #inference = new TypeInference(limits);
  readonly #names: string[] = [];
  readonly #seen = new Set<number>();

  column(column: number, name: string): void {
    demand(column === this.#names.length && name !== '' && !this.#names.includes(name), `column ${column}`);
    this.#names.push(name);
    this.#inference.column(column, name);
  }

  beginRow(row: number): void {
    demand(!this.isInRow && row >= 1 && row <= 1_048_576, `row ${row}`);
    this.isInRow = true;
    this.#seen.clear();
    this.#inference.beginRow(row);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#take(column);
    if (kind === NUMBER) {
      const text = bytes.toString('latin1', start, end);
      demand(jsonNumber.test(text), `number ${text}`);
    } else if (kind === STRING) {
      demand(end > start && end <= bytes.length && isUtf8(bytes.subarray(start, end)), 'string');
    }
    this.#inference.cell(column, kind, bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#take(column);
    demand(Number.isInteger(days) && Number.isInteger(microseconds), `moment ${days} ${microseconds}`);
    demand(microseconds >= 0 && microseconds < 86_400e6, `microseconds ${microseconds}`);
    this.#inference.moment(column, kind, days, microseconds);
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    demand(this.isInRow && column < this.#names.length, `fault in column ${column}`);
    demand(start >= 0 && end >= start && end <= bytes.length, 'the range of a fault');
    this.#inference.fault(column, fault, bytes, start, end);
  }

  endRow(): void {
    demand(this.isInRow, 'the end of a row');
    this.isInRow = false;
    this.#inference.endRow();
  }

  drain(): undefined {
    return undefined;
  }

  #take(column: number): void {
    demand(this.isInRow && column >= 0 && column < this.#names.length, `cell in column ${column}`);
    demand(!this.#seen.has(column), `column ${column} twice`);
    this.#seen.add(column);
  }
}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The source owes its sink something else: ${what}`);
}
