/** Encrypts workbooks as Excel does (MS-OFFCRYPTO), with any password, so that tests have files to decrypt. */

import { createCipheriv, createHash } from 'node:crypto';
import * as library from '@e965/xlsx';

export const excelsPassword = 'VelvetSweatshop';

const md5 = (...parts: Buffer[]): Buffer => createHash('md5').update(Buffer.concat(parts)).digest();
const sha1 = (...parts: Buffer[]): Buffer => createHash('sha1').update(Buffer.concat(parts)).digest();
const sha512 = (...parts: Buffer[]): Buffer => createHash('sha512').update(Buffer.concat(parts)).digest();

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function padded(bytes: Buffer, unit: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((unit - (bytes.length % unit)) % unit)]);
}

function encrypt(cipher: string, key: Buffer, vector: Buffer | null, bytes: Buffer): Buffer {
  const encryption = createCipheriv(cipher, key, vector).setAutoPadding(false);
  return Buffer.concat([encryption.update(bytes), encryption.final()]);
}

function compoundFile(streams: Record<string, Buffer>): Buffer {
  const container = library.CFB.utils.cfb_new();
  for (const [name, content] of Object.entries(streams)) library.CFB.utils.cfb_add(container, name, content);
  return Buffer.from(library.CFB.write(container, { type: 'buffer' }) as Buffer);
}

function sizeOf(bytes: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(bytes.length));
  return size;
}

const salt = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');

/**
 * Encrypts a file with Agile encryption (AES-256-CBC, SHA-512), as Excel 2013 and later do.
 *
 * @param statedSpinCount the number of rounds that the file states
 * @param describe returns what the file has instead of this description of the encryption
 */
export function encryptAgile(
  file: Buffer,
  password: string,
  spinCount = 1000,
  statedSpinCount = spinCount,
  describe = (xml: string): string => xml,
): Buffer {
  let spun = sha512(salt, Buffer.from(password, 'utf16le'));
  for (let round = 0; round < spinCount; round++) spun = sha512(uint32(round), spun);
  const wrap = (purpose: string, value: Buffer): string => {
    const key = sha512(spun, Buffer.from(purpose, 'hex')).subarray(0, 32);
    return encrypt('aes-256-cbc', key, salt, value).toString('base64');
  };
  const packageKey = Buffer.alloc(32, 0x5a);
  const packageSalt = Buffer.alloc(16, 0x77);
  const verifier = Buffer.alloc(16, 0x31);
  const common =
    'saltSize="16" blockSize="16" keyBits="256" hashSize="64" cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="SHA512"';
  const xml =
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<encryption xmlns="http://schemas.microsoft.com/office/2006/encryption" xmlns:p="http://schemas.microsoft.com/office/2006/keyEncryptor/password">` +
    `<keyData ${common} saltValue="${packageSalt.toString('base64')}"/><keyEncryptors><keyEncryptor uri="http://schemas.microsoft.com/office/2006/keyEncryptor/password">` +
    `<p:encryptedKey spinCount="${statedSpinCount}" ${common} saltValue="${salt.toString('base64')}" encryptedVerifierHashInput="${wrap('fea7d2763b4b9e79', verifier)}" ` +
    `encryptedVerifierHashValue="${wrap('d7aa0f6d3061344e', sha512(verifier))}" encryptedKeyValue="${wrap('146e0be7abacd0d6', packageKey)}"/></keyEncryptor></keyEncryptors></encryption>`;
  const segments = [sizeOf(file)];
  for (let at = 0; at < file.length; at += 4096) {
    const vector = sha512(packageSalt, uint32(at / 4096)).subarray(0, 16);
    segments.push(encrypt('aes-256-cbc', packageKey, vector, padded(file.subarray(at, at + 4096), 16)));
  }
  return compoundFile({
    '/EncryptionInfo': Buffer.concat([Buffer.from('0400040040000000', 'hex'), Buffer.from(describe(xml))]),
    '/EncryptedPackage': Buffer.concat(segments),
  });
}

/** Encrypts a file with Standard encryption (AES-128-ECB, SHA-1), as Excel 2007 does. */
export function encryptStandard(file: Buffer, password: string): Buffer {
  let spun = sha1(salt, Buffer.from(password, 'utf16le'));
  for (let round = 0; round < 50_000; round++) spun = sha1(uint32(round), spun);
  const final = sha1(spun, uint32(0));
  const block = Buffer.alloc(64, 0x36);
  for (const [at, byte] of final.entries()) block[at] = byte ^ 0x36;
  const key = sha1(block).subarray(0, 16);
  const verifier = Buffer.alloc(16, 0x42);
  const header = Buffer.concat([
    ...[0x24, 0, 0x660e, 0x8004, 128, 24, 0, 0].map(uint32),
    Buffer.from('Microsoft Enhanced RSA and AES Cryptographic Provider\0', 'utf16le'),
  ]);
  const info = Buffer.concat([
    Buffer.from('0300020024000000', 'hex'),
    uint32(header.length),
    header,
    uint32(16),
    salt,
    encrypt('aes-128-ecb', key, null, verifier),
    uint32(20),
    encrypt('aes-128-ecb', key, null, padded(sha1(verifier), 16)),
  ]);
  const content = Buffer.concat([sizeOf(file), encrypt('aes-128-ecb', key, null, padded(file, 16))]);
  return compoundFile({ '/EncryptionInfo': info, '/EncryptedPackage': content });
}

/** Returns the first bytes of the key stream of RC4 (RFC 6229 has its test vectors). */
export function rc4(key: Buffer, length: number): Buffer {
  const state = Array.from({ length: 256 }, (_, i) => i);
  const swap = (i: number, j: number): void => {
    [state[i], state[j]] = [state[j]!, state[i]!];
  };
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + state[i]! + key[i % key.length]!) % 256;
    swap(i, j);
  }
  const stream = Buffer.alloc(length);
  for (let n = 0, i = 0, j = 0; n < length; n++) {
    i = (i + 1) % 256;
    j = (j + state[i]!) % 256;
    swap(i, j);
    stream[n] = state[(state[i]! + state[j]!) % 256]!;
  }
  return stream;
}

function xor(bytes: Buffer, keys: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte ^ keys[at]!));
}

/** Encrypts an .xls file: `rc4` as Excel 97 does, `crypto-api` (128 bits) as later ones do. */
export function encryptXls(file: Buffer, password: string, scheme: 'rc4' | 'crypto-api'): Buffer {
  const container = library.CFB.read(file, { type: 'buffer' });
  const records = Buffer.from(library.CFB.find(container, '/Workbook').content as Buffer);
  const unicode = Buffer.from(password, 'utf16le');
  const isApi = scheme === 'crypto-api';
  const start = md5(unicode).subarray(0, 5);
  const rc4Base = md5(...Array.from({ length: 16 }, () => [start, salt]).flat()).subarray(0, 5);
  const apiBase = sha1(salt, unicode);
  const blockKey = (block: number): Buffer =>
    isApi ? sha1(apiBase, uint32(block)).subarray(0, 16) : md5(rc4Base, uint32(block));
  const verifier = Buffer.alloc(16, 0x24);
  const checked = Buffer.concat([verifier, isApi ? sha1(verifier) : md5(verifier)]);
  const locked = xor(checked, rc4(blockKey(0), checked.length));
  const header = Buffer.concat([
    ...[4, 0, 0x6801, 0x8004, 128, 1, 0, 0].map(uint32),
    Buffer.from('RC4\0', 'utf16le'),
  ]);
  const info = isApi
    ? [Buffer.from('010002000200', 'hex'), uint32(4), uint32(header.length), header, uint32(16), salt]
    : [Buffer.from('010001000100', 'hex'), salt];
  const content = Buffer.concat([
    ...info,
    locked.subarray(0, 16),
    ...(isApi ? [uint32(20)] : []),
    locked.subarray(16),
  ]);
  const head = Buffer.alloc(4);
  head.writeUInt16LE(0x2f, 0);
  head.writeUInt16LE(content.length, 2);
  const first = 4 + records.readUInt16LE(2);
  const stream = Buffer.concat([records.subarray(0, first), head, content, records.subarray(first)]);
  const shift = head.length + content.length;
  const keys = Buffer.concat(
    Array.from({ length: Math.ceil(stream.length / 1024) }, (_, block) => rc4(blockKey(block), 1024)),
  );
  for (let at = 0; at + 4 <= stream.length; ) {
    const type = stream.readUInt16LE(at);
    const end = at + 4 + stream.readUInt16LE(at + 2);
    if (type === 0x85) stream.writeUInt32LE(stream.readUInt32LE(at + 4) + shift, at + 4);
    if (![0x0809, 0x2f, 0xe1].includes(type)) {
      for (let place = at + 4 + (type === 0x85 ? 4 : 0); place < end; place++)
        stream[place] = stream[place]! ^ keys[place]!;
    }
    at = end;
  }
  library.CFB.utils.cfb_add(container, '/Workbook', stream);
  return Buffer.from(library.CFB.write(container, { type: 'buffer' }) as Buffer);
}
