import { isWhiteSpace } from '../../../core/bytes/ascii.ts';
import { GrowableBytes } from '../../../core/bytes/growable-bytes.ts';
import { limitExceeded } from '../../../core/limit-exceeded.ts';
import { decodeEscapes } from './xml-text.ts';

/** Joins the pieces of one text: those of its runs, and those between comments and CDATA sections. */
export class TextCollector extends GrowableBytes {
  constructor(maxBytes: number) {
    super({
      maxBytes,
      exceeded: () =>
        limitExceeded('The text of a cell is too long', maxBytes, { setting: 'MAX_CELL_BYTES' }),
    });
  }

  /**
   * Ends a `t` element whose text begins at `mark`. White space around the text is removed, as in Excel, unless the element has
   * `xml:space="preserve"`.
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
