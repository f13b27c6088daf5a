/** Reads what a load needs to know about a table's columns. */
import type { ClientBase } from 'pg';
import { AppError } from '../errors.ts';
import { mapInTurns } from '../pause-for-others.ts';
import { toQuery } from '../postgres/own-session.ts';
import type { LoadFacts, TypeFacts } from './catalog.ts';
import { loadColumns, showTypes } from './catalog.ts';
import { constantDefault } from './default-values.ts';
import { findDistributionColumn } from './distribution/describe-distribution.ts';
import type { ColumnType, LoadColumn } from './load-column.ts';
import { paddedTypeBytes } from './padded-width.ts';

/** Returns the columns in the order of the table; none if there is no such table. Takes one round trip, and works in turns. @throws AppError `write-conflict` */
export async function readLoadColumns(
  client: ClientBase,
  schema: string,
  name: string,
): Promise<LoadColumn[]> {
  const { rows } = await client.query<LoadFacts>(toQuery(client, loadColumns(schema, name)));
  const facts = rows[0]?.types ?? [];
  await nameAsCallersDo(client, facts);
  const types = new Map(facts.map((type) => [typeKey(type.oid, type.typmod), type]));
  const distributionColumn = rows[0]?.isCitus ? await findDistributionColumn(client, rows[0].oid) : undefined;
  return mapInTurns(
    rows[0]?.columns ?? [],
    ({ typeOid, typmod, hasDefault, defaultExpression, ...column }) => {
      if (column.name === distributionColumn)
        Object.assign(column, { isNullable: false, isDistributionColumn: true });
      const type = toColumnType(types, typeOid, typmod);
      if (!hasDefault) return { ...column, type, default: 'none' };
      const stored = type.base ?? type;
      const { bareName, send } = factsOf(types, stored.oid, stored.typmod);
      const defaultBytes = column.isGenerated ? 0 : bytesOfDefault(type, defaultExpression ?? '');
      const constant = constantDefault(defaultExpression ?? '', stored, bareName, send);
      return constant === undefined
        ? { ...column, type, default: 'computed', defaultBytes }
        : { ...column, type, default: 'constant', constant, defaultBytes };
    },
  );
}

/** Estimates the bytes of a default: the length of its expression, or the length to which PostgreSQL pads its value. */
function bytesOfDefault({ paddedBytes = 0, repeatsPadding }: ColumnType, expression: string): number {
  const parts = repeatsPadding ? expression.split(',').length : 1;
  return Math.max(Buffer.byteLength(expression), paddedBytes * parts);
}

/** The first object identifier of objects that users created (FirstNormalObjectId). */
const firstOwnOid = 16_384;

/** Gives types that were created in this database the names that they have in the caller's search path, for messages. Takes one more round trip if there are any. */
async function nameAsCallersDo(client: ClientBase, types: TypeFacts[]): Promise<void> {
  const made = types.filter(({ oid }) => oid >= firstOwnOid);
  if (made.length === 0) return;
  const pairs = made.map(({ oid, typmod }): [number, number] => [oid, typmod]);
  const { rows } = await client.query<{ found: string[] }>(showTypes(pairs));
  for (const [index, type] of made.entries()) type.name = rows[0]!.found[index]!;
}

function typeKey(oid: number, typmod: number): string {
  return `${oid} ${typmod}`;
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

function notePadding(type: ColumnType, { fields }: TypeFacts, types: Map<string, TypeFacts>): void {
  const inner = type.base ?? type.element;
  const parts = inner === undefined ? [] : [inner];
  if (fields !== null) {
    for (const { oid, typmod } of fields) parts.push(toColumnType(types, oid, typmod));
  }
  const bytes = parts.reduce(
    (sum, part) => sum + (part.paddedBytes ?? 0),
    paddedTypeBytes(type.oid, type.typmod),
  );
  if (bytes === 0) return;
  type.paddedBytes = bytes;
  if (type.element !== undefined || parts.some((part) => part.repeatsPadding)) type.repeatsPadding = true;
}

function toColumnType(types: Map<string, TypeFacts>, oid: number, typmod: number): ColumnType {
  const facts = factsOf(types, oid, typmod);
  const {
    name,
    sqlName,
    equality,
    kind,
    base,
    baseTypmod,
    notNull,
    element,
    labels,
    category,
    delimiter,
    input,
  } = facts;
  const type: ColumnType = { oid, name, typmod, kind, category, delimiter };
  if (kind === 'domain') {
    const under = toColumnType(types, base, baseTypmod);
    type.base = under.base ?? under;
    type.domainNotNull = notNull || under.domainNotNull === true;
  }
  if (kind === 'array') type.element = toColumnType(types, element, typmod);
  notePadding(type, facts, types);
  if (sqlName !== name) type.sqlName = sqlName;
  if (equality !== null) type.equality = equality;
  if (labels !== null) type.labels = labels;
  if (facts.hasInfinity) type.hasInfinity = true;
  if (input !== null) type.input = input;
  return type;
}
