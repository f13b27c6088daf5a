/**
 * Decrypts the records of an encrypted .xls file (MS-XLS 2.2.10). It supports the RC4 encryption of
 * Excel 97 and of Excel 2002 and later (MS-OFFCRYPTO 2.3.5 and 2.3.6). The XOR obfuscation of older programs is not supported.
 *
 * RC4 is implemented here because OpenSSL has it only in its legacy provider.
 */

import { hash } from 'node:crypto';

const FILE_PASS = 0x2f;
const BOUND_SHEET = 0x85;
/** The content of these records is never encrypted: BOF, FilePass, UsrExcl, FileLock, InterfaceHdr, RRDInfo, RRDHead. */
const plainTypes = new Set([0x0809, FILE_PASS, 0x194, 0x195, 0xe1, 0x196, 0x138]);
/** How many bytes at the beginning of a BOUND_SHEET record are not encrypted. They are the position of the sheet's records. */
const boundSheetPlainBytes = 4;

/** The number of records that are searched for FilePass, which is one of the first records. */
const recordsBefore = 8;
const recordHeadBytes = 4;

/** The key changes after this many bytes of the stream. */
const blockBytes = 1024;

/** Returns the RC4 key of a block. */
type BlockKey = (block: number) => Buffer;

/**
 * Decrypts the records of a workbook stream in place. A stream that is not encrypted remains unchanged.
 *
 * @param passwords are tried in this order
 * @returns what prevents the decryption; undefined: the stream is not encrypted any more
 */
export function decryptRecords(
  stream: Buffer,
  passwords: readonly Buffer[],
): 'unknown-method' | 'wrong-password' | undefined {
  const filePass = findFilePass(stream);
  if (filePass === undefined) return undefined;
  const keysOf = readMethod(filePass);
  if (keysOf === undefined) return 'unknown-method';
  const blockKey = passwords.map(keysOf).find((keys) => keys !== undefined);
  if (blockKey === undefined) return 'wrong-password';
  const cipher = new StreamCipher(blockKey);
  for (let at = 0; at + recordHeadBytes <= stream.length; ) {
    const type = stream.readUInt16LE(at);
    const start = at + recordHeadBytes;
    const end = Math.min(stream.length, start + stream.readUInt16LE(at + 2));
    if (!plainTypes.has(type))
      cipher.apply(stream, start + (type === BOUND_SHEET ? boundSheetPlainBytes : 0), end);
    // The record FilePass gets another type. Otherwise the library would try to decrypt the records again.
    if (type === FILE_PASS) stream.writeUInt16LE(ignoredType, at);
    at = end;
  }
  return undefined;
}

/** The type `InterfaceEnd`, which the library ignores. */
const ignoredType = 0xe2;

function findFilePass(stream: Buffer): Buffer | undefined {
  for (let at = 0, count = 0; at + recordHeadBytes <= stream.length && count < recordsBefore; count++) {
    const end = at + recordHeadBytes + stream.readUInt16LE(at + 2);
    if (stream.readUInt16LE(at) === FILE_PASS) return stream.subarray(at + recordHeadBytes, end);
    at = end;
  }
  return undefined;
}

/** Returns the RC4 keys of a password; undefined: the password is wrong. */
type KeysOfPassword = (password: Buffer) => BlockKey | undefined;

/** Reads how the stream is encrypted. @returns undefined if the method is unknown */
function readMethod(filePass: Buffer): KeysOfPassword | undefined {
  if (filePass.length < 6 || filePass.readUInt16LE(0) !== 1) return undefined;
  const [major, minor] = [filePass.readUInt16LE(2), filePass.readUInt16LE(4)];
  const info = filePass.subarray(6);
  if (major === 1 && minor === 1) return readRc4(info);
  return major >= 2 && major <= 4 && minor === 2 ? readRc4CryptoApi(info) : undefined;
}

/** Returns the function that derives the keys of Excel 97 from a password, or undefined if the password is wrong (2.3.6.1 and 2.3.6.2). */
function readRc4(info: Buffer): KeysOfPassword | undefined {
  if (info.length < 48) return undefined;
  return (password) => {
    const salted = Buffer.concat([hash('md5', password, 'buffer').subarray(0, 5), info.subarray(0, 16)]);
    const all = Buffer.concat(Array.from({ length: 16 }, () => salted));
    const base = hash('md5', all, 'buffer').subarray(0, 5);
    const blockKey: BlockKey = (block) => hash('md5', Buffer.concat([base, littleEndian(block)]), 'buffer');
    return isRight(blockKey, 'md5', info.subarray(16, 32), info.subarray(32, 48)) ? blockKey : undefined;
  };
}

const rc4Id = 0x6801;

/** Derives the keys of Excel 2002 and later (2.3.5.1 and 2.3.5.2). */
function readRc4CryptoApi(info: Buffer): KeysOfPassword | undefined {
  const headerStart = 8;
  const verifierStart = headerStart + (info.length >= headerStart ? info.readUInt32LE(4) : info.length);
  if (headerStart + 20 > info.length || verifierStart + 60 > info.length) return undefined;
  const keyBits = info.readUInt32LE(headerStart + 16) || 40;
  if (info.readUInt32LE(headerStart + 8) !== rc4Id || keyBits < 40 || keyBits > 128 || keyBits % 8 !== 0)
    return undefined;
  const salt = info.subarray(verifierStart + 4, verifierStart + 20);
  const verifier = info.subarray(verifierStart + 20, verifierStart + 36);
  const value = info.subarray(verifierStart + 40, verifierStart + 60);
  return (password) => {
    const base = hash('sha1', Buffer.concat([salt, password]), 'buffer');
    const blockKey: BlockKey = (block) => {
      const key = hash('sha1', Buffer.concat([base, littleEndian(block)]), 'buffer').subarray(0, keyBits / 8);
      // A key of 40 bits is filled up with zeros.
      return keyBits === 40 ? Buffer.concat([key, Buffer.alloc(11)]) : key;
    };
    return isRight(blockKey, 'sha1', verifier, value) ? blockKey : undefined;
  };
}

/**
 * Returns whether the password is right. With the key of block 0, the file contains an encrypted verifier and, directly after it,
 * the encrypted hash of the verifier.
 */
function isRight(blockKey: BlockKey, hashName: string, verifier: Buffer, value: Buffer): boolean {
  const bytes = Buffer.concat([verifier, value]);
  new Rc4(blockKey(0)).apply(bytes, 0, bytes.length);
  return hash(hashName, bytes.subarray(0, verifier.length), 'buffer').equals(bytes.subarray(verifier.length));
}

function littleEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Decrypts ranges of the stream in ascending order. Bytes between the ranges also use up the key stream. */
class StreamCipher {
  readonly #blockKey: BlockKey;
  #block = -1;
  #position = 0;
  #rc4: Rc4 | undefined;

  constructor(blockKey: BlockKey) {
    this.#blockKey = blockKey;
  }

  apply(stream: Buffer, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const block = Math.floor(at / blockBytes);
      if (block !== this.#block) {
        this.#block = block;
        this.#position = block * blockBytes;
        this.#rc4 = new Rc4(this.#blockKey(block));
      }
      const stop = Math.min(end, (block + 1) * blockBytes);
      this.#rc4!.skip(at - this.#position);
      this.#rc4!.apply(stream, at, stop);
      this.#position = stop;
      at = stop;
    }
  }
}

class Rc4 {
  readonly #state = new Uint8Array(256);
  #i = 0;
  #j = 0;

  constructor(key: Buffer) {
    const state = this.#state;
    for (let i = 0; i < 256; i++) state[i] = i;
    for (let i = 0, j = 0; i < 256; i++) {
      j = (j + state[i]! + key[i % key.length]!) & 0xff;
      this.#swap(i, j);
    }
  }

  apply(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at++) bytes[at] = bytes[at]! ^ this.#next();
  }

  skip(count: number): void {
    for (let n = 0; n < count; n++) this.#next();
  }

  #next(): number {
    const state = this.#state;
    this.#i = (this.#i + 1) & 0xff;
    this.#j = (this.#j + state[this.#i]!) & 0xff;
    this.#swap(this.#i, this.#j);
    return state[(state[this.#i]! + state[this.#j]!) & 0xff]!;
  }

  #swap(i: number, j: number): void {
    const kept = this.#state[i]!;
    this.#state[i] = this.#state[j]!;
    this.#state[j] = kept;
  }
}
