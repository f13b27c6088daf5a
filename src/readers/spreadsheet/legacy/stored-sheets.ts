/**
 * Finds the hidden columns in the records of an .xls file (MS-XLS 2.4.53), which the library would report only together with all styles, and the
 * order of the tabs (MS-XLS 2.4.28), which it loses: it has the sheets in the order in which they are stored.
 */

const BOUND_SHEET = 0x85;
const COLUMN_INFO = 0x7d;
const recordHeadBytes = 4;
const columnFlagsAt = 8;
const maxColumns = 256;

/** A range of hidden columns: the first and the last one, counted from 0. */
export type ColumnRange = [first: number, last: number];

export interface StoredSheets {
  /** The hidden columns of each sheet, in the order in which the sheets are stored. Sheets that have none may be missing. */
  hidden: ColumnRange[][];
  /** For each tab: the place of its sheet in that order. */
  tabs: number[];
}

export function findSheets(stream: Buffer): StoredSheets {
  const sheetStarts: number[] = [];
  const hidden: { at: number; columns: ColumnRange }[] = [];
  for (let at = 0; at + recordHeadBytes <= stream.length; ) {
    const type = stream.readUInt16LE(at);
    const content = stream.subarray(at + recordHeadBytes, at + recordHeadBytes + stream.readUInt16LE(at + 2));
    if (type === BOUND_SHEET && content.length >= 4) {
      sheetStarts.push(content.readUInt32LE(0));
    } else if (type === COLUMN_INFO && content.length >= columnFlagsAt + 2 && hidden.length < maxRanges) {
      const [first, last] = [content.readUInt16LE(0), Math.min(content.readUInt16LE(2), maxColumns - 1)];
      const isHidden = (content.readUInt16LE(columnFlagsAt) & 1) === 1;
      if (isHidden && first <= last) hidden.push({ at, columns: [first, last] });
    }
    at += recordHeadBytes + content.length;
  }
  const startsOfTabs = [...sheetStarts];
  sheetStarts.sort((a, b) => a - b);
  const found: ColumnRange[][] = [];
  for (const { at, columns } of hidden) {
    const sheet = Math.max(
      0,
      sheetStarts.findLastIndex((start) => start <= at),
    );
    found[sheet] ??= [];
    found[sheet].push(columns);
  }
  const placeOf = new Map(sheetStarts.map((start, place) => [start, place]));
  return { hidden: found, tabs: startsOfTabs.map((start) => placeOf.get(start)!) };
}

/** At most this many ranges of hidden columns are read, so that a hostile file cannot fill the memory. Real files have far fewer. */
const maxRanges = 10_000;
