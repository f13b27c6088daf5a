/** Checks the names of sheets. */

import { AppError } from '../../errors.ts';
import { limitExceeded } from '../../limit-exceeded.ts';

/** LibreOffice has this limit. Real workbooks have far fewer sheets. */
export const maxSheets = 10_000;

/** Excel allows 31 characters. Other programs allow more. */
const maxLength = 255;

/** @throws AppError `invalid-file`, `limit-exceeded` */
export function checkSheetName(name: string): void {
  refuseControlCharacters(name);
  if (name.length > maxLength)
    throw limitExceeded('The name of a sheet is too long', maxLength, 'characters');
}

/** Refuses a name that no program writes, because the bytes are then not the name of a sheet. */
export function refuseControlCharacters(name: string): void {
  if (!controlCharacter.test(name)) return;
  throw new AppError(
    'invalid-file',
    'The workbook is broken: the name of a sheet has control characters. Open it in a spreadsheet program and save it as .xlsx.',
  );
}

/** Matches characters that XML 1.0 does not allow. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them
const controlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
