/**
 * Tries the parts of a definition that only PostgreSQL can judge: its checks, generated columns and indexes. An upload adds the indexes only after
 * its rows.
 */
import type { ClientBase, DatabaseError } from 'pg';
import { shorten } from '../../core/identifiers.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { type CallersStatement, qualified } from '../postgres/callers-statement.ts';
import { runAndUndo } from '../postgres/savepoints.ts';
import { apartInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified, randomName } from '../postgres/sql.ts';
import { conditionOf } from '../postgres/sqlstate.ts';
import { findFailingItems } from './attempt.ts';
import { createBareTable, generatedClause, hasExpressions } from './ddl.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import { createIndex } from './indexes/create-index.ts';
import { noNames } from './object-names.ts';
import type { PreparedTable } from './prepared-table.ts';

/** A part, and the statement that adds it to the trial table. */
interface Part {
  pointer: string;
  code: ProblemCode;
  statement: CallersStatement;
}

/** Adds a problem for each part that PostgreSQL refuses. It makes a table with another name, and undoes that. */
export async function tryParts(
  client: ClientBase,
  prepared: PreparedTable,
  problems: DefinitionProblems,
): Promise<void> {
  const table = { ...prepared, checks: prepared.checks.map((check) => ({ ...check, notValid: false })) };
  const { columns, indexes, schema } = table;
  if (indexes.length === 0 && !hasExpressions(table)) return;
  const naming = { name: randomName('trial'), names: noNames };
  const relation = quoteQualified(schema, naming.name);
  await runAndUndo(client, 'parts', async () => {
    const whole = { pointer: '/table', code: 'invalid-expression' as const };
    let refusal: DatabaseError | undefined;
    await tryAll(client, [{ ...whole, statement: createBareTable(table, naming) }], (_, error) => {
      refusal = error;
    });
    // A role that may load rows into an existing table may lack CREATE on its schema. The comparison with the table makes the parts in a temporary one.
    if (table.existing !== undefined && conditionOf(refusal) === 'insufficient_privilege') return;
    const refuse = ({ pointer, code }: Part, error: DatabaseError) => {
      const what = code === 'invalid-index' ? 'index' : 'expression';
      const detail = `PostgreSQL cannot make this ${what}: ${shorten(error.message)}`;
      problems.add({ pointer, code, detail });
    };
    if (refusal === undefined) {
      const parts = indexes.map((index): Part => {
        const statement = createIndex(relation, index, undefined);
        return { pointer: index.pointer, code: 'invalid-index', statement };
      });
      await tryAll(client, parts, refuse);
      return;
    }
    const bare = {
      ...table,
      checks: [],
      columns: columns.map((column) => ({ ...column, generated: undefined })),
    };
    const create = createBareTable(bare, naming);
    await tryAll(client, [{ ...whole, statement: create }], refuse);
    if (problems.count === 0) await tryAll(client, expressionsOf(table, relation), refuse);
    if (problems.count === 0) refuse({ ...whole, statement: create }, refusal);
  });
}

function expressionsOf({ checks, columns }: PreparedTable, relation: string): Part[] {
  const code = 'invalid-expression';
  const parts = checks.map(({ pointer, sql }): Part => {
    const statement = qualified`ALTER TABLE ${relation} ADD CHECK (${sql!})`;
    return { pointer: `${pointer}/expression`, code, statement };
  });
  for (const { pointer, name, typeSql, generated } of columns) {
    if (generated === undefined) continue;
    const column = quoteIdentifier(name);
    const statement = qualified`ALTER TABLE ${relation} DROP COLUMN ${column}, ADD COLUMN ${column} ${typeSql}${generatedClause(generated)}`;
    parts.push({ pointer: `${pointer}/generated`, code, statement });
  }
  return parts;
}

function tryAll(
  client: ClientBase,
  parts: Part[],
  onFailure: (part: Part, error: DatabaseError) => void,
): Promise<void> {
  const toStatement = async (tried: Part[]) => apartInCallersPath(...tried.map(({ statement }) => statement));
  return findFailingItems(client, parts, toStatement, () => {}, onFailure);
}
