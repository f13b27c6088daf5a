/** Reads the escapes of JSON strings (RFC 8259 section 7). It can stop and continue at any byte. */

import { hexValue } from '../../core/bytes/ascii.ts';
import { simpleEscape } from '../../core/bytes/json-escape.ts';
import { codePointOfPair } from '../../core/bytes/utf8.ts';
import { JsonFault } from './json-fault.ts';

/** `EscapeReader.next` returns this until the escape is complete. */
export const MORE = -1;

const KIND = 0;
const HEX = 1;
const LOW_BACKSLASH = 2;
const LOW_U = 3;

/**
 * Returns the code point of `\uXXXX`, given the position of its four digits. This is the fast path for the common case. It returns
 * -1 if they are not digits or half a surrogate pair; `EscapeReader` handles these.
 */
export function plainUnicodeEscape(bytes: Buffer, start: number): number {
  const unit =
    (hexValue[bytes[start]!]! << 12) |
    (hexValue[bytes[start + 1]!]! << 8) |
    (hexValue[bytes[start + 2]!]! << 4) |
    hexValue[bytes[start + 3]!]!;
  // One of the values is -1 if a byte is not a digit. The result is then negative.
  return (unit & 0xf800) === 0xd800 ? -1 : unit;
}

/** Reads one escape, or both escapes of a surrogate pair, as one code point. */
export class EscapeReader {
  #state = KIND;
  #digits = 0;
  #unit = 0;
  #high = 0;
  /** The number of bytes from the first backslash on, including it. */
  #length = 0;

  /** Call this at the backslash. */
  begin(): void {
    this.#state = KIND;
    this.#high = 0;
    this.#length = 1;
  }

  /**
   * Takes the next byte, which is at `position` of the chunk.
   *
   * @returns the code point if it is complete, otherwise `MORE`
   * @throws JsonFault if the escape is invalid, or if it is half a surrogate pair, which is not a character and which UTF-8
   *   cannot encode (RFC 3629 section 3)
   */
  next(byte: number, position: number): number {
    this.#length++;
    switch (this.#state) {
      case KIND: {
        if (byte === 0x75) return this.#expectHex();
        const simple = simpleEscape(byte);
        if (simple === 0) throw new JsonFault(position, 'one of "\\/bfnrtu after the backslash');
        return simple;
      }
      case HEX:
        this.#unit = (this.#unit << 4) | hexDigit(byte, position);
        this.#digits++;
        return this.#digits === 4 ? this.#endOfUnit(position) : MORE;
      case LOW_BACKSLASH:
        if (byte !== 0x5c) throw this.#loneSurrogate(position);
        this.#state = LOW_U;
        return MORE;
      default:
        if (byte !== 0x75) throw this.#loneSurrogate(position);
        return this.#expectHex();
    }
  }

  #expectHex(): number {
    this.#state = HEX;
    this.#digits = 0;
    this.#unit = 0;
    return MORE;
  }

  #endOfUnit(position: number): number {
    const unit = this.#unit;
    const isLow = unit >= 0xdc00 && unit <= 0xdfff;
    if (this.#high !== 0) {
      if (!isLow) throw this.#loneSurrogate(position);
      return codePointOfPair(this.#high, unit);
    }
    if (isLow) throw this.#loneSurrogate(position);
    if (unit < 0xd800 || unit > 0xdfff) return unit;
    this.#high = unit;
    this.#state = LOW_BACKSLASH;
    return MORE;
  }

  #loneSurrogate(position: number): JsonFault {
    const unit = (this.#high === 0 ? this.#unit : this.#high).toString(16).toUpperCase();
    return new JsonFault(
      position - this.#length + 1,
      `\\u${unit} is half a surrogate pair, not a character`,
      false,
    );
  }
}

function hexDigit(byte: number, position: number): number {
  const digit = hexValue[byte]!;
  if (digit < 0) throw new JsonFault(position, 'four hexadecimal digits after \\u');
  return digit;
}
