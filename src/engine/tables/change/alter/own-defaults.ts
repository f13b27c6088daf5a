/**
 * Keeps the defaults that a change of a column would change without a word: those that tables below have on their own, because PostgreSQL gives
 * them the default of the table, and constants that are another value in a new type.
 */
import type { ClientBase } from 'pg';
import type { Problem } from '../../../../core/errors.ts';
import { shorten } from '../../../../core/identifiers.ts';
import { limitExceeded } from '../../../../core/limit-exceeded.ts';
import { type ColumnType, firstOwnOid } from '../../../../encoding/columns/load-column.ts';
import { maxTreeBytes, mostDigits, treeBytes } from '../../../../postgres/expression-trees.ts';
import { runAndUndo } from '../../../../postgres/savepoints.ts';
import { quoteLiteral, quoteQualified } from '../../../../postgres/sql.ts';
import { isRefusalOfInput } from '../../../../postgres/sqlstate.ts';
import { maxTextBytes, maxTreesBytes } from '../../catalog/expressions.ts';
import {
  type Conversion,
  convertedBy,
  type NoConversion,
  nameInSql,
  outputOf,
  type ValueSql,
} from '../../conversion/conversion.ts';
import type { TableDescription } from '../../definition.ts';
import { checkTexts } from '../../describe-table.ts';
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
  /** The column is an identity there, apart from that of the table. PostgreSQL then refuses to change the default of the table. */
  isIdentity: boolean;
  /** PostgreSQL makes the column an identity together with that of the table, and refuses one with a default. */
  becomesIdentity: boolean;
}

/** The defaults of the columns whose types or defaults change. */
export interface FoundDefaults {
  /** By the new name of the column. Columns whose default stays are left out. */
  below: Map<string, OwnDefault[]>;
  /** The values that constants of the table have in the new types, as texts: a new row gets what the conversion makes of the default in a stored row. */
  constants: Map<string, string>;
  /** One for each constant that would be another value in the new type. */
  problems: Problem[];
}

type Conversions = ReadonlyMap<string, Conversion | NoConversion>;

interface FoundDefault extends Pick<OwnDefault, 'sql' | 'isIdentity' | 'becomesIdentity'> {
  column: string;
  schema: string;
  table: string;
  oid: number;
  isBelow: boolean;
  /** false: the defaults up to and including this one are too long together. */
  isShort: boolean;
  /** The default may have so many digits that PostgreSQL has not written it yet. */
  isDoubtful: boolean;
}

/**
 * Returns the defaults of the table that stay as constants of a new type, and those of tables below that differ from the default of the table.
 *
 * @throws AppError `limit-exceeded` if they are too long together
 */
export async function readOwnDefaults(
  client: ClientBase,
  oid: number,
  { sent, matched: { oldNames } }: { sent: SentDefinition; matched: MatchedColumns },
  { described, conversions }: { described: TableDescription; conversions: Conversions },
  readings: Reading[],
): Promise<FoundDefaults> {
  const types = new Map(described.columns.map(({ name, type }) => [name, type]));
  const touched = sent.columns.filter(
    ({ name, existing, keepsDefault, keepsGenerated }) =>
      existing !== undefined && !(keepsDefault && keepsGenerated && types.get(name) === existing.type),
  );
  const result: FoundDefaults = { below: new Map(), constants: new Map(), problems: [] };
  if (touched.length === 0) return result;
  const byOldName = new Map(touched.map((column) => [oldNames.get(column.name)!, column]));
  const found = await readDefaultsOfTree(client, oid, [...byOldName.keys()], readings);
  const ofTable = new Map(found.filter(({ isBelow }) => !isBelow).map(({ column, sql }) => [column, sql]));
  for (const one of found) {
    const { name, pointer, keepsDefault } = byOldName.get(one.column)!;
    if (one.isBelow && !one.isIdentity && one.sql === ofTable.get(one.column)) continue;
    const conversion = conversions.get(name);
    const isConverted = conversion !== undefined && !('refused' in conversion);
    const isKept = one.isBelow || keepsDefault;
    const converted = isConverted && isKept ? await convertConstant(client, one.sql, conversion) : undefined;
    if (converted !== undefined && converted.state !== SAME)
      result.problems.push(problemOf(one, converted, pointer));
    else if (converted !== undefined && !one.isBelow) result.constants.set(name, converted.becomes!);
    if (!one.isBelow) continue;
    const sql = converted?.becomes == null ? one.sql : quoteLiteral(converted.becomes);
    const { isIdentity, becomesIdentity } = one;
    const own = { relation: quoteQualified(one.schema, one.table), sql, isIdentity, becomesIdentity };
    result.below.set(name, [...(result.below.get(name) ?? []), own]);
  }
  return result;
}

/**
 * Reads the defaults of columns, and those of tables below that differ from them.
 *
 * @param columns their names
 * @throws AppError `limit-exceeded` if they are too long together
 */
export async function readDefaultsOfTree(
  client: ClientBase,
  oid: number,
  columns: string[],
  readings: Reading[],
): Promise<FoundDefault[]> {
  const query = { text: defaultsOfTree, values: [oid, columns] };
  return readDoubtful(client, await readOnce<FoundDefault>(client, query, readings), readings);
}

/**
 * Completes the defaults with those that may have very many digits, after their digits were counted.
 *
 * @throws AppError `limit-exceeded`
 */
async function readDoubtful(
  client: ClientBase,
  found: FoundDefault[],
  readings: Reading[],
): Promise<FoundDefault[]> {
  const long = found.find(({ isShort }) => !isShort);
  if (long !== undefined) throw tooLong(long);
  const complete: FoundDefault[] = [];
  let length = 0;
  for (const one of found) {
    if (one.isDoubtful && one.isBelow) await checkTexts(client, one.oid);
    const query = { text: oneDefault, values: [one.oid, one.column] };
    const [row] = one.isDoubtful ? await readOnce<{ sql: string }>(client, query, readings) : [one];
    complete.push({ ...one, sql: row?.sql ?? null });
    if (one.isDoubtful) length += row?.sql?.length ?? 0;
    if (length > maxTextBytes) throw tooLong(one);
  }
  return complete;
}

function tooLong({ column, schema, table }: FoundDefault): Error {
  const what = `The defaults of the table and of the tables below it, up to that of the column "${shorten(column)}" of "${shorten(schema)}"."${shorten(table)}", are too long to be read`;
  return limitExceeded(what, maxTextBytes, 'bytes');
}

function problemOf(
  { isBelow, schema, table, sql }: FoundDefault,
  { state, becomes, type }: ConvertedConstant,
  pointer: string,
): Problem {
  const whose = isBelow ? ` of the table "${shorten(schema)}"."${shorten(table)}"` : '';
  const would = {
    [IMPOSSIBLE]: `cannot become a value of ${type}`,
    [UNSETTLED]: 'is another value in each time zone or form of dates',
  }[state];
  const remedy = isBelow ? 'change it in PostgreSQL first' : 'send the default that new rows get';
  const detail = `the default ${shorten(sql!)}${whose} ${would ?? `would become ${shorten(becomes!)}`}: ${remedy}`;
  return { pointer: `${pointer}/default`, code: 'invalid-default', detail };
}

/** An explicit NULL hides the default of a domain. PostgreSQL writes it with its type, which may not fit a new type of the column. */
const textOf = (tree: string, table: string) =>
  `regexp_replace(pg_get_expr(${tree}, ${table}), '^NULL::.*', 'NULL')`;

const oneDefault = `SELECT ${textOf('d.adbin', 'd.adrelid')} AS sql FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1 AND a.attname = $2`;

/** Partitions have the identity of their table. */
const hasOwnIdentity = `(a.attidentity <> '' AND NOT (c.relispartition AND r.attidentity <> ''))`;

/**
 * The defaults of the table, and those below that differ. Equal trees mean the same default, so they are not written as texts, and do not count. The
 * texts are written only after the lengths of all trees, and of the numbers in them, were added up.
 */
const defaultsOfTree = `
WITH RECURSIVE tree AS (
  SELECT $1::oid AS oid UNION SELECT i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid),
found AS (
  SELECT a.attname, a.attrelid, a.attnum, ${hasOwnIdentity} AS identity, d.adbin, ${treeBytes('d.adbin')} AS bytes,
    coalesce(max(${treeBytes('d.adbin')}) OVER f <= ${maxTreeBytes} AND sum(${treeBytes('d.adbin')}) OVER f <= ${maxTreesBytes}, true) AS short
  FROM tree JOIN pg_class c ON c.oid = tree.oid JOIN pg_attribute a ON a.attrelid = tree.oid AND a.attname = ANY ($2::text[]) LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  JOIN pg_attribute r ON r.attrelid = $1 AND r.attname = a.attname LEFT JOIN pg_attrdef o ON o.adrelid = $1 AND o.adnum = r.attnum
  WHERE a.attrelid = $1 OR d.adbin::text IS DISTINCT FROM o.adbin::text OR ${hasOwnIdentity}
  WINDOW f AS (ORDER BY a.attrelid <> $1, a.attrelid, a.attnum)),
counted AS (SELECT f.*, CASE WHEN bool_and(short) OVER () THEN ${mostDigits('adbin')} END AS digits FROM found f),
measured AS (
  SELECT f.*, coalesce(digits > ${maxTextBytes}, false) AS doubtful, sum(CASE WHEN digits BETWEEN 1 AND ${maxTextBytes} THEN octet_length(pg_get_expr(adbin, attrelid)) END)
    OVER (ORDER BY attrelid <> $1, attrelid, attnum) AS written FROM counted f)
SELECT m.attname AS column, n.nspname AS schema, c.relname AS table, c.oid::bigint::float8 AS oid, c.oid <> $1 AS "isBelow", s.short AS "isShort",
  m.doubtful AS "isDoubtful", m.identity AS "isIdentity", c.relispartition AND current_setting('server_version_num')::int >= 170000 AS "becomesIdentity",
  CASE WHEN s.short AND NOT m.doubtful THEN ${textOf('m.adbin', 'm.attrelid')} END AS sql
FROM measured m CROSS JOIN LATERAL (SELECT m.short AND coalesce(m.written <= ${maxTextBytes}, true) AS short) s JOIN pg_class c ON c.oid = m.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY c.oid <> $1, c.oid, m.attnum`;

/** The parts of a constant as `pg_get_expr` writes it. */
interface Constant {
  /** The constant without its type. */
  value: string;
  /** The type, as it must be written in the service's own search path; '': none. */
  type: string;
}

const number = /^(?:-?[\d.]+|true|false|\(-?[\d.]+\))/;
const typeOfConstant = /^(?:::[^():']+(?:\([\d,-]+\)[^():']*)?)?$/;

/** Returns the parts of a constant. undefined: it is another expression, which is not run, because it may have effects. */
function readConstant(sql: string): Constant | undefined {
  const end = sql.startsWith("'") ? endOfLiteral(sql) : (number.exec(sql)?.[0].length ?? 0);
  const type = sql.slice(end);
  return end > 0 && typeOfConstant.test(type) ? { value: sql.slice(0, end), type: type.slice(2) } : undefined;
}

/** Returns the place after the closing quote. A regular expression would need a frame for each quote of a long literal. */
function endOfLiteral(sql: string): number {
  for (let at = 1; ; at += 2) {
    at = sql.indexOf("'", at);
    if (at === -1 || sql[at + 1] !== "'") return at + 1;
  }
}

/**
 * Returns the value that the constant gives to a row, as SQL. Only input functions and casts of PostgreSQL itself run: a cast that may belong to another
 * role is not a constant. An unqualified type is PostgreSQL's own (search-path.ts).
 */
export function rowValueOf(sql: string, type: ColumnType): string | undefined {
  const constant = readConstant(sql);
  if (constant === undefined) return undefined;
  const stored = type.base ?? type;
  const isOwn = stored.oid >= firstOwnOid;
  const isOfColumn = constant.type === nameInSql(type) || constant.type === nameInSql(stored);
  if (!isOwn && !constant.type.includes('.')) return `CAST(${sql} AS ${nameInSql(stored)})`;
  if (!isOfColumn) return undefined;
  const { value } = constant;
  const literal = value.startsWith("'") ? value : `'${value.replace(/[()]/g, '')}'`;
  return `CAST(${isOwn ? literal : value} AS ${nameInSql(stored)})`;
}

const SAME = 0;
const IMPOSSIBLE = 2;
const UNSETTLED = 3;

interface ConvertedConstant {
  /** `SAME`, `IMPOSSIBLE`, `UNSETTLED`, or 1: it would be another value. */
  state: number;
  becomes: string | null;
  /** The new type, for messages. */
  type: string;
}

/** Returns what becomes of the value that the default gives to a row. undefined: the default is no constant. */
async function convertConstant(
  client: ClientBase,
  sql: string | null,
  { change, path }: Conversion,
): Promise<ConvertedConstant | undefined> {
  const { from, to } = change;
  const value = sql === null ? undefined : rowValueOf(sql, from.type);
  if (value === undefined) return undefined;
  const converted = convertedBy('c.v', path);
  const type = to.type.name;
  if (dependsOnSession(sql!, from.type)) return { state: UNSETTLED, becomes: null, type };
  try {
    return await runAndUndo(client, 'constant', async () => {
      const inputCheck = await makeInputCheck(client);
      const isInput = (text: string, type: string) => `${inputCheck}(${text}, ${quoteLiteral(type)})`;
      const holds = (condition = (_: ValueSql) => 'true') =>
        `(${condition({ value: 'c.v', converted, isInput })}) IS TRUE`;
      const stored = from.type.base ?? from.type;
      // A cast would cut off what PostgreSQL refuses in a row.
      const fits = isCut(stored) ? isInput(`CAST(${sql} AS pg_catalog.text)`, nameInSql(stored)) : 'true';
      const { rows } = await client.query<Omit<ConvertedConstant, 'type'>>(`
SELECT state, CASE WHEN state < ${IMPOSSIBLE} THEN ${outputOf(converted)} END AS becomes
FROM (SELECT v, CASE WHEN NOT ${holds(path.isPossible)} THEN ${IMPOSSIBLE} WHEN ${fits} AND ${holds(path.isExact)} THEN ${SAME} ELSE 1 END AS state
  FROM (SELECT ${value} AS v OFFSET 0) c OFFSET 0) c`);
      return { ...rows[0]!, type };
    });
  } catch (error) {
    if (!isRefusalOfInput(error)) throw error;
    return { state: IMPOSSIBLE, becomes: null, type };
  }
}

const moments = [1082, 1083, 1114, 1184, 1186, 1266];
/** `timestamptz` and `timetz`. */
const momentsWithZone = [1184, 1266];

/** Returns whether the settings of a session decide which value of the column the constant is, because it is a moment of another type. */
function dependsOnSession(sql: string, { base, ...own }: ColumnType): boolean {
  const { oid } = base ?? own;
  const { type } = readConstant(sql)!;
  if (!/^(?:date|time)/.test(type)) return false;
  return !moments.includes(oid) || / with time zone/.test(type) !== momentsWithZone.includes(oid);
}

/** `bpchar`, `varchar`, `bit` and `varbit`, which have a length. */
const typesWithLength = [1042, 1043, 1560, 1562];

function isCut({ element, ...type }: ColumnType): boolean {
  const { oid, typmod } = element ?? type;
  return typmod >= 0 && typesWithLength.includes(oid);
}
