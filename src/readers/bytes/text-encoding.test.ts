import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  findNonUtf8,
  readTextStart,
  type TextEncoding,
  textDecoder,
  usualEncodings,
} from './text-encoding.ts';

function decode(bytes: Buffer, encoding: TextEncoding, chunkBytes: number): string {
  const decoder = textDecoder(encoding, 0);
  const parts: Buffer[] = [];
  for (const chunk of chunksOf(bytes, chunkBytes)) parts.push(Buffer.from(decoder.decode(chunk)));
  decoder.finish();
  return Buffer.concat(parts).toString();
}

function chunksOf(bytes: Buffer, chunkBytes: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
  return chunks;
}

test('every byte of Windows-1252 is decoded as in the Encoding Standard', () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const expected = new TextDecoder('windows-1252').decode(all);
  assert.equal(expected[0x80], '€');
  for (const chunkBytes of [1, 7, 256]) assert.equal(decode(all, 'windows-1252', chunkBytes), expected);
  // One character at a time, because texts without bytes from 80 to 9F are decoded in another way.
  for (const byte of all) {
    assert.equal(decode(Buffer.of(byte), 'windows-1252', 1), expected[byte]);
  }
});

test('the Korean syllables of Windows are decoded at every chunk size, and other pairs are refused', () => {
  const bytes = Buffer.from('c7d1318141a0feb041c652a2e60a', 'hex');
  for (const chunkBytes of [1, 2, 3, 14]) assert.equal(decode(bytes, 'euc-kr', chunkBytes), '한1갂좤캚힣€\n');
  for (const pair of ['c653', '810a', '8041', 'ff41', '31a1', '81'])
    assert.throws(() => decode(Buffer.from(pair, 'hex'), 'euc-kr', 1), { code: 'invalid-file' });
});

/** Returns the text, or nothing if the encoding has no character for the bytes. */
function characterOf(encoding: TextEncoding, ...bytes: number[]): string {
  try {
    return decode(Buffer.from(bytes), encoding, 1);
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'invalid-file');
    return '';
  }
}

const allBytes = Array.from({ length: 256 }, (_, byte) => byte);

test('the bytes 00 to 7F are ASCII in every encoding', () => {
  for (const encoding of usualEncodings.filter((name) => !name.startsWith('utf-16'))) {
    for (let byte = 0; byte < 0x80; byte++)
      assert.equal(characterOf(encoding, byte), String.fromCharCode(byte), encoding);
  }
});

// The digests were made from the index files of the Encoding Standard and the steps of its decoders.
for (const [encoding, digest] of Object.entries({
  big5: '13b22c26df5780c0',
  shift_jis: 'f9c7e1089d3be7c2',
  'euc-jp': '896e7999c7232feb',
  'euc-kr': 'bf064378ff2858f0',
  gb18030: '2c9c89aaa49804ef',
  gbk: '2c9c89aaa49804ef',
}))
  test(`every byte and every pair of bytes of ${encoding} is decoded as in the Encoding Standard`, () => {
    const hash = createHash('sha256');
    for (const byte of allBytes) hash.update(`${characterOf(encoding, byte)}\n`);
    for (const first of allBytes.slice(0x80)) {
      for (const second of allBytes) hash.update(`${characterOf(encoding, first, second)}\n`);
    }
    assert.equal(hash.digest('hex').slice(0, 16), digest);
  });

test('texts in Chinese and Japanese are decoded at every chunk size', () => {
  for (const [encoding, hex, text] of [
    ['big5', 'aff9c755c55da4e2', '茶の魔手'],
    ['big5', 'a7da9df6adbbb4e4', '我喺香港'],
    ['big5', 'a331', null],
    ['big5', '80', null],
    ['big5', 'a4', null],
    ['shift_jis', '1a1c7f41', '\x1a\x1c\x7fA'],
    ['euc-jp', '8fb0a1a4a2', '丂あ'],
    ['euc-jp', '8f', null],
    ['euc-jp', '80', null],
    ['gb18030', '8139ee39d6d0', '㐀中'],
    ['iso-2022-jp', '1b2442467c1b284241', '日A'],
  ] as const) {
    const bytes = Buffer.from(hex, 'hex');
    for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes++) {
      if (text !== null) assert.equal(decode(bytes, encoding, chunkBytes), text, encoding);
      else assert.throws(() => decode(bytes, encoding, chunkBytes), { code: 'invalid-file' });
    }
  }
});

test('long texts in Windows-1252 are decoded', () => {
  const bytes = Buffer.alloc(20_000, 'M\xf6hre, 5 \x80 \xa0\xc2\n', 'latin1');
  assert.equal(decode(bytes, 'windows-1252', 20_000), new TextDecoder('windows-1252').decode(bytes));
});

test('any text in UTF-16 is decoded at every chunk size', () => {
  const character = fc.constantFrom(
    '\0',
    'a',
    '\x7f',
    '\x80',
    'é',
    '\u07ff',
    '\u0800',
    '漢',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '😀',
    '\u{10ffff}',
  );
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (text) => {
      const little = Buffer.from(text, 'utf16le');
      const big = Buffer.from(little).swap16();
      for (let chunkBytes = 1; chunkBytes <= little.length + 1; chunkBytes++) {
        assert.equal(decode(little, 'utf-16le', chunkBytes), text);
        assert.equal(decode(big, 'utf-16be', chunkBytes), text);
      }
    }),
    { numRuns: 100 },
  );
});

test('bytes that are not UTF-16 are refused with their position', () => {
  const wrong: [bytes: string, position: number][] = [
    ['610000dc', 2],
    ['00d86100', 2],
    ['00d800d8', 2],
    ['61006200d8', 5],
    ['610000d8', 4],
  ];
  for (const [hex, position] of wrong) {
    for (const chunkBytes of [1, 2, 3, 10]) {
      assert.throws(() => decode(Buffer.from(hex, 'hex'), 'utf-16le', chunkBytes), {
        code: 'invalid-file',
        detail: new RegExp(`byte ${position},`),
      });
    }
  }
});

test('bytes that are not UTF-8, or incomplete, are found', async () => {
  const found = (hex: string, chunkBytes: number) =>
    findNonUtf8(asStream(chunksOf(Buffer.from(hex, 'hex'), chunkBytes)));
  const fault = (position: number, followsUtf8 = false) => ({ position, followsUtf8 });
  for (const chunkBytes of [1, 2, 3, 10]) {
    assert.equal(await found('61c3a462', chunkBytes), undefined);
    assert.equal(await found('', chunkBytes), undefined);
    assert.deepEqual(await found('6162e462', chunkBytes), fault(3));
    assert.deepEqual(await found('6162c3', chunkBytes), fault(3));
    assert.deepEqual(await found('61f09f98', chunkBytes), fault(4));
    assert.deepEqual(await found('61c3a462e462', chunkBytes), fault(5, true));
    assert.deepEqual(await found('f09f98800affff', chunkBytes), fault(5, true));
    assert.deepEqual(await found('6162e4c3b6', chunkBytes), fault(3));
  }
});

async function* asStream(chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

test('the first bytes show the encoding', () => {
  const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
  const cases: [bytes: Buffer, encoding: TextEncoding | undefined, markBytes: number][] = [
    [Buffer.from('a,b\n1,2'), undefined, 0],
    [Buffer.from('\ufeffa,b'), 'utf-8', 3],
    [utf16('\ufeffa,b'), 'utf-16le', 2],
    [utf16('\ufeffa,b').swap16(), 'utf-16be', 2],
    [utf16('a,b\r\n1,2'), 'utf-16le', 0],
    [utf16('a,b\r\n1,2').swap16(), 'utf-16be', 0],
    [utf16('город,число\nМосква,1\nПермь,22\n'), 'utf-16le', 0],
    // A single NUL does not make a text UTF-16, and neither do bytes that would be control characters.
    [Buffer.from('some text with a NUL\0 in it, and more after it\n'), undefined, 0],
    [Buffer.from('a,b\n1,\0\n'), undefined, 0],
    [Buffer.from('a,b\n1\0,2\n'), undefined, 0],
    [Buffer.from([0x61, 0, 0x01, 0, 0x62, 0, 0x02, 0]), undefined, 0],
    [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), undefined, 0],
    [Buffer.alloc(100), undefined, 0],
    [Buffer.alloc(0), undefined, 0],
  ];
  for (const [bytes, encoding, markBytes] of cases) {
    assert.deepEqual(readTextStart(bytes), { encoding, markBytes }, bytes.toString('latin1'));
  }
});
