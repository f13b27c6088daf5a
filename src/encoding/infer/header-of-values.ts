/**
 * Warns of a header that looks like a row of data, because the file probably has no header, and its first row would be lost.
 *
 * It compares the header with the values below it: every column of numbers, dates, booleans or UUIDs has a header that is itself such a value. A
 * text column counts, too, if its values are dates or numbers in another notation. The original texts of the file are compared, not the names that
 * were made of them. Years or consecutive numbers are ordinary headers, as in a table of months, unless the values below are of this kind, too.
 */

import { TEXT } from '../../core/cells/cell-kind.ts';
import type { Warning } from '../../core/errors.ts';
import { shortenValue } from '../problems/problems.ts';
import { type InferredColumn, TypeInference, usualChoices } from './infer-types.ts';
import { type FormHint, isNullWord } from './text-forms.ts';

/**
 * @param headerRow the row that was read as the header; undefined: there is none, or the names are keys
 * @param headerTexts the texts of the header by the number of the column
 */
export function headerOfValues(
  columns: InferredColumn[],
  headerRow: number | undefined,
  headerTexts: readonly string[] = [],
): Warning[] {
  if (headerRow === undefined) return [];
  const typed: { text: string; column: InferredColumn }[] = [];
  for (const column of columns) {
    const text = headerTexts[column.column] ?? column.name;
    // A blank header or a word for no value does not count, because a row of values may lack some of them.
    if (text === '' || isNullWord(text)) continue;
    if (column.type !== 'text' || notationsOf(column.hint).length > 0) typed.push({ text, column });
  }
  if (typed.length === 0 || !typed.every(({ text, column }) => isLikeValues(text, column))) return [];
  const texts = typed.map(({ text }) => text);
  const values = typed.map(({ column }) => column.firstValue ?? '');
  if (texts.every(isYear) && !values.every(isYear)) return [];
  if (areConsecutive(texts) && !areConsecutive(values)) return [];
  const detail = `Row ${headerRow} was read as the header, but it looks like a row of values: "${shortenValue(texts[0]!)}" is like the values below it. If there is no header, send header=false.`;
  return [{ code: 'header-row', detail, choices: [{ parameters: { header: 'false' } }] }];
}

const numberTypes = ['bigint', 'numeric', 'double precision'];

/** Returns whether the text of a header is like the values of its column. */
function isLikeValues(text: string, { type, hint, reading }: InferredColumn): boolean {
  const found = inferText(text, reading !== undefined);
  if (type !== 'text') {
    return found.type === type || (numberTypes.includes(type) && numberTypes.includes(found.type));
  }
  const notations = notationsOf(found.hint);
  return notationsOf(hint).some((notation) => notations.includes(notation));
}

/** Returns what would be inferred from a column with this one value. */
function inferText(text: string, isNatural: boolean): InferredColumn {
  const choices = { ...usualChoices, isNatural };
  const inference = new TypeInference({ maxColumns: 1, maxRows: 1 }, undefined, choices);
  const bytes = Buffer.from(text);
  inference.column(0, '');
  inference.beginRow(1);
  inference.cell(0, TEXT, bytes, 0, bytes.length);
  inference.endRow();
  return inference.columns()[0]!;
}

/** Returns the notations of dates and numbers that all values of a text column have, in words. */
function notationsOf(hint: FormHint | undefined): string[] {
  if (hint?.shape !== undefined) return [hint.shape.looksLike];
  return hint?.first === undefined ? [] : hint.forms.map(({ looksLike }) => looksLike);
}

const isYear = (text: string): boolean => /^(19|20)\d\d$/.test(text);

/** Returns whether there are at least three numbers, each one more than the number before it. */
function areConsecutive(texts: string[]): boolean {
  return (
    texts.length > 2 && texts.every((text, index) => text !== '' && Number(text) === Number(texts[0]) + index)
  );
}
