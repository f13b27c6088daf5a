import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { AppError } from '../../../core/errors.ts';
import { SharedStrings } from '../values/shared-strings.ts';
import { SharedStringsReader } from './shared-strings-reader.ts';

const limits = spreadsheetLimits({ maxCellBytes: 1000, maxSharedStringBytes: 10_000 });

function read(xml: string, chunkSize = xml.length): string[] {
  const reader = new SharedStringsReader('xl/sharedStrings.xml', limits);
  const bytes = Buffer.from(xml);
  for (let at = 0; at < bytes.length; at += chunkSize) reader.push(bytes.subarray(at, at + chunkSize));
  return textsOf(reader.finish());
}

function textsOf(strings: SharedStrings): string[] {
  return Array.from({ length: strings.count }, (_, index) => {
    strings.find(index);
    return strings.bytes.toString('utf8', strings.start, strings.end);
  });
}

const cases: [name: string, items: string, expected: string[]][] = [
  ['plain strings', '<si><t>a</t></si><si><t>b</t></si>', ['a', 'b']],
  ['empty ones', '<si/><si></si><si><t/></si><si><t></t></si><si><t>x</t></si>', ['', '', '', '', 'x']],
  [
    'rich text',
    '<si><r><rPr><b/></rPr><t>bold</t></r><r><t xml:space="preserve"> rest</t></r></si>',
    ['bold rest'],
  ],
  ['phonetic hints left out', '<si><t>漢</t><rPh sb="0" eb="1"><t>かん</t></rPh><phoneticPr/></si>', ['漢']],
  ['space that is not preserved', '<si><t>  a b </t></si>', ['a b']],
  ['space that is', '<si><t xml:space="preserve">  a </t></si>', ['  a ']],
  ['space preserved from above', '<si xml:space="preserve"><t> a</t></si>', [' a']],
  ['entities, CDATA, comments', '<si><t>a&amp;<![CDATA[<&amp;>]]><!-- x -->b</t></si>', ['a&<&amp;>b']],
  ['escapes', '<si><t>a_x000D_\r\nb</t></si>', ['a\r\nb']],
  ['any prefix', '<x:si><x:t>p</x:t></x:si>', ['p']],
  [
    'unknown elements',
    '<si><t>a</t><extLst><ext><t>no</t></ext></extLst></si><other><t>n</t></other>',
    ['ano'],
  ],
];

for (const [name, items, expected] of cases) {
  test(`shared strings are read at every chunk size: ${name}`, () => {
    const xml = `<?xml version="1.0"?>\n<sst count="99999999" uniqueCount="4294967295">${items}</sst>`;
    for (const chunkSize of [1, 2, 3, 7, 64, 1000]) assert.deepEqual(read(xml, chunkSize), expected);
  });
}

test('strings in one chunk and in many chunks are the same', () => {
  const piece = fc.constantFrom(
    'a',
    'ä',
    '漢',
    '😀',
    ' ',
    '\n',
    '\r\n',
    '_',
    '_x',
    '_x0041_',
    '&amp;',
    '>',
    '"',
    '<!---->',
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
  const space = fc.constantFrom('', '', ' xml:space="preserve"', " xml:space='default'", ' x="1"');
  const item = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(space, text).map(([head, body]) => `<si><t${head}>${body}</t></si>`) },
    fc.constantFrom(
      '<si/>',
      '<si ></si>',
      '<si><t/></si>',
      '<si><r><t>r</t></r></si>',
      '\n',
      '<other><si><t>no</t></si></other>',
    ),
  );
  fc.assert(
    fc.property(
      space,
      fc.array(item, { maxLength: 8 }),
      fc.integer({ min: 2, max: 60 }),
      (root, items, chunkSize) => {
        const xml = `<sst${root}>${items.join('')}</sst>`;
        // If each chunk has one byte, no string is complete within a chunk, so only the general way is used.
        const expected = read(xml, 1);
        assert.deepEqual(read(xml), expected);
        assert.deepEqual(read(xml, chunkSize), expected);
      },
    ),
    { numRuns: 1000 },
  );
});

test('more strings than the first page are kept', () => {
  const texts = Array.from({ length: 600 }, (_, i) => `s${i}`);
  assert.deepEqual(read(`<sst>${texts.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`), texts);
});

test('more strings than a page and a slab can hold are kept', () => {
  const strings = new SharedStrings(100_000_000);
  const expected: string[] = [];
  for (let index = 0; index < 140_000; index++) {
    expected.push(`${index}`.padEnd((index * 7919) % 100, 'x'));
    const bytes = Buffer.from(expected[index]!);
    strings.add(bytes, 0, bytes.length);
  }
  assert.deepEqual(textsOf(strings), expected);
});

test('one string and all strings over the limit are refused', () => {
  const isLimit = (error: unknown): boolean => error instanceof AppError && error.code === 'limit-exceeded';
  assert.throws(() => read(`<sst><si><t>${'x'.repeat(1001)}</t></si></sst>`), isLimit);
  assert.throws(() => read(`<sst>${'<si/>'.repeat(900)}</sst>`), isLimit);
});

test('incomplete or malformed parts are refused', () => {
  const isInvalid = (error: unknown): boolean => error instanceof AppError && error.code === 'invalid-file';
  const broken = [
    '',
    '<sst>',
    '<sst><si><t>a</t></si>',
    '</sst>',
    '<sst><si><t>&foo;</t></si></sst>',
    '<sst',
    '<sst><si a></si></sst>',
  ];
  for (const xml of broken) assert.throws(() => read(xml), isInvalid, xml);
  assert.throws(() => read('<!DOCTYPE sst [<!ENTITY a "b">]><sst><si><t>&a;</t></si></sst>'), isInvalid);
});
