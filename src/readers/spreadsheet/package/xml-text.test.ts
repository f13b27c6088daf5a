import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../../core/errors.ts';
import { decodeEscapes, decodeReferences, decodeXml } from './xml-text.ts';

const inPlace = (text: string, decode: (bytes: Buffer, start: number, end: number) => number): string => {
  const bytes = Buffer.from(`..${text}..`);
  return bytes.toString('utf8', 2, decode(bytes, 2, bytes.length - 2));
};

test('references and line ends are replaced', () => {
  const decoded: [text: string, expected: string][] = [
    ['plain', 'plain'],
    ['a&amp;b&lt;&gt;&quot;&apos;', 'a&b<>"\''],
    ['&#65;&#x42;&#x1F600;&#x00000000041;', 'AB😀A'],
    ['a\r\nb\rc\n', 'a\nb\nc\n'],
    ['&#13;&#10;', '\r\n'],
    ['&amp;lt;', '&lt;'],
    ['\r', '\n'],
  ];
  for (const [text, expected] of decoded) assert.equal(inPlace(text, decodeReferences), expected);
});

test('unknown references are refused', () => {
  for (const text of [
    '&',
    '&;',
    '&nbsp;',
    '&#;',
    '&#x;',
    '&#0;',
    '&#xD800;',
    '&#x110000;',
    '&amp',
    '&#-1;',
    '&#1e1;',
  ]) {
    const bytes = Buffer.from(text);
    assert.equal(decodeReferences(bytes, 0, bytes.length), -1, text);
  }
});

test('escapes of characters that XML cannot hold are replaced', () => {
  const decoded: [text: string, expected: string][] = [
    ['a_x000D_b', 'a\rb'],
    ['_x005F_x000D_', '_x000D_'],
    ['_x00e4_', 'ä'],
    ['_xD83D__xDE00_', '😀'],
    ['_xD83D_', '_xD83D_'],
    ['_xDE00__xD83D_', '_xDE00__xD83D_'],
    ['_x000_', '_x000_'],
    ['_x000G_', '_x000G_'],
    ['__x000D_', '_\r'],
    ['_x0', '_x0'],
    ['snake_x_case', 'snake_x_case'],
  ];
  for (const [text, expected] of decoded) assert.equal(inPlace(text, decodeEscapes), expected);
});

async function decodeAll(bytes: Buffer, chunkSize: number): Promise<string> {
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
  }
  const texts: Buffer[] = [];
  for await (const chunk of decodeXml(chunks(), 'p')) texts.push(Buffer.from(chunk));
  return Buffer.concat(texts).toString();
}

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

test('every encoding is read, whatever the chunks', async () => {
  const text = `<?xml version="1.0"?><a>äöü 漢字 😀 ${'long '.repeat(100)}</a>`;
  const latin = '<?xml version="1.0" encoding="ISO-8859-1"?><a>äöü</a>';
  for (const chunkSize of [1, 2, 3, 5, 255, 256, 257, 10_000]) {
    assert.equal(await decodeAll(Buffer.from(text), chunkSize), text);
    assert.equal(await decodeAll(Buffer.from(`\ufeff${text}`), chunkSize), text);
    assert.equal(await decodeAll(Buffer.from(`\ufeff${text}`, 'utf16le'), chunkSize), text);
    assert.equal(await decodeAll(utf16be(`\ufeff${text}`), chunkSize), text);
    assert.equal(await decodeAll(Buffer.from(text, 'utf16le'), chunkSize), text);
    assert.equal(await decodeAll(utf16be(text), chunkSize), text);
    assert.equal(await decodeAll(Buffer.from(latin, 'latin1'), chunkSize), latin);
    const big5 = Buffer.from('<?xml version="1.0" encoding="Big5"?><a>\xaf\xf9\xc7\x55</a>', 'latin1');
    assert.equal(await decodeAll(big5, chunkSize), '<?xml version="1.0" encoding="Big5"?><a>茶の</a>');
  }
});

test('bytes that do not match the encoding are refused', async () => {
  const broken = [
    Buffer.from('<a>\xff</a>', 'latin1'),
    Buffer.concat([Buffer.from(`<a>${' '.repeat(300)}`), Buffer.from([0xe2, 0x82])]),
    Buffer.from('<?xml version="1.0" encoding="klingon"?><a/>'),
    Buffer.concat([Buffer.from('\ufeff<a>', 'utf16le'), Buffer.from([0x00, 0xd8, 0x20, 0x00])]),
  ];
  for (const bytes of broken) {
    await assert.rejects(
      decodeAll(bytes, 7),
      (error) => error instanceof AppError && error.code === 'invalid-file',
    );
  }
});

test('valid UTF-8 is accepted at every cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme' }),
      fc.integer({ min: 1, max: 9 }),
      async (text, chunkSize) => {
        const xml = `<a>${text}</a>`;
        assert.equal(await decodeAll(Buffer.from(xml), chunkSize), Buffer.from(xml).toString());
      },
    ),
  );
});
