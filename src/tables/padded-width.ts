/**
 * Computes how large a row of defaults becomes when PostgreSQL pads its values: `char(10485760)` stores one letter as 10 MiB, and so does
 * a cast to `bit(83886080)`. PostgreSQL has several copies of the row while it tries the defaults, so the size is checked before.
 */

import type { Problem } from '../errors.ts';
import { overLimit } from '../limit-exceeded.ts';
import { forEachInTurns } from '../pause-for-others.ts';
import type { CatalogType, TypeName } from './column-types.ts';
import type { Expression } from './defaults.ts';

/** The limit for a padded row. PostgreSQL needs about six times as much memory to try a row of defaults. */
const maxPaddedBytes = 16 * 1024 * 1024;

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

/** Returns the number of bytes to which PostgreSQL pads a value of a built-in type that is not an array. */
export function paddedTypeBytes(oid: number, typmod: number): number {
  // bpchartypmodin adds the length of the header.
  if (oid === 1042) return Math.max(typmod - 4, 0);
  return oid === 1560 ? Math.ceil(Math.max(typmod, 0) / 8) : 0;
}

export interface PaddedColumn {
  type: CatalogType;
  typeName: TypeName;
  /** The text of a literal default. */
  literal?: string | undefined;
  expression?: Expression | undefined;
}

/**
 * Returns the problem of a table whose padded values are too long for a row. It works in turns.
 *
 * @param typeOf finds a type that an expression casts to; undefined or null: the type does not exist
 */
export async function paddingProblem(
  columns: PaddedColumn[],
  typeOf: (name: TypeName) => CatalogType | null | undefined,
): Promise<Problem | undefined> {
  let bytes = 0;
  await forEachInTurns(columns, ({ type, typeName, literal, expression }) => {
    bytes += paddedBytes(type, typeName, literal);
    if (expression !== undefined) bytes += paddedInExpression(expression, typeOf);
  });
  if (bytes <= maxPaddedBytes) return undefined;
  return {
    pointer: '/table/columns',
    code: 'row-too-long',
    detail: `${overLimit(`the types char(n) and bit(n) pad each row of this table to at least ${bytes.toLocaleString('en-US')} bytes`, maxPaddedBytes, 'bytes')}. Use text, varchar(n) or bit varying(n), which are not padded`,
  };
}

function paddedInExpression(
  expression: Expression,
  typeOf: (name: TypeName) => CatalogType | null | undefined,
): number {
  if (expression.kind === 'call') {
    return expression.arguments.reduce((sum, argument) => sum + paddedInExpression(argument, typeOf), 0);
  }
  const inner = expression.kind === 'cast' ? paddedInExpression(expression.argument, typeOf) : 0;
  const type = expression.cast && typeOf(expression.cast);
  if (!type) return inner;
  const text = expression.kind === 'string' ? expression.text : '';
  // As text, a bit string has one character for each bit.
  return inner + 8 * paddedBytes(type, expression.cast!, text);
}

/** Returns the bytes of a padded value. An array counts with the most elements that its text can contain. */
function paddedBytes(type: CatalogType, { modifiers, isArray }: TypeName, text = ''): number {
  const padded = paddedTypes.get(type.baseOid);
  if (padded === undefined) return 0;
  const units = modifiers === '' ? unitsOfDomain(type) : unitsOf(modifiers, padded.most);
  const isRepeated = isArray || arrayTypes.has(type.baseOid);
  const values = isRepeated ? (text === '' ? 0 : text.split(',').length) : 1;
  return Math.ceil(units / padded.perByte) * values;
}

function unitsOf(modifiers: string, most: number): number {
  const [, digits] = /^\('?(\d{1,8})'?\)$/.exec(modifiers) ?? [];
  return Math.min(digits === undefined ? most : Number(digits), most);
}

/** Returns the number of units of a domain, from the modifier of the domain itself. */
function unitsOfDomain({ kind, baseOid, typmod = -1 }: CatalogType): number {
  if (kind !== 'd' || typmod < 0) return 0;
  // bpchartypmodin adds the length of the header.
  return baseOid === 1042 || baseOid === 1014 ? typmod - 4 : typmod;
}

const arrayTypes = new Set([1014, 1561]);
