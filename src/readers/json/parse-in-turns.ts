/**
 * Parses a large JSON text part by part, in turns, because `JSON.parse` may block for long: 1 MiB usually takes some milliseconds,
 * but more than a hundred if it has many different keys.
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { pauseForOthers } from '../../core/pause-for-others.ts';

export interface PartParser {
  /**
   * Parses a part. If it is not the whole text, it is a list of elements in brackets or of members in braces.
   *
   * @param offset the position of its first byte in the whole text
   */
  parse(part: Buffer, offset: number): unknown;
  /**
   * Throws the error for members of several parts with the same key.
   *
   * @param position a position before the second member, in the same object
   */
  refuseRepeated(key: string, position: number): never;
}

/** The size of a part, which takes at most a few milliseconds. */
const partBytes = 32 * 1024;

/**
 * Parses a text with the parser of parts. A large object has no prototype, so that `__proto__` is an ordinary key.
 *
 * @param text valid JSON
 */
export async function parseInTurns(text: Buffer, parser: PartParser): Promise<unknown> {
  if (text.length <= partBytes) return parser.parse(text, 0);
  const ends = endsOfLargeContainers(text);
  const start = afterBlanks(text, 0);
  await pauseForOthers();
  return ends.has(start) ? parseLarge(text, start, ends, parser) : parser.parse(text, 0);
}

/** Returns the end of each container that is larger than a part. The key is the position of its first byte. */
function endsOfLargeContainers(text: Buffer): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === ascii.QUOTE) at = endOfString(text, at) - 1;
    else if (byte === ascii.OPENING_BRACE || byte === ascii.OPENING_BRACKET) open.push(at);
    else if (byte === ascii.CLOSING_BRACE || byte === ascii.CLOSING_BRACKET) {
      const start = open.pop()!;
      if (at + 1 - start > partBytes) ends.set(start, at + 1);
    }
  }
  return ends;
}

/** Parses a container that is larger than a part. */
async function parseLarge(
  text: Buffer,
  start: number,
  ends: ReadonlyMap<number, number>,
  parser: PartParser,
): Promise<unknown> {
  const isObject = text[start] === ascii.OPENING_BRACE;
  const container = isObject ? new LargeObject(parser) : new LargeArray();
  const addPart = (from: number, to: number): void => {
    const part = Buffer.allocUnsafe(to - from + 2);
    text.copy(part, 1, from, to);
    part[0] = isObject ? ascii.OPENING_BRACE : ascii.OPENING_BRACKET;
    part[part.length - 1] = isObject ? ascii.CLOSING_BRACE : ascii.CLOSING_BRACKET;
    container.add(parser.parse(part, from - 1), from);
  };
  const end = ends.get(start)! - 1;
  let partStart = afterBlanks(text, start + 1);
  let at = partStart;
  while (at < end) {
    const value = isObject ? afterKey(text, at) : at;
    const endOfLarge = ends.get(value);
    if (endOfLarge !== undefined) {
      // The part ends before the comma that comes before this item.
      if (partStart < at) addPart(partStart, text.lastIndexOf(ascii.COMMA, at));
      const key = isObject ? (JSON.parse(text.toString('utf8', at, endOfString(text, at))) as string) : '';
      container.add(singleItem(key, await parseLarge(text, value, ends, parser), isObject), at);
    }
    const next = afterBlanks(text, endOfLarge ?? endOfSmall(text, value));
    const isWhole = next >= end || next - partStart > partBytes;
    if (endOfLarge === undefined && isWhole) {
      addPart(partStart, next);
      await pauseForOthers();
    }
    at = afterBlanks(text, next + 1);
    if (endOfLarge !== undefined || isWhole) partStart = at;
  }
  return container.value;
}

function singleItem(key: string, value: unknown, isObject: boolean): unknown {
  if (!isObject) return [value];
  const item = Object.create(null) as Record<string, unknown>;
  item[key] = value;
  return item;
}

class LargeArray {
  readonly value: unknown[] = [];

  add(elements: unknown): void {
    for (const element of elements as unknown[]) this.value.push(element);
  }
}

class LargeObject {
  readonly value = Object.create(null) as Record<string, unknown>;
  readonly #parser: PartParser;

  constructor(parser: PartParser) {
    this.#parser = parser;
  }

  /**
   * Adds the members of a part.
   *
   * @param position the position of the part in the text
   */
  add(members: unknown, position: number): void {
    for (const [key, value] of Object.entries(members as object)) {
      if (key in this.value) this.#parser.refuseRepeated(key, position);
      this.value[key] = value;
    }
  }
}

/** Returns the position of the value of the member that begins at `start`. */
function afterKey(text: Buffer, start: number): number {
  const colon = afterBlanks(text, endOfString(text, start));
  return afterBlanks(text, colon + 1);
}

/** Returns the position after the value that begins at `start`, which is not larger than a part. */
function endOfSmall(text: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const byte = text[at];
    if (byte === ascii.QUOTE) at = endOfString(text, at) - 1;
    else if (byte === ascii.OPENING_BRACE || byte === ascii.OPENING_BRACKET) depth++;
    else if (byte === ascii.CLOSING_BRACE || byte === ascii.CLOSING_BRACKET) depth--;
    else if (depth > 0 || !endsScalar(text[at + 1])) continue;
    if (depth === 0) return at + 1;
  }
}

function endsScalar(byte: number | undefined): boolean {
  return (
    byte === undefined ||
    byte === ascii.COMMA ||
    byte === ascii.CLOSING_BRACE ||
    byte === ascii.CLOSING_BRACKET ||
    ascii.isWhiteSpace(byte)
  );
}

/** Returns the position after the string that begins at `start`. */
export function endOfString(text: Buffer, start: number): number {
  let at = start + 1;
  while (text[at] !== ascii.QUOTE) at += text[at] === ascii.BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Returns the position of the first byte from `start` on that is not white space. */
export function afterBlanks(text: Buffer, start: number): number {
  let at = start;
  while (at < text.length && ascii.isWhiteSpace(text[at]!)) at++;
  return at;
}
