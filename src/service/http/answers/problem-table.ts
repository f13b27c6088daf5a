/** Collects the problems of an upload as CSV (RFC 4180): one line for each problem, in the order of the rows. */
import type { Problem } from '../../../core/errors.ts';
import { ProblemLines } from '../../loads/problem-lines.ts';

export const csvContentType = 'text/csv; charset=utf-8; header=present';

export const csvHeader = 'sheet,cell,row,column,value,code,reason\r\n';

export class ProblemTable extends ProblemLines {
  readonly #header: string;

  /** @param header `csvHeaderOfTables`: all problems are those of a load of several tables */
  constructor(header = csvHeader) {
    super(csvLineOf);
    this.#header = header;
  }

  /** Returns the file, in UTF-8. */
  toBuffer(): Buffer {
    return Buffer.concat([Buffer.from(this.#header), this.join(this.inOrder())]);
  }
}

/** The header of the problems of several tables. */
export const csvHeaderOfTables = `part,${csvHeader}`;

/** Returns the line of a problem. In a load of several tables it begins with the number of the table. */
export function csvLineOf({ part, sheet, cell, row, column, value, code, detail }: Problem): string {
  const fields = [sheet, cell, row, column, value, code, detail];
  return `${(part === undefined ? fields : [part, ...fields]).map(fieldOf).join(',')}\r\n`;
}

/** Spreadsheet programs treat a field that begins with one of these signs as a formula, unless it is a number. Such fields are written so that they remain text. */
const formula = /^[=+\-@\t\r\n]/;
const number = /^[+-]?[\d.,]+$/;

function fieldOf(value: string | number | undefined): string {
  if (value === undefined) return '';
  const text = String(value);
  const guarded = formula.test(text) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) || guarded !== guarded.trim()
    ? `"${guarded.replaceAll('"', '""')}"`
    : guarded;
}
