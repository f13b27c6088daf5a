/**
 * A table that the upload makes: bare first, keys and references after the rows, and, for a replace, the swap.
 */
import { randomBytes } from 'node:crypto';
import type { ClientBase, DatabaseError } from 'pg';
import { AppError } from '../errors.ts';
import { quoteQualified } from '../postgres/sql.ts';
import { isRefusalOfData, isUndefinedTable } from '../postgres/sqlstate.ts';
import type { SourceWarning } from '../sources/row-source.ts';
import { isNameClash, tableExists } from '../tables/create-table.ts';
import { addConstraints, continueNumbering, createBareTable } from '../tables/ddl.ts';
import { isTable, readLoadColumns } from '../tables/describe-table.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { PreparedTable } from '../tables/prepared-table.ts';
import { refuseDependents, swapTable } from '../tables/replace-table.ts';
import { type RowRule, readRowRules } from '../tables/row-constraints.ts';
import type { LoadTarget } from './load-target.ts';
import type { Problems } from './problems.ts';

/**
 * @param mayReplace a table that stands does not stop this: the new one is built aside and takes its place at the end
 * @throws AppError `table-exists`, `dependent-objects`
 */
export async function openNewTable(
  client: ClientBase,
  table: PreparedTable,
  mayReplace: boolean,
  lockTimeoutMs: number,
  problems: Problems,
): Promise<LoadTarget> {
  const { schema, standing } = table;
  const replaces = mayReplace && standing !== undefined && isTable(standing.kind);
  if (standing && !replaces) throw tableExists(schema, table.name, standing);
  const name = replaces ? `tablewright ${randomBytes(12).toString('hex')}` : table.name;
  if (replaces) await refuseDependents(client, schema, table.name);
  await makeTable(client, table, name);
  const columns = await readLoadColumns(client, schema, name);
  const relation = quoteQualified(schema, name);
  return {
    relation,
    columns,
    added: [],
    isBare: true,
    keepRows: columns.some(isDomain),
    changesRows: false,
    takesNoCopy: false,
    keys: [...(table.primaryKey ? [table.primaryKey] : []), ...table.unique].map(({ columns }) => ({
      columns,
      nullsNotDistinct: false,
    })),
    finish: async (rows) => {
      if (rows.refusal) {
        await rows.explain(rows.refusal, undefined, async () => [
          ...(await readRowRules(client, schema, name)),
          ...(await rulesOf(client, table)),
        ]);
      } else {
        const refusal = await addKeys(client, table, name, replaces);
        if (refusal) await rows.explain(refusal, undefined, () => rulesOf(client, table));
      }
      problems.throwIfAny();
      for (const { name: column, identity } of table.columns) {
        if (identity === 'none' || rows.places.sourceColumn(column) < 0) continue;
        await client.query(continueNumbering(relation, column));
      }
      return replaces ? lostObjects(await swapTable(client, table, name, lockTimeoutMs)) : [];
    },
  };
}

/** @throws AppError `table-exists` if another session makes something of the same name at the same moment */
async function makeTable(client: ClientBase, table: PreparedTable, name: string): Promise<void> {
  try {
    await client.query(createBareTable(table, name));
  } catch (error) {
    if (!isNameClash(error)) throw error;
    const isRace = error.code === uniqueViolation;
    const detail = isRace
      ? `Another session created "${name}" in the schema "${table.schema}" at the same moment; send the request again.`
      : `Something in the schema "${table.schema}" has the name of the table or of one of its sequences: ${error.message}.`;
    throw new AppError('table-exists', detail, { cause: error });
  }
}

/** Of the names in PostgreSQL's catalogue. */
const uniqueViolation = '23505';

/** Adds keys and references; what PostgreSQL refuses is undone and answered. */
async function addKeys(
  client: ClientBase,
  table: PreparedTable,
  name: string,
  replaces: boolean,
): Promise<Error | undefined> {
  const statement = addConstraints(table, name, replaces ? 'chosen' : 'as defined');
  if (!statement) return undefined;
  await client.query('SAVEPOINT "keys"');
  try {
    await client.query(statement);
    return undefined;
  } catch (error) {
    if (isNameClash(error)) throw nameTaken(error);
    if (isUndefinedTable(error)) throw targetDropped(error);
    if (!isRefusalOfData(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT "keys"');
    return error;
  }
}

/** The table itself was made before: its name is not the one that clashes. */
function nameTaken(error: DatabaseError): AppError {
  const detail = `The name of a constraint is already used in the schema: ${error.message}. Use another name, or leave it empty to have one chosen.`;
  return new AppError('invalid-definition', detail, { cause: error });
}

/** The definition was checked before. */
function targetDropped(cause: Error): AppError {
  const detail = 'Another session dropped a table that a foreign key refers to; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

const maxLostObjects = 100;

/** So that nothing of the old table goes in silence. */
function lostObjects(lost: string[]): SourceWarning[] {
  const told = lost.slice(0, maxLostObjects);
  const rest = lost.length - told.length;
  if (rest > 0) told.push(`${rest} more`);
  return told.map((what) => ({ code: 'lost-by-replace', detail: `Gone with the old table: ${what}.` }));
}

/** A domain's checks are the one thing that can refuse a row of a bare table. */
function isDomain({ type }: LoadColumn): boolean {
  return type.kind === 'domain' || type.element?.kind === 'domain';
}

async function rulesOf(client: ClientBase, table: PreparedTable): Promise<RowRule[]> {
  const hidden = await hiddenTables(client, table);
  const keys = [...(table.primaryKey ? [table.primaryKey] : []), ...table.unique];
  return [
    ...keys.map((key): RowRule => {
      return {
        kind: 'unique',
        name: key.name ?? '',
        columns: key.columns,
        isPrimary: key === table.primaryKey,
        nullsNotDistinct: false,
        isDeferrable: false,
      };
    }),
    ...table.foreignKeys.map((key): RowRule => {
      return {
        kind: 'foreign key',
        name: key.name ?? '',
        columns: key.pairs.map((pair) => pair.column),
        isSelf: key.isSelf,
        isHidden: hidden.has(quoteQualified(key.schema, key.table)),
        referencedSchema: key.schema,
        referencedTable: key.table,
        referencedColumns: key.pairs.map((pair) => pair.referenceColumn),
      };
    }),
  ];
}

/** Those referred to whose rows row-level security hides from the role. Quoted. */
async function hiddenTables(client: ClientBase, { foreignKeys }: PreparedTable): Promise<Set<string>> {
  const others = foreignKeys.filter((key) => !key.isSelf).map((key) => quoteQualified(key.schema, key.table));
  if (others.length === 0) return new Set();
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE row_security_active(to_regclass(name))',
    [others],
  );
  return new Set(rows.map(({ name }) => name));
}
