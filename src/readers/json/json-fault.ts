/** The errors that the parts of the JSON scanner throw. Their positions are in the chunk. The scanner of the body adds the place in the document. */

import type { ByteLimit } from '../../core/bytes/growable-bytes.ts';
import type { AppError } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { SettingName } from '../../core/settings/config.ts';

/** The byte at `position` of the chunk is not allowed by the grammar of RFC 8259. A negative position is in an earlier chunk. */
export class JsonFault extends Error {
  readonly position: number;
  readonly showsByte: boolean;

  /** @param message what was expected; if `showsByte` is false, the whole message */
  constructor(position: number, message: string, showsByte = true) {
    super(message);
    this.position = position;
    this.showsByte = showsByte;
  }
}

/** A limit with what it counts: `{ setting: 'MAX_CELL_BYTES', value: 1048576, unit: 'bytes' }`. */
export interface Limit {
  /** undefined: the limit cannot be changed. */
  setting?: SettingName;
  value: number;
  unit: string;
}

export class LimitFault extends Error {
  readonly #limit: Limit;

  /** @param what the subject of the message, such as "The value is too long" */
  constructor(what: string, limit: Limit) {
    super(what);
    this.#limit = limit;
  }

  /** @param place the beginning of the message, such as "Row 3: " */
  toError(place: string): AppError {
    const { setting, value, unit } = this.#limit;
    return limitExceeded(place + this.message, value, setting === undefined ? unit : { setting });
  }
}

/** Returns the limit for collected bytes. @param tooLong the message if there are too many */
export function byteLimit(tooLong: string, limit: Limit): ByteLimit {
  return { maxBytes: limit.value, exceeded: () => new LimitFault(tooLong, limit) };
}

/** The current row exceeds its limit. */
export class RowTooLong extends Error {
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`a row of more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** Returns whether a scanner threw the error because the document is wrong. */
export function isDocumentFault(error: unknown): boolean {
  return error instanceof JsonFault || error instanceof LimitFault || error instanceof RowTooLong;
}

/** Returns a byte for a message: `"x"`, or `0x0A` if it is not a printable character. */
export function showByte(byte: number): string {
  if (byte === 0x22) return `'"'`;
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `0x${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
