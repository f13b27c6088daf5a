/** Collects a JSON string as UTF-8. It is used if the string has escapes or the end of a chunk cuts it. */

import { BACKSLASH, QUOTE } from '../../core/bytes/ascii.ts';
import type { GrowableBytes } from '../../core/bytes/growable-bytes.ts';
import { simpleEscape } from '../../core/bytes/json-escape.ts';
import { EscapeReader, MORE, plainUnicodeEscape } from './json-escape.ts';
import { JsonFault } from './json-fault.ts';

export class StringUnescaper {
  readonly #escape = new EscapeReader();
  #inEscape = false;

  /** Call this at the string's first byte, after the quote. */
  begin(): void {
    this.#inEscape = false;
  }

  /**
   * Appends the string's bytes to `target`.
   *
   * @returns the position after the closing quote; -1: the chunk ended first
   * @throws JsonFault, LimitFault
   */
  unescape(chunk: Buffer, start: number, end: number, target: GrowableBytes): number {
    let i = start;
    while (i < end) {
      if (this.#inEscape) {
        const code = this.#escape.next(chunk[i]!, i);
        i++;
        if (code === MORE) continue;
        this.#inEscape = false;
        target.appendCodePoint(code);
      }
      const run = i;
      let byte = 0;
      while (i < end) {
        byte = chunk[i]!;
        if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
        i++;
      }
      if (i > run) target.append(chunk, run, i);
      if (i === end) return -1;
      if (byte === QUOTE) return i + 1;
      if (byte !== BACKSLASH) throw controlCharacter(i);
      // Most escapes are complete and mean one character. They are read at once, and the others byte by byte.
      let code = -1;
      let length = 2;
      if (i + 6 <= end) {
        const kind = chunk[i + 1]!;
        if (kind === 0x75) {
          code = plainUnicodeEscape(chunk, i + 2);
          length = 6;
        } else if (simpleEscape(kind) !== 0) {
          code = simpleEscape(kind);
        }
      }
      if (code >= 0) {
        target.appendCodePoint(code);
        i += length;
      } else {
        this.#escape.begin();
        this.#inEscape = true;
        i++;
      }
    }
    return -1;
  }
}

export function controlCharacter(position: number): JsonFault {
  return new JsonFault(position, 'a control character to be escaped inside a string');
}
