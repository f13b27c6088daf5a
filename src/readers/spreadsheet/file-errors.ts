/** The errors for files that are refused in several formats. */

import { AppError } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { columnLetters } from './cell-address.ts';
import { maxMergedAreas } from './merged-areas.ts';

/** Returns the error for a file that is no workbook. @param what describes the file */
export function notAWorkbook(what: string): AppError {
  return new AppError(
    'unsupported-file',
    `The file is ${what}, not an Excel workbook. Save it as .xlsx and send the new file.`,
  );
}

const removePassword =
  'remove the password (File, Info, Protect Workbook, Encrypt with Password) and save it again.';

/** Returns the error for a workbook that is encrypted with a method that the service does not read, so that no password opens it. */
export function encrypted(): AppError {
  return new AppError(
    'unsupported-file',
    `The workbook is encrypted with a method that the service does not read. To load it, ${removePassword}`,
  );
}

/** Returns the error for a zip file with encrypted parts. A workbook that is saved with a password is encrypted in another way. */
export function encryptedZip(): AppError {
  return new AppError(
    'unsupported-file',
    'The zip file is encrypted. Unpack it with its password, and send the file that is in it.',
  );
}

/** Returns the error for an encrypted workbook that none of the passwords opens. @param sent the password that the caller has sent */
export function notOpened(sent: string | undefined): AppError {
  if (sent === undefined) {
    return new AppError(
      'password-required',
      `The workbook is encrypted. Send its password as the part password of the form, before the part file, or ${removePassword}`,
    );
  }
  return new AppError(
    'wrong-password',
    `The password in the part password does not open the workbook. Passwords are case-sensitive. Send the right password, or ${removePassword}`,
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

export function tooManyMergedAreas(): AppError {
  return limitExceeded('The sheet has too many merged cells', maxMergedAreas, 'areas');
}
