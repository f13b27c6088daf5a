/** Checks the names of sheets. */

import { AppError } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { quote } from './choose-sheet.ts';

/** The maximum number of sheets, the same as in LibreOffice. A workbook with more is refused. Real workbooks have far fewer. */
export const maxSheets = 10_000;

export function tooManySheets(): AppError {
  return limitExceeded('The workbook has too many sheets', maxSheets, 'sheets');
}

/** The maximum length of a sheet name in characters. A longer one is refused. Excel allows 31, other programs more. */
const maxLength = 255;

/**
 * Refuses a name that is too long or has control characters.
 *
 * @throws AppError `invalid-file`, `limit-exceeded`
 */
export function checkSheetName(name: string): void {
  refuseControlCharacters(name);
  if (name.length > maxLength)
    throw limitExceeded('The name of a sheet is too long', maxLength, 'characters');
}

/** Refuses characters that XML 1.0 does not allow, such as most control characters. No program writes them into a name, so the file is damaged. */
export function refuseControlCharacters(name: string): void {
  if (!controlCharacter.test(name)) return;
  throw new AppError(
    'invalid-file',
    'The workbook is broken: the name of a sheet has control characters. Open it in a spreadsheet program and save it as .xlsx.',
  );
}

/**
 * Refuses two sheets with the same name, because it would be a guess which of them a name means. Spreadsheet programs ignore case
 * in these names.
 */
export function refuseRepeatedNames(sheets: readonly { name: string }[]): void {
  const seen = new Set<string>();
  for (const { name } of sheets) {
    const folded = name.toLowerCase();
    if (seen.has(folded)) {
      throw new AppError(
        'invalid-file',
        `The workbook is broken: two sheets have the name ${quote(name)}. Open it in a spreadsheet program, rename one of them and save it again.`,
      );
    }
    seen.add(folded);
  }
}

/** Matches characters that XML 1.0 does not allow. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them
const controlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
