/** The errors for refused files that all formats share. */

import { AppError } from '../../core/errors.ts';
import { columnLetters } from './cell-address.ts';

/** Returns the error for a file that is described as `what`. */
export function notAWorkbook(what: string): AppError {
  return new AppError(
    'unsupported-file',
    `The file is ${what}, not an Excel workbook. Save it as .xlsx and send the new file.`,
  );
}

/** Returns the error for a workbook with a password. It is the same for an encrypted zip and for Office's own encryption. */
export function encrypted(): AppError {
  return new AppError(
    'unsupported-file',
    'The workbook is encrypted. Remove the password (File, Info, Protect Workbook, Encrypt with Password) and save it again.',
  );
}

export function rowsOutOfOrder(row: number, last: number): AppError {
  return new AppError(
    'invalid-file',
    `The rows of the sheet are out of order: row ${row} comes after row ${last}. Open the workbook in a spreadsheet program and save it again.`,
  );
}

export function repeatedRow(row: number): AppError {
  return new AppError(
    'invalid-file',
    `The sheet has row ${row} twice. Open the workbook in a spreadsheet program, correct it and save it again.`,
  );
}

/** @param column from 1 */
export function repeatedCell(row: number, column: number): AppError {
  return new AppError(
    'invalid-file',
    `The sheet has the cell ${columnLetters(column)}${row} twice. Open the workbook in a spreadsheet program, correct it and save it again.`,
  );
}

export function overlappingAreas(row: number): AppError {
  return new AppError(
    'invalid-file',
    `The merged cells of the sheet overlap at row ${row}. Open the workbook in a spreadsheet program and save it again.`,
  );
}
