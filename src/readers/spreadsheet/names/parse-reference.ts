/** Reads what a defined name refers to, in the notation of Excel. */

import { cutText } from '../../../core/cut-text.ts';
import { type CellRange, parseArea } from '../cell-address.ts';

export interface Reference {
  /** Undefined: the text names no sheet. */
  sheet: string | undefined;
  range: CellRange;
}

/**
 * Reads `'Sales Data'!$B$4:$F$20`, `Orders!A:F` or `B4:F20`.
 *
 * @returns undefined if the text is not one range of cells of one sheet of this workbook
 */
export function parseReference(text: string): Reference | undefined {
  const { sheet, rest } = splitSheet(text);
  // The name of a sheet never has these characters. A reference with them names several sheets, or another workbook.
  if (sheet !== undefined && /[:[\]]/.test(sheet)) return undefined;
  const range = parseArea(rest);
  return range && { sheet, range };
}

const sheetPrefix = /^=?(?:'((?:[^']|'')+)'|([^'!]+))!(.*)$/s;

/** Returns the name of the sheet before the exclamation mark, and the text after it. */
export function splitSheet(text: string): { sheet: string | undefined; rest: string } {
  const found = sheetPrefix.exec(text.trim());
  if (found === null) return { sheet: undefined, rest: text };
  const [, quoted, plain, rest = ''] = found;
  return { sheet: quoted === undefined ? plain : quoted.replaceAll("''", "'"), rest };
}

/** Describes a text that `parseReference` cannot read, for a message: `the constant 0.19`. @param text empty: a formula */
export function describeTarget(text: string): string {
  const shown = cutText(text, maxShown);
  if (text === '') return 'a formula';
  if (text.includes('#REF!')) return `cells that were deleted (${shown})`;
  if (constant.test(text)) return `the constant ${shown}`;
  if (/^=?'?[^'!(]*\[[^\]]+\][^'!(]*'?!/.test(text)) return `cells of another workbook (${shown})`;
  const parts = splitList(text);
  if (parts.length > 1 && parts.every((part) => parseReference(part) !== undefined)) {
    return `several areas (${shown})`;
  }
  const { sheet } = splitSheet(text);
  if (sheet?.includes(':') && !sheet.includes('(')) return `cells of several sheets (${shown})`;
  return `a formula (${shown})`;
}

const maxShown = 100;
const constant =
  /^=?([-+]?[\d.]+(E[-+]?\d+)?%?|"[^"]*"|TRUE|FALSE|#(N\/A|NAME\?|VALUE!|NUM!|DIV\/0!|NULL!)|\{.*\})$/is;

/** Splits a text at the commas that are not within quotes. */
function splitList(text: string): string[] {
  return text.match(/(?:'(?:[^']|'')*'|[^,'])+/g) ?? [];
}
