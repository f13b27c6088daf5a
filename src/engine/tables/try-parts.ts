/**
 * Tries the parts of a definition that only PostgreSQL can judge: its checks, generated columns and indexes. An upload adds the indexes only after
 * its rows.
 */
import type { ClientBase, DatabaseError } from 'pg';
import { shorten } from '../../core/identifiers.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import type { CallersStatement } from '../../postgres/callers-statement.ts';
import { runAndUndo } from '../../postgres/savepoints.ts';
import { apartInCallersPath } from '../../postgres/search-path.ts';
import { quoteQualified, randomName } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { findFailingItems } from './attempt.ts';
import { createBareTable, hasExpressions } from './ddl.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import type { CheckDefinition } from './expressions/checks.ts';
import { createIndex } from './indexes/create-index.ts';
import { refuseExpandedRanges } from './indexes/operator-classes.ts';
import { noNames } from './object-names.ts';
import type { PreparedColumn, PreparedTable } from './prepared-table.ts';

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
  const { indexes, schema } = table;
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
    const refuse = ({ pointer, code }: Pick<Part, 'pointer' | 'code'>, error: DatabaseError) => {
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
      if (problems.count === 0) await refuseExpandedRanges(client, relation, indexes, problems);
      return;
    }
    const withParts = tableWith(table);
    await findFailingItems(
      client,
      [whole],
      () => withParts([]),
      () => {},
      refuse,
    );
    if (problems.count === 0)
      await findFailingItems(client, expressionsOf(table), withParts, () => {}, refuse);
    if (problems.count === 0) refuse(whole, refusal);
  });
}

/** A check or a generated column. */
type Expression = Pick<Part, 'pointer' | 'code'> & { of: CheckDefinition | PreparedColumn };

function expressionsOf({ checks, columns }: PreparedTable): Expression[] {
  const code = 'invalid-expression';
  return [
    ...checks.map((of) => ({ pointer: `${of.pointer}/expression`, code, of }) as const),
    ...columns
      .filter(({ generated }) => generated !== undefined)
      .map((of) => ({ pointer: `${of.pointer}/generated`, code, of }) as const),
  ];
}

/** The maximum number of columns of all tables that are made to find the expressions that fail. PostgreSQL makes some 40,000 in a second. */
const maxColumnsMade = 200_000;

/** Returns a function that writes the statement for a table with only some of the expressions. A table that changes for each of them would need much memory (change-memory.ts). */
function tableWith(table: PreparedTable): (tried: Expression[]) => Promise<string[]> {
  let made = 0;
  return async (tried) => {
    made += table.columns.length;
    if (made > maxColumnsMade) return [];
    const parts = new Set<Expression['of']>(tried.map(({ of }) => of));
    const checks = table.checks.filter((check) => parts.has(check));
    const columns = table.columns.map((column) =>
      parts.has(column) ? column : { ...column, generated: undefined },
    );
    const naming = { name: randomName('trial'), names: noNames };
    return apartInCallersPath(createBareTable({ ...table, checks, columns }, naming));
  };
}

function tryAll(
  client: ClientBase,
  parts: Part[],
  onFailure: (part: Part, error: DatabaseError) => void,
): Promise<void> {
  const toStatement = async (tried: Part[]) => apartInCallersPath(...tried.map(({ statement }) => statement));
  return findFailingItems(client, parts, toStatement, () => {}, onFailure);
}
