/**
 * A table that stands and is the definition: rows are added to it, or it is emptied first.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../errors.ts';
import { quoteIdentifier, quoteQualified } from '../postgres/sql.ts';
import { readLoadColumns } from '../tables/describe-table.ts';
import { type RowRule, readRowRules } from '../tables/row-constraints.ts';
import type { InferredColumn } from './infer-types.ts';
import type { LoadTarget } from './load-target.ts';
import type { Problems } from './problems.ts';

export interface StandingTable {
  schema: string;
  name: string;
  /** Empty it first. Readers wait from then until the commit. */
  truncate: boolean;
  /** Columns to add to it, told the names of those it has. */
  addColumns: (known: string[]) => InferredColumn[];
}

export async function openStandingTable(
  client: ClientBase,
  { schema, name, truncate, addColumns }: StandingTable,
  problems: Problems,
): Promise<LoadTarget> {
  const relation = quoteQualified(schema, name);
  if (truncate) await client.query(`TRUNCATE ${relation}`);
  else await client.query(`LOCK TABLE ${relation} IN ROW EXCLUSIVE MODE`);
  let columns = await readLoadColumns(client, schema, name);
  const added = addColumns(columns.map((column) => column.name));
  if (added.length > 0) {
    const additions = added.map((column) => `ADD COLUMN ${quoteIdentifier(column.name)} ${column.type}`);
    await client.query(`ALTER TABLE ${relation} ${additions.join(', ')}`);
    columns = await readLoadColumns(client, schema, name);
  }
  if (columns.length === 0) throw new AppError('table-not-found', `The table "${schema}"."${name}" is gone.`);
  const rules = await readRowRules(client, schema, name);
  return {
    relation,
    columns,
    isBare: false,
    // Any row may be refused by a rule, or by a trigger; without either the kept rows would be for nothing.
    keepRows: rules.length > 0,
    key: keyOf(rules),
    finish: async (rows) => {
      if (rows.refusal) await rows.explain(rows.refusal, { quoted: relation, schema, name }, rules);
      problems.throwIfAny();
      // What is deferred to the commit would fail there, where it can no longer be told from a lost connection.
      await client.query('SET CONSTRAINTS ALL IMMEDIATE');
    },
  };
}

function keyOf(rules: RowRule[]): string[] | undefined {
  const keys = rules.filter((rule) => rule.kind === 'unique');
  return (keys.find((key) => key.isPrimary) ?? keys[0])?.columns;
}
