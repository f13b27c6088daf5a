/**
 * Warns of a header that looks like a row of data: the file probably has no header, and its first row would be lost.
 *
 * The types of the columns show it. The name of every column of numbers, dates, booleans or UUIDs is itself such a value. Headers that
 * are years or consecutive numbers, as in a table of months, are ordinary.
 */
import type { Warning } from '../../errors.ts';
import { FALSE, NUMBER, TRUE } from '../../sources/cell-kind.ts';
import { textKind } from '../../sources/text-kind.ts';
import { shortenValue } from '../problems/problems.ts';
import { classifyString } from '../text-reading/string-class.ts';
import type { InferredColumn } from './infer-types.ts';
import { typeOf } from './type-of.ts';

/** @param headerRow the row that was read as the header; undefined: there is none, or the names are keys */
export function headerOfValues(columns: InferredColumn[], headerRow: number | undefined): Warning[] {
  const typed = columns.filter(({ type }) => type !== 'text');
  if (headerRow === undefined || typed.length === 0 || !typed.every(isNamedByValue)) return [];
  const names = typed.map(({ name }) => name);
  if (names.every(isYear) || areConsecutive(names)) return [];
  const [first] = names;
  const detail = `Row ${headerRow} was read as the header, but it looks like a row of values: "${shortenValue(first!)}" is like the values below it. If there is no header, send header=false.`;
  return [{ code: 'header-row', detail, choices: [{ parameters: { header: 'false' } }] }];
}

function isNamedByValue({ name, type }: InferredColumn): boolean {
  const bytes = Buffer.from(name);
  const kind = textKind(bytes, 0, bytes.length);
  if (kind === NUMBER) return type === 'bigint' || type === 'numeric' || type === 'double precision';
  if (kind === TRUE || kind === FALSE) return type === 'boolean';
  return typeOf(classifyString(bytes, 0, bytes.length)) === type;
}

const isYear = (name: string): boolean => /^(19|20)\d\d$/.test(name);

/** Returns whether there are several numbers, each one more than the number before it. */
function areConsecutive(names: string[]): boolean {
  return names.length > 1 && names.every((name, index) => Number(name) === Number(names[0]) + index);
}
