/**
 * Creates the table of an upload without keys and references, which are added after the rows. To replace an existing table, the new
 * table is created under another name and takes the name of the old one at the end.
 */
import type { ClientBase } from 'pg';
import { AppError, type Warning } from '../../../core/errors.ts';
import {
  costOfUse,
  higherCost,
  listingFunction,
  splittingFunctions,
} from '../../../encoding/columns/key-cost.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import type { CallersStatement } from '../../../postgres/callers-statement.ts';
import {
  callsOfCopy,
  mostCopies,
  patternBytesOfCopy,
  timesLonger,
} from '../../../postgres/expression-trees.ts';
import { isChangeOfNamedObject, isMissingSchema, isNameClash } from '../../../postgres/named-objects.ts';
import { runAndUndo, runWithSavepoint } from '../../../postgres/savepoints.ts';
import { apartInCallersPath, queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified, randomName } from '../../../postgres/sql.ts';
import { conditionOf, isRefusalOfData } from '../../../postgres/sqlstate.ts';
import { admitIndexes } from '../../tables/added-bytes.ts';
import { findRelation } from '../../tables/catalog/relations.ts';
import { nameConflict, tableExists, uploadRemedies } from '../../tables/create-table.ts';
import {
  addConstraints,
  continueNumbering,
  continueNumberingAfter,
  createPlacedTable,
  hasConstraints,
  hasExpressions,
  highestNumber,
  type Naming,
  namesNotValid,
} from '../../tables/ddl.ts';
import { isTable } from '../../tables/describe-table.ts';
import { isSharded, needsStatementsApart } from '../../tables/distribution/placement.ts';
import { proofOf, refuseOthersCode } from '../../tables/expressions/prove-expressions.ts';
import { changeColumnsOf, truncateTable } from '../../tables/loading/load-statements.ts';
import { readLoadColumns } from '../../tables/loading/read-load-columns.ts';
import { namesAside, type ObjectNames } from '../../tables/object-names.ts';
import type { ExistingObject, PreparedTable } from '../../tables/prepared-table.ts';
import { refuseDependents } from '../../tables/replace/refuse-dependents.ts';
import { TableSwap } from '../../tables/replace/table-swap.ts';
import { isSelfReference, type RowRule, readRowRules } from '../../tables/rules/row-rules.ts';
import { conflictKeysOf } from '../staged/conflict-keys.ts';
import type { ConflictKey } from '../staged/conflict-rule.ts';
import { ownBytesOf, withIndexes } from './index-bytes.ts';
import type { RowTarget } from './row-target.ts';
import type { TableChange } from './table-change.ts';

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
): Promise<NewTable> {
  const { schema, existing } = table;
  const replaces = options.mayReplace && existing !== undefined && isTable(existing.kind);
  if (existing && !replaces) throw tableExists(schema, table.name, existing, uploadRemedies);
  if (replaces) await refuseDependents(client, schema, table.name);
  const naming = replaces ? nameAside(table) : table;
  const nameAgain = async () => {
    await refuseTakenTableName(client, table);
    return table.chooseNamesAgain(client);
  };
  try {
    await createNamed(
      client,
      { table, naming },
      'bare',
      async () => createPlacedTable(table, naming),
      nameAgain,
    );
  } catch (error) {
    throw isChangeOfNamedObject(error) && !isMissingSchema(error) ? namedObjectChanged(error) : error;
  }
  const columns = await readLoadColumns(client, schema, naming.name);
  const keys = await conflictKeysOf(table, columns);
  return new NewTable({ table, naming, columns, keys, replaces }, options);
}

/** A table that has been created. */
interface CreatedTable {
  table: PreparedTable;
  /** The names that the table and its parts have until the end of the load. */
  naming: Naming;
  columns: LoadColumn[];
  keys: ConflictKey[];
  replaces: boolean;
}

/** A new table, from its creation until the end of the transaction. */
export class NewTable implements RowTarget {
  readonly relation: string;
  readonly stored: string;
  columns: LoadColumn[];
  readonly keys: ConflictKey[];
  readonly replaces: boolean;
  readonly added: string[] = [];
  /** This upload has created the table. No other row is in it, and its keys are added after the rows. */
  readonly isNew = true;
  readonly mayRefuseRows: boolean;
  readonly hasRowTriggers = false;
  readonly changesRows = false;
  readonly mayPreventUpdates = false;
  readonly hasRules = false;
  readonly hasOtherRules = false;
  readonly takesNoCopy = false;
  readonly isSharded: boolean;
  /** The rows are stored in the order in which they were copied. This is false for a table of several shards: if its rows violate a key, they are read again. */
  readonly keepsOrder: boolean;
  readonly primaryKey: readonly string[] | undefined;
  readonly keyColumns: readonly string[];
  readonly warnings: Warning[];
  readonly #table: PreparedTable;
  readonly #naming: Naming;
  readonly #options: NewTableOptions;
  #hasKeys = false;

  constructor({ table, naming, columns, keys, replaces }: CreatedTable, options: NewTableOptions) {
    this.relation = quoteQualified(table.schema, naming.name);
    this.stored = this.relation;
    this.columns = columnsOf(table, columns);
    this.keys = keys;
    this.replaces = replaces;
    this.isSharded = isSharded(table.placement);
    this.keepsOrder = table.placement?.kind !== 'column';
    this.mayRefuseRows =
      (!this.keepsOrder && hasConstraints(table)) || columns.some(isDomain) || hasExpressions(table);
    this.primaryKey = table.primaryKey?.columns;
    this.keyColumns = [...keys, ...table.unique, { columns: this.primaryKey ?? [] }].flatMap(
      (key) => key.columns,
    );
    this.warnings = table.warnings;
    this.#table = table;
    this.#naming = naming;
    this.#options = options;
  }

  /** Reads the rules of the table from PostgreSQL's catalogue. So that they are there, the keys are added to the emptied table, and then everything is undone. */
  async readRules(client: ClientBase): Promise<RowRule[]> {
    const { schema, name } = this.#table;
    const rules = await runAndUndo(client, 'rules', async () => {
      await queryInCallersPath(client, truncateTable(this.relation, undefined));
      const error = await this.addKeys(client);
      if (error) throw error;
      return readRowRules(client, schema, this.#naming.name);
    });
    this.#hasKeys = false;
    const notValid = namesNotValid(this.#table, this.#naming);
    return rules
      .filter(({ name }) => !notValid.includes(name))
      .map((rule) => (isSelfReference(rule) ? { ...rule, referencedTable: name } : rule));
  }

  /** Adds columns and converts others, with the rows that the table has. The table must have no keys. */
  async change(client: ClientBase, change: TableChange): Promise<void> {
    await queryInCallersPath(client, changeColumnsOf(this.relation, change));
    const columns = await readLoadColumns(client, this.#table.schema, this.#naming.name);
    this.columns = columnsOf(this.#table, columns);
  }

  /**
   * Adds the keys and references, unless they were added before. If PostgreSQL refuses them, they are undone, and the error is returned.
   *
   * @throws AppError `write-conflict`
   */
  async addKeys(client: ClientBase): Promise<Error | undefined> {
    if (this.#hasKeys || !hasConstraints(this.#table)) return undefined;
    const table = this.#table;
    const naming = this.#naming;
    const statements = () => addConstraints(table, naming);
    const nameAgain = () => table.chooseNamesAgain(client, this.replaces ? undefined : table.names.sequences);
    try {
      if (!this.isSharded) await admitIndexes(client, this.relation, table, this.columns);
      await createNamed(client, { table, naming }, 'keys', statements, nameAgain);
      this.#hasKeys = true;
      return undefined;
    } catch (error) {
      if (isChangeOfTarget(error)) throw targetChanged(error);
      if (!isRefusalOfData(error)) throw error;
      return error;
    }
  }

  /** Advances the sequences of numbered columns past the numbers that the rows have. */
  async continueNumbering(client: ClientBase, { sourceColumn }: CellPlaces): Promise<void> {
    for (const { name, identity } of this.#table.columns) {
      const isSent = sourceColumn(name) >= 0;
      if (identity === 'none' || !isSent) continue;
      if (isSharded(this.#table.placement)) await continueApart(client, this.relation, name);
      else await client.query(continueNumbering(this.relation, name));
    }
  }

  /** Begins to replace the existing table. */
  swap(client: ClientBase): TableSwap {
    const { extraFunctions } = this.#options;
    const replacement = { table: this.#table, aside: this.#naming, extraFunctions };
    return new TableSwap(client, replacement, this.#options);
  }
}

/**
 * Returns the columns with what the catalogue does not say yet. Citus stores no row with NULL in the distribution column, whether or not the column is
 * NOT NULL. The indexes are made after the rows.
 */
function columnsOf(
  { placement, indexes, columns: prepared }: PreparedTable,
  columns: LoadColumn[],
): LoadColumn[] {
  const distribution = placement?.kind === 'column' ? placement.column : undefined;
  const generated = new Map(prepared.map((column) => [column.name, column.generated?.sql]));
  const keys = indexes.filter(({ method }) => method === 'gin').flatMap((index) => index.columns);
  const inGin = new Set(keys.map(({ column }) => column));
  const isComputed = keys.some(({ column = '', expressionSql }) => expressionSql ?? generated.get(column));
  const sqlsOfIndexes = indexes.map(({ columns: parts, whereSql }) =>
    [...parts.map((part) => part.expressionSql), whereSql].filter((sql) => sql !== undefined),
  );
  const indexSqls = sqlsOfIndexes.flat();
  const sqls = [...[...generated.values()].filter((sql) => sql !== undefined), ...indexSqls];
  const calls = (name: string) => sqls.some((sql) => sql.includes(name));
  const longNames = prepared.filter((column) => column.generated).map(({ name }) => quoteIdentifier(name));
  const copiesIn = (sql: string) =>
    copiesOf(sql) * (longNames.some((name) => sql.includes(name)) ? mostCopies : 1);
  // The indexes are made one after the other, and each needs all of its expressions at once.
  const mostCopiesOf = (counts: (sql: string) => boolean) =>
    sqlsOfIndexes.reduce(
      (most, list) =>
        Math.max(
          most,
          list.filter(counts).reduce((sum, sql) => sum + copiesIn(sql), 0),
        ),
      0,
    );
  const use = {
    isInTrigrams:
      sqls.some((sql) => /similarity|OPERATOR\([^)]{0,200}(%|<->)/.test(sql)) ||
      indexes.some((index) => index.columns.some(({ operatorClass }) => operatorClass?.endsWith('trgm_ops'))),
    splits: indexSqls.reduce((sum, sql) => sum + (sql.match(dividesTexts)?.length ?? 0), 0),
    isSorted: sqls.some((sql) => sortsElements.test(sql)),
    isListed: calls(listingFunction),
    copies: mostCopiesOf(() => true),
    work: 0,
  };
  const jsonCopiesOf = (name: string) => mostCopiesOf((sql) => makesJson.test(sql) && sql.includes(name));
  const ownWork = indexSqls.reduce(
    (sum, sql) => sum + (joins.test(sql) || sql.includes('char') ? ownBytesOf(sql) * copiesOf(sql) : 0),
    0,
  );
  return withIndexes(columns, indexes, generated).map((column, place) => {
    const { type, name } = column;
    const keyCost = costOfUse(type, {
      isInGin: isComputed || inGin.has(name),
      jsonCopies: typesOfJson.has((type.base ?? type).oid) ? jsonCopiesOf(quoteIdentifier(name)) : 0,
      ...use,
    });
    return {
      ...column,
      ...(place === 0 && { ownWork: (column.ownWork ?? 0) + ownWork }),
      ...(name === distribution && { isNullable: false }),
      type: { ...type, keyCost: higherCost(type.keyCost, keyCost) },
    };
  });
}

/** `json`, `jsonb` and their arrays (pg_type.dat), and SQL that may make the parts of their values anew. */
const typesOfJson = new Set([114, 199, 3802, 3807]);
const makesJson = /json|\|\|\)|-\)/;

/** Estimates how many copies of values an expression of an index makes: its names of columns multiplied by its calls and casts. */
function copiesOf(sql: string): number {
  const calls = sql.split('(').length - 1;
  const casts = sql.split(')::').length - 1;
  const columns = sql.match(/"[^"]+"/g)?.length ?? 0;
  const made = Math.min(mostCopies + casts, calls * columns) * timesOf(sql, casts);
  const copies = made + calls / callsOfCopy;
  if (!searches.test(sql)) return copies;
  const searched = (sql.match(/'[^']*'/g) ?? []).join('').length / patternBytesOfCopy;
  return copies + searched * (joins.test(sql) ? Math.max(1, columns) : 1);
}

/** Estimates how many times as long the values may become (lengtheningOf in postgres/expression-trees.ts). */
function timesOf(sql: string, casts: number): number {
  if (/json|->|#>|encode|to_array/i.test(sql)) return 2 * timesLonger;
  return casts > 0 || /concat|quote|convert|hstore|unaccent|\|\|/i.test(sql) ? timesLonger : 1;
}

/** SQL that joins values. */
const joins = /concat|cat\(|append|build|overlay|\|\|/i;
/** The SQL of a call of a function that divides texts. The catalogue knows those of generated columns. */
const dividesTexts = new RegExp(splittingFunctions.join('|'), 'g');
/** SQL that sorts the elements of an array by an operator of the extension hstore. Other such operators are refused in definitions. */
const sortsElements = /OPERATOR\((?!"pg_catalog")[^)]{0,200}\.\?[|&]\)/;
/** SQL that may search a value for a literal (searchesIn in postgres/expression-trees.ts). */
const searches =
  /~~|like|strpos|position|split_part|string_to_array|array_remove|replace|translate|trim|[@<?&][@><|&]|<->|\.-/i;

async function continueApart(client: ClientBase, relation: string, column: string): Promise<void> {
  const { rows } = await client.query<{ highest: string | null }>(highestNumber(relation, column));
  await client.query(continueNumberingAfter(relation, column, rows[0]!.highest));
}

function nameAside(table: PreparedTable): Naming {
  const name = randomName('table');
  return { name, names: namesAside(table.names, name) };
}

/** Returns the error for a sequence or a function of a default that was dropped after the definition was checked. */
function namedObjectChanged(cause: Error): AppError {
  const detail = 'Another session dropped an object that the new table needs; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

/**
 * Returns whether another session has dropped or changed a table that a foreign key refers to, after the definition was checked. PostgreSQL
 * also reports a type without a comparison as a function that does not exist.
 */
function isChangeOfTarget(error: unknown): error is Error {
  return isChangeOfNamedObject(error) && conditionOf(error) !== 'undefined_function';
}

function targetChanged(cause: Error): AppError {
  const detail =
    'Another session dropped or changed a table that a foreign key refers to; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

const maxNameTries = 3;

/**
 * Runs statements that create names, and runs them again with other names if a name already exists. If a statement fails, all are
 * undone.
 */
async function createNamed(
  client: ClientBase,
  { table, naming: { name } }: Pick<CreatedTable, 'table' | 'naming'>,
  savepoint: string,
  toStatements: () => Promise<CallersStatement[]>,
  nameAgain: () => Promise<ObjectNames>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const statements = await toStatements();
    try {
      await runWithSavepoint(
        client,
        savepoint,
        [...apartInCallersPath(...statements), ...proofOf(table, name)],
        needsStatementsApart(table.placement),
      );
      return;
    } catch (error) {
      refuseOthersCode(error);
      if (!isNameClash(error)) throw error;
      table.names = await nameAgain();
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

/** Returns whether the type is a domain. Only the checks of domains can refuse a row of a bare table. */
function isDomain({ type }: LoadColumn): boolean {
  return type.kind === 'domain' || type.element?.kind === 'domain';
}
