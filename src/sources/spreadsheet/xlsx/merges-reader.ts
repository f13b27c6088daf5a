/**
 * Finds the merged areas of a worksheet part, which stand behind its cells.
 *
 * All bytes of the part must be unpacked to get there, but those of the cells are only searched for `</sheetData`.
 */

import type { AppError } from '../../../errors.ts';
import { parseRange } from '../cell-address.ts';
import { MergedAreas, maxMergedAreas } from '../merged-areas.ts';
import { limitExceeded } from '../spreadsheet-limits.ts';
import { CLOSE, NEED_MORE, OPEN, XmlTokens } from './xml-tokens.ts';

const dataName = Buffer.from('sheetData');
const mergeCells = Buffer.from('mergeCells');
const mergeCell = Buffer.from('mergeCell');
const ref = Buffer.from('ref');

const maxPrefixBytes = 100;

/** Kept of each chunk, because the next one may have the rest of the tag. */
const keptBytes = maxPrefixBytes + dataName.length;

const LT = 0x3c;
const SLASH = 0x2f;
const COLON = 0x3a;

export class XmlMergesReader {
  readonly areas = new MergedAreas();
  readonly #partName: string;
  #kept: Buffer = Buffer.alloc(0);
  /** Reads what follows the cells; undefined: still among them. */
  #xml: XmlTokens | undefined;

  constructor(partName: string) {
    this.#partName = partName;
  }

  /** @returns false where no more bytes are needed */
  push(chunk: Buffer): boolean {
    if (this.#xml !== undefined) return this.#readOn(this.#xml, chunk);
    const bytes = Buffer.concat([this.#kept, chunk]);
    const end = endOfData(bytes);
    if (end < 0) {
      this.#kept = bytes.subarray(Math.max(0, bytes.length - keptBytes));
      return true;
    }
    this.#xml = new XmlTokens(this.#partName);
    return this.#readOn(this.#xml, bytes.subarray(end));
  }

  #readOn(xml: XmlTokens, chunk: Buffer): boolean {
    xml.feed(chunk);
    for (;;) {
      const token = xml.next();
      if (token === NEED_MORE) return true;
      if (token === OPEN && xml.isNamed(mergeCell)) this.#add(xml);
      else if (token === CLOSE && xml.isNamed(mergeCells)) return false;
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

/** Where the closing tag of the cells begins, which may have a namespace prefix; -1: not here. */
function endOfData(bytes: Buffer): number {
  for (let at = bytes.indexOf(dataName); at >= 0; at = bytes.indexOf(dataName, at + 1)) {
    const first = Math.max(0, at - maxPrefixBytes);
    let slash = at - 1;
    if (bytes[slash] === COLON) while (slash > first && bytes[slash] !== SLASH) slash--;
    if (bytes[slash] === SLASH && bytes[slash - 1] === LT) return slash - 1;
  }
  return -1;
}

export function tooManyMergedAreas(): AppError {
  return limitExceeded('The sheet has too many merged cells', maxMergedAreas, 'areas');
}
