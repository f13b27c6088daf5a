/**
 * Returns SQL that reads text as a type in any search path, as PostgreSQL reads a literal: with the type's input function and modifier.
 *
 * A cast of a text column is not the same. It reads the text without the modifier and applies the modifier to the result: '90' becomes
 * 00:01:30 and then 00:00:00 for `interval day`, and one bit too many is cut off. Some types also have a cast from text that reads
 * other forms than their input function: only the input function of `regclass` reads '-' and a number.
 */
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';

/**
 * Returns an SQL expression that reads a text as the type of a column.
 *
 * @param text an SQL expression of the type `text`
 */
export function readAsType(text: string, { type, bareType }: LoadColumn): string {
  const value = callInput(text, type.base ?? type);
  if (value !== undefined) return type.base === undefined ? value : `${value}::${bareType}`;
  // A cast reads the text with the type's input function if the type has no modifier.
  return hasModifier(type) ? readAsRecord(text, type) : `${text}::${bareType}`;
}

function hasModifier({ typmod, base }: ColumnType): boolean {
  return typmod >= 0 || (base?.typmod ?? -1) >= 0;
}

function callInput(text: string, { input, typmod }: ColumnType): string | undefined {
  if (input === undefined || (typmod >= 0 && input.argumentCount < 3)) return undefined;
  const all = [`pg_catalog.textout(${text})`, `${input.parameter}::pg_catalog.oid`, `${typmod}`];
  return `${input.name}(${all.slice(0, input.argumentCount).join(', ')})`;
}

/** Returns SQL that reads a text as any type, also one whose input function SQL cannot call, such as an array. It is ten times slower than a call. */
function readAsRecord(text: string, { name, sqlName = name }: ColumnType): string {
  return `(SELECT v FROM pg_catalog.json_to_record(pg_catalog.json_build_object('v', ${text})) AS r(v ${sqlName}))`;
}
