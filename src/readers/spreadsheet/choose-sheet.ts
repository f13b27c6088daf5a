/** Chooses the sheet of a workbook: the requested sheet, or the first visible one. */

import { cutText } from '../../core/cut-text.ts';
import { AppError, type Warning, wrongParameter } from '../../core/errors.ts';
import type { OtherSheet, SheetSummary } from './spreadsheet-options.ts';

/**
 * Finds the sheet that the caller asks for.
 *
 * @param wanted a name (case is ignored if no name is exactly the same) or a 1-based number; undefined: the first visible sheet
 * @returns the index of the sheet
 * @throws AppError `unsupported-file` if there is no worksheet, `invalid-parameter`
 */
export function chooseSheet(sheets: SheetSummary[], wanted: string | undefined): number {
  if (!sheets.some((sheet) => sheet.hasCells)) {
    throw new AppError('unsupported-file', 'The workbook has no worksheet, so there are no rows to read.');
  }
  if (wanted === undefined) {
    const visible = sheets.findIndex((sheet) => sheet.hasCells && sheet.visibility === 'visible');
    return visible >= 0 ? visible : sheets.findIndex((sheet) => sheet.hasCells);
  }
  if (sheets[0]!.name === '' && sheets.length === 1 && wanted !== '' && wanted !== '1') {
    const detail = 'The file is a text file and has no sheets: leave `sheet` out.';
    throw wrongParameter('sheet', detail, { value: wanted });
  }
  const chosen = findSheet(sheets, wanted);
  const sheet = sheets[chosen];
  if (sheet === undefined) {
    const detail = `There is no sheet ${quote(wanted)}. The sheets are: ${listNames(sheets)}.`;
    throw wrongParameter('sheet', detail, { value: wanted });
  }
  if (!sheet.hasCells) {
    const worksheets = sheets.filter(({ hasCells }) => hasCells);
    const detail = `Sheet ${quote(sheet.name)} has no cells. These sheets have cells: ${listNames(worksheets)}.`;
    throw wrongParameter('sheet', detail, { value: wanted });
  }
  return chosen;
}

function findSheet(sheets: SheetSummary[], wanted: string): number {
  const exact = sheets.findIndex((sheet) => sheet.name === wanted);
  if (exact >= 0) return exact;
  const loose = sheets.findIndex((sheet) => sheet.name.toLowerCase() === wanted.toLowerCase());
  if (loose >= 0) return loose;
  return /^\d{1,6}$/.test(wanted) ? Number(wanted) - 1 : -1;
}

/**
 * Returns the warning for a caller who chose no sheet, if other sheets have rows, too.
 *
 * @param others the other sheets that have rows; at least one
 */
export function otherSheetsWarning(sheet: string, others: OtherSheet[]): Warning {
  const [first] = others;
  const isOne = others.length === 1;
  const listed = others.slice(0, namesListed).map((other) => quote(other.name) + sizeInWords(other));
  const more = others.length > namesListed ? `, and ${others.length - namesListed} more` : '';
  const have = isOne ? 'Another sheet has' : 'Other sheets have';
  const choose = isOne
    ? `To read it, send sheet=${encodeURIComponent(first!.name)}.`
    : 'To read one of them, send sheet=NAME.';
  return {
    code: 'other-sheets',
    detail: `Sheet ${quote(sheet)} was read, because it is the first visible one. ${have} rows too: ${listed.join(', ')}${more}. ${choose} To read the sheet with the largest table, send sheet=auto.`,
    choices: others.slice(0, namesListed).map(({ name }) => ({ parameters: { sheet: name } })),
  };
}

function sizeInWords({ size }: OtherSheet): string {
  const { rows, columns, isWhole } = size;
  const counted = `${rows === 1 ? '1 row' : `${rows} rows`}, ${columns === 1 ? '1 column' : `${columns} columns`}`;
  return isWhole ? ` (${counted})` : ` (at least ${counted})`;
}

/** Sorts the warnings. Those that say that the wrong part of the file may have been read come first. */
export function orderWarnings(warnings: Warning[]): Warning[] {
  const rank = ({ code }: Warning): number => {
    if (code === 'proposal-taken' || code === 'header-row') return 0;
    return code === 'other-sheets' ? 1 : 2;
  };
  return warnings.toSorted((a, b) => rank(a) - rank(b));
}

/** Adds the names of the other sheets to an error, if the caller chose no sheet, because the first sheet is often a cover. */
export function nameOtherSheets(
  { sheet, sheets }: { sheet: string; sheets: SheetSummary[] },
  error: AppError,
): AppError {
  const others = sheets.filter(({ name, hasCells }) => hasCells && name !== sheet);
  if (others.length === 0) return error;
  const detail = `Sheet ${quote(sheet)}: ${error.detail} The other sheets are: ${listNames(others)}. Choose one with \`sheet\`.`;
  return error.with({ detail });
}

const namesListed = 50;

/** Returns the names of the first sheets, for a message. */
export function listNames(sheets: Pick<SheetSummary, 'name'>[]): string {
  const names = sheets.slice(0, namesListed).map((sheet) => quote(sheet.name));
  return names.join(', ') + (sheets.length > namesListed ? `, and ${sheets.length - namesListed} more` : '');
}

/** Returns the name of a sheet in quotes, for a message. */
export function quote(name: string): string {
  return JSON.stringify(cutText(name, 100));
}
