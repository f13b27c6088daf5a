/**
 * How texts become values, and values become texts.
 *
 * A text is converted exactly if the new type writes the value in the same way. Only a spelling that means nothing may change: zeros that the scale of
 * the new type adds or removes, the form of a date with a time, the case of a UUID, and white space and the order of keys in JSON. Leading zeros, signs
 * and blanks may mean something in a text, so they must stay.
 */
import type { ColumnType } from '../../../encoding/columns/load-column.ts';
import { columnEncoder } from '../../../encoding/encoders/column-encoder.ts';
import { quoteLiteral } from '../../../postgres/sql.ts';
import { nameInSql, outputOf, type Path, type ValueSql } from './conversion.ts';

const TEXT = 25;
const VARCHAR = 1043;
const BPCHAR = 1042;

/** Returns whether the type is one of PostgreSQL's types for text of any length. */
export function isText({ oid }: ColumnType): boolean {
  return oid === TEXT || oid === VARCHAR || oid === BPCHAR;
}

/** Returns the path from any type to `text`, `varchar` or `char`. */
export function pathToText(from: ColumnType, to: ColumnType): Path {
  const limit = columnEncoder(to)!.maxLength;
  const known = isText(from) ? columnEncoder(from)!.maxLength : -1;
  const staysShort = limit < 0 || (known >= 0 && known <= limit);
  const steps = to.oid === TEXT ? [nameInSql(to)] : ['pg_catalog.text', nameInSql(to)];
  if (isText(from) && from.oid !== BPCHAR && to.oid !== BPCHAR && staysShort)
    return { steps, isUnchanged: true };
  const isPossible = staysShort
    ? undefined
    : ({ value }: ValueSql) => `char_length(${value}::text) <= ${limit}`;
  // `char` does not store the blanks at the end of a text.
  const losesBlanks = to.oid === BPCHAR && from.oid !== BPCHAR;
  const isExact = losesBlanks ? ({ value }: ValueSql) => `${textOf(value)} NOT LIKE '% '` : undefined;
  return { steps, isPossible, isExact };
}

/** Returns the path from a type for texts to another type. */
export function pathFromText(to: ColumnType): Path {
  const name = nameInSql(to);
  const exact = exactTexts[to.oid];
  return {
    steps: ['pg_catalog.text', name],
    isPossible: ({ value, isInput }) => isInput(`${value}::text`, name),
    isExact: ({ value, converted }) =>
      exact?.(textOf(value), converted, to) ??
      `${textOf(value)} IN (${converted}::text, ${outputOf(converted)})`,
  };
}

/** Returns the path from `json` to `jsonb`, which keeps only the last value of a key. */
export function pathToJsonb(to: ColumnType): Path {
  return {
    steps: ['pg_catalog.text', nameInSql(to)],
    isPossible: ({ value, isInput }) => isInput(`${value}::text`, nameInSql(to)),
    isExact: ({ value, converted }) => hasSameKeys(`${value}::text`, converted),
  };
}

/** The collation of a column may treat different texts as equal, and regular expressions need one that does not. */
function textOf(value: string): string {
  return `(${value}::text COLLATE "C")`;
}

/** For each type whose values have several spellings of the same meaning, by `pg_type.oid`: the condition that a valid text is converted exactly. */
const exactTexts: Record<number, (text: string, converted: string, to: ColumnType) => string> = {
  16: (text) => `${text} IN ('true', 'false')`,
  700: exactFloat,
  701: exactFloat,
  1082: (text) => matches(text, day),
  1083: (text, _, { typmod }) => matches(text, clock(typmod)),
  1114: (text, _, { typmod }) => matches(text, `${day}([T ]${clock(typmod)})?`),
  1184: (text, _, { typmod }) => matches(text, `${day}[T ]${clock(typmod)}${offset}`),
  1266: (text, _, { typmod }) => matches(text, `${clock(typmod)}${offset}`),
  1700: (text, converted) =>
    `CASE WHEN ${matches(text, number)} THEN ${converted} = ${text}::numeric ELSE false END`,
  2950: (text, converted) => `lower(${text}) = ${converted}::text`,
  3802: hasSameKeys,
  114: () => 'true',
};

function exactFloat(text: string, converted: string): string {
  return `CASE WHEN ${matches(text, number)} THEN ${converted}::text::numeric = ${text}::numeric ELSE ${text} = ${converted}::text END`;
}

/** A number as `numeric` writes it, with any number of decimals. It cannot be `-0`. */
const number = String.raw`(0|[1-9][0-9]*)(\.[0-9]+)?|-[1-9][0-9]*(\.[0-9]+)?|-0\.0*[1-9][0-9]*`;
const day = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
/** The offset -00:00 means that the place is unknown (RFC 3339 section 4.3), which PostgreSQL does not keep. */
const offset = '(Z|[+][0-9]{2}(:?[0-9]{2})?|-(0[1-9]|1[0-9])(:?[0-9]{2})?|-00:?(0[1-9]|[1-5][0-9]))';

/** A time of day that exists, with as many decimals as the type stores, and zeros. PostgreSQL would read 24:00 and the second 60 as another time. */
function clock(precision: number): string {
  const digits = precision < 0 ? 6 : precision;
  const decimals = digits === 0 ? '0+' : `[0-9]{1,${digits}}0*`;
  return String.raw`([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.${decimals})?)?`;
}

function matches(text: string, pattern: string): string {
  return `${text} ~ ${quoteLiteral(`^(${pattern})$`)}`;
}

/**
 * Returns the condition that no object in the JSON text has a key twice: a colon is missing for each key that is removed. Colons in strings are
 * counted on both sides. If the text may have some as escapes (`\u003a`), only the colons after keys are counted, which is slow.
 */
function hasSameKeys(json: string, converted: string): string {
  const colons = (text: string) => `octet_length(${text}) - octet_length(replace(${text}, ':', ''))`;
  const keys = (text: string) =>
    `length(regexp_replace(${text}, ${quoteLiteral(String.raw`"([^"\\]|\\.)*"|[^":]+`)}, '', 'g'))`;
  const equal = (count: typeof keys) => `${count(json)} = ${count(`${converted}::text`)}`;
  return `CASE WHEN strpos(${json}, ${quoteLiteral(String.raw`\u003`)}) = 0 THEN ${equal(colons)} ELSE ${equal(keys)} END`;
}
