/** Reads which tables of a list refer to which other tables of the list. */
import type { ClientBase } from 'pg';
import { isEnforced } from './row-rules.ts';

export interface ListedTable {
  schema: string;
  name: string;
  /** The foreign keys that the table has in the catalogue count. */
  isExisting: boolean;
}

/** A foreign key of the table at the place `from` of the list that does not exist yet. */
export interface NewReference {
  from: number;
  schema: string;
  table: string;
}

/**
 * Returns pairs of places in the list, from 0: rows of the first table may refer to rows that are loaded into the second one. Rows that are loaded into
 * a table may become rows of its partitions, and rows of a partition are also rows of the table above it.
 */
export async function readReferencesAmong(
  client: ClientBase,
  tables: readonly ListedTable[],
  added: readonly NewReference[],
): Promise<{ from: number; to: number }[]> {
  const { rows } = await client.query<{ from: number; to: number }>(referencesAmong, [
    tables.map(({ schema }) => schema),
    tables.map(({ name }) => name),
    tables.map(({ isExisting }) => isExisting),
    added.map(({ from }) => from),
    added.map(({ schema }) => schema),
    added.map(({ table }) => table),
  ]);
  return rows;
}

/** The parts of foreign keys over partitioned tables are read like other keys. */
const referencesAmong = `
WITH RECURSIVE relations AS (
  SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace),
listed AS (
  SELECT (l.position - 1)::int AS place, c.oid, l.is_existing
  FROM unnest($1::text[], $2::text[], $3::boolean[]) WITH ORDINALITY AS l(schema, name, is_existing, position)
  JOIN relations c ON c.nspname = l.schema AND c.relname = l.name),
tree AS (SELECT i.inhrelid, i.inhparent FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relispartition),
below AS (SELECT place, oid, is_existing FROM listed UNION SELECT b.place, t.inhrelid, b.is_existing FROM below b JOIN tree t ON t.inhparent = b.oid),
above AS (SELECT place, oid FROM listed UNION SELECT a.place, t.inhparent FROM above a JOIN tree t ON t.inhrelid = a.oid),
keys AS (
  SELECT b.place, f.confrelid AS oid FROM below b JOIN pg_constraint f ON f.conrelid = b.oid
  WHERE b.is_existing AND f.contype = 'f' AND ${isEnforced('f')}
  UNION SELECT a.place, c.oid FROM unnest($4::int[], $5::text[], $6::text[]) AS a(place, schema, name)
  JOIN relations c ON c.nspname = a.schema AND c.relname = a.name)
SELECT DISTINCT k.place AS "from", r.place AS "to"
FROM keys k JOIN (SELECT place, oid FROM below UNION SELECT place, oid FROM above) r USING (oid) WHERE r.place <> k.place
ORDER BY 1, 2`;
