/**
 * Bounds the memory of PostgreSQL for changes of a table in one transaction.
 *
 * Until the end of the transaction a backend keeps what it knew of the table before each change: all columns, and the trees of all defaults
 * and checks (RelationDestroyRelation in relcache.c). So 400 changes of a table with 400 long defaults would take gigabytes.
 */
import type { ClientBase } from 'pg';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { treeBytes } from '../../postgres/expression-trees.ts';

/** What PostgreSQL keeps for each change, measured with PostgreSQL 18. */
const columnBytes = 112;
/** PostgreSQL makes most changes in two steps: a column with a default is added, and then gets the default. */
const stepsOfChange = 2;
const maxKeptBytes = 384 * 1024 * 1024;

/** What PostgreSQL knows of a table, and of the tables that inherit from it. */
export interface TableShape {
  tables: number;
  columns: number;
  /** The bytes of the trees of all defaults, generated columns and checks. */
  trees: number;
}

export interface ManyChanges {
  /** The number of changes of columns and checks. */
  changes: number;
  /** How many of them add a column. */
  added?: number;
  /** The bytes of the trees that the changes add. */
  addedTrees?: number;
}

/**
 * Refuses changes for which a backend would need too much memory.
 *
 * @param relation the name of the table, quoted
 * @throws AppError `limit-exceeded`
 */
export async function admitChanges(client: ClientBase, relation: string, many: ManyChanges): Promise<void> {
  if (many.changes === 0) return;
  const shape = await readShape(client, relation);
  if (!areTooMany(shape, many)) return;
  const most = Math.floor(maxKeptBytes / keptFor(shape, many));
  const remedy = `PostgreSQL keeps all columns, defaults and checks of the table for each change. Make the ${many.changes} changes in several requests, each with at most ${most} of them.`;
  throw limitExceeded('The changes of the table would take too much memory', maxKeptBytes, 'bytes', remedy);
}

export function areTooMany(shape: TableShape, many: ManyChanges): boolean {
  return many.changes * keptFor(shape, many) > maxKeptBytes;
}

/** Returns the bytes that PostgreSQL keeps for one change. The table grows with its changes, so half of what they add counts for each. */
function keptFor({ tables, columns, trees }: TableShape, { added = 0, addedTrees = 0 }: ManyChanges): number {
  const grownTo = (columns + (tables * added) / 2) * columnBytes + trees + (tables * addedTrees) / 2;
  return stepsOfChange * grownTo;
}

export async function readShape(client: ClientBase, relation: string): Promise<TableShape> {
  const { rows } = await client.query<TableShape>(shapeOf, [relation]);
  return rows[0]!;
}

const shapeOf = `
WITH RECURSIVE family AS (
  SELECT to_regclass($1)::oid AS oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN family f ON i.inhparent = f.oid)
SELECT count(*)::float8 AS tables, coalesce(sum(c.relnatts), 0)::float8 AS columns, (
    SELECT coalesce(sum(${treeBytes('d.adbin')}), 0) FROM pg_attrdef d WHERE d.adrelid IN (SELECT oid FROM family)
  )::float8 + (
    SELECT coalesce(sum(${treeBytes('k.conbin')}), 0) FROM pg_constraint k
    WHERE k.conrelid IN (SELECT oid FROM family) AND k.conbin IS NOT NULL
  )::float8 AS trees
FROM family f JOIN pg_class c ON c.oid = f.oid`;
