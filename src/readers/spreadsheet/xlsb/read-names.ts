/** The defined names (MS-XLSB, BrtName) and the tables (BrtBeginList) of an .xlsb workbook. */

import { columnLetters, maxSheetColumn, maxSheetRow, quoteSheetName } from '../cell-address.ts';
import {
  addColumn,
  isInternalName,
  shownName,
  type TableParts,
  type WorkbookNames,
} from '../names/workbook-names.ts';
import type { ZipContainer, ZipPart } from '../package/zip-container.ts';
import { errorTexts, unknownErrorText } from '../values/error-texts.ts';
import type { BinaryRecords } from './binary-records.ts';
import * as types from './record-types.ts';
import { readSmallRecords } from './small-records.ts';

/** The flags of a name. */
const IS_HIDDEN = 0x1;
const IS_FUNCTION = 0x2;

/** The value of `itab` (the sheet of a name) for a name that applies to the whole workbook. */
const wholeWorkbook = 0xffff_ffff;

/** Adds the defined names that are visible to users. @param sheets the names of the sheets */
export async function readDefinedNames(
  container: ZipContainer,
  part: ZipPart,
  sheets: string[],
  found: WorkbookNames,
): Promise<void> {
  const links = new SheetLinks(sheets);
  const wanted = [...links.recordTypes, types.DEFINED_NAME];
  await readSmallRecords(container, part, wanted, (type, records) => {
    if (type !== types.DEFINED_NAME) {
      links.add(type, records);
      return;
    }
    if ((records.uint32(0) & (IS_HIDDEN | IS_FUNCTION)) !== 0) return;
    const localSheet = records.uint32(5);
    const localTo = localSheet === wholeWorkbook ? undefined : sheets[localSheet];
    // A name that belongs to a sheet that does not exist is ignored.
    if (localSheet !== wholeWorkbook && localTo === undefined) return;
    const { value: name, end } = records.readString(9);
    if (isInternalName(name)) return;
    const refersTo = formulaText(records, end, links);
    found.add({ name: shownName(name), kind: 'name', ...(localTo !== undefined && { localTo }), refersTo });
  });
}

/** The sheets to which formulas refer by number. The records between the list of sheets and the names define these numbers. */
class SheetLinks {
  readonly recordTypes = [
    types.SUPPORTING_SELF,
    types.SUPPORTING_SAME,
    types.SUPPORTING_BOOK,
    types.SUPPORTING_ADD_IN,
    types.EXTERNAL_SHEETS,
  ];
  readonly #sheets: string[];
  /** For each supporting link: true if it refers to this workbook. */
  readonly #isSelf: boolean[] = [];
  /** The sheet name before the exclamation mark of a reference, for each number; undefined: the sheet is in another workbook. */
  readonly #prefixes: (string | undefined)[] = [];

  constructor(sheets: string[]) {
    this.#sheets = sheets;
  }

  add(type: number, records: BinaryRecords): void {
    if (type !== types.EXTERNAL_SHEETS) {
      this.#isSelf.push(type === types.SUPPORTING_SELF || type === types.SUPPORTING_SAME);
      return;
    }
    // The count need not be checked: if it is too large, reading beyond the end of the record fails.
    const count = records.uint32(0);
    for (let index = 0; index < count; index++) this.#prefixes.push(this.#prefix(records, 4 + 12 * index));
  }

  #prefix(records: BinaryRecords, offset: number): string | undefined {
    const [link, first, last] = [
      records.uint32(offset),
      records.uint32(offset + 4),
      records.uint32(offset + 8),
    ];
    const [firstName, lastName] = [this.#sheets[first], this.#sheets[last]];
    if (this.#isSelf[link] !== true || firstName === undefined || lastName === undefined) return undefined;
    return quoteSheetName(first === last ? firstName : `${firstName}:${lastName}`);
  }

  prefix(index: number): string | undefined {
    return this.#prefixes[index];
  }
}

/** The tokens (Ptg) of formulas that consist of one reference or constant. The upper bits of a reference token are its class. */
const ERROR = 0x1c;
const BOOLEAN = 0x1d;
const INTEGER = 0x1e;
const NUMBER = 0x1f;
const TEXT = 0x17;
const referenceClasses = 0x60;
const CELL_3D = 0x1a;
const AREA_3D = 0x1b;
const LOST_CELL_3D = 0x1c;
const LOST_AREA_3D = 0x1d;

const columnBits = 0x3fff;

/** Returns the formula at the offset as Excel writes it; `''`: it is more than one reference or constant. */
function formulaText(records: BinaryRecords, offset: number, links: SheetLinks): string {
  const length = records.uint32(offset);
  const at = offset + 4;
  const token = records.uint8(at);
  const isAlone = (bytes: number): boolean => length === 1 + bytes;
  if (token >= 0x20) {
    const kind = token & ~referenceClasses;
    if (kind === LOST_CELL_3D || kind === LOST_AREA_3D) return '#REF!';
    const isCell = kind === CELL_3D && isAlone(8);
    const isArea = kind === AREA_3D && isAlone(14);
    const prefix = isCell || isArea ? links.prefix(records.uint16(at + 1)) : undefined;
    if (prefix === undefined) return '';
    return `${prefix}!${isCell ? cellText(records, at + 3) : areaText(records, at + 3)}`;
  }
  if (token === INTEGER && isAlone(2)) return String(records.uint16(at + 1));
  if (token === NUMBER && isAlone(8)) return String(records.double(at + 1));
  if (token === BOOLEAN && isAlone(1)) return records.uint8(at + 1) === 0 ? 'FALSE' : 'TRUE';
  if (token === ERROR && isAlone(1)) return errorTexts[records.uint8(at + 1)] ?? unknownErrorText;
  return token === TEXT ? '"…"' : '';
}

function cellText(records: BinaryRecords, offset: number): string {
  return addressText(records.uint16(offset + 4) & columnBits, records.uint32(offset));
}

function areaText(records: BinaryRecords, offset: number): string {
  const [firstRow, lastRow] = [records.uint32(offset), records.uint32(offset + 4)];
  const firstColumn = records.uint16(offset + 8) & columnBits;
  const lastColumn = records.uint16(offset + 10) & columnBits;
  if (firstRow === 0 && lastRow === maxSheetRow - 1) {
    return `$${columnLetters(firstColumn + 1)}:$${columnLetters(lastColumn + 1)}`;
  }
  if (firstColumn === 0 && lastColumn === maxSheetColumn - 1) return `$${firstRow + 1}:$${lastRow + 1}`;
  return `${addressText(firstColumn, firstRow)}:${addressText(lastColumn, lastRow)}`;
}

/**
 * Returns the absolute address of a cell.
 *
 * @param column counts from 0
 * @param row counts from 0
 */
function addressText(column: number, row: number): string {
  return `$${columnLetters(column + 1)}$${row + 1}`;
}

/** Adds the table of a table part of the sheet with this name. */
export async function readTable(
  container: ZipContainer,
  part: ZipPart,
  sheet: string,
  found: WorkbookNames,
): Promise<void> {
  let name = '';
  let range = '';
  const table: TableParts = { headerRows: 1, totalsRows: 0, header: [] };
  await readSmallRecords(container, part, [types.BEGIN_TABLE, types.BEGIN_TABLE_COLUMN], (type, records) => {
    if (type === types.BEGIN_TABLE) {
      // The record contains the first and last row, then the first and last column, all from 0.
      const first = addressText(records.uint32(8), records.uint32(0));
      range = `${first}:${addressText(records.uint32(12), records.uint32(4))}`;
      table.headerRows = records.uint32(24);
      table.totalsRows = records.uint32(28);
      const internal = records.readString(tableNameAt);
      const { value: shown } = records.readString(internal.end);
      name = shown === '' ? internal.value : shown;
    } else {
      const columnName = records.readString(columnNameAt);
      const { value: caption } = records.readString(columnName.end);
      addColumn(table, caption === '' ? columnName.value : caption);
    }
  });
  if (name !== '') found.add({ name, kind: 'table', refersTo: `${quoteSheetName(sheet)}!${range}`, table });
}

/**
 * The position of a table's name. Before it are the range, the kind, the number, the counts of rows, the flags, six formats and
 * the connection.
 */
const tableNameAt = 64;

/**
 * The position of a column's name in BrtBeginListCol. Before it are the number, the kind of total, three formats and the field
 * of a query.
 */
const columnNameAt = 24;
