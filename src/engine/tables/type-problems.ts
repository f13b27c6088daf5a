/** Explains why PostgreSQL refuses a type, and what to send instead. */
import type { ClientBase } from 'pg';
import type { Problem } from '../../core/errors.ts';
import { didYouMean, isSystemSchema, shorten } from '../../core/identifiers.ts';
import { forEachInTurns, HEAVY } from '../../core/pause-for-others.ts';
import { readInCallersPath } from '../../postgres/search-path.ts';
import { shownType } from './catalog/names-in-path.ts';
import { reservedTypeNames, type TypeName } from './column-types.ts';
import { isAdmitted } from './dotted-name.ts';

/** The limits of the modifiers of built-in types (PostgreSQL 8.1.2, 8.3, 8.5, 8.10), for messages. */
const modifierRules: [RegExp, string][] = [
  [/^(varchar|character|bpchar)/, 'the length must be 1 to 10485760'],
  [/^(bit|varbit)/, 'the length must be 1 to 83886080'],
  [/^(numeric|decimal|dec\b)/, 'the precision must be 1 to 1000 and the scale -1000 to 1000'],
  [/^float/, 'the precision must be 1 to 53'],
  [/^(time|interval)/, 'the precision must be 0 to 6'],
];

/** Names of types in MySQL, SQL Server, Oracle and programming languages, and what to send instead. */
const foreignTypes: [RegExp, (match: RegExpExecArray) => string][] = [
  [
    /^(enum|set)\s*(\(|$)/,
    () =>
      'Send "text", or the name of an enum that the table has in "types": [{"name": "state", "labels": ["new", "paid"]}].',
  ],
  [
    /\bunsigned\b/,
    () => 'Send a type without "unsigned"; bigint can store every unsigned integer of 4 bytes.',
  ],
  [/\b(auto_?increment|identity)\b/, () => 'Send "serial" or "bigserial".'],
  [
    /\bprimary key$/,
    () =>
      'Send only the type, and put the key into the table: "constraints": {"primary_key": {"columns": ["id"]}}.',
  ],
  [
    /\b(not )?null\b|\bdefault\b/,
    () => 'Send only the type: "is_nullable": false is NOT NULL, and "default" is a member of the column.',
  ],
  [/^tinyint\s*\(\s*1\s*\)$/, () => 'Send "boolean", or "smallint" for numbers.'],
  [/^tinyint\s*\(/, () => 'Send "smallint".'],
  [/^((?:small|medium|big)?int|integer)\s*\(/, ([, name]) => `Send "${name}" without parentheses.`],
  [/^n?(var)?char(acter varying|2)?\s*\(\s*max\s*\)$/, () => 'Send "text".'],
  [/^n?varchar2(\s*\(\s*\d+)?/, ([, length]) => `Send "varchar${length === undefined ? '' : `${length})`}".`],
  [/^(var)?binary\s*\(/, () => 'Send "bytea".'],
  [
    /^(timestamp|time)(\s*\(\d\))? (with|without) timezone$/,
    ([, name, precision = '', zoned]) => `Send "${name}${precision} ${zoned} time zone".`,
  ],
  [/^(?:array|list)\s*[<[(]\s*([^<>[\]()]+?)\s*[>\])]$/, ([, element]) => `Send "${element}[]".`],
];

/** Types of extensions that the database may lack. */
const extensionTypes: [RegExp, string][] = [
  [/^(geography|geometry|raster|topogeometry|box[23]d)$/, 'postgis'],
  [/^(vector|halfvec|sparsevec)$/, 'vector'],
  [/^(hstore|citext|ltree|lquery|cube|seg|isbn13|isbn|issn|ean13|upc)$/, ''],
];

/** Returns the advice for a type of an extension; '' if the type is of no known extension. @param name in lower case, without modifiers */
function remedyOfExtension(name: string): string {
  const found = extensionTypes.find(([pattern]) => pattern.test(name));
  if (found === undefined) return '';
  const extension = found[1] || name.replace(/^(is|ean|upc).*/, 'isn').replace('lquery', 'ltree');
  return ` It belongs to an extension that the database does not have: ask the administrator for CREATE EXTENSION ${extension}.`;
}

/** Returns what to send instead of a type name of another system: " Send …"; '' if the name is not known. */
export function remedyOfType(text: string): string {
  const name = text.trim().replace(/\s+/g, ' ').toLowerCase();
  for (const [pattern, remedy] of foreignTypes) {
    const match = pattern.exec(name);
    if (match !== null) return ` ${remedy(match)}`;
  }
  return '';
}

/** Returns the problem of a type that refuses the modifiers in its parentheses. */
export function explainModifiers(column: { pointer: string; typeName: TypeName; typeText: string }): Problem {
  const { spelling, name } = column.typeName;
  const rule = modifierRules.find(([pattern]) => pattern.test(spelling ?? name ?? ''))?.[1];
  const value = shorten(column.typeText);
  const remedy = remedyOfType(column.typeText);
  const reason = rule ?? 'the type does not accept this in parentheses';
  return {
    pointer: `${column.pointer}/type`,
    code: 'invalid-type-modifier',
    detail: `"${value}": ${reason}${remedy && `.${remedy}`}`,
    value,
  };
}

/** The maximum number of unknown types that get a suggestion. */
const maxSuggestions = 20;

/** Adds the nearest names of types to the first problems. The `value` of a problem is the name that was not found. */
export async function explainUnknownTypes(
  client: ClientBase,
  problems: Problem[],
  admitSchema: (schema: string) => void,
): Promise<void> {
  if (problems.length === 0) return;
  const { rows } = await client.query<{ found: { name: string; schema: string }[] }>(listTypeNames);
  const known = rows[0]!.found.filter(
    ({ schema }) => isSystemSchema(schema) || isAdmitted(schema, admitSchema),
  );
  const names = [...reservedTypeNames, ...new Set(known.map(({ name }) => name))];
  const explain = (problem: Problem, index: number) => {
    problem.detail += remedyOfType(problem.value!) || suggestType(problem.value!, names, index);
  };
  await forEachInTurns(problems, explain, () => HEAVY);
}

function suggestType(value: string, names: string[], before: number): string {
  if (before >= maxSuggestions) return '';
  const wanted = value.replace(/[\s([].*$/s, '');
  // The name may be that of a type in a schema that is not in the search path.
  const elsewhere = names.filter((name) => name.endsWith(`.${wanted}`));
  if (elsewhere.length === 0) {
    const remedy = remedyOfExtension(wanted.toLowerCase());
    if (remedy !== '') return remedy;
  }
  return didYouMean(elsewhere[0] ?? wanted, elsewhere.length > 0 ? elsewhere : names);
}

/** Lists the names of types, as callers write them, to suggest one for a misspelled name: one row, `found`, a list of `{name, schema}`. */
const listTypeNames = readInCallersPath(`(
SELECT coalesce(json_agg(json_build_object('name', name, 'schema', schema)), '[]') FROM (
  SELECT ${shownType('t.oid', 'NULL')} AS name, n.nspname AS schema, t.oid
  FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE t.typisdefined AND t.typtype <> 'p' AND t.typcategory <> 'A' AND (t.typrelid = 0 OR c.relkind = 'c')
    AND has_schema_privilege(n.oid, 'USAGE')
  UNION ALL
  SELECT t.typname, 'pg_catalog', t.oid FROM pg_type t
  WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typcategory <> 'A' AND t.typrelid = 0
  ORDER BY oid DESC LIMIT 5000) AS x)`);
