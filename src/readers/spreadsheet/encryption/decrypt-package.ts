/**
 * Opens a workbook that is encrypted as a whole (MS-OFFCRYPTO 2.3.4): .xlsx, .xlsm and .xlsb in a compound file. Only the parts
 * that are read are decrypted, so neither memory nor a file ever contains the whole decrypted package.
 *
 * A verifier in the file shows whether a password is right.
 */

import { createDecipheriv, hash } from 'node:crypto';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { encrypted, notOpened } from '../file-errors.ts';
import { attributeOf, readSmallXml } from '../package/small-part.ts';
import { type RandomAccessFile, readRange } from '../random-access-file.ts';
import { BrokenCompoundFile, openStreams } from './compound-file.ts';
import { passwordsToTry } from './passwords.ts';

/** The maximum number of rounds of the key derivation for one password, which take one to three seconds. Excel uses 100,000. */
const maxSpinCount = 1_000_000;

/**
 * The maximum length of the description of the encryption. It usually has one or two KiB, and about three more for each
 * certificate that also opens the workbook.
 */
const maxInfoBytes = 32 * 1024;

/** The length of the field before the encrypted package, which has the size of the package. */
const sizeBytes = 8;

/** Decrypts bytes of the package that begin and end at multiples of `unit`. Only the last ones may end elsewhere. */
interface PackageCipher {
  unit: number;
  /** @param position in the package, a multiple of `unit` */
  decrypt: (bytes: Buffer, position: number) => Buffer;
}

/** The encryption of a package. */
interface PackageLock {
  /** How many rounds deriving the key from one password takes. */
  rounds: number;
  /** Returns the cipher; undefined: the password is wrong. */
  open: (password: Buffer, signal: AbortSignal) => Promise<PackageCipher | undefined>;
}

/**
 * Returns the decrypted package if the compound file contains an encrypted one.
 *
 * @param password the password that the caller has sent; Excel's default password is tried, too
 * @returns undefined if the file is not a valid compound file or contains something else
 * @throws AppError `unsupported-file` if the encryption is unknown, `password-required`, `wrong-password`, `limit-exceeded`
 */
export async function openEncryptedPackage(
  file: RandomAccessFile,
  password: string | undefined,
  signal: AbortSignal,
): Promise<RandomAccessFile | undefined> {
  const streams = await findStreams(file);
  if (streams === undefined) return undefined;
  const [info, encryptedPackage] = streams;
  const lock = await readLock(await readRange(info!, 0, maxInfoBytes));
  if (lock === undefined) throw encrypted();
  const cipher = await tryPasswords(lock, passwordsToTry(password), signal);
  if (cipher === undefined) throw notOpened(password);
  const head = await readRange(encryptedPackage!, 0, sizeBytes);
  if (head.length < sizeBytes) throw encrypted();
  const size = Number(head.readBigUInt64LE(0));
  return new DecryptedFile(encryptedPackage!, Math.min(size, encryptedPackage!.size - sizeBytes), cipher);
}

async function findStreams(file: RandomAccessFile): Promise<RandomAccessFile[] | undefined> {
  try {
    return await openStreams(file, ['EncryptionInfo', 'EncryptedPackage']);
  } catch (error) {
    if (error instanceof BrokenCompoundFile) return undefined;
    throw error;
  }
}

/** Returns the cipher of the first password that is right; undefined: none is. @throws AppError `limit-exceeded` */
async function tryPasswords(
  { rounds, open }: PackageLock,
  passwords: Buffer[],
  signal: AbortSignal,
): Promise<PackageCipher | undefined> {
  if (rounds > maxSpinCount) {
    throw limitExceeded(
      'The key of this encrypted workbook takes too long to derive',
      maxSpinCount,
      'rounds',
      'Remove the encryption and save the workbook again.',
    );
  }
  for (const password of passwords) {
    const cipher = await open(password, signal);
    if (cipher !== undefined) return cipher;
  }
  return undefined;
}

/** Reads how the package is encrypted. @returns undefined if the encryption is neither agile nor standard */
async function readLock(info: Buffer): Promise<PackageLock | undefined> {
  if (info.length < 8) return undefined;
  const [major, minor] = [info.readUInt16LE(0), info.readUInt16LE(2)];
  if (major === 4 && minor === 4) return await readAgile(info.subarray(8));
  if (major >= 2 && major <= 4 && minor === 2) return readStandard(info);
  return undefined;
}

// The following functions are for agile encryption (2.3.4.10 to 2.3.4.15).

interface AgileKey {
  salt: Buffer;
  blockBytes: number;
  keyBytes: number;
  hashName: string;
}

const hashNames = new Map([
  ['SHA1', 'sha1'],
  ['SHA-1', 'sha1'],
  ['SHA256', 'sha256'],
  ['SHA384', 'sha384'],
  ['SHA512', 'sha512'],
]);

/** The constants from which the keys for different purposes are derived (2.3.4.11). */
const verifierInputKey = Buffer.from('fea7d2763b4b9e79', 'hex');
const verifierValueKey = Buffer.from('d7aa0f6d3061344e', 'hex');
const packageKeyKey = Buffer.from('146e0be7abacd0d6', 'hex');

const segmentBytes = 4096;

async function readAgile(xml: Buffer): Promise<PackageLock | undefined> {
  const elements = await readElements(xml);
  const ofPackage = elements && readAgileKey(elements.keyData);
  const ofPassword = elements && readAgileKey(elements.encryptedKey);
  if (ofPackage === undefined || ofPassword === undefined) return undefined;
  const rounds = Number(elements!.encryptedKey.get('spinCount'));
  const verifierInput = readEncrypted(elements!, 'encryptedVerifierHashInput');
  const verifierValue = readEncrypted(elements!, 'encryptedVerifierHashValue');
  const packageKey = readEncrypted(elements!, 'encryptedKeyValue');
  const isWhole = verifierInput && verifierValue && packageKey;
  if (!isWhole || !Number.isInteger(rounds) || rounds < 0 || packageKey.length < ofPackage.keyBytes)
    return undefined;
  const { hashName, salt, keyBytes, blockBytes } = ofPassword;
  const vector = fit(salt, blockBytes);
  const open: PackageLock['open'] = async (password, signal) => {
    const spun = await spin(hashName, Buffer.concat([salt, password]), rounds, signal);
    const decryptWith = (purpose: Buffer, value: Buffer): Buffer =>
      decryptCbc(fit(hash(hashName, Buffer.concat([spun, purpose]), 'buffer'), keyBytes), vector, value);
    const input = decryptWith(verifierInputKey, verifierInput).subarray(0, salt.length);
    const expected = hash(hashName, input, 'buffer');
    const value = decryptWith(verifierValueKey, verifierValue);
    if (!value.subarray(0, expected.length).equals(expected)) return undefined;
    const key = decryptWith(packageKeyKey, packageKey);
    return agileCipher(ofPackage, key.subarray(0, ofPackage.keyBytes));
  };
  return { rounds, open };
}

/** Returns an encrypted value of the element; undefined: its length is not a multiple of a block. */
function readEncrypted({ encryptedKey }: AgileElements, name: string): Buffer | undefined {
  const value = Buffer.from(encryptedKey.get(name) ?? '', 'base64');
  return value.length === 0 || value.length % cipherBlockBytes !== 0 ? undefined : value;
}

function agileCipher({ salt, blockBytes, hashName }: AgileKey, key: Buffer): PackageCipher {
  const seed = Buffer.alloc(salt.length + 4);
  salt.copy(seed);
  return {
    unit: segmentBytes,
    decrypt: (bytes, position) => {
      const segments: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += segmentBytes) {
        seed.writeUInt32LE((position + at) / segmentBytes, salt.length);
        const vector = fit(hash(hashName, seed, 'buffer'), blockBytes);
        segments.push(decryptCbc(key, vector, bytes.subarray(at, at + segmentBytes)));
      }
      return Buffer.concat(segments);
    },
  };
}

function readAgileKey(attributes: Map<string, string>): AgileKey | undefined {
  const hashName = hashNames.get(attributes.get('hashAlgorithm') ?? '');
  const salt = Buffer.from(attributes.get('saltValue') ?? '', 'base64');
  const blockBytes = Number(attributes.get('blockSize'));
  const keyBytes = Number(attributes.get('keyBits')) / 8;
  const isKnown =
    attributes.get('cipherAlgorithm') === 'AES' &&
    attributes.get('cipherChaining') === 'ChainingModeCBC' &&
    blockBytes === cipherBlockBytes &&
    keyLengths.includes(keyBytes);
  if (!isKnown || hashName === undefined || salt.length === 0) return undefined;
  return { salt, blockBytes, keyBytes, hashName };
}

interface AgileElements {
  keyData: Map<string, string>;
  encryptedKey: Map<string, string>;
}

/** Returns the attributes of the description; undefined: it is not XML, or more than a small part may be. */
async function readElements(xml: Buffer): Promise<AgileElements | undefined> {
  const elements: AgileElements = { keyData: new Map(), encryptedKey: new Map() };
  // Some programs fill the stream up with zero bytes.
  let end = xml.length;
  while (xml[end - 1] === 0) end--;
  try {
    await readSmallXml([xml.subarray(0, end)], 'EncryptionInfo', (tag) => {
      if (tag.local !== 'keyData' && tag.local !== 'encryptedKey') return;
      if (tag.uri === certificateNamespace) return;
      const attributes = elements[tag.local];
      for (const name of agileAttributes) {
        const value = attributeOf(tag, name);
        if (value !== undefined) attributes.set(name, value);
      }
    });
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
  return elements;
}

/** An `encryptedKey` of this namespace has the key for the owner of a certificate, in attributes of the same names. */
const certificateNamespace = 'http://schemas.microsoft.com/office/2006/keyEncryptor/certificate';

const agileAttributes = (
  'saltValue blockSize keyBits cipherAlgorithm cipherChaining hashAlgorithm spinCount ' +
  'encryptedVerifierHashInput encryptedVerifierHashValue encryptedKeyValue'
).split(' ');

// The following functions are for standard encryption (2.3.4.5 to 2.3.4.9).

const standardSpinCount = 50_000;
const aesIds = [0x660e, 0x660f, 0x6610];

function readStandard(info: Buffer): PackageLock | undefined {
  const headerStart = 12;
  const verifierStart = headerStart + (info.length >= headerStart ? info.readUInt32LE(8) : maxInfoBytes);
  if (headerStart + 20 > info.length || verifierStart + 72 > info.length) return undefined;
  const keyBytes = info.readUInt32LE(headerStart + 16) / 8;
  if (!aesIds.includes(info.readUInt32LE(headerStart + 8)) || !keyLengths.includes(keyBytes))
    return undefined;
  const salt = info.subarray(verifierStart + 4, verifierStart + 20);
  const open: PackageLock['open'] = async (password, signal) => {
    const spun = await spin('sha1', Buffer.concat([salt, password]), standardSpinCount, signal);
    const key = standardKey(hash('sha1', Buffer.concat([spun, Buffer.alloc(4)]), 'buffer'), keyBytes);
    const verifier = decryptEcb(key, info.subarray(verifierStart + 20, verifierStart + 36));
    const value = decryptEcb(key, info.subarray(verifierStart + 40, verifierStart + 72));
    const expected = hash('sha1', verifier, 'buffer');
    if (!value.subarray(0, expected.length).equals(expected)) return undefined;
    return { unit: cipherBlockBytes, decrypt: (bytes) => decryptEcb(key, bytes) };
  };
  return { rounds: standardSpinCount, open };
}

/** Derives the key from the result of `spin` (2.3.4.7). */
function standardKey(final: Buffer, keyBytes: number): Buffer {
  const derive = (fill: number): Buffer => {
    const block = Buffer.alloc(64, fill);
    for (let at = 0; at < final.length; at++) block[at] = fill ^ final[at]!;
    return hash('sha1', block, 'buffer');
  };
  return Buffer.concat([derive(0x36), derive(0x5c)]).subarray(0, keyBytes);
}

// The following functions are for both kinds of encryption.

const cipherBlockBytes = 16;
const keyLengths = [16, 24, 32];
const hashesPerTurn = 256;

/** Hashes the salt and the password, and then hashes the result again and again with a counter before it (2.3.4.11). */
async function spin(
  hashName: string,
  saltedPassword: Buffer,
  count: number,
  signal: AbortSignal,
): Promise<Buffer> {
  let result = hash(hashName, saltedPassword, 'buffer');
  const input = Buffer.alloc(4 + result.length);
  for (let round = 0; round < count; round++) {
    input.writeUInt32LE(round, 0);
    result.copy(input, 4);
    result = hash(hashName, input, 'buffer');
    if (round % hashesPerTurn !== 0) continue;
    signal.throwIfAborted();
    const pause = pauseForOthers();
    if (pause !== undefined) await pause;
  }
  return result;
}

/** Cuts the bytes to the length, or fills them up with 0x36 (2.3.4.11). */
function fit(bytes: Buffer, length: number): Buffer {
  const fitted = Buffer.alloc(length, 0x36);
  bytes.copy(fitted, 0, 0, length);
  return fitted;
}

function decryptCbc(key: Buffer, vector: Buffer, bytes: Buffer): Buffer {
  const decipher = createDecipheriv(`aes-${8 * key.length}-cbc`, key, vector).setAutoPadding(false);
  return decipher.update(bytes);
}

function decryptEcb(key: Buffer, bytes: Buffer): Buffer {
  return createDecipheriv(`aes-${8 * key.length}-ecb`, key, null)
    .setAutoPadding(false)
    .update(bytes);
}

/** The maximum number of bytes that are decrypted in one call, which takes less than a millisecond. */
const readBytes = 128 * 1024;

class DecryptedFile implements RandomAccessFile {
  readonly size: number;
  readonly #stream: RandomAccessFile;
  readonly #cipher: PackageCipher;

  constructor(stream: RandomAccessFile, size: number, cipher: PackageCipher) {
    this.#stream = stream;
    this.size = size;
    this.#cipher = cipher;
  }

  async read(target: Buffer, position: number): Promise<number> {
    const wanted = Math.max(0, Math.min(target.length, this.size - position));
    let filled = 0;
    while (filled < wanted) {
      const count = await this.#readSome(target.subarray(filled, wanted), position + filled);
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }

  async #readSome(target: Buffer, position: number): Promise<number> {
    const { unit, decrypt } = this.#cipher;
    const start = position - (position % unit);
    const end = Math.min(Math.ceil((position + target.length) / unit) * unit, start + readBytes);
    const bytes = await readRange(this.#stream, sizeBytes + start, end - start);
    return decrypt(bytes, start).copy(target, 0, position - start);
  }
}
