import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { unpackPage } from './codecs.ts';

/** `abcabcabcabcX` in LZ4: three literals, a match of nine bytes that overlaps itself, one literal. */
const lz4 = Buffer.from([0x35, 0x61, 0x62, 0x63, 3, 0, 0x10, 0x58]);
const text = Buffer.from('abcabcabcabcX');

const framed = Buffer.concat([Buffer.from([0, 0, 0, 13, 0, 0, 0, 8]), lz4]);
/** The same in Snappy: its length, a literal of three bytes, a copy of nine bytes and a literal. */
const snappy = Buffer.from([13, 0x08, 0x61, 0x62, 0x63, 0x15, 3, 0x00, 0x58]);

const packed: [codec: string, bytes: Buffer][] = [
  ['UNCOMPRESSED', text],
  ['SNAPPY', snappy],
  ['GZIP', gzipSync(text)],
  ['BROTLI', brotliCompressSync(text)],
  ['ZSTD', zstdCompressSync(text)],
  ['LZ4_RAW', lz4],
  ['LZ4', framed],
  // Programs other than Hadoop wrote a block alone.
  ['LZ4', lz4],
];

for (const [codec, bytes] of packed) {
  test(`${codec}: a page of ${bytes.length} bytes is unpacked if it has exactly the stated length`, () => {
    assert.deepEqual(unpackPage(codec, bytes, text.length), text);
    for (const length of [0, 1, text.length - 1, text.length + 1, 1000])
      assert.throws(() => unpackPage(codec, bytes, length), `${length} bytes`);
  });

  test(`${codec}: no part of a page of ${bytes.length} bytes gives the whole page`, () => {
    for (let end = 0; end < bytes.length - (codec === 'ZSTD' ? 4 : 0); end++)
      assert.throws(() => unpackPage(codec, bytes.subarray(0, end), text.length), `${end} bytes`);
  });
}

test('LZ4: a match from before the beginning, or a length beyond the page, is refused', () => {
  for (const bytes of [
    [0x35, 0x61, 0x62, 0x63, 4, 0, 0x10, 0x58],
    [0x35, 0x61, 0x62, 0x63, 0, 0, 0x10, 0x58],
    [0xf0, 255, 255],
    [0x0f, 1, 0],
  ])
    assert.throws(() => unpackPage('LZ4_RAW', Buffer.from(bytes), text.length), /LZ4/);
});

test('an unknown codec is named', () => {
  assert.throws(() => unpackPage('LZO', text, text.length), { fault: 'unknown-codec', message: 'LZO' });
});
