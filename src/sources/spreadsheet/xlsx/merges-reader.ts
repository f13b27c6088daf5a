/**
 * Finds the merged areas of a worksheet part in the bytes that follow its cells (ECMA-376 part 1, 18.3.1.55).
 */

import type { AppError } from '../../../errors.ts';
import { parseRange } from '../cell-address.ts';
import { MergedAreas, maxMergedAreas } from '../merged-areas.ts';
import { limitExceeded } from '../spreadsheet-limits.ts';
import { CLOSE, NEED_MORE, OPEN, XmlTokens } from './xml-tokens.ts';

const mergeCells = Buffer.from('mergeCells');
const mergeCell = Buffer.from('mergeCell');
const ref = Buffer.from('ref');

export class XmlMergesReader {
  readonly areas = new MergedAreas();
  readonly #xml: XmlTokens;
  #isDone = false;

  constructor(partName: string) {
    this.#xml = new XmlTokens(partName);
  }

  push(chunk: Buffer): void {
    const xml = this.#xml;
    if (this.#isDone) return;
    xml.feed(chunk);
    for (;;) {
      const token = xml.next();
      if (token === NEED_MORE) return;
      if (token === OPEN && xml.isNamed(mergeCell)) this.#add(xml);
      else if (token === CLOSE && xml.isNamed(mergeCells)) {
        this.#isDone = true;
        return;
      }
    }
  }

  #add(xml: XmlTokens): void {
    const at = xml.attribute(ref);
    if (at < 0) return;
    const range = parseRange(xml.bytes.toString('latin1', xml.attributes[at + 2], xml.attributes[at + 3]));
    if (range === undefined) return;
    const { firstRow, firstColumn, lastRow, lastColumn } = range;
    if (!this.areas.add(firstRow, firstColumn, lastRow, lastColumn)) throw tooManyMergedAreas();
  }
}

export function tooManyMergedAreas(): AppError {
  return limitExceeded('The sheet has too many merged cells', maxMergedAreas, 'areas');
}
