/**
 * Lists the tables and partitioned tables of some schemas, in pages, ordered by the bytes of schema and name.
 */
import type { ClientBase } from 'pg';
import { maySee } from './catalog/relations.ts';
import type { DistributionDescription } from './definition.ts';
import { isCitus } from './distribution/citus-facts.ts';
import { findDistributions } from './distribution/describe-distribution.ts';

export interface ListedTable {
  schema: string;
  name: string;
  kind: 'table' | 'partitioned table';
  /** The number of rows when PostgreSQL last counted or estimated them (VACUUM, ANALYZE); null: never. */
  estimatedRows: number | null;
  /** The size on disk with indexes and TOAST. The size of a partitioned table is that of its partitions. null: another session has locked the table. */
  bytes: number | null;
  /** The comment on the table; null: there is none. */
  comment: string | null;
  /** How Citus distributes the table; undefined: the database has no Citus. */
  distribution?: DistributionDescription;
}

/** Where a page of the list ends: the schema and name of its last table. */
export type ListPlace = Pick<ListedTable, 'schema' | 'name'>;

/** Returns the names of all schemas whose objects the role may use, without those of PostgreSQL itself. */
export async function usableSchemas(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT n.nspname AS name FROM pg_namespace n
     WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'USAGE')`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Returns the next tables that the role may see.
 *
 * @param after the last table of the page before; undefined: the first page
 */
export async function listTables(
  client: ClientBase,
  schemas: string[],
  after: ListPlace | undefined,
  limit: number,
): Promise<ListedTable[]> {
  const { rows } = await client.query<FoundTable>(nextTables, [
    schemas,
    after?.schema ?? '',
    after?.name ?? '',
    limit,
  ]);
  const tables = rows.map(({ oid: _, isCitus: __, isLocked: ___, ...table }) => ({
    ...table,
    bytes: table.bytes === null ? null : Number(table.bytes),
  }));
  return rows[0]?.isCitus ? withDistributions(client, rows, tables) : tables;
}

/** A row of `nextTables`. */
interface FoundTable extends Omit<ListedTable, 'bytes'> {
  oid: number;
  bytes: string | null;
  isLocked: boolean;
  isCitus: boolean;
}

/** Adds the distributions and the sizes on all nodes. PostgreSQL itself sees neither rows nor bytes of a table that has shards. */
async function withDistributions(
  client: ClientBase,
  rows: FoundTable[],
  tables: ListedTable[],
): Promise<ListedTable[]> {
  const found = await findDistributions(client, rows);
  return tables.map((table, index) => {
    const { distribution, bytes } = found.get(rows[index]!.oid)!;
    return bytes === undefined
      ? { ...table, distribution }
      : { ...table, bytes, estimatedRows: null, distribution };
  });
}

/**
 * A table that another session has locked is not measured, because the function that measures it would wait for the lock. Partitioned tables are not
 * measured while any table of the database is locked, because the lock may be on a partition.
 */
const nextTables = `
WITH page AS MATERIALIZED (
  SELECT c.oid, n.nspname, c.relname, c.relkind, c.reltuples
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND n.nspname = ANY ($1::name[]) AND (n.nspname, c.relname) > ($2::name, $3::name)
    AND ${maySee('c')} ORDER BY n.nspname, c.relname LIMIT $4),
locked AS MATERIALIZED (
  SELECT coalesce(i.indrelid, l.relation) AS oid
  FROM pg_locks l LEFT JOIN pg_index i ON i.indexrelid = l.relation
  WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
SELECT p.oid::bigint::float8 AS oid, p.nspname AS schema, p.relname AS name, ${isCitus} AS "isCitus",
  CASE p.relkind WHEN 'p' THEN EXISTS (SELECT FROM locked) ELSE p.oid IN (SELECT oid FROM locked) END AS "isLocked",
  CASE p.relkind WHEN 'p' THEN 'partitioned table' ELSE 'table' END AS kind,
  CASE WHEN p.reltuples >= 0 THEN p.reltuples::float8 END AS "estimatedRows",
  CASE WHEN p.relkind = 'r' AND p.oid NOT IN (SELECT oid FROM locked) THEN pg_total_relation_size(p.oid)
    WHEN p.relkind = 'p' AND NOT EXISTS (SELECT FROM locked) THEN (
      SELECT coalesce(sum(pg_total_relation_size(t.relid)), 0)::bigint FROM pg_partition_tree(p.oid) t)
    END AS bytes,
  obj_description(p.oid, 'pg_class') AS comment
FROM page p ORDER BY p.nspname, p.relname`;
