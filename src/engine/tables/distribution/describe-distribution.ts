/** Describes how Citus distributes a table, in a form that can be sent again as a part of the definition. */
import type { ClientBase } from 'pg';
import { quoteQualified } from '../../../postgres/sql.ts';
import type { DistributionDescription, TableDescription } from '../definition.ts';
import {
  findPlacement,
  type ListedPlacement,
  listPlacements,
  measureTable,
  type PlacedTable,
} from './citus-facts.ts';

/** Returns the distribution of a table. Takes one round trip if the database has Citus. Otherwise it returns undefined. */
export async function describeDistribution(
  client: ClientBase,
  { oid, isCitus }: { oid: number; isCitus: boolean },
): Promise<DistributionDescription | undefined> {
  if (!isCitus) return undefined;
  const { rows } = await client.query<{ placed: PlacedTable | null }>(findPlacement(oid));
  return toDistribution(rows[0]!.placed);
}

/** Returns the column whose value decides on which node a row is; undefined: there is none. Use it in a database with Citus only. */
export async function findDistributionColumn(client: ClientBase, oid: number): Promise<string | undefined> {
  const { rows } = await client.query<{ placed: PlacedTable | null }>(findPlacement(oid));
  return rows[0]!.placed?.column ?? undefined;
}

/** Adds the size on all nodes to the description of a table that Citus distributes. */
export async function withBytes(client: ClientBase, table: TableDescription): Promise<TableDescription> {
  const { schema, name, distribution } = table;
  if (distribution === undefined || distribution.kind === 'local') return table;
  const { rows } = await client.query<{ bytes: string | null }>(measureTable(quoteQualified(schema, name)));
  const bytes = rows[0]!.bytes;
  return { ...table, distribution: { ...distribution, bytes: bytes === null ? null : Number(bytes) } };
}

/** A table whose placement and size are asked for. */
export interface MeasuredTable {
  oid: number;
  /** Another session has locked the table, so it is not measured. */
  isLocked: boolean;
}

export interface FoundDistribution {
  distribution: DistributionDescription;
  /** The size on all nodes; null: a node does not answer, or the table is locked; undefined: an ordinary table, whose size PostgreSQL itself knows. */
  bytes: number | null | undefined;
}

/** Returns the distributions and sizes of tables by their object identifiers, in a database with Citus. */
export async function findDistributions(
  client: ClientBase,
  tables: MeasuredTable[],
): Promise<Map<number, FoundDistribution>> {
  const measured = tables.filter(({ isLocked }) => !isLocked).map(({ oid }) => oid);
  const { rows } = await client.query<ListedPlacement>(
    listPlacements(
      tables.map(({ oid }) => oid),
      measured,
    ),
  );
  return new Map(
    rows.map(({ oid, placed, bytes }) => {
      const size = bytes === null ? null : Number(bytes);
      return [oid, { distribution: toDistribution(placed), bytes: placed === null ? undefined : size }];
    }),
  );
}

function toDistribution(placed: PlacedTable | null): DistributionDescription {
  if (placed === null || placed.kind === 'local') return { kind: 'local' };
  const { kind, column, shards } = placed;
  return column === null ? { kind, shards } : { kind, column, shards };
}
