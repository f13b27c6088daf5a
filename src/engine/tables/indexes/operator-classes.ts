/** Finds the operator classes that a definition names, and checks its access methods. Another role could have made one, so only those of PostgreSQL and of extensions are used. */
import type { ClientBase } from 'pg';
import { maxIdentifierBytes, shorten } from '../../../core/identifiers.ts';
import { forEachInTurns } from '../../../core/pause-for-others.ts';
import { quoteQualified, type Statement } from '../../../postgres/sql.ts';
import type { DefinitionProblems } from '../definition-problems.ts';
import { parseRelationName } from '../sql-tokens.ts';
import type { IndexDefinition } from './index-definition.ts';

/** The maximum number of characters of a name with its schema, if every character is a quotation mark. A longer text names no operator class. */
const maxNameLength = 2 * (2 * maxIdentifierBytes + 2) + 1;

/** Sets `operatorClassSql` of each column that names an operator class. Takes a round trip if there are any. It works in turns. */
export async function findOperatorClasses(
  client: ClientBase,
  indexes: IndexDefinition[],
  problems: DefinitionProblems,
): Promise<void> {
  const named = indexes.flatMap(({ method, columns }) =>
    columns.filter(({ operatorClass }) => operatorClass !== undefined).map((column) => ({ method, column })),
  );
  if (named.length === 0) return;
  const requests = new Map<string, { method: string; schema?: string | undefined; name?: string }>();
  const keyOf = ({ method, column }: (typeof named)[number]) =>
    JSON.stringify([method, column.operatorClass]);
  await forEachInTurns(named, (one) => {
    const { operatorClass = '' } = one.column;
    const key = keyOf(one);
    if (operatorClass.length > maxNameLength || requests.has(key)) return;
    requests.set(key, { method: one.method, ...parseRelationName(operatorClass) });
  });
  const { rows } = await client.query<{ found: ({ schema: string; name: string } | null)[] | null }>(
    lookUpOperatorClasses([...requests.values()]),
  );
  const foundByKey = new Map([...requests.keys()].map((key, place) => [key, rows[0]!.found![place]]));
  await forEachInTurns(named, (one) => {
    const { method, column } = one;
    const found = foundByKey.get(keyOf(one));
    if (found) {
      column.operatorClassSql = quoteQualified(found.schema, found.name);
      return;
    }
    const value = shorten(column.operatorClass!);
    const detail = `there is no operator class "${value}" for the access method ${shorten(method)} in PostgreSQL or in an installed extension`;
    problems.add({
      pointer: `${column.pointer}/operator_class`,
      code: 'unknown-operator-class',
      detail,
      value,
    });
  });
}

/** Refuses the access methods of tables. PostgreSQL's own error does not say what is wrong. Takes a round trip if there is an unusual method. */
export async function refuseTableMethods(
  client: ClientBase,
  indexes: IndexDefinition[],
  problems: DefinitionProblems,
): Promise<void> {
  const unusual = indexes.filter(({ method }) => !usualMethods.has(method));
  if (unusual.length === 0) return;
  const { rows } = await client.query<{ amname: string }>(
    "SELECT amname FROM pg_am WHERE amtype <> 'i' AND amname = ANY ($1)",
    [unusual.map(({ method }) => method)],
  );
  const refused = new Set(rows.map(({ amname }) => amname));
  for (const { method, pointer } of unusual) {
    if (!refused.has(method)) continue;
    const detail = `${method} is an access method of tables, not of indexes`;
    problems.add({ pointer: `${pointer}/method`, code: 'invalid-index', detail, value: method });
  }
}

/**
 * Refuses `gist__int_ops` of the extension intarray, also where it is the default of PostgreSQL. Its inner keys are ranges, and PostgreSQL makes lists of all
 * of their numbers to divide a page: 40 rows of 180 numbers below a million take it 8 seconds. Takes a round trip if there is an index of the method gist.
 *
 * @param relation the quoted name of a table that has these indexes, made in this order, and no others
 */
export async function refuseExpandedRanges(
  client: ClientBase,
  relation: string,
  indexes: IndexDefinition[],
  problems: DefinitionProblems,
): Promise<void> {
  if (!indexes.some(isOfGist)) return;
  const { rows } = await client.query<{ index: number; column: number }>(
    `SELECT i.place::int - 1 AS index, k.place::int - 1 AS column FROM (
  SELECT indclass, row_number() OVER (ORDER BY indexrelid) AS place FROM pg_index WHERE indrelid = $1::regclass) AS i,
  unnest(i.indclass::oid[]) WITH ORDINALITY AS k (class, place)
WHERE ${expandsRanges('k.class')} ORDER BY 1, 2`,
    [relation],
  );
  for (const { index, column } of rows) {
    const { pointer, operatorClass, expression } = indexes[index]!.columns[column]!;
    const member = operatorClass ? 'operator_class' : expression ? 'expression' : 'column';
    const detail =
      'an index of the method gist with the operator class gist__int_ops takes PostgreSQL too long for large numbers. Use the operator class gist__intbig_ops, or the method gin';
    problems.add({ pointer: `${pointer}/${member}`, code: 'type-not-indexable', detail });
  }
}

export const isOfGist = ({ method }: IndexDefinition) => method === 'gist';

/** Returns SQL for whether an operator class is `gist__int_ops` (`refuseExpandedRanges`). @param oid SQL of `pg_opclass.oid` */
const expandsRanges = (oid: string) =>
  `EXISTS (SELECT FROM pg_opclass g WHERE g.oid = ${oid} AND g.opcmethod = 783 AND g.opcname = 'gist__int_ops')`;

/** Returns SQL for whether an index has this operator class. @param index a row of `pg_index` */
export const hasExpandedRanges = (index: string) =>
  `EXISTS (SELECT FROM unnest(${index}.indclass::oid[]) AS k (class) WHERE ${expandsRanges('k.class')})`;

const usualMethods = new Set(['btree', 'hash', 'gin', 'gist', 'spgist', 'brin']);

function lookUpOperatorClasses(
  requests: { method: string; schema?: string | undefined; name?: string }[],
): Statement {
  return {
    text: `
SELECT json_agg((
  SELECT json_build_object('schema', n.nspname, 'name', o.opcname)
  FROM pg_opclass o JOIN pg_namespace n ON n.oid = o.opcnamespace JOIN pg_am m ON m.oid = o.opcmethod
  WHERE o.opcname = r.item->>'name' AND m.amname = r.item->>'method'
    AND (r.item->>'schema' IS NULL OR n.nspname = r.item->>'schema') AND ${isTrusted('o')}
  ORDER BY n.nspname <> 'pg_catalog', n.nspname LIMIT 1) ORDER BY r.position) AS found
FROM json_array_elements($1::json) WITH ORDINALITY AS r(item, position)`,
    values: [JSON.stringify(requests)],
  };
}

/** Returns SQL for whether the operator class in the row of `pg_opclass` is PostgreSQL's own or that of an extension. */
export const isTrusted = (row: string) => `(${row}.opcnamespace = 'pg_catalog'::regnamespace OR EXISTS (
    SELECT FROM pg_depend e WHERE e.classid = 'pg_opclass'::regclass AND e.objid = ${row}.oid AND e.deptype = 'e'))`;
