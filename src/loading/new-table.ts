/**
 * Creates the table of an upload. While rows are loaded the table is *bare*: keys and references are added after the rows. To
 * replace an existing table, the new table is created under another name, and takes the name of the old one at the end.
 */
import type { ClientBase } from 'pg';
import { AppError, type Warning } from '../errors.ts';
import { rollBackTo, setSavepoint } from '../postgres/savepoints.ts';
import { queryInCallersPath } from '../postgres/search-path.ts';
import { quoteQualified, randomName, type Statement } from '../postgres/sql.ts';
import { isNameClash, isRefusalOfData, isUndefinedTable } from '../postgres/sqlstate.ts';
import { findRelation } from '../tables/catalog.ts';
import { nameConflict, tableExists, uploadRemedies } from '../tables/create-table.ts';
import {
  addConstraints,
  continueNumbering,
  createBareTable,
  hasConstraints,
  type Naming,
} from '../tables/ddl.ts';
import { isTable, readLoadColumns } from '../tables/describe-table.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import { namesAside } from '../tables/object-names.ts';
import type { ExistingObject, PreparedTable } from '../tables/prepared-table.ts';
import { refuseDependents, swapTable } from '../tables/replace-table.ts';
import type { EndedLoad, LoadTarget } from './load-target.ts';
import type { LoadedRows } from './loaded-rows.ts';
import type { Problems } from './problems.ts';
import { explainRefusedKeys } from './staged/explain-refusal.ts';
import { readRowRules } from './staged/row-rules.ts';
import { conflictKeysOf, rulesOfNewTable } from './staged/rules-of-new-table.ts';

export interface NewTableOptions {
  /** The new table may replace an existing one. */
  mayReplace: boolean;
  lockTimeoutMs: number;
  signal: AbortSignal;
  extraFunctions: readonly string[];
}

/**
 * Creates the table, or a table that will replace the existing one, and returns it as a target for rows.
 *
 * @throws AppError `table-exists`, `dependent-objects`
 */
export async function openNewTable(
  client: ClientBase,
  table: PreparedTable,
  options: NewTableOptions,
  problems: Problems,
): Promise<LoadTarget> {
  const { schema, existing } = table;
  const replaces = options.mayReplace && existing !== undefined && isTable(existing.kind);
  if (existing && !replaces) throw tableExists(schema, table.name, existing, uploadRemedies);
  if (replaces) await refuseDependents(client, schema, table.name);
  const naming = replaces ? nameAside(table) : table;
  await createNamed(
    client,
    table,
    async () => createBareTable(table, naming),
    'bare',
    () => refuseTakenTableName(client, table),
  );
  const columns = await readLoadColumns(client, schema, naming.name);
  const relation = quoteQualified(schema, naming.name);
  const target: LoadTarget = {
    relation,
    columns,
    added: [],
    isBare: true,
    mayRefuseRows: columns.some(isDomain),
    changesRows: false,
    hasRules: false,
    takesNoCopy: false,
    primaryKey: table.primaryKey?.columns,
    keys: await conflictKeysOf(table, columns),
    warnings: table.warnings,
    readRules: async () => [
      ...(await readRowRules(client, schema, naming.name)),
      ...(await rulesOfNewTable(client, table, columns)),
    ],
    addKeys: () => addKeys(client, table, naming),
    finish: async (rows) => {
      const refusal = rows.hasKeys ? undefined : await addKeys(client, table, naming);
      if (refusal) {
        const rules = await rulesOfNewTable(client, table, columns);
        await explainRefusedKeys(client, refusal, rows.sent, rules, rows.places, problems);
      }
      if (!rows.leftOut) problems.throwIfAny();
      await continueAllNumbering(client, relation, table, rows);
    },
  };
  if (replaces) target.end = (endAtOnce) => swap(client, table, naming, { ...options, endAtOnce });
  return target;
}

/** Advances the sequences of numbered columns past the numbers that the rows have. */
async function continueAllNumbering(
  client: ClientBase,
  relation: string,
  table: PreparedTable,
  { places }: LoadedRows,
): Promise<void> {
  for (const { name, identity } of table.columns) {
    const isSent = places.sourceColumn(name) >= 0;
    if (identity !== 'none' && isSent) await client.query(continueNumbering(relation, name));
  }
}

/** Replaces the existing table by the new one, and ends the transaction. */
async function swap(
  client: ClientBase,
  table: PreparedTable,
  aside: Naming,
  options: NewTableOptions & Parameters<typeof swapTable>[2],
): Promise<EndedLoad> {
  const { extraFunctions } = options;
  const { description, lost } = await swapTable(client, { table, aside, extraFunctions }, options);
  return { table: description, warnings: lostObjects(lost) };
}

function nameAside(table: PreparedTable): Naming {
  const name = randomName('table');
  return { name, names: namesAside(table.names, name) };
}

/** Adds keys and references. If PostgreSQL refuses them, they are undone, and the error is returned. */
async function addKeys(client: ClientBase, table: PreparedTable, naming: Naming): Promise<Error | undefined> {
  if (!hasConstraints(table)) return undefined;
  try {
    await createNamed(
      client,
      table,
      () => addConstraints(table, naming),
      'keys',
      async () => {},
    );
    return undefined;
  } catch (error) {
    if (isUndefinedTable(error)) throw targetDropped(error);
    if (!isRefusalOfData(error)) throw error;
    await rollBackTo(client, 'keys');
    return error;
  }
}

/** Returns the error for a referenced table that was dropped after the definition was checked. */
function targetDropped(cause: Error): AppError {
  const detail = 'Another session dropped a table that a foreign key refers to; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

const maxNameTries = 3;

/** Runs a statement that creates names, and runs it again with other names if a name already exists. The savepoint remains. */
async function createNamed(
  client: ClientBase,
  table: PreparedTable,
  toStatement: () => Promise<Statement>,
  savepoint: string,
  onClash: () => Promise<void>,
): Promise<void> {
  await setSavepoint(client, savepoint);
  for (let tries = 1; ; tries++) {
    try {
      await queryInCallersPath(client, (await toStatement()).text);
      return;
    } catch (error) {
      if (!isNameClash(error)) throw error;
      await rollBackTo(client, savepoint);
      await onClash();
      table.names = await table.chooseNamesAgain(client);
      if (tries === maxNameTries) throw nameConflict(error);
    }
  }
}

/**
 * Refuses the upload if another session has created the table meanwhile.
 *
 * @throws AppError `table-exists`
 */
async function refuseTakenTableName(
  client: ClientBase,
  { schema, name, existing }: PreparedTable,
): Promise<void> {
  const { rows } = await client.query<ExistingObject>(findRelation(schema, name));
  if (rows[0] !== undefined && existing === undefined)
    throw tableExists(schema, name, rows[0], uploadRemedies);
}

const maxLostObjects = 100;

/** Returns one warning for each object of the old table that the new table does not have. */
function lostObjects(lost: string[]): Warning[] {
  const listed = lost.slice(0, maxLostObjects);
  const rest = lost.length - listed.length;
  if (rest > 0) listed.push(`${rest} more objects`);
  return listed.map((what) => ({ code: 'lost-by-replace', detail: `Replacing the table removed ${what}.` }));
}

/** Returns whether the type is a domain. Only the checks of domains can refuse a row of a bare table. */
function isDomain({ type }: LoadColumn): boolean {
  return type.kind === 'domain' || type.element?.kind === 'domain';
}
