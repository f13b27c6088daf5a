import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { buildZip, memoryFile, type ZipEntry } from '../../../../test/support/xlsx-builder.ts';
import { AppError, type ErrorCode } from '../../../core/errors.ts';
import { openZipContainer } from './zip-container.ts';

const limits = spreadsheetLimits({ maxUnpackedBytes: 50_000_000, maxRatio: 50 });

async function readAll(zip: Buffer, name: string): Promise<Buffer> {
  const container = await openZipContainer(memoryFile(zip), limits);
  const part = container.find(name);
  assert.ok(part, `part ${name}`);
  const chunks: Buffer[] = [];
  for await (const chunk of container.read(part)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

const fails = (code: ErrorCode, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code, error.detail);
  assert.match(error.detail, detail);
  return true;
};

const large = randomBytes(700_000);

const readable: [name: string, entry: Partial<ZipEntry>][] = [
  ['deflated', {}],
  ['stored', { isStored: true }],
  ['with data descriptors', { hasDataDescriptor: true }],
  ['with zip64 sizes', { isZip64: true }],
];

for (const [name, entry] of readable) {
  test(`parts ${name} are read completely`, async () => {
    const zip = buildZip([
      { name: 'a.xml', data: 'first', ...entry },
      { name: 'xl/Big.bin', data: large, ...entry },
      { name: 'empty', data: '', ...entry },
    ]);
    assert.equal((await readAll(zip, 'a.xml')).toString(), 'first');
    assert.ok((await readAll(zip, 'xl/Big.bin')).equals(large));
    assert.equal((await readAll(zip, 'empty')).length, 0);
  });
}

test('part names ignore case and a leading slash, and a path is only a name', async () => {
  const zip = buildZip([
    { name: '/XL/Workbook.xml', data: 'w' },
    { name: '../../etc/passwd', data: 'p' },
    { name: 'xl\\back.xml', data: 'b' },
    { name: 'xl/', data: '' },
  ]);
  assert.equal((await readAll(zip, 'xl/workbook.XML')).toString(), 'w');
  assert.equal((await readAll(zip, '../../etc/passwd')).toString(), 'p');
  assert.equal((await readAll(zip, 'xl/back.xml')).toString(), 'b');
});

test('files that are not a complete zip are refused', async () => {
  const zip = buildZip([{ name: 'a', data: large }]);
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('PK\x03\x04'),
    zip.subarray(0, -30),
    Buffer.alloc(100_000),
  ]) {
    await assert.rejects(
      openZipContainer(memoryFile(bytes), limits),
      fails('invalid-file', /zip container|its end is missing/),
    );
  }
  const withoutMiddle = Buffer.concat([zip.subarray(0, 1000), zip.subarray(2000)]);
  await assert.rejects(readAll(withoutMiddle, 'a'), fails('invalid-file', /./));
});

const lies: [
  name: string,
  entry: (size: number, packedSize: number) => ZipEntry['stated'],
  detail: RegExp,
][] = [
  ['a larger size', (size) => ({ size: size + 1 }), /bytes that the file states/],
  ['a smaller size', (size) => ({ size: size - 1 }), /bytes that the file states/],
  ['another CRC', () => ({ crc: 1 }), /CRC-32/],
  ['fewer packed bytes', (_, packedSize) => ({ packedSize: packedSize - 9 }), /damaged/],
  ['more packed bytes', (_, packedSize) => ({ packedSize: packedSize + 9 }), /shorter than|CRC-32/],
  ['an offset elsewhere', () => ({ offset: 7 }), /local header is not at the stated place/],
  [
    'an offset beyond the end of the file',
    () => ({ offset: 10_000_000 }),
    /local header is not at the stated place/,
  ],
];

for (const [name, stated, detail] of lies) {
  test(`a part that states ${name} is refused, small or large`, async () => {
    for (const data of [Buffer.from('content of the part'), large]) {
      const truthful = { name: 'a', data };
      const lie = stated(data.length, deflateRawSync(data).length);
      const zip = buildZip([lie === undefined ? truthful : { ...truthful, stated: lie }]);
      await assert.rejects(readAll(zip, 'a'), fails('invalid-file', detail));
    }
  });
}

test('a part that continues as another gzip member is refused', async () => {
  const [first, second] = [large.subarray(0, 300_000), large.subarray(300_000)];
  const member = gzipSync(first).subarray(10);
  const packed = Buffer.concat([member, gzipSync(second).subarray(0, 10), deflateRawSync(second)]);
  for (const size of [second.length, large.length]) {
    const zip = buildZip([{ name: 'a', data: second, packed, stated: { size } }]);
    await assert.rejects(readAll(zip, 'a'), fails('invalid-file', /bytes that the file states/));
  }
});

test('parts that share bytes, or a name, are refused', async () => {
  const twice = buildZip([
    { name: 'a', data: 'x' },
    { name: 'b', data: 'x', stated: { offset: 0 } },
  ]);
  await assert.rejects(openZipContainer(memoryFile(twice), limits), fails('invalid-file', /share the bytes/));
  const same = buildZip([
    { name: 'xl/a', data: 'x' },
    { name: '/XL/A', data: 'y' },
  ]);
  await assert.rejects(openZipContainer(memoryFile(same), limits), fails('invalid-file', /twice/));
});

test('encrypted parts and unusual methods are refused by name', async () => {
  const encrypted = buildZip([{ name: 'a', data: 'x', stated: { flags: 1 } }]);
  await assert.rejects(
    openZipContainer(memoryFile(encrypted), limits),
    fails('unsupported-file', /encrypted/),
  );
  const strong = buildZip([{ name: 'a', data: 'x', stated: { flags: 0x41 } }]);
  await assert.rejects(openZipContainer(memoryFile(strong), limits), fails('unsupported-file', /encrypted/));
  const lzma = buildZip([{ name: 'a', data: 'x', stated: { method: 14 } }]);
  await assert.rejects(readAll(lzma, 'a'), fails('unsupported-file', /unknown method 14/));
});

test('a part that passes a limit is refused for the same reason in each pass', async () => {
  const bomb = buildZip([{ name: 'a', data: Buffer.alloc(20_000_000) }]);
  const parts = Array.from({ length: 3 }, (_, i) => ({ name: `p${i}`, data: randomBytes(300_000) }));
  const cases: [zip: Buffer, maxUnpackedBytes: number, detail: RegExp][] = [
    [bomb, limits.maxUnpackedBytes, /the limit is 50 unpacked bytes per packed byte/],
    [buildZip(parts), 899_999, /899,999 bytes/],
  ];
  for (const [zip, maxUnpackedBytes, detail] of cases) {
    const container = await openZipContainer(memoryFile(zip), { ...limits, maxUnpackedBytes });
    const readParts = async () => {
      for (const name of ['a', 'p0', 'p1', 'p2']) {
        const part = container.find(name);
        if (part !== undefined) for await (const _ of container.read(part));
      }
    };
    await assert.rejects(readParts, fails('limit-exceeded', detail));
    await assert.rejects(readParts, fails('limit-exceeded', detail));
  }
});

test('bombs are refused at the limits', async () => {
  const bomb = buildZip([{ name: 'a', data: Buffer.alloc(20_000_000) }]);
  await assert.rejects(
    readAll(bomb, 'a'),
    fails('limit-exceeded', /the limit is 50 unpacked bytes per packed byte/),
  );
  const truthful = buildZip([{ name: 'a', data: '', stated: { size: 60_000_000 } }]);
  await assert.rejects(readAll(truthful, 'a'), fails('limit-exceeded', /50,000,000 bytes/));
  const parts = Array.from({ length: 8 }, (_, i) => ({ name: `p${i}`, data: Buffer.alloc(7_000_000) }));
  const container = await openZipContainer(memoryFile(buildZip(parts)), limits);
  await assert.rejects(
    async () => {
      for (const { name } of parts) for await (const _ of container.read(container.find(name)!));
    },
    fails('limit-exceeded', /50,000,000 bytes/),
  );
});

test('a second pass over a part is not counted again', async () => {
  const data = randomBytes(6_000_000);
  const container = await openZipContainer(memoryFile(buildZip([{ name: 'a', data }])), limits);
  for (let pass = 0; pass < 10; pass++) for await (const _ of container.read(container.find('a')!));
});

test('a file that the service cannot read is not reported as a broken zip', async () => {
  const failure = new Error('disk');
  const file = { size: 1000, read: () => Promise.reject(failure) };
  await assert.rejects(openZipContainer(file, limits), failure);
});

test('a reader that stops early leaves no running stream', async () => {
  const container = await openZipContainer(memoryFile(buildZip([{ name: 'a', data: large }])), limits);
  for await (const chunk of container.read(container.find('a')!)) {
    assert.ok(chunk.length > 0);
    break;
  }
});

test('a few bytes after the end of the zip are ignored', async () => {
  const zip = buildZip([{ name: 'a.xml', data: 'first' }]);
  for (const more of ['\n', '\r\n\r\n', '\0'.repeat(512)]) {
    assert.equal((await readAll(Buffer.concat([zip, Buffer.from(more)]), 'a.xml')).toString(), 'first');
  }
  // Programs that stop at the first end record would see a different zip than those that read the last one.
  const two = Buffer.concat([zip, buildZip([{ name: 'b.xml', data: 'second' }])]);
  await assert.rejects(readAll(two, 'a.xml'), AppError);
  await assert.rejects(
    openZipContainer(memoryFile(Buffer.concat([zip, Buffer.alloc(100_000)])), limits),
    fails('invalid-file', /its end is missing/),
  );
});

test('a zip that was cut off is refused as such', async () => {
  const zip = buildZip([{ name: 'a.xml', data: 'first' }]);
  await assert.rejects(
    openZipContainer(memoryFile(zip.subarray(0, zip.length - 30)), limits),
    fails('invalid-file', /its end is missing.*send it again/),
  );
});
