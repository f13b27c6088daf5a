import { limitExceeded } from '../../../limit-exceeded.ts';
import { isWhiteSpace } from '../../bytes/ascii.ts';
import { GrowableBytes } from '../../bytes/growable-bytes.ts';
import { decodeEscapes } from './xml-text.ts';

/** Joins the pieces of one text: runs, and what comments or CDATA sections have torn apart. */
export class TextCollector extends GrowableBytes {
  constructor(maxBytes: number) {
    super({
      maxBytes,
      exceeded: () =>
        limitExceeded('The text of a cell is too long', maxBytes, { setting: 'MAX_CELL_BYTES' }),
    });
  }

  /**
   * Ends a `t` that began at `mark`. Excel drops white space around a text that does not say
   * `xml:space="preserve"`, so programs that mean it say so.
   */
  endRun(mark: number, isPreserving: boolean): void {
    if (!isPreserving) this.#trim(mark);
    this.length = decodeEscapes(this.bytes, mark, this.length);
  }

  #trim(mark: number): void {
    let end = this.length;
    while (end > mark && isWhiteSpace(this.bytes[end - 1]!)) end--;
    let start = mark;
    while (start < end && isWhiteSpace(this.bytes[start]!)) start++;
    this.bytes.copyWithin(mark, start, end);
    this.length = mark + end - start;
  }
}
