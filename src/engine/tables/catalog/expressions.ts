/** Reads how long the defaults and checks of a table are, before PostgreSQL writes them as texts. */
import { maxTreeBytes, mostDigits, treeBytes } from '../../../postgres/expression-trees.ts';
import type { Statement } from '../../../postgres/sql.ts';

/** The maximum number of bytes of all defaults and checks of a table, in the form in which the catalogue stores them (as trees). */
export const maxTreesBytes = 32 * 1024 * 1024;
/** The maximum number of digits of numbers in all defaults and checks of a table. */
export const maxTextBytes = 16 * 1024 * 1024;

/** Returns a query of all expressions that describe a table: those of its columns in their order, then those of its constraints and indexes. */
const treesOf = (table: string) => `
    SELECT d.adbin AS tree, d.adnum::int AS place, d.oid, true AS is_column FROM pg_attrdef d WHERE d.adrelid = ${table}
    UNION ALL
    SELECT k.conbin, 10000, k.oid, false FROM pg_constraint k WHERE k.conrelid = ${table} AND k.conbin IS NOT NULL
    UNION ALL
    SELECT x.tree, 20000, i.indexrelid, false FROM pg_index i, LATERAL (VALUES (i.indexprs), (i.indpred)) AS x(tree)
    WHERE i.indrelid = ${table} AND x.tree IS NOT NULL`;

/** Returns SQL for whether the texts of all expressions of a table are certainly not too long to be described. */
export const hasShortTrees = (table: string) => `(
  SELECT coalesce(max(${treeBytes('x.tree')}) <= ${maxTreeBytes}
    AND sum(${treeBytes('x.tree')}) <= ${maxTreesBytes} AND sum(${mostDigits('x.tree')}) <= ${maxTextBytes}, true)
  FROM (${treesOf(table)}) AS x)`;

/** A default, check or index expression of a table, as the catalogue stores it. */
export interface ExpressionTree {
  /** The name of the column, constraint or index. */
  name: string;
  isColumn: boolean;
  /** false: the trees up to and including this one are too long together. */
  isShort: boolean;
  /** The tree, if it has numbers that may become many digits as text; otherwise null. */
  tree: string | null;
}

/** Reads the expressions of a table: rows of the type `ExpressionTree`, up to the first one that is too long. */
export function readTrees(table: number): Statement {
  return {
    text: `
SELECT CASE WHEN t.is_column THEN (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum = t.place)
    ELSE coalesce((SELECT k.conname FROM pg_constraint k WHERE k.oid = t.oid),
      (SELECT i.relname FROM pg_class i WHERE i.oid = t.oid)) END::text AS name, t.is_column AS "isColumn",
  t.bytes <= ${maxTreeBytes} AND t.sum <= ${maxTreesBytes} AS "isShort",
  CASE WHEN t.bytes <= ${maxTreeBytes} AND t.sum <= ${maxTreesBytes} AND ${mostDigits('t.tree')} > 0 THEN t.tree::text END AS tree
FROM (SELECT x.*, ${treeBytes('x.tree')} AS bytes, sum(${treeBytes('x.tree')}) OVER (ORDER BY x.place, x.oid) AS sum
  FROM (${treesOf('$1::oid')}) AS x) AS t
WHERE t.sum - t.bytes <= ${maxTreesBytes} ORDER BY t.place, t.oid`,
    values: [table],
  };
}
