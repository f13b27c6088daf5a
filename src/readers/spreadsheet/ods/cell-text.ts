/** Collects the text of one cell: the text of its value, and the beginning of the text that is displayed, which may be an error. */

import { HASH, SPACE, UPPER_E } from '../../../core/bytes/ascii.ts';
import { TextCollector } from '../package/text-collector.ts';

const errorText = /^(#(N\/A|DIV\/0!|VALUE!|REF!|NAME\?|NUM!|NULL!|SPILL!|CALC!|ERROR!)|Err:\d{3})$/;

/**
 * Matches the text of a number, date or boolean cell that shows an error, in any language: `#DIV/0!`, `#BEZUG!`, `#NV`,
 * `#¡VALOR!`. Numbers shown as `#5` or `###` are not errors.
 */
const shownErrorText = /^(#[\p{L}¡][^\d#]*(\/0[!?])?|Err:\d{3})$/u;
const maxErrorBytes = 40;

const lineBreak = Buffer.from('\n');

export class CellText {
  readonly value: TextCollector;
  #paragraphs = 0;
  #isAfterSpace = false;
  readonly #shown: Buffer = Buffer.alloc(maxErrorBytes);
  #shownBytes = 0;

  constructor(maxCellBytes: number) {
    this.value = new TextCollector(maxCellBytes);
  }

  clear(): void {
    this.value.clear();
    this.#paragraphs = 0;
    this.#shownBytes = 0;
  }

  /** Begins a paragraph of the value. */
  beginParagraph(): void {
    if (this.#paragraphs > 0) this.value.append(lineBreak, 0, 1);
    this.#paragraphs++;
    this.#isAfterSpace = true;
  }

  /**
   * Appends text of a paragraph. White space counts as one space, and as none at the start of a paragraph (6.1.2). Further spaces are
   * written as `s` elements.
   */
  append(bytes: Buffer, start: number, end: number): void {
    let runStart = start;
    for (let at = start; at <= end; at++) {
      const isSpace = at < end && bytes[at]! <= 0x20;
      if (at < end && !isSpace) continue;
      if (at > runStart) {
        this.value.append(bytes, runStart, at);
        this.#isAfterSpace = false;
      }
      if (isSpace && !this.#isAfterSpace) {
        this.value.appendRepeated(SPACE, 1);
        this.#isAfterSpace = true;
      }
      runStart = at + 1;
    }
  }

  /** Appends a character of an element: a space, a tab or a line break. */
  appendRepeated(byte: number, count: number): void {
    this.value.appendRepeated(byte, count);
    this.#isAfterSpace = false;
  }

  /** Keeps the displayed text: if it is short, it may be an error, or the only value of the cell. */
  show(bytes: Buffer, textStart: number, end: number): void {
    let start = textStart;
    if (this.#shownBytes === 0) {
      while (start < end && bytes[start]! <= 0x20) start++;
      if (start === end) return;
      const mayBeError = bytes[start] === HASH || bytes[start] === UPPER_E;
      if (!mayBeError && this.value.length > 0) this.#shownBytes = maxErrorBytes + 1;
    }
    if (this.#shownBytes + end - start > maxErrorBytes) {
      this.#shownBytes = maxErrorBytes + 1;
      return;
    }
    bytes.copy(this.#shown, this.#shownBytes, start, end);
    this.#shownBytes += end - start;
  }

  get isShown(): boolean {
    return this.#shownBytes > 0;
  }

  /** Uses the displayed text as the value, if it is short. */
  useShown(): void {
    if (this.#shownBytes <= maxErrorBytes) this.value.append(this.#shown, 0, this.#shownBytes);
  }

  /** Uses the displayed text as the value, if it is an error. @returns whether it is one */
  useShownError(): boolean {
    if (this.#shownBytes === 0 || this.#shownBytes > maxErrorBytes) return false;
    const text = this.#shown.toString('utf8', 0, this.#shownBytes).trim();
    if (!shownErrorText.test(text)) return false;
    const error = Buffer.from(text);
    this.value.clear();
    this.value.append(error, 0, error.length);
    return true;
  }

  /** Returns whether the value is the text of an error. */
  isErrorText(): boolean {
    const { bytes, length } = this.value;
    return length <= maxErrorBytes && errorText.test(bytes.toString('latin1', 0, length));
  }
}
