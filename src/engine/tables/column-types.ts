/**
 * Parses the `type` of a column in a definition. Only the grammar of type names is known here (PostgreSQL 8, "Data Types");
 * PostgreSQL's catalogue decides which types exist. The DDL contains the name from the catalogue, qualified and quoted, so that it
 * means the same in every search path. The modifiers in the DDL are written from the parsed tokens.
 */

import { maxIdentifierBytes } from '../../core/identifiers.ts';
import { quoteLiteral, quoteQualified } from '../../postgres/sql.ts';
import { TokenReader, tokenize } from './sql-tokens.ts';
import type { TypeWidth } from './type-width.ts';

/** The parts of a type's name. */
export interface TypeName {
  /** One of SQL's own spellings, for `to_regtype`: `integer`, `timestamp with time zone`. Undefined: the type has a `name`. */
  spelling: string | undefined;
  schema: string | undefined;
  /** `pg_type.typname` of the type, or of an array's elements. */
  name: string | undefined;
  /** The name is in quotes. A name without quotes never means the row type of a table. */
  isQuoted: boolean;
  /** The modifiers in SQL, with their parentheses: `(12,2)`; '' if there are none. */
  modifiers: string;
  isArray: boolean;
  /** The schema in which a name without a schema is searched after `pg_catalog`; undefined: the search path. */
  ownSchema?: string | undefined;
}

/** The single words that PostgreSQL's grammar reads as types in every search path (gram.y, `SimpleTypename`). */
const spellings = new Set('int integer smallint bigint real decimal dec numeric boolean varchar'.split(' '));

/**
 * Names that other systems use for types, which PostgreSQL does not know: for each the type that it means without and with a length, for `to_regtype` in
 * every search path. An alias never means a type of the database with the same name, because anybody who may create a table or a type could create one.
 */
const aliases: Record<string, { plain: string; withModifiers?: string }> = {
  ...named('string str', 'pg_catalog.text', 'varchar'),
  ...named('nvarchar', 'varchar', 'varchar'),
  ...named('tinytext mediumtext longtext clob', 'pg_catalog.text'),
  ...named('number', 'numeric', 'numeric'),
  ...named('float32', 'real'),
  ...named('double float64', 'double precision'),
  ...named('byte tinyint short int16', 'smallint'),
  ...named('mediumint int32', 'integer'),
  ...named('long int64', 'bigint'),
  // The caller's types of these names have no offset, so they mean a timestamp without a time zone. Type inference treats such values in the same way.
  ...named('datetime datetime2', 'timestamp', 'timestamp'),
  ...named('datetimeoffset', 'timestamp with time zone', 'timestamp with time zone'),
  ...named('blob binary varbinary bytes', 'pg_catalog.bytea'),
  ...named('object dict map', 'pg_catalog.jsonb'),
  ...named('guid uniqueidentifier', 'pg_catalog.uuid'),
};

function named(names: string, plain: string, withModifiers?: string) {
  const alias = withModifiers === undefined ? { plain } : { plain, withModifiers };
  return Object.fromEntries(names.split(' ').map((name) => [name, alias]));
}

/** The serial types (PostgreSQL 8.1.4), which become identity columns. */
const serials: Record<string, string> = {
  smallserial: 'smallint',
  serial2: 'smallint',
  serial: 'integer',
  serial4: 'integer',
  bigserial: 'bigint',
  serial8: 'bigint',
};

/**
 * The names that mean the same type in every database if they are not in quotes. Besides the types of the database, they can be
 * suggested for a misspelled type.
 */
export const reservedTypeNames: string[] = [...Object.keys(aliases), ...Object.keys(serials)];

/** The type that each of these names means, for `to_regtype`. */
export const typesOfAliases: Record<string, string> = {
  ...Object.fromEntries(Object.entries(aliases).map(([name, { plain }]) => [name, plain])),
  ...serials,
};
/** `regclass` and similar types. Their input functions reveal whether an object exists, in schemas that the token does not allow, too. */
export const namesObjects =
  /^reg(class|collation|config|dictionary|namespace|oper|operator|proc|procedure|role|type)$/;

/** Returns the integer type of a serial type; undefined for every other type. */
export function serialBase(text: string): string | undefined {
  const word = singleWord.exec(text)?.[1]?.toLowerCase();
  return word !== undefined && Object.hasOwn(serials, word) ? serials[word] : undefined;
}

/** The names of serial types have at most 11 letters. */
const singleWord = /^[ \t\n\r\f\v]*([a-z]{1,11}[248]?)[ \t\n\r\f\v]*$/i;

/** Returns undefined if `text` is not the name of a type by its grammar. */
export function parseTypeName(text: string): TypeName | undefined {
  const tokens = tokenize(text);
  if (tokens === undefined) return undefined;
  const reader = new TokenReader(tokens);
  const type = readTypeName(reader);
  return reader.ended ? type : undefined;
}

/** Reads the name of a type from the reader's position, for example after `::`. */
export function readTypeName(reader: TokenReader): TypeName | undefined {
  const base = readBaseName(reader);
  if (base === undefined) return undefined;
  const isArray = readBrackets(reader);
  return isArray === undefined ? undefined : { ...base, isArray };
}

type BaseName = Omit<TypeName, 'isArray'>;

function readBaseName(reader: TokenReader): BaseName | undefined {
  const first = reader.next();
  if (first?.kind !== 'word' && first?.kind !== 'quoted') return undefined;
  if (Buffer.byteLength(first.text) > maxIdentifierBytes) return undefined;
  if (reader.symbol('.')) return readQualified(reader, first.text);
  if (first.kind === 'quoted') return withModifiers(reader, { name: first.text, isQuoted: true });
  switch (first.text) {
    case 'double':
      if (reader.word('precision')) return withModifiers(reader, { spelling: 'double precision' });
      return readSingleWord(reader, 'double');
    case 'national':
      if (!reader.word('character') && !reader.word('char')) return undefined;
      return readCharacter(reader);
    case 'character':
    case 'char':
    case 'nchar':
      return readCharacter(reader);
    case 'bit':
      return reader.word('varying')
        ? withModifiers(reader, { spelling: 'bit varying' })
        : withModifiers(reader, { spelling: 'bit' }, '(1)');
    case 'float':
      return readFloat(reader);
    case 'time':
    case 'timestamp':
      return readTime(reader, first.text);
    case 'interval':
      return readInterval(reader);
    default:
      return readSingleWord(reader, first.text);
  }
}

/**
 * Reads the modifiers of a type and completes its name with them.
 *
 * @param absent the modifiers that apply in SQL if the text has none
 */
function withModifiers(reader: TokenReader, name: Partial<BaseName>, absent = ''): BaseName | undefined {
  const modifiers = readModifiers(reader);
  return modifiers === undefined
    ? undefined
    : { ...noName, ...name, modifiers: modifiers === '' ? absent : modifiers };
}

const noName = { spelling: undefined, schema: undefined, name: undefined, isQuoted: false };

function readQualified(reader: TokenReader, schema: string): BaseName | undefined {
  const name = reader.kind('word') ?? reader.kind('quoted');
  if (name === undefined || Buffer.byteLength(name) > maxIdentifierBytes) return undefined;
  return withModifiers(reader, { schema, name });
}

function readSingleWord(reader: TokenReader, word: string): BaseName | undefined {
  const type = withModifiers(reader, spellings.has(word) ? { spelling: word } : { name: word });
  const alias = Object.hasOwn(aliases, word) ? aliases[word] : undefined;
  if (type === undefined || (alias === undefined && !Object.hasOwn(serials, word))) return type;
  const spelling = type.modifiers === '' ? alias?.plain : alias?.withModifiers;
  // PostgreSQL has no type of this name, so the name is refused: a serial type is not the type of a value, and not every alias can have a length.
  return spelling === undefined ? { ...type, schema: 'pg_catalog' } : { ...type, spelling, name: undefined };
}

function readCharacter(reader: TokenReader): BaseName | undefined {
  return reader.word('varying')
    ? withModifiers(reader, { spelling: 'character varying' })
    : withModifiers(reader, { spelling: 'character' }, '(1)');
}

/**
 * Reads the rest of `float`. A number after it chooses between two types. It is not a modifier of either type (PostgreSQL
 * 8.1.3).
 */
function readFloat(reader: TokenReader): BaseName | undefined {
  const type = withModifiers(reader, { spelling: 'float' });
  const digits = /^\((\d+)\)$/.exec(type?.modifiers ?? '')?.[1];
  if (type === undefined || digits === undefined || Number(digits) < 1 || Number(digits) > 53) return type;
  return { ...type, spelling: Number(digits) <= 24 ? 'real' : 'float', modifiers: '' };
}

function readTime(reader: TokenReader, name: string): BaseName | undefined {
  const type = withModifiers(reader, { spelling: name });
  const zoned = reader.word('with') ? 'with' : reader.word('without') ? 'without' : undefined;
  if (type === undefined || zoned === undefined) return type;
  if (!reader.word('time') || !reader.word('zone')) return undefined;
  return { ...type, spelling: `${name} ${zoned} time zone` };
}

/** Bits of the fields in an interval's modifier (PostgreSQL, src/include/utils/datetime.h). */
const intervalFields = ['year', 'month', 'day', 'hour', 'minute', 'second'];
const intervalBits: Record<string, number> = { month: 1, year: 2, day: 3, hour: 10, minute: 11, second: 12 };
const allIntervalFields = 0x7fff;

function readInterval(reader: TokenReader): BaseName | undefined {
  const from = readIntervalField(reader);
  let to = from;
  if (from !== undefined && reader.word('to')) {
    to = readIntervalField(reader);
    if (to === undefined || intervalFields.indexOf(to) <= intervalFields.indexOf(from)) return undefined;
  }
  const takesPrecision = to === undefined || to === 'second';
  const precision = takesPrecision ? readModifiers(reader) : '';
  if (precision === undefined) return undefined;
  const type = { ...noName, spelling: 'interval', modifiers: '' };
  if (from === undefined && precision === '') return type;
  const fields = intervalFields.slice(
    intervalFields.indexOf(from ?? 'year'),
    intervalFields.indexOf(to ?? 'year') + 1,
  );
  const bits = fields.reduce((mask, field) => mask | (1 << intervalBits[field]!), 0);
  const mask = from === undefined ? allIntervalFields : bits;
  return { ...type, modifiers: precision === '' ? `(${mask})` : `(${mask},${precision.slice(1)}` };
}

function readIntervalField(reader: TokenReader): string | undefined {
  return intervalFields.find((field) => reader.word(field));
}

/** Returns the modifiers, written again from their tokens: `(12,2)`. '': there are none. Undefined: they are malformed. */
function readModifiers(reader: TokenReader): string | undefined {
  if (!reader.symbol('(')) return '';
  const modifiers: string[] = [];
  do {
    const sign = reader.symbol('-') ? '-' : '';
    const token = reader.next();
    if (token === undefined) return undefined;
    if (token.kind === 'number') modifiers.push(`${sign}${token.text}`);
    else if (sign !== '' || token.kind === 'symbol' || token.kind === 'bits') return undefined;
    // A modifier that is a word is written as a string, because the modifier function of a type reads both in the same way.
    else modifiers.push(quoteLiteral(token.text));
  } while (reader.symbol(','));
  return reader.symbol(')') ? `(${modifiers.join(',')})` : undefined;
}

/** Returns whether `[]`, `[3][]`, `array` or `array[3]` follows; undefined: it is malformed. */
function readBrackets(reader: TokenReader): boolean | undefined {
  if (reader.word('array')) {
    if (!reader.symbol('[')) return true;
    return reader.kind('number') !== undefined && reader.symbol(']') ? true : undefined;
  }
  let isArray = false;
  while (reader.symbol('[')) {
    reader.kind('number');
    if (!reader.symbol(']')) return undefined;
    isArray = true;
  }
  return isArray;
}

/** A type in the catalogue (see `lookUpDefinition` in catalog/look-up-definition.ts). */
export interface CatalogType {
  /** The object identifier of the type. For an array type, `schema` and `name` are those of its elements. */
  oid: number;
  schema: string;
  name: string;
  /** `pg_type.typtype` of the type. */
  kind: string;
  /** The base type of a domain, at the end of the chain; for other types the type itself. */
  baseOid: number;
  /** For a domain: the modifier that it gives to the base type; -1: none. */
  typmod?: number;
  /** `pg_type.typcategory` of the base type. */
  category: string;
  /** The name without modifiers, for messages. */
  display: string;
  /** The type is the row type of a table, and its name is written without quotes and without a schema. */
  lacksQuotes: boolean;
  /** The type has a default btree operator class, so it can be in a key. */
  isOrdered: boolean;
  mayUse: boolean;
  /** The type belongs to an extension, such as citext. */
  isOfExtension: boolean;
  /** How much longer than their texts the values become, for a type that may contain other types. */
  width?: TypeWidth;
}

/** Returns SQL for the type that means the same in every search path. */
export function typeSql(parsed: TypeName, type: CatalogType): string {
  // One pair of brackets is enough, because PostgreSQL ignores the declared number of dimensions (PostgreSQL 8.15.1).
  return `${quoteQualified(type.schema, type.name)}${parsed.modifiers}${parsed.isArray ? '[]' : ''}`;
}
