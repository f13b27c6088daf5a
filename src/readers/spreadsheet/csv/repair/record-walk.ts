/** Finds where the records of delimited text end, by the same rules as `CsvScanner`, without reading their values. */

import { CR, LF, SPACE, TAB } from '../../../../core/bytes/ascii.ts';
import type { CsvDialect } from '../csv-dialect.ts';

const RECORD_START = 0;
const FIELD_START = 1;
const UNQUOTED = 2;
const QUOTED = 3;
/** After a quote within a quoted field. The next byte shows whether it is doubled or closes the field. */
const QUOTE_SEEN = 4;
const CLOSED = 5;
/** After text that follows a closing quote. */
const FAULTY = 6;
const COMMENT = 7;
/** After the CR of a record's end. An LF may follow. */
const AFTER_CR = 8;

export class RecordWalk {
  readonly #dialect: CsvDialect;
  #state = RECORD_START;
  /** The number of fields of the current record. */
  fields = 1;
  /** The current record has a quote in a field without quotes. So it may be the end of the previous record. */
  hasQuoteInText = false;
  /** The current record has text after a closing quote. */
  isFaulty = false;

  constructor(dialect: CsvDialect) {
    this.#dialect = dialect;
  }

  /** Returns whether the text so far ends within quotes. */
  get isQuoted(): boolean {
    return this.#state === QUOTED;
  }

  /** Begins a record. */
  begin(): void {
    this.#state = RECORD_START;
    this.fields = 1;
    this.isFaulty = false;
    this.hasQuoteInText = false;
  }

  /**
   * Continues the current record.
   *
   * @returns the position after its line end; -1: the record continues after these bytes
   */
  run(bytes: Buffer, from: number, end: number): number {
    const { delimiter, quote, comment, skipsSpace } = this.#dialect;
    let at = from;
    while (at < end) {
      const byte = bytes[at]!;
      if (this.#state === AFTER_CR) return byte === LF ? at + 1 : at;
      if (this.#state === QUOTED) {
        const found = bytes.indexOf(quote, at);
        if (found < 0 || found >= end) return -1;
        at = found + 1;
        this.#state = QUOTE_SEEN;
      } else if (this.#state === QUOTE_SEEN && byte === quote) {
        this.#state = QUOTED;
        at++;
      } else if (byte === LF) {
        return at + 1;
      } else if (byte === CR) {
        this.#state = AFTER_CR;
        at++;
      } else if (this.#state === COMMENT) {
        at++;
      } else if (byte === delimiter) {
        this.#state = FIELD_START;
        this.fields++;
        at++;
      } else {
        const isSpace = byte === SPACE || byte === TAB;
        if (this.#state === RECORD_START || this.#state === FIELD_START) {
          if (this.#state === RECORD_START && byte === comment) this.#state = COMMENT;
          else if (byte === quote && quote !== 0) this.#state = QUOTED;
          else this.#state = isSpace && skipsSpace ? FIELD_START : UNQUOTED;
        } else if (this.#state === UNQUOTED) {
          if (byte === quote) this.hasQuoteInText = true;
        } else if (this.#state === QUOTE_SEEN || this.#state === CLOSED) {
          this.#state = isSpace ? CLOSED : FAULTY;
          if (!isSpace) this.isFaulty = true;
        }
        at++;
      }
    }
    return -1;
  }
}
