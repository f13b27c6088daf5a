/** Tries the parts of a definition that only PostgreSQL can judge: its indexes. An upload adds them only after its rows. */
import type { ClientBase } from 'pg';
import { shorten } from '../../core/identifiers.ts';
import { qualified } from '../postgres/callers-statement.ts';
import { runAndUndo } from '../postgres/savepoints.ts';
import { inCallersPath, queryInCallersPath } from '../postgres/search-path.ts';
import { quoteQualified, randomName } from '../postgres/sql.ts';
import { findFailingItems } from './attempt.ts';
import { createBareTable } from './ddl.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import { createIndex } from './indexes/create-index.ts';
import type { IndexDefinition } from './indexes/index-definition.ts';
import { noNames } from './object-names.ts';
import type { PreparedTable } from './prepared-table.ts';

/** Adds a problem for each index that PostgreSQL refuses. It makes a table with another name, and undoes that. */
export async function tryParts(
  client: ClientBase,
  table: PreparedTable,
  problems: DefinitionProblems,
): Promise<void> {
  const { indexes, schema } = table;
  if (indexes.length === 0) return;
  const name = randomName('trial');
  const relation = quoteQualified(schema, name);
  await runAndUndo(client, 'parts', async () => {
    await queryInCallersPath(client, createBareTable(table, { name, names: noNames }));
    const toStatement = async (tried: IndexDefinition[]) => ({
      text: inCallersPath(
        ...tried.map((index) => createIndex(relation, index, undefined)),
        qualified`SELECT 1`,
      ),
    });
    await findFailingItems(
      client,
      indexes,
      toStatement,
      () => {},
      (index, error) => {
        const detail = `PostgreSQL cannot make this index: ${shorten(error.message)}`;
        problems.add({ pointer: index.pointer, code: 'invalid-index', detail });
      },
    );
  });
}
