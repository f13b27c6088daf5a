/** Reads what a load needs to know about a table's columns. */
import type { ClientBase } from 'pg';
import { longestNumber } from '../../../core/cells/number-lengths.ts';
import { AppError } from '../../../core/errors.ts';
import { mapInTurns } from '../../../core/pause-for-others.ts';
import { costOfUse } from '../../../encoding/columns/key-cost.ts';
import { type ColumnType, firstOwnOid, type LoadColumn } from '../../../encoding/columns/load-column.ts';
import { ZoneNames } from '../../../encoding/columns/zone-names.ts';
import { toQuery } from '../../../postgres/own-session.ts';
import { runAndUndo } from '../../../postgres/savepoints.ts';
import { isStatementError } from '../../../postgres/sqlstate.ts';
import { noteKeptBytes, noteTable } from '../../../postgres/transaction.ts';
import { findDistributionColumn } from '../distribution/describe-distribution.ts';
import { countParts, typeKey, typeWidths } from '../type-width.ts';
import { constantDefault } from './default-values.ts';
import { type LoadFacts, loadColumns, readDefaults, showTypes, type TypeFacts } from './load-facts.ts';
import { type ColumnUse, readUse, type TableUse, type UseFacts } from './use-facts.ts';

/** Returns the columns in the order of the table; none if there is no such table. Takes one round trip, two if the table has expressions, and works in turns. @throws AppError `write-conflict` */
export async function readLoadColumns(
  client: ClientBase,
  schema: string,
  name: string,
): Promise<LoadColumn[]> {
  const { rows } = await client.query<LoadFacts>(toQuery(client, loadColumns(schema, name)));
  const facts = rows[0]?.types ?? [];
  await nameAsCallersDo(client, facts);
  const types = new Map(facts.map((type) => [typeKey(type.oid, type.typmod), type]));
  const widthOf = typeWidths(facts);
  const distributionColumn = rows[0]?.isCitus ? await findDistributionColumn(client, rows[0].oid) : undefined;
  const use = rows[0]?.hasUse ? await readTableUse(client, rows[0].oid) : undefined;
  const uses = new Map(use?.columns.map((column) => [column.id, column]));
  const columns = await mapInTurns(rows[0]?.columns ?? [], (column) =>
    toLoadColumn({ ...column, ...uses.get(column.id) }, types, widthOf, distributionColumn),
  );
  if (use && columns[0]) {
    const { indexBytes, ownWork, madeDigits, indexDigits } = use;
    if (indexBytes > 0) columns[0].indexBytes = indexBytes;
    if (ownWork > 0) columns[0].ownWork = ownWork;
    if (madeDigits > 0) Object.assign(columns[0], { madeDigits, indexDigits });
  }
  noteKeptBytes(client, bytesOfZones(rows[0]?.columns ?? []));
  noteTable(client, { columns: columns.length });
  const evaluated = columns.filter(
    (column, index) => rows[0]!.columns![index]!.isEvaluated && isComputed(column),
  );
  if (evaluated.length > 0) await measureDefaults(client, rows[0]!.oid, evaluated);
  return columns;
}

async function readTableUse(client: ClientBase, oid: number): Promise<TableUse> {
  const { rows } = await client.query<TableUse>(toQuery(client, readUse(oid)));
  return rows[0]!;
}

/** Returns the bytes that PostgreSQL keeps for the names of time zones in the defaults that it evaluates for the rows. */
function bytesOfZones(columns: NonNullable<LoadFacts['columns']>): number {
  const zones = new ZoneNames();
  for (const { hasDefault, isGenerated, defaultExpression, treeBytes = 0 } of columns) {
    if (!hasDefault || isGenerated) continue;
    if (defaultExpression === undefined) zones.addTree(treeBytes);
    else zones.addExpression(defaultExpression);
  }
  return zones.keptBytes;
}

/** PostgreSQL needs 66 MB for a text of this length in an index of the method `spgist`, and 690 MB for one of 1 MiB. */
const maxBytesInTextTree = 256 * 1024;

function toLoadColumn(
  facts: NonNullable<LoadFacts['columns']>[number] & Partial<ColumnUse>,
  types: Map<string, TypeFacts>,
  widthOf: WidthOf,
  distributionColumn: string | undefined,
): LoadColumn {
  const {
    typeOid,
    typmod,
    hasDefault,
    defaultExpression,
    treeBytes = 0,
    ownBytes,
    isEvaluated: _,
    use,
    partCopies = 0,
    ...column
  } = facts;
  if (column.name === distributionColumn)
    Object.assign(column, { isNullable: false, isDistributionColumn: true });
  const type = toColumnType(types, widthOf, typeOid, typmod);
  if (partCopies > 0) column.storedCopies = (column.storedCopies ?? 0) + partCopies;
  if (use) addUse(type, use, widthOf(typeOid, typmod).repeats, column.storedCopies ?? 0);
  if (!hasDefault) {
    const defaultBytes = ownBytes === undefined ? undefined : Math.max(ownBytes, type.paddedBytes ?? 0);
    return { ...column, type, default: 'none', ...(defaultBytes && { defaultBytes }) };
  }
  const stored = type.base ?? type;
  const { bareName, send } = factsOf(types, stored.oid, stored.typmod);
  const digits = type.digitCopies === undefined ? 0 : digitsOfDefault(defaultExpression, treeBytes);
  if (digits > 0) column.ownDigits = digits * type.digitCopies!;
  const defaultBytes = bytesOfDefault(type, defaultExpression, treeBytes) + digits * (type.storedDigits ?? 0);
  const constant = constantDefault(defaultExpression ?? '', stored, bareName, send);
  return constant === undefined
    ? { ...column, type, default: 'computed', defaultBytes }
    : { ...column, type, default: 'constant', constant, defaultBytes };
}

/** Adds to the type of a column what the expressions and indexes of the table do with its values. @param repeats a value may have elements */
function addUse(
  type: ColumnType,
  { isInTextTree, digitCopies, isReadAsNumbers, elementWork = 0, ...use }: UseFacts,
  repeats: boolean,
  storedCopies: number,
): void {
  if (isInTextTree)
    type.cost = { ...type.cost!, mostBytes: Math.min(type.cost!.mostBytes, maxBytesInTextTree) };
  const isText = type.category === 'S' || (type.base ?? type).oid === JSON_TEXT;
  if (isReadAsNumbers && (isText || type.cost?.isJson)) type.hasTextNumbers = true;
  if (digitCopies > 0 && (type.cost?.hasNumbers || type.hasTextNumbers)) {
    type.digitCopies = digitCopies;
    type.storedDigits = storedCopies;
  }
  // An element has at least two bytes of the text, with its comma.
  type.keyCost = costOfUse(type, { ...use, work: repeats ? elementWork / 2 : 0 });
}

/** The type `json` (pg_type.dat). */
const JSON_TEXT = 114;

/** Estimates the digits of the numbers in a default. The catalogue has two bytes for four digits, and writes each with four characters or less. */
function digitsOfDefault(expression: string | undefined, treeBytes: number): number {
  if (expression !== undefined) return expression.length < SHORT_EXPRESSION ? 0 : expression.length;
  return treeBytes > LONG_TREE ? Math.min(treeBytes, longestNumber) : longestNumber;
}

const SHORT_EXPRESSION = 64;
const LONG_TREE = 2048;

/** The least number of bytes in which the catalogue stores an element of an array. */
const leastTreeOfElement = 16;

/** Estimates the bytes of a default: the length of its expression, or the length to which PostgreSQL pads its value. */
function bytesOfDefault(
  { paddedBytes = 0, repeatsPadding }: ColumnType,
  expression: string | undefined,
  treeBytes: number,
): number {
  const most = expression === undefined ? Math.ceil(treeBytes / leastTreeOfElement) : countParts(expression);
  const bytes = expression === undefined ? treeBytes : Buffer.byteLength(expression);
  return Math.max(bytes, paddedBytes * (repeatsPadding ? most : 1));
}

function isComputed(column: LoadColumn): boolean {
  return column.default === 'computed' && !column.isGenerated;
}

/**
 * Replaces the estimated lengths of defaults by the lengths of their values, because a value may be longer than its expression: `to_char(now(), 'JJJ')`. It
 * evaluates the defaults once. A default that takes numbers from a sequence, or that calls functions of users, is not evaluated and keeps its estimate.
 */
async function measureDefaults(client: ClientBase, table: number, columns: LoadColumn[]): Promise<void> {
  const ids = columns.map(({ id }) => id);
  const { rows } = await client.query<{ id: number; expression: string }>(readDefaults(table, ids));
  const safe = rows.filter(({ expression }) => !/\b(nextval|setval)\(/.test(expression));
  if (safe.length === 0) return;
  const lengths = safe.map(({ expression }) => `pg_column_size(${expression})::float8`);
  const query = { text: `SELECT ${lengths.join(', ')}`, rowMode: 'array' as const };
  try {
    const { rows: values } = await runAndUndo(client, 'defaults', () =>
      client.query<(number | null)[]>(query),
    );
    for (const [index, { id }] of safe.entries()) {
      const column = columns.find((one) => one.id === id)!;
      column.defaultBytes = Math.max(column.defaultBytes ?? 0, values[0]![index] ?? 0);
    }
  } catch (error) {
    // The error is ignored, because some tables have a default that always fails, to force each row to have a value.
    if (!isStatementError(error)) throw error;
  }
}

/** Gives types that were created in this database the names that they have in the caller's search path, for messages. Takes one more round trip if there are any. */
async function nameAsCallersDo(client: ClientBase, types: TypeFacts[]): Promise<void> {
  const made = types.filter(({ oid }) => oid >= firstOwnOid);
  if (made.length === 0) return;
  const pairs = made.map(({ oid, typmod }): [number, number] => [oid, typmod]);
  const { rows } = await client.query<{ found: string[] }>(showTypes(pairs));
  for (const [index, type] of made.entries()) type.name = rows[0]!.found[index]!;
}

/**
 * Returns the facts about a type.
 *
 * @throws AppError `write-conflict` if there is no such type. PostgreSQL lets another session drop a type while a table with a column of the
 * type is created
 */
function factsOf(types: Map<string, TypeFacts>, oid: number, typmod: number): TypeFacts {
  const facts = types.get(typeKey(oid, typmod));
  if (facts !== undefined) return facts;
  const detail =
    'Another session dropped the type of a column of the table at the same moment. Send the request again.';
  throw new AppError('write-conflict', detail);
}

type WidthOf = ReturnType<typeof typeWidths>;

function toColumnType(
  types: Map<string, TypeFacts>,
  widthOf: WidthOf,
  oid: number,
  typmod: number,
): ColumnType {
  const facts = factsOf(types, oid, typmod);
  const { name, sqlName, kind, category, delimiter, equality, labels, input } = facts;
  const type: ColumnType = { oid, name, typmod, kind, category, delimiter };
  if (kind === 'domain') {
    const under = toColumnType(types, widthOf, facts.base, facts.baseTypmod);
    type.base = under.base ?? under;
    type.domainNotNull = facts.notNull || under.domainNotNull === true;
  }
  if (kind === 'array') type.element = toColumnType(types, widthOf, facts.element, typmod);
  const { paddedBytes, repeats, cost } = widthOf(oid, typmod);
  type.cost = cost;
  if (paddedBytes > 0) type.paddedBytes = paddedBytes;
  if (paddedBytes > 0 && repeats) type.repeatsPadding = true;
  if (sqlName !== name) type.sqlName = sqlName;
  if (equality !== null) type.equality = equality;
  if (labels !== null) type.labels = labels;
  if (facts.hasInfinity) type.hasInfinity = true;
  if (input !== null) type.input = input;
  return type;
}
