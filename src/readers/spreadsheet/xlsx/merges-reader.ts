/**
 * Finds the merged areas of a worksheet part in the bytes that follow its cells (ECMA-376 part 1, 18.3.1.55), and refuses a
 * second list of cells there.
 */

import { parseArea } from '../cell-address.ts';
import { tooManyMergedAreas } from '../file-errors.ts';
import { MergedAreas } from '../merged-areas.ts';
import { NEED_MORE, OPEN, XmlTokens } from '../package/xml-tokens.ts';

const sheetData = Buffer.from('sheetData');
const mergeCell = Buffer.from('mergeCell');
const ref = Buffer.from('ref');

export class XmlMergesReader {
  readonly areas = new MergedAreas();
  readonly #xml: XmlTokens;

  constructor(partName: string) {
    this.#xml = new XmlTokens(partName);
  }

  /**
   * Reads a slice of the part.
   *
   * @throws AppError `invalid-file` if the part has a second list of cells, which spreadsheet programs do not show, or if a merged area has
   *   no valid range; `limit-exceeded`
   */
  push(chunk: Buffer): void {
    const xml = this.#xml;
    xml.feed(chunk);
    for (;;) {
      const token = xml.next();
      if (token === NEED_MORE) return;
      if (token !== OPEN) continue;
      if (xml.isNamed(mergeCell)) this.#add(xml);
      else if (xml.isNamed(sheetData)) xml.fail('a second sheetData element');
    }
  }

  #add(xml: XmlTokens): void {
    const at = xml.attribute(ref);
    if (at < 0) xml.fail('merged cells without a range');
    const range = parseArea(xml.bytes.toString('latin1', xml.attributes[at + 2], xml.attributes[at + 3]));
    if (range === undefined) xml.fail('merged cells with an invalid range');
    const { firstRow, firstColumn, lastRow, lastColumn } = range;
    if (!this.areas.add(firstRow, firstColumn, lastRow, lastColumn)) throw tooManyMergedAreas();
  }
}
