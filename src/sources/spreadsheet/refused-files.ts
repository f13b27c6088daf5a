/** The refusals of files that several formats share. */

import { AppError } from '../../errors.ts';

/** The refusal of a file that is named as `what`. */
export function notAWorkbook(what: string): AppError {
  return new AppError(
    'unsupported-file',
    `The file is ${what}, not an Excel workbook. Save it as .xlsx and send that.`,
  );
}

/** The workbook is locked by a password: the same words for an encrypted zip and for Office's own encryption. */
export function encrypted(): AppError {
  return new AppError(
    'unsupported-file',
    'The workbook is encrypted. Remove the password (File, Info, Protect Workbook, Encrypt with Password) and save it again.',
  );
}
