/**
 * Encodes json and jsonb.
 *
 * A cell keeps its JSON value: objects, arrays and numbers are stored as they are written, true and false remain booleans, and a string
 * becomes a JSON string. So the string "{}" remains a string and does not become an object. NULL is SQL's NULL, not JSON's.
 */
import { BACKSLASH, isDigit, LOWER_E, MINUS, PLUS, POINT, QUOTE } from '../../core/bytes/ascii.ts';
import { noBytes, type Scan, scanInTurns } from '../../core/bytes/scan-in-turns.ts';
import { ARRAY, FALSE, NUMBER, OBJECT, STRING, TRUE } from '../../core/cells/cell-kind.ts';
import { NOT_FOR_JSONB } from '../problems/cell-problems.ts';
import { type ColumnEncoder, columnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { codeUnit } from './json-text.ts';
import { type JsonFacts, knownFacts } from './long-json.ts';
import { KEYS_REPEATED, losses } from './losses.ts';
import { encodeNumeric } from './numeric.ts';
import { findRepeatedKey, searchInTurns } from './repeated-keys.ts';
import * as codes from './type-codes.ts';

const TRUE_TEXT = Buffer.from('true');
const FALSE_TEXT = Buffer.from('false');

/** The version of the binary form of `jsonb`, with which every value begins. */
const JSONB_VERSION = 1;

export function encodeJson(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const isJsonb = encoder.code === codes.JSONB;
  const fieldStart = out.position;
  out.ensure(5);
  out.position += 4;
  if (isJsonb) out.int8(JSONB_VERSION);
  switch (kind) {
    case TRUE:
    case FALSE: {
      const text = kind === TRUE ? TRUE_TEXT : FALSE_TEXT;
      out.ensure(text.length);
      out.appendRange(text, 0, text.length);
      break;
    }
    case STRING:
      if (!appendQuoted(out, bytes, start, end) && isJsonb) return NOT_FOR_JSONB;
      break;
    case NUMBER:
    case OBJECT:
    case ARRAY:
      if (isJsonb && !fitsJsonb(out, bytes, start, end)) return NOT_FOR_JSONB;
      if (isJsonb && kind !== NUMBER && findRepeatedKey(bytes, start, end)) losses.ofCell |= KEYS_REPEATED;
      out.ensure(end - start);
      out.appendRange(bytes, start, end);
      break;
    default:
      throw new Error(`no cell is of kind ${kind}`);
  }
  const fieldEnd = out.position;
  out.position = fieldStart;
  out.int32(fieldEnd - fieldStart - 4);
  out.position = fieldEnd;
  return 0;
}

/** Writes the text as a JSON string; false: the text contains U+0000. */
function appendQuoted(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  out.ensure(2 + (end - start < SHORT_STRING_BYTES ? (end - start) * 6 : escapedLength(bytes, start, end)));
  const target = out.bytes;
  let position = out.position;
  let hasNul = false;
  target[position++] = QUOTE;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= 0x20) {
      if (byte === QUOTE || byte === BACKSLASH) target[position++] = BACKSLASH;
      target[position++] = byte;
      continue;
    }
    if (byte === 0) hasNul = true;
    target[position++] = BACKSLASH;
    target[position++] = 0x75;
    target[position++] = 0x30;
    target[position++] = 0x30;
    target[position++] = 0x30 + (byte >> 4);
    target[position++] = (byte & 15) + ((byte & 15) < 10 ? 0x30 : 0x57);
  }
  target[position++] = QUOTE;
  out.position = position;
  return !hasNul;
}

/** The length up to which memory is reserved for the worst case, in which every byte becomes an escape such as \u001f. */
const SHORT_STRING_BYTES = 1_024;

function escapedLength(bytes: Buffer, start: number, end: number): number {
  let length = end - start;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte < 0x20) length += 5;
    else if (byte === QUOTE || byte === BACKSLASH) length++;
  }
  return length;
}

const noOutput = new CopyBuffer(1);
/**
 * Finds out whether jsonb can store valid JSON text. Unlike json, jsonb parses the text. It refuses `\u0000`, half a surrogate pair,
 * and numbers that numeric cannot store (PostgreSQL 8.14).
 */
class JsonbFit implements Scan {
  #out: CopyBuffer = noOutput;
  #bytes: Buffer = noBytes;
  #at = 0;
  #end = 0;
  #inString = false;

  /** @param out gets numbers, which are removed again */
  begin(out: CopyBuffer, bytes: Buffer, start: number, end: number): this {
    this.#out = out;
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#inString = false;
    return this;
  }

  /** @returns whether jsonb cannot store the text */
  scanTo(until: number): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let inString = this.#inString;
    let at = this.#at;
    for (; at < until; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        inString = !inString;
      } else if (inString) {
        if (byte !== BACKSLASH) continue;
        at++;
        if (bytes[at] !== 0x75) continue;
        const unit = codeUnit(bytes, at + 1);
        at += 4;
        if (unit === 0 || (unit & 0xfc00) === 0xdc00) return true;
        if ((unit & 0xfc00) !== 0xd800) continue;
        if (at + 6 >= end || bytes[at + 1] !== BACKSLASH || bytes[at + 2] !== 0x75) return true;
        if ((codeUnit(bytes, at + 3) & 0xfc00) !== 0xdc00) return true;
        at += 6;
      } else if (isDigit(byte) || byte === MINUS) {
        const numberStart = at;
        let hasExponent = false;
        while (at + 1 < end && isInNumber(bytes[at + 1]!)) {
          at++;
          if ((bytes[at]! | 0x20) === LOWER_E) hasExponent = true;
        }
        const isLong = hasExponent || at - numberStart > SAFE_DIGITS;
        if (isLong && !fitsNumeric(this.#out, bytes, numberStart, at + 1)) return true;
      }
    }
    this.#inString = inString;
    this.#at = at;
    return false;
  }
}

const fitOfOneValue = new JsonbFit();

function fitsJsonb(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  return knownFacts(bytes, start, end)?.fitsJsonb ?? !fitOfOneValue.begin(out, bytes, start, end).scanTo(end);
}

/** Checks in turns whether and how jsonb can store an object or array. */
export async function checkJsonb(bytes: Buffer, start: number, end: number): Promise<JsonFacts> {
  const fit = new JsonbFit().begin(new CopyBuffer(256), bytes, start, end);
  if (await scanInTurns(fit, start, end)) return { fitsJsonb: false };
  return { fitsJsonb: true, keysRepeat: await searchInTurns(bytes, start, end) };
}

/** A length at which every number without an exponent is valid for `numeric`. */
const SAFE_DIGITS = 16_000;

function isInNumber(byte: number): boolean {
  return isDigit(byte) || byte === POINT || (byte | 0x20) === LOWER_E || byte === PLUS || byte === MINUS;
}

const anyNumeric = columnEncoder({ oid: 1700, name: 'numeric', typmod: -1, kind: 'base' })!;

/** Runs the numeric encoder and removes the bytes that it wrote. */
function fitsNumeric(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  const position = out.position;
  const problem = encodeNumeric(out, anyNumeric, NUMBER, bytes, start, end);
  out.rewind(position);
  return problem === 0;
}
