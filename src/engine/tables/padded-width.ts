/**
 * Computes how long the defaults of a definition become in PostgreSQL, before PostgreSQL tries them.
 *
 * This is needed because PostgreSQL pads values: `char(10485760)` stores one letter as 10 MiB, and so does a cast to `bit(83886080)`.
 * It has several copies of a row while it tries the defaults. It also writes the text of each default for every description of the
 * table: `1e131071` in a `numeric` column becomes 131,072 digits. And it visits all types inside the types of the columns.
 */

import type { Problem } from '../../core/errors.ts';
import { overLimit } from '../../core/limit-exceeded.ts';
import { forEachInTurns } from '../../core/pause-for-others.ts';
import { countCost, MOST_UNITS, ownCost } from '../../encoding/columns/reading-cost.ts';
import { ZoneNames } from '../../encoding/columns/zone-names.ts';
import type { CatalogType, TypeName } from './column-types.ts';
import { type Expression, expressionsIn } from './defaults.ts';
import { countParts } from './type-width.ts';

/** The types of a number and of a text in an expression. */
const number = { baseOid: 1700 };
const text = { baseOid: 25 };

/** The limit for a padded row. PostgreSQL needs about six times as much memory to try a row of defaults. */
const maxPaddedBytes = 16 * 1024 * 1024;

/** The limit for the texts of all defaults as PostgreSQL writes them. An answer, a record of a load and an event may contain them. */
const maxWrittenDefaults = 4 * 1024 * 1024;

/**
 * The maximum number of types inside the types of all columns. PostgreSQL visits each of them when it creates the table, which takes half a second for a
 * million. Example of a small definition with many: a row type of two columns whose types are again such row types doubles the number with each level.
 */
const maxVisitedTypes = 1_000_000;

/**
 * The types that pad their values, and their array types, by object identifier (pg_type.dat): the largest modifier, and the number of
 * its units in a byte.
 */
const paddedTypes = new Map([
  [1042, { most: 10_485_760, perByte: 1 }],
  [1014, { most: 10_485_760, perByte: 1 }],
  [1560, { most: 83_886_080, perByte: 8 }],
  [1561, { most: 83_886_080, perByte: 8 }],
]);

/**
 * The maximum length of the texts in a call of `to_timestamp`. The time grows with their square: 1 MB takes 35 seconds for each
 * row, and PostgreSQL cannot be interrupted meanwhile.
 */
const maxParsedTexts = 1024;

export interface PaddedColumn {
  /** The JSON Pointer of the column. */
  pointer: string;
  type: CatalogType;
  typeName: TypeName;
  /** The text of a literal default. */
  literal?: string | undefined;
  expression?: Expression | undefined;
}

type FindType = (name: TypeName) => CatalogType | null | undefined;

/**
 * Returns the problem of a table whose types contain too many others, whose padded values are too long for a row, or whose defaults are too
 * long as text. It works in turns.
 *
 * @param typeOf finds a type that an expression casts to; undefined or null: the type does not exist
 */
export async function widthProblem(columns: PaddedColumn[], typeOf: FindType): Promise<Problem | undefined> {
  let padded = 0;
  let written = 0;
  let visited = 0;
  let tooNested: string | undefined;
  const read: Reading = { units: 0, zones: new ZoneNames() };
  let tooLong: Problem | undefined;
  await forEachInTurns(columns, ({ pointer, type, typeName, literal, expression }) => {
    visited += type.width?.visits ?? 1;
    if (visited > maxVisitedTypes) tooNested ??= pointer;
    padded += paddedBytes(type, typeName, literal);
    if (literal !== undefined) written += measureLiteral(type, literal, read);
    if (expression !== undefined) {
      padded += paddedInExpression(expression, typeOf);
      written += writtenExpression(expression, typeOf, read);
    }
    if (written > maxWrittenDefaults) tooLong ??= defaultsTooLong(pointer);
    if (read.units > MOST_UNITS) tooLong ??= defaultsTooComplex(pointer);
  });
  if (tooNested !== undefined) return typesTooNested(tooNested);
  if (padded > maxPaddedBytes) return rowTooLong(padded);
  return tooLong;
}

function rowTooLong(bytes: number): Problem {
  return {
    pointer: '/table/columns',
    code: 'row-too-long',
    detail: `${overLimit(`the types char(n) and bit(n) pad each row of this table to at least ${bytes.toLocaleString('en-US')} bytes`, maxPaddedBytes, 'bytes')}. Use text, varchar(n) or bit varying(n), which are not padded`,
  };
}

function typesTooNested(pointer: string): Problem {
  const what = 'the types of the columns up to this one contain too many other types, and these again others';
  return {
    pointer: `${pointer}/type`,
    code: 'types-too-nested',
    detail: `${overLimit(what, maxVisitedTypes, 'types')}. Use jsonb, or a type with fewer fields`,
  };
}

function defaultsTooLong(pointer: string): Problem {
  const what =
    'the defaults up to this one are too long as PostgreSQL writes them, with all digits of numbers';
  return {
    pointer: `${pointer}/default`,
    code: 'defaults-too-long',
    detail: overLimit(what, maxWrittenDefaults, 'bytes'),
  };
}

function defaultsTooComplex(pointer: string): Problem {
  const detail =
    'PostgreSQL would need too much memory or time to read the defaults up to this one: they have too many parts, or are too long for their types';
  return { pointer: `${pointer}/default`, code: 'defaults-too-long', detail };
}

function paddedInExpression(expression: Expression, typeOf: FindType): number {
  let sum = 0;
  for (const part of expressionsIn(expression)) {
    const type = part.kind !== 'call' && part.cast && typeOf(part.cast);
    // As text, a bit string has one character for each bit.
    if (type) sum += 8 * paddedBytes(type, part.cast!, part.kind === 'string' ? part.text : '');
  }
  return sum;
}

/** Returns the bytes of a padded value. An array counts with the most elements that its text can contain. */
function paddedBytes(type: CatalogType, { modifiers, isArray }: TypeName, text = ''): number {
  if (type.width !== undefined) return type.width.paddedBytes * valuesOf(type.width.repeats, text);
  const padded = paddedTypes.get(type.baseOid);
  if (padded === undefined) return 0;
  const units = modifiers === '' ? 0 : unitsOf(modifiers, padded.most);
  return Math.ceil(units / padded.perByte) * valuesOf(isArray || arrayTypes.has(type.baseOid), text);
}

function valuesOf(isRepeated: boolean, text: string): number {
  if (!isRepeated) return 1;
  return text === '' ? 0 : countParts(text);
}

function unitsOf(modifiers: string, most: number): number {
  const [, digits] = /^\('?(\d{1,8})'?\)$/.exec(modifiers) ?? [];
  return Math.min(digits === undefined ? most : Number(digits), most);
}

const arrayTypes = new Set([1014, 1561]);

/** What reading the texts of all defaults checked so far costs PostgreSQL. */
interface Reading {
  units: number;
  /** The names of time zones in all texts, because a function may read a text of any type as the name of a zone. */
  zones: ZoneNames;
}

function writtenExpression(expression: Expression, typeOf: FindType, read: Reading): number {
  let written = 0;
  for (const part of expressionsIn(expression)) {
    if (part.kind === 'word') written += measureLiteral(number, part.sql, read);
    else if (part.kind === 'call') {
      if (part.name.name === 'to_timestamp' && lengthOfTexts(part) > maxParsedTexts)
        read.units = Number.POSITIVE_INFINITY;
    } else {
      const type = part.cast && typeOf(part.cast);
      if (part.kind === 'string') written += measureLiteral(type || text, part.text, read);
      else if (type) measureCast(type, part.argument, read);
    }
  }
  return written;
}

/** Returns the characters of all texts in an expression. */
function lengthOfTexts(expression: Expression): number {
  return expressionsIn(expression).reduce(
    (sum, part) => sum + (part.kind === 'string' ? part.text.length : 0),
    0,
  );
}

/**
 * Adds what PostgreSQL needs to read the text that an expression returns as a value of a type, which it does for each row: `(to_char(now(),
 * '[1,2]'))::jsonb`. If the type has a limit for its texts, an expression with a call is refused, because the length of its text is not known.
 */
function measureCast(type: CatalogType, argument: Expression, read: Reading): void {
  const isLimited = (type.width?.cost ?? ownCost(type.baseOid)).mostBytes !== Number.POSITIVE_INFINITY;
  for (const part of expressionsIn(argument)) {
    if (part.kind === 'call' && isLimited) read.units = Number.POSITIVE_INFINITY;
    if (part.kind === 'string') measureLiteral(type, part.text, read);
  }
}

/**
 * Returns the bytes of a literal as PostgreSQL writes it, and adds what PostgreSQL needs to read it. PostgreSQL stores the modifier
 * of a column separately from the literal, but not the modifier of a field of a composite type.
 */
function measureLiteral(
  { baseOid, width }: Pick<CatalogType, 'baseOid' | 'width'>,
  literal: string,
  read: Reading,
): number {
  const cost = width?.cost ?? ownCost(baseOid);
  const bytes = Buffer.from(literal);
  const areTooMany = read.zones.areTooMany(bytes, 0, bytes.length);
  if (areTooMany || bytes.length > cost.mostBytes) read.units = Number.POSITIVE_INFINITY;
  const found = countCost(cost, bytes, 0, bytes.length);
  read.units += Math.max(found.units + found.elements, found.sorting, bytes.length * cost.unitsPerByte);
  const added = width === undefined ? 0 : width.addedText * valuesOf(width.repeats, literal);
  return bytes.length + found.digits + added;
}
