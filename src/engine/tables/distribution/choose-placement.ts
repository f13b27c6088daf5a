/**
 * Decides where Citus puts a new table, and finds every reason why Citus could not keep it there. Citus itself reports only the first
 * reason, after the rows were sent, and accepts some foreign keys that it does not check completely.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { forEachInTurns } from '../../../core/pause-for-others.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import {
  type DistributionDefinition,
  distributionPointer,
  type KeyDefinition,
  weightOfKey,
} from '../definition.ts';
import type { DefinitionProblems } from '../definition-problems.ts';
import type { PreparedColumn, PreparedForeignKey } from '../prepared-table.ts';
import { type CitusFacts, lookUpPlacements, type PlacedTable } from './citus-facts.ts';
import { needsSequence } from './place-table.ts';
import type { ColumnPlacement, OrdinaryPlacement, Placement } from './placement.ts';
import { ruleThatCitusLacks } from './rules-in-citus.ts';

/** A table that will be created in a database with Citus. */
export interface TableToPlace {
  schema: string;
  name: string;
  /** The distribution in the definition; undefined: it has none. */
  distribution: DistributionDefinition | undefined;
  columns: PreparedColumn[];
  keys: KeyDefinition[];
  foreignKeys: PreparedForeignKey[];
  /** The tables that the foreign keys refer to, except for the table itself. */
  targets: { schema: string; table: string }[];
}

/** @throws AppError `distribution-unavailable` for a definition with a distribution, in a database without Citus */
export function refuseDistribution(distribution: DistributionDefinition | undefined): void {
  if (distribution === undefined) return;
  const detail =
    'The definition has a distribution, and the database has no Citus (version 12 or newer) to distribute tables. Leave "distribution" out.';
  throw new AppError('distribution-unavailable', detail, {
    errors: [
      {
        pointer: distributionPointer,
        code: 'not-supported',
        detail:
          'the database has no Citus (version 12 or newer) to distribute tables; leave "distribution" out',
      },
    ],
  });
}

/** Returns where the table is to be put, and adds the problems that prevent it. Takes one round trip, and works in turns. */
export async function choosePlacement(
  client: ClientBase,
  table: TableToPlace,
  problems: DefinitionProblems,
): Promise<Placement> {
  const facts = await lookUp(client, table, table.distribution?.column);
  const wanted = wantedDistribution(table, facts);
  if (wanted.isInherited && wanted.kind === 'column')
    facts.isHashable = (await lookUp(client, table, wanted.column)).isHashable;
  const placing: Placing = { table, facts, problems, targetOf: targetFinder(table, facts) };
  const hasForeignKeys = table.foreignKeys.length > 0 || facts.existingHasForeignKeys;
  return { ...(await place(placing, wanted)), isSequential: needsSequence(table.name, hasForeignKeys) };
}

async function place(
  placing: Placing,
  wanted: WantedDistribution,
): Promise<OrdinaryPlacement | ColumnPlacement> {
  const { table } = placing;
  if (wanted.kind === 'column') return placeByColumn(placing, wanted);
  refuseKindInSchema(placing, wanted);
  await forEachInTurns(table.foreignKeys, (key) => {
    checkReference(placing, wanted.kind, key);
    checkRules(placing, wanted.kind, undefined, key);
  });
  return { kind: wanted.kind };
}

function checkRules(
  { table, problems, targetOf }: Placing,
  kind: Placement['kind'],
  distributionColumn: string | undefined,
  key: PreparedForeignKey,
): void {
  const kindOfTarget = key.isSelf ? kind : (targetOf(key)?.kind ?? 'local');
  const { columns } = table;
  const lack = ruleThatCitusLacks({ key, kind, kindOfTarget, columns, distributionColumn });
  if (lack === undefined) return;
  const pointer = `${key.pairs[0]!.pointer}/${lack.member}`;
  problems.add({ pointer, code: 'distribution-conflict', detail: lack.detail });
}

async function lookUp(
  client: ClientBase,
  { schema, name, targets, columns }: TableToPlace,
  distributionColumn: string | undefined,
): Promise<CitusFacts> {
  const typeOid = columns.find((column) => column.name === distributionColumn)?.type.baseOid;
  const request = { schema, table: name, targets };
  const { rows } = await client.query<{ facts: CitusFacts }>(lookUpPlacements(request, typeOid));
  return rows[0]!.facts;
}

interface Placing {
  table: TableToPlace;
  facts: CitusFacts;
  problems: DefinitionProblems;
  targetOf: (key: PreparedForeignKey) => PlacedTable | null;
}

/** A distribution of the definition, of the existing table, or of the schema. */
interface WantedDistribution extends Omit<DistributionDefinition, 'column'> {
  column: string;
  isInherited: boolean;
}

/** Returns the distribution that the table should have. A definition without one describes a table like the existing one, so it gets the same distribution. */
function wantedDistribution({ distribution }: TableToPlace, facts: CitusFacts): WantedDistribution {
  if (distribution !== undefined)
    return { ...distribution, column: distribution.column ?? '', isInherited: false };
  const { existing, schemaIsDistributed } = facts;
  const bySchema = schemaIsDistributed ? 'schema' : 'local';
  const isPlacedBySchema = schemaIsDistributed || existing === null || existing.kind === 'schema';
  const kind = isPlacedBySchema ? bySchema : existing.kind;
  return { kind, column: existing?.column ?? '', shards: undefined, isInherited: true };
}

function targetFinder(
  { targets }: TableToPlace,
  facts: CitusFacts,
): (key: PreparedForeignKey) => PlacedTable | null {
  const placed = new Map(
    targets.map(({ schema, table }, index) => [quoteQualified(schema, table), facts.targets[index] ?? null]),
  );
  return (key) => placed.get(quoteQualified(key.schema, key.table)) ?? null;
}

/** Refuses a kind of distribution that the schema does not allow. */
function refuseKindInSchema(
  { table: { schema }, facts, problems }: Placing,
  { kind }: Pick<WantedDistribution, 'kind'>,
): boolean {
  const refuse = (detail: string) => {
    problems.add({
      pointer: `${distributionPointer}/kind`,
      code: 'distribution-conflict',
      detail,
      value: kind,
    });
    return true;
  };
  if (kind === 'schema' && !facts.schemaIsDistributed)
    return refuse(
      `the schema "${schema}" is not distributed, so it does not decide where its tables are. Send "local", "reference" or "column"`,
    );
  if (kind !== 'schema' && facts.schemaIsDistributed)
    return refuse(
      `the schema "${schema}" is distributed, so all its tables are distributed with it. Leave "distribution" out, or use another schema`,
    );
  return false;
}

async function placeByColumn(
  placing: Placing,
  wanted: WantedDistribution,
): Promise<OrdinaryPlacement | ColumnPlacement> {
  const { table, facts, problems } = placing;
  const { column: name, isInherited } = wanted;
  if (refuseKindInSchema(placing, wanted)) return { kind: 'local' };
  const placement = { kind: 'column' as const, column: name, shards: wanted.shards, colocateWith: undefined };
  const column = table.columns.find((one) => one.name === name);
  if (column === undefined) {
    refuseUnknownColumn(placing, name, isInherited);
    return placement;
  }
  if (!facts.isHashable) {
    const detail = `the column "${name}" is of type ${column.type.display}, which has no hash operator class, so its values cannot decide where rows are. Choose another column`;
    problems.add({
      pointer: `${distributionPointer}/column`,
      code: 'type-not-hashable',
      detail,
      value: name,
    });
  }
  await refuseKeysWithout(name, table.keys, problems);
  const together = await checkReferencesByColumn(placing, name, column);
  return { ...placement, ...colocation(placing, wanted, column, together) };
}

function refuseUnknownColumn({ table, problems }: Placing, name: string, isInherited: boolean): void {
  const pointer = isInherited ? distributionPointer : `${distributionPointer}/column`;
  const among = table.columns.map((column) => column.name);
  if (name === '') return;
  const detail = isInherited
    ? `the existing table is distributed by the column "${name}", which the new table does not have. Add the column, or send a definition with another "distribution"`
    : `the table has no column "${name}".`;
  problems.add(
    { pointer, code: 'unknown-column', detail, value: name },
    isInherited ? undefined : { name, among },
  );
}

/** Refuses keys that do not contain the distribution column, because each node can only compare its own rows. */
async function refuseKeysWithout(
  column: string,
  keys: KeyDefinition[],
  problems: DefinitionProblems,
): Promise<void> {
  const check = (key: KeyDefinition) => {
    if (key.columns.includes(column)) return;
    const shown = key.name === undefined ? 'this key' : `the key "${key.name}"`;
    const detail = `${shown} does not contain the distribution column "${column}". Citus can only check keys that contain it: add "${column}" to the key, or distribute the table by a column of the key`;
    problems.add({ pointer: `${key.pointer}/columns`, code: 'key-without-distribution-column', detail });
  };
  await forEachInTurns(keys, check, weightOfKey);
}

/**
 * Checks the foreign keys of a table that is distributed by a column.
 *
 * @returns the referenced table that the new table must be colocated with; undefined: none
 */
async function checkReferencesByColumn(
  placing: Placing,
  column: string,
  { type }: PreparedColumn,
): Promise<ColocatedTarget | undefined> {
  let together: ColocatedTarget | undefined;
  const check = (key: PreparedForeignKey) => {
    if (key.table === '') return;
    checkRules(placing, 'column', column, key);
    const target = placing.targetOf(key);
    if (!key.isSelf && target?.kind !== 'column') {
      checkReference(placing, 'column', key);
      return;
    }
    const refuse = (detail: string) => refuseReference(placing, key, detail);
    const referenced = key.isSelf ? column : target!.column;
    const isTogether = key.pairs.some(
      (pair) => pair.column === column && pair.referenceColumn === referenced,
    );
    const shown = shownTarget(key);
    if (!isTogether)
      return refuse(
        `a foreign key to ${shown}, which is distributed by the column "${referenced}", must contain the pair "${column}" and "${referenced}". Add the pair to the foreign key`,
      );
    if (key.isSelf) return;
    if (target!.columnType !== type.oid)
      return refuse(
        `the distribution column "${column}" is of type ${type.display}, and that of ${shown} of type ${target!.columnTypeName}. Citus keeps rows together only if both columns have the same type: use the same type`,
      );
    together ??= { target: target!, relation: quoteQualified(key.schema, key.table), shown };
    if (together.target.colocation !== target!.colocation)
      refuse(
        `${shown} and ${together.shown} are not colocated, so the table cannot refer to both. Refer to one of them, or make one of them a reference table`,
      );
  };
  await forEachInTurns(placing.table.foreignKeys, check, ({ pairs }) => pairs.length);
  return together;
}

interface ColocatedTarget {
  target: PlacedTable;
  /** The table, quoted. */
  relation: string;
  /** The table for messages. */
  shown: string;
}

/** Returns the table that the new table is colocated with, or its number of shards. */
function colocation(
  { table, facts, problems }: Placing,
  { shards, isInherited }: WantedDistribution,
  { type }: PreparedColumn,
  together: ColocatedTarget | undefined,
): { shards: number | undefined; colocateWith: string | undefined } {
  if (together !== undefined) {
    if (shards !== undefined && shards !== together.target.shards) {
      const detail = `the table refers to ${together.shown}, which has ${together.target.shards} shards, so it needs the same number. Leave "shards" out`;
      problems.add({ pointer: `${distributionPointer}/shards`, code: 'distribution-conflict', detail });
    }
    return { shards: undefined, colocateWith: together.relation };
  }
  const { existing } = facts;
  const isAsBefore =
    existing?.kind === 'column' &&
    existing.columnType === type.oid &&
    (shards ?? existing.shards) === existing.shards;
  if (isAsBefore) return { shards: undefined, colocateWith: quoteQualified(table.schema, table.name) };
  return { shards: isInherited ? existing?.shards : shards, colocateWith: undefined };
}

/** Refuses a foreign key between tables that Citus stores in ways that do not fit each other. */
function checkReference(placing: Placing, kind: Placement['kind'], key: PreparedForeignKey): void {
  if (key.isSelf || key.table === '') return;
  const conflict = conflictOfKinds(placing, kind, key);
  if (conflict !== undefined) refuseReference(placing, key, conflict);
}

/** Returns why a table of this kind cannot have the foreign key, and what to do instead; undefined: it can have the key. */
function conflictOfKinds(
  { table, facts, targetOf }: Placing,
  kind: Placement['kind'],
  key: PreparedForeignKey,
): string | undefined {
  const kindOfTarget = targetOf(key)?.kind ?? 'local';
  const shown = shownTarget(key);
  const remedy = `Make ${shown} a reference table, or leave the foreign key out`;
  if (kindOfTarget === 'reference') return undefined;
  if (kind === 'local' || kind === 'reference') {
    if (kindOfTarget === 'local') return undefined;
    const what = kind === 'local' ? 'an ordinary table' : 'a reference table';
    return `${shown} is distributed, and ${what} cannot refer to it: Citus would not check the foreign key when rows of ${shown} are deleted. ${remedy}`;
  }
  if (kindOfTarget === 'local')
    return `${shown} is an ordinary table, and a distributed table cannot refer to it. ${remedy}`;
  const isOfSameSchema = facts.schemaIsDistributed && key.schema === table.schema;
  if (kind === 'schema' && kindOfTarget === 'schema' && isOfSameSchema) return undefined;
  return `${shown} is distributed in another way, so its rows can be on another node. ${remedy}`;
}

function refuseReference({ problems }: Placing, key: PreparedForeignKey, detail: string): void {
  const pointer = `${key.pairs[0]!.pointer}/reference_table`;
  problems.add({ pointer, code: 'reference-not-colocated', detail, value: key.table });
}

function shownTarget({ schema, table }: PreparedForeignKey): string {
  return `"${schema}"."${table}"`;
}
