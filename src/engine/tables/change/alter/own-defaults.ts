/**
 * Keeps the defaults that a change of a column would change without a word: those that tables below have on their own, because PostgreSQL gives
 * them the default of the table, and constants that are another value in a new type.
 */
import type { ClientBase } from 'pg';
import { shorten } from '../../../../core/identifiers.ts';
import type { ColumnType } from '../../../../encoding/columns/load-column.ts';
import { runAndUndo } from '../../../../postgres/savepoints.ts';
import { quoteLiteral, quoteQualified } from '../../../../postgres/sql.ts';
import { isRefusalOfInput } from '../../../../postgres/sqlstate.ts';
import {
  type Conversion,
  convertedBy,
  type NoConversion,
  nameInSql,
  outputOf,
  type ValueSql,
} from '../../conversion/conversion.ts';
import type { ColumnDescription, TableDescription } from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';
import { makeInputCheck } from '../../loading/input-check.ts';
import { type Reading, readOnce } from './alter-facts.ts';
import type { MatchedColumns } from './match-columns.ts';
import type { SentDefinition } from './sent-definition.ts';

/** The default of a partition or an inheriting table, which is not the one of the table. */
export interface OwnDefault {
  /** The table below, quoted. */
  relation: string;
  /** The default after the change, for the service's own search path; null: none. */
  sql: string | null;
}

type Conversions = ReadonlyMap<string, Conversion | NoConversion>;

interface FoundDefault {
  column: string;
  schema: string;
  table: string;
  isBelow: boolean;
  sql: string | null;
}

/**
 * Returns the defaults of tables below that differ from the default of the table, by the new name of the column. Columns whose default stays are left
 * out. Adds a problem for each constant that would be another value in the new type.
 */
export async function readOwnDefaults(
  client: ClientBase,
  oid: number,
  { sent, matched: { oldNames } }: { sent: SentDefinition; matched: MatchedColumns },
  { described, conversions }: { described: TableDescription; conversions: Conversions },
  { readings, problems }: { readings: Reading[]; problems: DefinitionProblems },
): Promise<Map<string, OwnDefault[]>> {
  const types = new Map(described.columns.map(({ name, type }) => [name, type]));
  const touched = sent.columns.filter(
    ({ name, existing, keepsDefault, keepsGenerated }) =>
      existing !== undefined && !(keepsDefault && keepsGenerated && types.get(name) === existing.type),
  );
  const own = new Map<string, OwnDefault[]>();
  if (touched.length === 0) return own;
  const byOldName = new Map(touched.map((column) => [oldNames.get(column.name)!, column]));
  const query = { text: defaultsOfTree, values: [oid, [...byOldName.keys()]] };
  const found = await readOnce<FoundDefault>(client, query, readings);
  for (const { column, schema, table, isBelow, sql } of found) {
    const { name, pointer, keepsDefault } = byOldName.get(column)!;
    const conversion = conversions.get(name);
    const isConverted = conversion !== undefined && !('refused' in conversion);
    const isKept = isBelow || keepsDefault;
    let after = sql;
    const literal = literalOf(sql);
    if (isConverted && isKept && literal !== undefined) {
      const { state, becomes } = await convertConstant(client, literal, conversion);
      const whose = isBelow ? ` of the table "${shorten(schema)}"."${shorten(table)}"` : '';
      const would =
        state === IMPOSSIBLE
          ? `cannot become a value of ${conversion.change.to.type.name}`
          : `would become ${shorten(becomes!)}`;
      const remedy = isBelow ? 'change it in PostgreSQL first' : 'send the default that new rows get';
      const detail = `the default ${shorten(sql!)}${whose} ${would}: ${remedy}`;
      if (state !== SAME) problems.add({ pointer: `${pointer}/default`, code: 'invalid-default', detail });
      else after = quoteLiteral(becomes!);
    }
    if (isBelow)
      own.set(name, [...(own.get(name) ?? []), { relation: quoteQualified(schema, table), sql: after }]);
  }
  return own;
}

/**
 * Returns the constants that columns keep as their defaults, as values of their new types, by the names of the columns: a new row gets what
 * the conversion makes of the old default in a stored row. Constants that are written as they were are left out.
 */
export async function convertedDefaults(
  client: ClientBase,
  columns: ReadonlyMap<string, Pick<ColumnDescription, 'default'>>,
  conversions: Conversions,
): Promise<Map<string, string>> {
  const converted = new Map<string, string>();
  for (const [name, { default: text }] of columns) {
    const conversion = conversions.get(name);
    const literal = literalOf(text);
    if (literal === undefined || conversion === undefined || 'refused' in conversion) continue;
    const { state, becomes } = await convertConstant(client, literal, conversion);
    if (state === SAME && becomes !== text) converted.set(name, quoteLiteral(becomes!));
  }
  return converted;
}

const expression = (of: string) =>
  `CASE WHEN pg_get_expr(${of}.adbin, ${of}.adrelid) NOT LIKE 'NULL::%' THEN pg_get_expr(${of}.adbin, ${of}.adrelid) END`;

/** The defaults of the table, and those below that differ. A default of NULL is none. */
const defaultsOfTree = `
WITH RECURSIVE tree AS (
  SELECT $1::oid AS oid UNION SELECT i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid)
SELECT a.attname AS column, n.nspname AS schema, c.relname AS table, c.oid <> $1 AS "isBelow", ${expression('d')} AS sql
FROM tree JOIN pg_class c ON c.oid = tree.oid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ANY ($2::text[]) LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
JOIN pg_attribute r ON r.attrelid = $1 AND r.attname = a.attname LEFT JOIN pg_attrdef o ON o.adrelid = $1 AND o.adnum = r.attnum
WHERE c.oid = $1 OR ${expression('d')} IS DISTINCT FROM ${expression('o')} ORDER BY c.oid <> $1, c.oid, a.attnum`;

/** A constant as `pg_get_expr` writes it. Other expressions are not run, because they may have effects. */
const constant =
  /^(?:(-?[\d.]+|true|false)|\((-?[\d.]+)\)::[^()]+|('(?:[^']|'')*')(?:::[^():']+(?:\([\d,]+\))?[^():']*)?)$/;

/** Returns the constant without its type, so that no cast of another role runs when the type of the column reads it. undefined: it is none. */
function literalOf(sql: string | null): string | undefined {
  const found = constant.exec(sql ?? '');
  return found === null ? undefined : (found[3] ?? `'${found[1] ?? found[2]}'`);
}

const SAME = 0;
const IMPOSSIBLE = 2;

interface ConvertedConstant {
  /** `SAME`, `IMPOSSIBLE`, or 1: it would be another value. */
  state: number;
  becomes: string | null;
}

async function convertConstant(
  client: ClientBase,
  literal: string,
  { change, path }: Conversion,
): Promise<ConvertedConstant> {
  const converted = convertedBy('c.v', path);
  try {
    return await runAndUndo(client, 'constant', async () => {
      const inputCheck = await makeInputCheck(client);
      const isInput = (text: string, type: string) => `${inputCheck}(${text}, ${quoteLiteral(type)})`;
      const holds = (condition = (_: ValueSql) => 'true') =>
        `(${condition({ value: 'c.v', converted, isInput })}) IS TRUE`;
      const { rows } = await client.query<ConvertedConstant>(`
SELECT state, CASE WHEN state < ${IMPOSSIBLE} THEN ${outputOf(converted)} END AS becomes
FROM (SELECT v, CASE WHEN NOT ${holds(path.isPossible)} THEN ${IMPOSSIBLE} WHEN ${holds(path.isExact)} THEN ${SAME} ELSE 1 END AS state
  FROM (SELECT CAST(${asInteger(change.from.type, literal)} AS ${nameInSql(change.from.type)}) AS v OFFSET 0) c OFFSET 0) c`);
      return rows[0]!;
    });
  } catch (error) {
    if (!isRefusalOfInput(error)) throw error;
    return { state: IMPOSSIBLE, becomes: null };
  }
}

const integers = [20, 21, 23];

/** PostgreSQL rounds a decimal that is the default of an integer column, but does not read it as an integer. */
function asInteger({ oid }: ColumnType, literal: string): string {
  return integers.includes(oid) ? `CAST(${literal} AS pg_catalog.numeric)` : literal;
}
