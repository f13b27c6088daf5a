/**
 * Replaces escapes within quoted fields by doubled quotes, which the scanner knows: `"5\" pipe"` becomes `"5"" pipe"`. Of two escapes one
 * stays. An escape before any other byte stays too.
 */

import { CR, LF, SPACE, TAB } from '../../../core/bytes/ascii.ts';
import type { CsvDialect } from './csv-dialect.ts';

const FIELD_START = 0;
const UNQUOTED = 1;
const QUOTED = 2;
const ESCAPED = 3;
const RECORD_START = 4;
const COMMENT = 5;

export class EscapeReplacement {
  readonly #target: { push(bytes: Buffer): void };
  readonly #dialect: CsvDialect;
  readonly #escape: number;
  #state = RECORD_START;

  constructor(target: { push(bytes: Buffer): void }, dialect: CsvDialect, escapeSign: number) {
    this.#target = target;
    this.#dialect = dialect;
    this.#escape = escapeSign;
  }

  /** Replaces the escapes in the bytes and passes the bytes on. */
  push(bytes: Buffer): void {
    const { delimiter, quote, comment, skipsSpace } = this.#dialect;
    const escapeSign = this.#escape;
    let to = 0;
    // If the previous slice ended with an escape, it was not passed on. It does not fit into this slice, so a larger buffer is needed.
    const begin = this.#state === ESCAPED ? 1 : 0;
    const out = begin === 0 ? bytes : Buffer.allocUnsafe(bytes.length + 1);
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#state === ESCAPED) {
        if (byte === quote) out[to++] = quote;
        else if (byte !== escapeSign) out[to++] = escapeSign;
        this.#state = QUOTED;
      } else if (this.#state === QUOTED) {
        if (byte === escapeSign) {
          this.#state = ESCAPED;
          continue;
        }
        // A second quote opens the field again: a doubled quote.
        if (byte === quote) this.#state = FIELD_START;
      } else if (byte === LF || byte === CR) {
        this.#state = RECORD_START;
      } else if (
        this.#state === COMMENT ||
        (this.#state === RECORD_START && byte === comment && comment !== 0)
      ) {
        this.#state = COMMENT;
      } else if (byte === delimiter) {
        this.#state = FIELD_START;
      } else if (this.#state === FIELD_START || this.#state === RECORD_START) {
        if (byte === quote) this.#state = QUOTED;
        else if (!skipsSpace || (byte !== SPACE && byte !== TAB)) this.#state = UNQUOTED;
        else this.#state = FIELD_START;
      }
      out[to++] = byte;
    }
    this.#target.push(out.subarray(0, to));
  }

  finish(): void {
    if (this.#state === ESCAPED) this.#target.push(Buffer.of(this.#escape));
  }
}
