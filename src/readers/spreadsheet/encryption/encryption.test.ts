/** Encrypted workbooks are read with Excel's default password and with the password that the caller sends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as library from '@e965/xlsx';
import {
  encryptAgile,
  encryptStandard,
  encryptXls,
  excelsPassword,
  rc4,
} from '../../../../test/support/encrypt-workbook.ts';
import { assertShortSteps, measureSteps } from '../../../../test/support/event-loop.ts';
import { randomNumbers } from '../../../../test/support/random-numbers.ts';
import { recordRows } from '../../../../test/support/recorded-cells.ts';
import { sized } from '../../../../test/support/sized.ts';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { memoryFile } from '../../../../test/support/xlsx-builder.ts';
import { AppError, type ErrorCode } from '../../../core/errors.ts';
import { openSpreadsheet } from '../open-spreadsheet.ts';
import { BrokenCompoundFile, openStreams } from './compound-file.ts';

const limits = spreadsheetLimits();
const never = new AbortController().signal;

async function read(bytes: Buffer, password?: string, signal = never): Promise<Record<string, string>[]> {
  const source = await openSpreadsheet(
    memoryFile(bytes),
    { columnNames: 'exact', cellErrors: 'problem', ...(password !== undefined && { password }) },
    limits,
    signal,
  );
  const sink = recordRows();
  await source.read(sink, never);
  return sink.rows.map(({ cells }) => ({ ...cells }));
}

const fails = (code: ErrorCode, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code, error.detail);
  assert.match(error.detail, detail);
  return true;
};

function workbook(bookType: library.BookType, rowCount: number): Buffer {
  const rows = Array.from({ length: rowCount }, (_, n) => [n, `text ${n * 7919}`, n / 7]);
  const sheet = library.utils.aoa_to_sheet([['id', 'name', 'share'], ...rows]);
  return library.write(
    { SheetNames: ['Data'], Sheets: { Data: sheet } },
    { type: 'buffer', bookType },
  ) as Buffer;
}

const schemes: [name: string, encrypt: (password: string, rowCount: number) => [Buffer, Buffer]][] = [
  ['.xlsx, agile', (password, rows) => pair(workbook('xlsx', rows), (file) => encryptAgile(file, password))],
  ['.xlsb, agile', (password, rows) => pair(workbook('xlsb', rows), (file) => encryptAgile(file, password))],
  [
    '.xlsx, standard',
    (password, rows) => pair(workbook('xlsx', rows), (file) => encryptStandard(file, password)),
  ],
  [
    '.xls, RC4',
    (password, rows) => pair(workbook('biff8', rows), (file) => encryptXls(file, password, 'rc4')),
  ],
  [
    '.xls, RC4 CryptoAPI',
    (password, rows) => pair(workbook('biff8', rows), (file) => encryptXls(file, password, 'crypto-api')),
  ],
];

function pair(plain: Buffer, encrypt: (file: Buffer) => Buffer): [Buffer, Buffer] {
  return [plain, encrypt(plain)];
}

for (const [name, encrypt] of schemes) {
  test(`${name} is opened with the default password`, async () => {
    // The file is so long that the key changes within it.
    const rowCount = 400;
    const [plain, locked] = encrypt(excelsPassword, rowCount);
    const rows = await read(locked);
    assert.equal(rows.length, rowCount);
    assert.deepEqual(rows, await read(plain));
    const [, small] = encrypt(excelsPassword, 1);
    assert.deepEqual(await read(small), rows.slice(0, 1));
    // A caller may send the same password for all files, also for those that need none.
    assert.deepEqual(await read(small, 'another'), rows.slice(0, 1));
  });

  test(`${name} is opened with the password that is sent, and with no other`, async () => {
    const password = 'Größe 😀 Пароль';
    const [plain, locked] = encrypt(password, 400);
    assert.deepEqual(await read(locked, password), await read(plain));
    await assert.rejects(
      read(locked),
      fails('password-required', /encrypted\. Send its password as the part/),
    );
    for (const wrong of ['größe 😀 Пароль', `${password} `, 'x', '\0']) {
      await assert.rejects(read(locked, wrong), fails('wrong-password', /does not open the workbook/));
    }
    assert.equal((await read(plain, password)).length, 400);
  });
}

test('the RC4 of the test files is RC4', () => {
  // A test vector of RFC 6229, with a key of 40 bits.
  assert.equal(rc4(Buffer.from('0102030405', 'hex'), 16).toString('hex'), 'b2396305f03dc027ccc3524a0a1118a8');
});

test('the rounds that a file needs are limited, let other requests run, and end with the signal', async () => {
  const plain = workbook('xlsx', 1);
  await assert.rejects(
    read(encryptAgile(plain, excelsPassword, 10, 1_000_001)),
    fails('limit-exceeded', /1,000,000 rounds/),
  );
  // Without the abort this would take some seconds.
  const controller = new AbortController();
  let turns = 0;
  const others = setInterval(() => {
    turns++;
    if (turns === 4) controller.abort(new Error('cancelled'));
  }, 1);
  const reading = read(encryptAgile(plain, excelsPassword, 10, 1_000_000), 'another', controller.signal);
  await assert.rejects(reading, /cancelled/);
  clearInterval(others);
});

test('unknown encryption is refused', async () => {
  const change = (from: string, to: string): Buffer => {
    const bytes = encryptAgile(workbook('xlsx', 1), excelsPassword, 10);
    const at = bytes.indexOf(from);
    assert.ok(at > 0 && from.length === to.length);
    bytes.write(to, at, 'latin1');
    return bytes;
  };
  for (const [from, to] of [
    ['"AES"', '"RC2"'],
    ['ChainingModeCBC', 'ChainingModeCFB'],
    ['SHA512', 'WHIRLP'],
    ['keyBits="256"', 'keyBits="999"'],
    ['saltValue', 'saltXalue'],
    ['<encryption', '<encryptiox'],
    ['encryptedKeyValue="', 'encryptedKexValue="'],
  ] as const) {
    await assert.rejects(
      read(change(from, to)),
      fails('unsupported-file', /encrypted with a method that the service does not read/),
    );
  }
});

test('a hostile description of the encryption takes a short turn, and is refused', async () => {
  const names = (count: number, name: string) =>
    Array.from({ length: count }, (_, n) => `${name}${n}=""`).join(' ');
  const hostile = [
    `${'\0'.repeat(65_000)}x`,
    '<a>'.repeat(21_000),
    '<a '.repeat(21_000),
    `<a ${names(7000, 'a')}/>`,
    `<a ${names(4000, 'xmlns:a')}/>`,
    `<p:a xmlns:p="u">${'<p:a>'.repeat(250)}${'<p:a/>'.repeat(10_000)}`,
  ];
  for (const xml of hostile) {
    const file = encryptAgile(workbook('xlsx', 1), excelsPassword, 10, 10, () => xml);
    const steps = await measureSteps(async () => {
      await assert.rejects(read(file), fails('unsupported-file', /encrypted with a method/));
    });
    assertShortSteps(steps);
  }
});

test('zero bytes and further certificates in the description do not matter', async () => {
  const plain = workbook('xlsx', 2);
  const certificate = `<c:encryptedKey encryptedKeyValue="${'B'.repeat(344)}" X509Certificate="${'A'.repeat(3000)}"/>`;
  const namespace = 'http://schemas.microsoft.com/office/2006/keyEncryptor/certificate';
  const more = `<keyEncryptor xmlns:c="${namespace}">${certificate.repeat(6)}</keyEncryptor></keyEncryptors>`;
  const change = (xml: string): string => `${xml.replace('</keyEncryptors>', more)}${'\0'.repeat(100)}`;
  const file = encryptAgile(plain, excelsPassword, 10, 10, change);
  assert.deepEqual(await read(file), await read(plain));
});

test('a compound file with circles of sectors or sectors outside of the file is refused', async () => {
  const files = [
    encryptAgile(workbook('xlsx', 200), excelsPassword, 10),
    encryptStandard(workbook('xlsx', 2), 'x'),
  ];
  const random = randomNumbers(11);
  const seen = new Map<string, number>();
  for (let run = 0; run < sized(200, 1500); run++) {
    const bytes = Buffer.from(files[run % 2]!);
    for (let changes = 1 + random(6); changes > 0; changes--) {
      const at = 4 * random(bytes.length / 4);
      // The numbers of sectors are replaced by random ones, most of which exist.
      bytes.writeUInt32LE(
        random(3) === 0 ? 0xffff_ffff - random(8) : random(60),
        random(2) === 0 ? at : 28 + 4 * random(120),
      );
    }
    const outcome = await openStreams(
      memoryFile(random(9) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes),
      ['EncryptionInfo', 'EncryptedPackage'],
    ).then(
      async (streams) => {
        for (const stream of streams ?? []) await stream.read(Buffer.alloc(stream.size), 0);
        return streams === undefined ? 'not found' : 'found';
      },
      (error: unknown) => {
        assert.ok(error instanceof BrokenCompoundFile, String(error));
        return 'broken';
      },
    );
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  assert.equal(seen.size, 3, JSON.stringify([...seen]));
});
