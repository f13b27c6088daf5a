/**
 * Proves that the expressions of a definition run no code of other roles. Their functions and operators are written with their schemas, but
 * PostgreSQL adds casts, and whoever owns a type can make a cast from or to it with a function of their own. PostgreSQL notes
 * which functions an expression has (pg_depend), except its own ones. Only those of extensions and of DEFAULT_FUNCTIONS are allowed besides.
 */
import type { ClientBase, DatabaseError } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { shorten } from '../../../core/identifiers.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { refuseUnless, wasRefused } from '../../../postgres/refuse-unless.ts';
import { runAndUndo } from '../../../postgres/savepoints.ts';
import { inCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { isLackOfPrivilege } from '../../../postgres/sqlstate.ts';
import { asLackOfTemporary } from '../../../postgres/temporary-privilege.ts';
import { findFailingItems } from '../attempt.ts';
import { ownCode, ownCodeOf } from '../catalog/names-in-path.ts';
import type { DefinitionProblems } from '../definition-problems.ts';
import type { PreparedTable } from '../prepared-table.ts';
import { type ColumnTrial, isTriedAsText } from '../try-columns.ts';
import { refuseExpression } from './draft-expressions.ts';
import type { ExpressionUse } from './expression.ts';

/** An expression in SQL, and as a condition. */
export interface Proven {
  pointer: string;
  /** The expression as the caller wrote it. */
  text: string;
  use: ExpressionUse;
  sql: string;
  condition: string;
}

/**
 * Adds a problem for each expression with code of other roles, and returns whether there is none. Call it before anything is tried: the
 * expressions become the checks of a table, of which PostgreSQL evaluates nothing. For generated columns and indexes it would
 * call functions with constant arguments. Only types that belong neither to PostgreSQL nor to an extension can have such casts.
 *
 * @throws AppError `permission-denied` if the table exists and the role may create neither tables in its schema nor temporary ones
 */
export async function proveExpressions(
  client: ClientBase,
  { table, trials, problems }: { table: PreparedTable; trials: ColumnTrial[]; problems: DefinitionProblems },
): Promise<boolean> {
  const { allowedCode = [], needsProof, columns, schema, existing } = table;
  const expressions = needsProof ? expressionsOf(table, trials) : [];
  let isProven = true;
  if (expressions.length === 0) return isProven;
  const clauses = columns.map(({ name, typeSql }) => `${quoteIdentifier(name)} ${typeSql}`);
  const statementIn = (place: string) => async (proven: Proven[]) => {
    const relation = quoteQualified(place, randomName('proof'));
    const checks = proven.map(({ condition }, index) => `CONSTRAINT "${index}" CHECK (${condition})`);
    const create = qualified`CREATE TABLE ${relation} (${[...clauses, ...checks].join(', ')})`;
    return { text: `${inCallersPath(create)};\n${codeOfChecks(relation)}` };
  };
  const report = (proven: Proven[], { found }: { found: [number, string[]][] | null }) => {
    for (const [index, names] of found ?? []) {
      const { pointer, text } = proven[index]!;
      const reason = reasonAgainst(names, allowedCode);
      if (reason === undefined) continue;
      refuseExpression(problems, pointer, text, reason);
      isProven = false;
    }
  };
  // If PostgreSQL does not accept an expression, the later try reports it.
  const refuse = (_: Proven, error: DatabaseError) => {
    if (isLackOfPrivilege(error)) throw error;
  };
  const proveIn = (place: string) =>
    runAndUndo(client, 'proof', () =>
      findFailingItems(client, expressions, statementIn(place), report, refuse),
    );
  try {
    await proveIn(schema);
  } catch (error) {
    // A role that may load rows into an existing table may lack CREATE on its schema.
    if (existing === undefined || !isLackOfPrivilege(error)) throw error;
    await proveIn('pg_temp').catch(async (error) => {
      throw await asLackOfTemporary(client, error);
    });
  }
  return isProven;
}

/** Returns the expressions whose SQL is known. A default may be there twice. */
export function expressionsOf({ columns, checks, indexes }: PreparedTable, trials: ColumnTrial[]): Proven[] {
  const withValue = (pointer: string, text: string, use: ExpressionUse, sql: string) => [
    { pointer, text, use, sql, condition: `(${sql}) IS NULL` },
  ];
  const asCondition = (pointer: string, text = '', use: ExpressionUse, sql?: string) =>
    sql === undefined ? [] : [{ pointer, text, use, sql, condition: sql }];
  const defaults = trials
    .filter((trial) => trial.default?.isComputed)
    .flatMap(({ pointer, type, typeSql, default: tried }) =>
      [typeSql, ...(isTriedAsText(type) ? ['pg_catalog.text'] : [])].flatMap((as) =>
        withValue(`${pointer}/default`, tried!.text, 'default', `CAST(${tried!.sql} AS ${as})`),
      ),
    );
  const generated = columns
    .filter((column) => column.generated?.sql !== undefined)
    .flatMap(({ pointer, typeSql, generated: { sql, expression } = {} }) =>
      withValue(`${pointer}/generated`, expression!, 'generated', `CAST(${sql} AS ${typeSql})`),
    );
  const ofIndexes = indexes.flatMap(({ pointer, where, whereSql, columns: parts }) => [
    ...asCondition(`${pointer}/where`, where, 'index', whereSql),
    ...parts
      .filter(({ expressionSql }) => expressionSql !== undefined)
      .flatMap((part) =>
        withValue(`${part.pointer}/expression`, part.expression!, 'index', part.expressionSql!),
      ),
  ]);
  const ofChecks = checks.flatMap(({ pointer, expression, sql }) =>
    asCondition(`${pointer}/expression`, expression, 'check', sql),
  );
  return [...defaults, ...generated, ...ofChecks, ...ofIndexes];
}

/** Returns why an expression with these functions and operators is refused; undefined: all of them are allowed. The reason completes a sentence whose subject is the expression. */
export function reasonAgainst(
  names: readonly string[] | null,
  allowedCode: readonly string[],
): string | undefined {
  const other = names?.find((name) => !allowedCode.includes(name));
  return other && `calls ${shorten(other)}() through a cast that the owner of a type has made`;
}

/** Returns a query of `found`: the index and the code of each check of a table. */
function codeOfChecks(relation: string): string {
  return `SELECT json_agg(json_build_array(k.conname::text::int, k.code)) AS found FROM (
  SELECT c.conname, ${ownCode('pg_constraint', 'c.oid')} AS code FROM pg_constraint c
  WHERE c.conrelid = ${quoteLiteral(relation)}::regclass) k WHERE k.code IS NOT NULL`;
}

/** Returns a query of `found`: the names of the code in the checks of a domain. */
export function codeOfDomain(domain: string): string {
  const owners = `used.classid = 'pg_constraint'::regclass AND used.objid IN (
    SELECT oid FROM pg_constraint WHERE contypid = ${quoteLiteral(domain)}::regtype)`;
  return `SELECT ${ownCodeOf(owners)} AS found`;
}

/** Returns the statements that fail if an expression of the created table has code that is not allowed: casts may have been made since it was proven. */
export function proofOf({ schema, allowedCode }: PreparedTable, name: string): string[] {
  if (allowedCode === undefined) return [];
  const relation = quoteQualified(schema, name);
  const table = `${quoteLiteral(relation)}::regclass`;
  const owners = `(used.classid, used.objid) IN (
    SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = ${table}
    UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = ${table} AND contype = 'c'
    UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ${table})`;
  const allowed = `ARRAY[${allowedCode.map(quoteLiteral).join(', ')}]::text[]`;
  return [
    refuseUnless(
      `NOT EXISTS (SELECT FROM json_array_elements_text(${ownCodeOf(owners)}) AS x(name) WHERE x.name <> ALL (${allowed}))`,
      reason,
    ),
  ];
}

const reason = 'an expression has code of others';

/** @throws AppError `write-conflict` if the statement of `proofOf` has failed */
export function refuseOthersCode(error: unknown): void {
  if (!wasRefused(error, reason)) return;
  const detail =
    'Another session changed a cast of a type of the table at the same moment; send the request again.';
  throw new AppError('write-conflict', detail, { cause: error });
}
