/** What the names of sheets may be. */

import { AppError } from '../../errors.ts';
import { limitExceeded } from '../../limit-exceeded.ts';

/** LibreOffice ends here; the workbooks of people have far fewer. */
export const maxSheets = 10_000;

/** Excel has 31, other programs are more generous. */
const maxLength = 255;

/** @throws AppError `invalid-file`, `limit-exceeded` */
export function checkSheetName(name: string): void {
  refuseControlCharacters(name);
  if (name.length > maxLength)
    throw limitExceeded('The name of a sheet is too long', maxLength, 'characters');
}

/** Refuses a name that no program writes: something else was taken for the name of a sheet. */
export function refuseControlCharacters(name: string): void {
  if (!controlCharacter.test(name)) return;
  throw new AppError(
    'invalid-file',
    'The workbook is broken: the name of a sheet has control characters. Open it in a spreadsheet program and save it as .xlsx.',
  );
}

/** Characters that XML 1.0 does not have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
