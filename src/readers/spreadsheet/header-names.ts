/** Makes unique column names from the cells of a header. */

import type { Warning } from '../../core/errors.ts';
import { maxIdentifierBytes, problemColumn } from '../../core/identifiers.ts';
import { columnLetters } from './cell-address.ts';

export interface ColumnNames {
  /** The names, by position in the header row; undefined: a blank header. It gets a name only if there is data below it. */
  named: (string | undefined)[];
  /** The warnings in the order of their columns. */
  warnings: Warning[];
  /** For each warning: the 1-based column of the sheet that it is about. */
  warnedColumns: number[];
  taken: Set<string>;
}

/**
 * Names the columns of a header row. A repeated header gets the first of `_2`, `_3` … that no other header has. A header
 * that is too long for a name in PostgreSQL is shortened. It gets such a suffix, too, if the name is not unique. Joined texts differ at
 * their ends, so they are shortened in the middle if others begin in the same way.
 *
 * @param texts trimmed; `''`: blank
 * @param firstColumn the 1-based column of the sheet with the first text
 * @param areJoined the texts are those of several rows
 */
export function nameColumns(
  texts: string[],
  style: 'exact' | 'snake_case',
  firstColumn: number,
  areJoined = false,
): ColumnNames {
  const wanted = texts.map((text) => (style === 'snake_case' ? toSnakeCase(text) : text));
  // The headers that fit are taken, so that no shortened or repeated header gets the name of one of them.
  const taken = new Set(wanted.filter(fitsName));
  const seen = new Set<string>();
  const alike = areJoined ? beginningsOfSeveral(wanted) : seen;
  const nextSuffix = new Map<string, number>();
  const warnings: Warning[] = [];
  const warnedColumns: number[] = [];
  const named = wanted.map((name, index) => {
    if (name === '') return undefined;
    const column = columnLetters(firstColumn + index);
    if (!fitsName(name)) {
      const beginning = cutToBytes(name, maxIdentifierBytes);
      const cut = alike.has(beginning) ? cutInTheMiddle(name) : beginning;
      const unique = taken.has(cut) ? freeName(cut, taken, nextSuffix) : cut;
      taken.add(unique);
      warnedColumns.push(firstColumn + index);
      warnings.push(shortenedHeader(name, unique, column));
      return unique;
    }
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    const unique = freeName(name, taken, nextSuffix);
    warnedColumns.push(firstColumn + index);
    warnings.push({
      code: 'repeated-header',
      detail: `The header ${JSON.stringify(name)} occurs twice; column ${column} was named ${JSON.stringify(unique)}.`,
      column: unique,
    });
    return unique;
  });
  return { named, warnings, warnedColumns, taken };
}

function shortenedHeader(name: string, shortened: string, column: string): Warning {
  return {
    code: 'shortened-header',
    detail: `The header ${JSON.stringify(name)} of column ${column} is longer than ${maxIdentifierBytes} bytes, the longest name in PostgreSQL; the column is named ${JSON.stringify(shortened)}.`,
    column: shortened,
  };
}

function fitsName(name: string): boolean {
  return Buffer.byteLength(name) <= maxIdentifierBytes;
}

/** Returns the beginnings that different long names have in common. */
function beginningsOfSeveral(names: readonly string[]): Set<string> {
  const beginnings = [...new Set(names)]
    .filter((name) => !fitsName(name))
    .map((name) => cutToBytes(name, maxIdentifierBytes));
  const seen = new Set<string>();
  return new Set(beginnings.filter((beginning) => seen.size === seen.add(beginning).size));
}

/** Returns the beginning and the end of a name that is too long, with `…` between them. */
function cutInTheMiddle(name: string): string {
  const bytes = (maxIdentifierBytes - Buffer.byteLength('…')) / 2;
  const reversed = [...name].reverse().join('');
  const end = [...cutToBytes(reversed, bytes)].reverse().join('');
  return `${cutToBytes(name, bytes)}…${end}`;
}

/** Returns the longest beginning of the text with at most `maxBytes` bytes of UTF-8, without cutting a character. */
function cutToBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end).trimEnd();
}

/**
 * Names a column that has values under a blank header, and adds a warning.
 *
 * @param text the header: blank, or without any letter or digit for a name in snake_case
 */
export function nameBlankColumn(
  names: ColumnNames,
  style: 'exact' | 'snake_case',
  column: number,
  text: string,
): string {
  const header =
    text === '' ? 'a blank header' : `the header ${JSON.stringify(text)}, which has no letter or digit`;
  const letters = columnLetters(column);
  const wanted = `column_${style === 'snake_case' ? letters.toLowerCase() : letters}`;
  const name = names.taken.has(wanted) ? freeName(wanted, names.taken, new Map()) : wanted;
  names.taken.add(name);
  const place = names.warnedColumns.findLastIndex((warned) => warned < column) + 1;
  names.warnedColumns.splice(place, 0, column);
  names.warnings.splice(place, 0, {
    code: 'blank-header',
    detail: `Column ${letters} has values under ${header}; it is named ${JSON.stringify(name)}.`,
    column: name,
  });
  return name;
}

function freeName(name: string, taken: Set<string>, nextSuffix: Map<string, number>): string {
  for (let suffix = nextSuffix.get(name) ?? 2; ; suffix++) {
    const ending = `_${suffix}`;
    const candidate = cutToBytes(name, maxIdentifierBytes - ending.length) + ending;
    if (taken.has(candidate)) continue;
    taken.add(candidate);
    nextSuffix.set(name, suffix + 1);
    return candidate;
  }
}

/** Returns whether a name in this style can be made from the header. */
export function namesColumn(text: string, style: 'exact' | 'snake_case'): boolean {
  return style === 'snake_case' ? nameLetter.test(text) : text !== '';
}

const nameLetter = /[\p{L}\p{M}\p{N}]/u;

/** Converts `Order ID` and `orderId` to `order_id`. Letters of all scripts are kept, and the name of the column with the reasons of faulty rows. */
function toSnakeCase(text: string): string {
  if (text === problemColumn) return text;
  return text
    .normalize('NFC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase();
}
