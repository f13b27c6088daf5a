/** Writes the expressions of a definition as SQL, after its names were looked up. */
import type { ClientBase } from 'pg';
import { forEachInTurns } from '../../../core/pause-for-others.ts';
import { firstOwnOid } from '../../../encoding/columns/load-column.ts';
import type { TableDefinition } from '../definition.ts';
import type { PreparedColumn } from '../prepared-table.ts';
import { checkedType, type Resolution, sequenceProblem } from '../resolve-columns.ts';
import { type ExpressionDraft, refuseExpression } from './draft-expressions.ts';
import { visitExpression } from './expression.ts';
import { type ExpressionNames, RefusedExpression } from './expression-types.ts';
import { findExtensionObjects } from './extension-objects.ts';
import { expressionSql, namesOfExtensions, needsExtension } from './write-expression.ts';

/**
 * Gives the checks, columns and indexes the SQL of their expressions, and adds a problem for each expression that is not possible. Takes a round
 * trip if an expression may mean functions or operators of an extension.
 */
export async function resolveExpressions(
  client: ClientBase,
  drafts: ExpressionDraft[],
  definition: TableDefinition,
  resolution: Resolution,
): Promise<void> {
  if (drafts.length === 0) return;
  await refuseVirtual(client, resolution);
  const { problems, known, columns } = resolution;
  const possible = drafts.filter((draft) => areNamesKnown(draft, resolution));
  const names: ExpressionNames = {
    columns: new Map(columns.map(({ name, type }) => [name, type])),
    findType: known.find,
    function: known.function,
    sequence: known.sequence,
    ofExtensions: [],
  };
  names.ofExtensions = await objectsOfExtensions(client, possible, names);
  const sqls = new Map<string, string>();
  await forEachInTurns(possible, ({ pointer, text, node }) => {
    try {
      sqls.set(pointer, expressionSql(node, names));
    } catch (error) {
      if (!(error instanceof RefusedExpression)) throw error;
      refuseExpression(problems, pointer, text, error.message);
    }
  });
  for (const check of definition.checks) check.sql = sqls.get(`${check.pointer}/expression`);
  for (const index of definition.indexes) {
    index.whereSql = sqls.get(`${index.pointer}/where`);
    for (const column of index.columns) column.expressionSql = sqls.get(`${column.pointer}/expression`);
  }
  for (const column of columns) setExpressions(column, drafts, sqls, resolution);
}

/** Refuses virtual generated columns of a server that does not know the word, before a statement has it. */
async function refuseVirtual(client: ClientBase, { columns, problems }: Resolution): Promise<void> {
  const virtual = columns.filter(({ generated }) => generated?.kind === 'virtual');
  if (virtual.length === 0) return;
  const { rows } = await client.query(
    `SELECT current_setting('server_version_num')::int >= 180000 AS "isKnown"`,
  );
  const detail = 'virtual generated columns need PostgreSQL 18 or newer; send stored';
  for (const { pointer } of rows[0].isKnown ? [] : virtual)
    problems.add({ pointer: `${pointer}/generated_kind`, code: 'not-supported', detail });
}

function setExpressions(
  column: PreparedColumn,
  drafts: ExpressionDraft[],
  sqls: ReadonlyMap<string, string>,
  { trials }: Resolution,
): void {
  const { pointer, generated } = column;
  if (generated !== undefined) generated.sql = sqls.get(`${pointer}/generated`);
  const sql = sqls.get(`${pointer}/default`);
  if (sql === undefined) return;
  const { text, node } = drafts.find((draft) => draft.pointer === `${pointer}/default`)!;
  let takesNumbers = false;
  visitExpression(node, ({ kind }) => {
    takesNumbers ||= kind === 'sequence';
  });
  column.defaultSql = sql;
  const { type, typeName, typeText, typeSql } = column;
  const trial = trials.find((other) => other.pointer === pointer) ?? {
    pointer,
    type,
    typeName,
    typeText,
    typeSql,
  };
  if (!trials.includes(trial)) trials.push(trial);
  trial.default = { text, sql, isComputed: true, takesNumbers };
}

/** Checks that the caller may use the types and sequences that an expression names, and that they exist. */
function areNamesKnown({ pointer, node }: ExpressionDraft, resolution: Resolution): boolean {
  const before = resolution.problems.count;
  visitExpression(node, (part) => {
    if (part.kind === 'cast')
      checkedType(resolution, part.type, part.type.name ?? part.type.spelling!, pointer);
    const problem = part.kind === 'sequence' ? sequenceProblem(resolution, part.name) : undefined;
    if (problem !== undefined)
      resolution.problems.add({ pointer, code: 'unknown-sequence', detail: problem });
  });
  return resolution.problems.count === before;
}

async function objectsOfExtensions(client: ClientBase, drafts: ExpressionDraft[], names: ExpressionNames) {
  const asked = { functions: new Set<string>(), operators: new Set<string>() };
  let hasOwnType = [...names.columns.values()].some(({ baseOid }) => baseOid >= firstOwnOid);
  for (const { node } of drafts) {
    namesOfExtensions(node, asked);
    visitExpression(node, (part) => {
      hasOwnType ||= part.kind === 'cast' && names.findType(part.type)!.baseOid >= firstOwnOid;
    });
  }
  if (!hasOwnType && !drafts.some(({ node }) => needsExtension(node))) return [];
  return findExtensionObjects(client, asked.functions, asked.operators);
}
