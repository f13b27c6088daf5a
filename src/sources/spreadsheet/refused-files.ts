/** The errors for refused files that several formats share. */

import { AppError } from '../../errors.ts';

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
