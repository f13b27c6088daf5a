/**
 * Checks that the expressions of a definition can be sent again as PostgreSQL writes them. It adds casts and parentheses, so an expression
 * that is just within the limits may be over them in a description: PostgreSQL writes `j::text IS NOT NULL` as `((j)::text IS NOT NULL)`.
 */
import type { ClientBase } from 'pg';
import { overLimit } from '../../../core/limit-exceeded.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { runAndUndo } from '../../../postgres/savepoints.ts';
import { inCallersPath, readInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { findFailingItems } from '../attempt.ts';
import type { PreparedTable } from '../prepared-table.ts';
import type { ResolvedDefinition } from '../resolve-definition.ts';
import { maxExpressionsLength, refuseExpression } from './draft-expressions.ts';
import { countWords, maxExpressionLength, maxWords, Parser } from './parse-sql.ts';
import { expressionsOf, type Proven } from './prove-expressions.ts';
import { readExpression } from './read-expression.ts';

/** How much PostgreSQL may add to a name or a literal: two casts, for example `(('a'::character varying(20))::text)`. */
const addedWords = 15;
const addedLength = 50;

/** Returns whether PostgreSQL may write an expression in a form that is over the limits. */
export function mayGrowTooLong(resolved: ResolvedDefinition): boolean {
  return longOnes(resolved).length > 0;
}

/** Returns the expressions that may be over a limit as PostgreSQL writes them: all of them if they may be too long together. */
function longOnes({ table, trials, parsed }: ResolvedDefinition): Proven[] {
  if (parsed.size === 0) return [];
  const all = expressionsOf(table, trials).filter(({ pointer }) => parsed.has(pointer));
  const long: Proven[] = [];
  let total = 0;
  for (const expression of all) {
    const sql = expression.sql.replaceAll('OPERATOR("pg_catalog".', '');
    const operands = sql.match(/[\w.]+/g)?.length ?? 0;
    const length = sql.length + addedLength * operands;
    total += length;
    if (total > maxExpressionsLength) return all;
    if (length > maxExpressionLength || countWords(sql) + addedWords * operands > maxWords)
      long.push(expression);
  }
  return long;
}

/**
 * Adds a problem for each expression that is over a limit as PostgreSQL writes it. It makes a table with the expressions, and undoes that. A role
 * that may load rows into an existing table may lack CREATE on its schema. Then nothing is made from the definition, and nothing is checked.
 */
export async function checkWritten(client: ClientBase, resolved: ResolvedDefinition): Promise<void> {
  const { table, problems, extraFunctions } = resolved;
  const long = longOnes(resolved);
  if (long.length === 0) return;
  const written = await runAndUndo(client, 'written', () => writtenTexts(client, table, long));
  let total = 0;
  const parser = new Parser();
  for (const { pointer, text, use } of long) {
    const own = written.get(pointer);
    if (own === undefined) continue;
    written.delete(pointer);
    total += own.length;
    const read = await readExpression(parser, own, { use, extraFunctions });
    if (read.problem === undefined) continue;
    const reason = `is too long or too nested with the casts that PostgreSQL adds: it ${read.problem}. Split it`;
    refuseExpression(problems, pointer, text, reason);
  }
  if (total <= maxExpressionsLength) return;
  const what = 'the expressions of the table, as PostgreSQL writes them, are too long';
  const detail = overLimit(what, maxExpressionsLength, 'characters');
  problems.add({ pointer: '/table', code: 'invalid-expression', detail });
}

/** Returns the texts that PostgreSQL writes, by the pointers of the expressions. */
async function writtenTexts(
  client: ClientBase,
  { schema, columns }: PreparedTable,
  expressions: Proven[],
): Promise<Map<string, string>> {
  const clauses = columns.map(({ name, typeSql }) => `${quoteIdentifier(name)} ${typeSql}`);
  const written = new Map<string, string>();
  const toStatement = async (tried: Proven[]) => {
    const relation = quoteQualified(schema, randomName('written'));
    const checks = tried.map(({ sql }, index) => `CONSTRAINT "${index}" CHECK ((${sql}) IS NULL)`);
    const create = qualified`CREATE TABLE ${relation} (${[...clauses, ...checks].join(', ')})`;
    return { text: `${inCallersPath(create)};\n${readInCallersPath(textsOfChecks(relation))}` };
  };
  const note = (tried: Proven[], { found }: { found: [number, string][] }) => {
    for (const [index, text] of found)
      written.set(tried[index]!.pointer, /^\((.*) IS NULL\)$/s.exec(text)![1]!);
  };
  await findFailingItems(client, expressions, toStatement, note, () => {});
  return written;
}

function textsOfChecks(relation: string): string {
  return `(SELECT pg_catalog.json_agg(pg_catalog.json_build_array(c.conname::text::int, pg_catalog.pg_get_expr(c.conbin, c.conrelid)))
  FROM pg_catalog.pg_constraint c WHERE c.conbin IS NOT NULL AND c.conrelid = ${quoteLiteral(relation)}::regclass)`;
}
