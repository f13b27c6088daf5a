/** Finds names for the constraints and sequences of a table that no other relation of the schema has. */
import type { ClientBase } from 'pg';
import { AppError, maxListedProblems, type Problem } from '../../core/errors.ts';
import { findRelationNames, kindInWords, type TakenName } from './catalog/relations.ts';
import { columnPointer, type TableDefinition } from './definition.ts';
import { chooseNames, type NameSeries, type ObjectNames } from './object-names.ts';

/** For each name that was looked up, the relation of the schema that has it; null: no relation has it. */
export type KnownNames = Map<string, TakenName | null>;

export interface NamedTable {
  schema: string;
  name: string;
  definition: TableDefinition;
  /** Returns whether a name that another relation has will become free, because that relation will be dropped. */
  isFreed: (taken: TakenName) => boolean;
}

/**
 * Chooses names that are free. Takes no round trip if `known` has every name that is needed.
 *
 * @param known the names that were looked up before; new ones are added
 */
export async function chooseFreeNames(
  client: ClientBase,
  { schema, name, definition, isFreed }: NamedTable,
  known: KnownNames,
): Promise<ObjectNames> {
  for (;;) {
    const unknown = new Set<string>();
    const isFree = (name: string, series: NameSeries, attempt: number) => {
      const taken = known.get(name);
      // Many constraints may have the same series of names. So only the first of them adds names to look up.
      if (taken === undefined && !unknown.has(name)) addNextNames(unknown, series, attempt);
      return taken === undefined || taken === null || isFreed(taken);
    };
    const names = await chooseNames(name, definition, isFree);
    if (unknown.size === 0) return names;
    await lookUpNames(client, schema, [...unknown], known);
  }
}

/**
 * Chooses names again, after another session has created an object with one of the chosen names.
 *
 * @param made the sequences that the transaction has created already, which keep their names
 * @throws AppError `invalid-definition` if the definition itself gives that name
 */
export async function chooseNamesAgain(
  client: ClientBase,
  table: NamedTable,
  made?: ObjectNames['sequences'],
): Promise<ObjectNames> {
  const known: KnownNames = new Map();
  const ownNames = new Set(made?.values());
  const given = namedRelations(table.definition).map((key) => key.name!);
  await lookUpNames(client, table.schema, given, known);
  const isFreed = (taken: TakenName) => ownNames.has(taken.name) || table.isFreed(taken);
  const problems = checkGivenNames({ ...table, isFreed }, known);
  if (problems.length > 0) {
    throw new AppError('invalid-definition', problems[0]!.detail, {
      errors: problems.slice(0, maxListedProblems),
      errorCount: problems.length,
    });
  }
  const names = await chooseFreeNames(client, table, known);
  return made === undefined ? names : { ...names, sequences: made };
}

/** Returns a problem for each primary key, unique constraint, index and sequence whose name another relation of the schema has. */
export function checkGivenNames({ definition, isFreed }: NamedTable, known: KnownNames): Problem[] {
  return namedRelations(definition).flatMap(({ name, pointer }): Problem[] => {
    const taken = known.get(name!);
    if (!taken || isFreed(taken)) return [];
    const owner = taken.ownerName === null ? '' : ` of the table ${taken.ownerName}`;
    const detail = `the name "${name}" is already used by ${kindInWords(taken.kind)}${owner}; use another name or leave it empty`;
    return [{ pointer: `${pointer}/name`, code: 'name-taken', detail, value: name! }];
  });
}

/** The keys, indexes and sequences that the definition names. */
export function namedRelations({ columns, primaryKey, unique, indexes }: TableDefinition) {
  const sequences = columns.map(({ sequence }, index) => ({
    name: sequence?.name,
    pointer: `${columnPointer(index)}/sequence`,
  }));
  return [...(primaryKey === undefined ? [] : [primaryKey]), ...unique, ...indexes, ...sequences].filter(
    ({ name }) => name !== undefined,
  );
}

/** Leaves the names of keys, foreign keys, indexes and sequences to the service. */
export function forgetNames({ columns, primaryKey, unique, foreignKeys, indexes }: TableDefinition): void {
  const sequences = columns.map(({ sequence }) => sequence);
  for (const named of [primaryKey, ...unique, ...foreignKeys, ...indexes, ...sequences])
    if (named !== undefined) named.name = undefined;
}

/** Adds several names of the series, because looking them up one by one would take a round trip for each. */
function addNextNames(names: Set<string>, series: NameSeries, attempt: number): void {
  for (let index = 0; index <= attempt; index++) names.add(series.name(attempt + index));
}

async function lookUpNames(
  client: ClientBase,
  schema: string,
  names: string[],
  known: KnownNames,
): Promise<void> {
  if (names.length === 0) return;
  const { rows } = await client.query<{ found: TakenName[] }>(findRelationNames(schema, names));
  for (const name of names) known.set(name, null);
  for (const row of rows[0]!.found) known.set(row.name, row);
}
