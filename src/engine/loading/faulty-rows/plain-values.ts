/**
 * Writes the values that `values=natural` has read in the plain notation: dates in ISO 8601, numbers with a point, hours before minutes. All
 * rows of the upload have shown the notation of a column, and a file with some of its rows would show another one.
 */
import { trimText } from '../../../core/bytes/white-space.ts';
import { NUMBER, STRING, TEXT } from '../../../core/cells/cell-kind.ts';
import { INTERVAL_VALUE, NUMBER_VALUE } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import type { LanguageWords } from '../../../encoding/text-reading/natural/language-words.ts';
import {
  NaturalReadingSink,
  type NotationOf,
} from '../../../encoding/text-reading/natural/natural-reading.ts';
import type { SentNotation } from './format-fit.ts';
import { jsonNumber } from './json-line-rows.ts';
import type { SentCellSink } from './sent-cell-sink.ts';

/** Takes the texts of cells, and passes on their values to `sink`. */
export class PlainValues extends NaturalReadingSink {
  readonly #sink: SentCellSink;
  readonly #plain: PlainTexts;
  readonly #notation: SentNotation;
  readonly #nullWords: ReadonlySet<string>;

  constructor(sink: SentCellSink, notationOf: NotationOf, words: LanguageWords, notation: SentNotation) {
    const plain = new PlainTexts(sink);
    super(plain, notationOf, words);
    this.#sink = sink;
    this.#plain = plain;
    this.#notation = notation;
    this.#nullWords = new Set(notation.nullValues);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#sink.isTaken) return;
    const isText = kind === TEXT || kind === STRING;
    if (!isText || this.#isNull(bytes.toString('utf8', start, end)))
      this.#plain.unchanged(column, kind, bytes, start, end);
    else {
      this.#plain.begin(kind, bytes);
      super.cell(column, kind, bytes, start, end);
    }
  }

  #isNull(text: string): boolean {
    return this.#nullWords.has(this.#notation.trims ? trimText(text) : text);
  }
}

class PlainTexts extends ForwardingSink {
  readonly #sink: SentCellSink;
  #kind = TEXT;
  #sent: Buffer | undefined;

  constructor(sink: SentCellSink) {
    super(sink);
    this.#sink = sink;
  }

  wants(column: number): number {
    return this.#sink.wants(column);
  }

  /** Begins the cell with a text that was sent. */
  begin(kind: number, bytes: Buffer): void {
    this.#kind = kind;
    this.#sent = bytes;
  }

  unchanged(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    super.cell(column, kind, bytes, start, end);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (kind !== TEXT && kind !== STRING) {
      super.cell(column, kind, bytes, start, end);
      return;
    }
    const text = bytes.toString('utf8', start, end);
    const wanted = this.wants(column);
    if (wanted === NUMBER_VALUE && jsonNumber.test(text)) super.cell(column, NUMBER, bytes, start, end);
    else if (bytes === this.#sent) super.cell(column, this.#kind, bytes, start, end);
    else {
      const plain = wanted === INTERVAL_VALUE ? text.replace(/^0(?=\d\d:)/, '').replace(/\.0+$/, '') : text;
      this.#sink.rewritten(column, this.#kind, Buffer.from(plain));
    }
  }
}
