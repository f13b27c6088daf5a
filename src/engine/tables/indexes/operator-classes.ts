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
