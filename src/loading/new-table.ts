/**
 * Creates the table of an upload. While rows are loaded the table is *bare*: keys and references are added after the rows. To
 * replace an existing table, the new table is created under another name, and takes the name of the old one at the end.
 */
import type { ClientBase } from 'pg';
import { AppError, type Warning } from '../errors.ts';
import { queryWithSavepoint } from '../postgres/savepoints.ts';
import { inCallersPath } from '../postgres/search-path.ts';
import { quoteQualified, randomName, type Statement } from '../postgres/sql.ts';
import { isNameClash, isRefusalOfData, isUndefinedTable } from '../postgres/sqlstate.ts';
import type { TransactionEdges } from '../postgres/transaction.ts';
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
import { refuseDependents, type Swapped, swapTable } from '../tables/replace-table.ts';
import type { EndedLoad, LoadTarget } from './load-target.ts';
import type { LoadedRows } from './loaded-rows.ts';
import type { Problems } from './problems.ts';
import type { ConflictKey } from './staged/conflict-rule.ts';
import { explainRefusal } from './staged/explain-refusal.ts';
import { type RowRule, readRowRules } from './staged/row-rules.ts';
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
): Promise<LoadTarget> {
  const { schema, existing } = table;
  const replaces = options.mayReplace && existing !== undefined && isTable(existing.kind);
  if (existing && !replaces) throw tableExists(schema, table.name, existing, uploadRemedies);
  if (replaces) await refuseDependents(client, schema, table.name);
  const naming = replaces ? nameAside(table) : table;
  const refuseTaken = () => refuseTakenTableName(client, table);
  await createNamed(client, table, 'bare', async () => createBareTable(table, naming), refuseTaken);
  const columns = await readLoadColumns(client, schema, naming.name);
  return new NewTable(table, naming, columns, await conflictKeysOf(table, columns), replaces, options);
}

/** A new table, from its creation until the end of the transaction. */
class NewTable implements LoadTarget {
  readonly relation: string;
  readonly columns: LoadColumn[];
  readonly keys: ConflictKey[];
  readonly replaces: boolean;
  readonly added = [];
  readonly isBare = true;
  readonly mayRefuseRows: boolean;
  readonly changesRows = false;
  readonly hasRules = false;
  readonly takesNoCopy = false;
  readonly primaryKey: readonly string[] | undefined;
  readonly warnings: Warning[];
  readonly #table: PreparedTable;
  /** The name until the end of the load. */
  readonly #naming: Naming;
  readonly #options: NewTableOptions;
  #hasKeys = false;

  constructor(
    table: PreparedTable,
    naming: Naming,
    columns: LoadColumn[],
    keys: ConflictKey[],
    replaces: boolean,
    options: NewTableOptions,
  ) {
    this.relation = quoteQualified(table.schema, naming.name);
    this.columns = columns;
    this.keys = keys;
    this.replaces = replaces;
    this.mayRefuseRows = columns.some(isDomain);
    this.primaryKey = table.primaryKey?.columns;
    this.warnings = table.warnings;
    this.#table = table;
    this.#naming = naming;
    this.#options = options;
  }

  async readRules(client: ClientBase): Promise<RowRule[]> {
    return [
      ...(await readRowRules(client, this.#table.schema, this.#naming.name)),
      ...(await rulesOfNewTable(client, this.#table, this.columns)),
    ];
  }

  async addKeys(client: ClientBase): Promise<Error | undefined> {
    if (this.#hasKeys || !hasConstraints(this.#table)) return undefined;
    const statement = () => addConstraints(this.#table, this.#naming);
    try {
      await createNamed(client, this.#table, 'keys', statement, async () => {});
      this.#hasKeys = true;
      return undefined;
    } catch (error) {
      if (isUndefinedTable(error)) throw targetDropped(error);
      if (!isRefusalOfData(error)) throw error;
      return error;
    }
  }

  async finish(client: ClientBase, rows: LoadedRows, problems: Problems): Promise<void> {
    const error = await this.addKeys(client);
    const { places, sent } = rows;
    if (error) await explainRefusal(client, { error }, { target: this, places, stored: sent }, problems);
    if (!rows.leftOut) problems.throwIfAny();
    await continueAllNumbering(client, this.relation, this.#table, rows);
  }

  async end(
    client: ClientBase,
    endAtOnce: TransactionEdges['endAtOnce'],
    onPlanned: (ended: EndedLoad) => void,
  ): Promise<EndedLoad | undefined> {
    if (!this.replaces) return undefined;
    const replacement = {
      table: this.#table,
      aside: this.#naming,
      extraFunctions: this.#options.extraFunctions,
    };
    const options = {
      ...this.#options,
      endAtOnce,
      onPlanned: (swapped: Swapped) => onPlanned(endedBy(swapped)),
    };
    return endedBy(await swapTable(client, replacement, options));
  }
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

function nameAside(table: PreparedTable): Naming {
  const name = randomName('table');
  return { name, names: namesAside(table.names, name) };
}

/** Returns the error for a referenced table that was dropped after the definition was checked. */
function targetDropped(cause: Error): AppError {
  const detail = 'Another session dropped a table that a foreign key refers to; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

const maxNameTries = 3;

/**
 * Runs a statement that creates names, and runs it again with other names if a name already exists. If the statement fails, it is
 * undone.
 */
async function createNamed(
  client: ClientBase,
  table: PreparedTable,
  savepoint: string,
  toStatement: () => Promise<Statement>,
  onClash: () => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { text } = await toStatement();
    try {
      await queryWithSavepoint(client, savepoint, [inCallersPath(text)]);
      return;
    } catch (error) {
      if (!isNameClash(error)) throw error;
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

function endedBy({ description, lost }: Swapped): EndedLoad {
  return { table: description, warnings: lostObjects(lost) };
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
