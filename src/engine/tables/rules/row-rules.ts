/**
 * Reads the rules that the rows of a table must meet, except types and NOT NULL, in a form that queries for violations can use.
 */
import type { ClientBase } from 'pg';
import { isKnownToCitus } from '../../../postgres/citus/sharded-tables.ts';
import { isShortExpression } from '../../../postgres/expression-trees.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { noteTable } from '../../../postgres/transaction.ts';
import { isWholeKey } from '../catalog/keys-of-partitions.ts';
import type { Equality } from './equality.ts';

export interface UniqueRule {
  kind: 'unique';
  name: string;
  columns: string[];
  /** The comparisons of the columns. See `equal`. */
  equals?: Equality[];
  isPrimary: boolean;
  nullsNotDistinct: boolean;
  isDeferrable: boolean;
  /** The expression of a partial index that selects the rows in the index; null or undefined: all rows. */
  predicate?: string | null;
  /** The columns that the predicate reads. */
  predicateColumns?: string[];
}

export interface ForeignKeyRule {
  kind: 'foreign key';
  name: string;
  columns: string[];
  /** The foreign key refers to its own table, or to one of which its table is a partition. */
  isSelf: boolean;
  /** MATCH FULL: either all columns are NULL or none is. */
  isFull: boolean;
  /** Row-level security hides rows of the referenced table from the role. Foreign keys see these rows. */
  isHidden: boolean;
  referencedSchema: string;
  referencedTable: string;
  referencedColumns: string[];
  /** Citus stores the referenced table at its workers. */
  isOfSharded?: boolean;
  /** The quoted name of a table with the rows to which the staged rows may refer. See sharded-copies.ts. */
  referencedCopy?: string | undefined;
  /** The comparisons of the referenced columns with the columns of the key. See `equal`. */
  equals?: Equality[];
}

/** A foreign key with MATCH FULL: a row must not have NULL in only some of its columns. */
export interface HalfReferenceRule {
  kind: 'half reference';
  name: string;
  columns: string[];
}

export interface CheckRule {
  kind: 'check';
  name: string;
  columns: string[];
  /** The expression as PostgreSQL writes it for a search path of only `pg_catalog`. The check of a domain uses `VALUE`. */
  expression: string;
  /**
   * For the check of a domain: whether `VALUE` is the value of the column or each element of its array. undefined: the check
   * belongs to the table.
   */
  domainOf?: 'column' | 'elements';
}

/** The rule that values of a column that is staged as text must be valid input of its type. */
export interface InputRule {
  kind: 'input';
  /** Input rules have no name. */
  name: '';
  columns: string[];
  /** The type as `format_type` writes it. */
  type: string;
  /** The type as SQL that is valid in any search path. */
  typeSql: string;
  /** The function that checks the text (input-check.ts). */
  inputCheck: string;
}

export type RowRule = UniqueRule | ForeignKeyRule | HalfReferenceRule | CheckRule | InputRule;

/** Returns the columns that decide whether a row violates the rule. */
export function columnsRead(rule: RowRule): string[] {
  return rule.kind === 'unique' ? [...rule.columns, ...(rule.predicateColumns ?? [])] : rule.columns;
}

/** Returns the names of the rules that have one. */
export function namesOf(rules: RowRule[]): string[] {
  return rules.map(({ name }) => name).filter((name) => name !== '');
}

/** Returns whether the rule is a foreign key that refers to its own table. */
export function isSelfReference(rule: RowRule): rule is ForeignKeyRule {
  return rule.kind === 'foreign key' && rule.isSelf;
}

/**
 * Reads the rules of an existing table in the order in which they were made: unique indexes (keys among them), foreign keys,
 * checks and the checks of domains.
 */
export async function readRowRules(client: ClientBase, schema: string, name: string): Promise<RowRule[]> {
  const { rows } = await client.query<{ rule: RowRule }>(rowRules, [quoteQualified(schema, name)]);
  noteTable(client, { rules: rows.length });
  return rows.map((row) => row.rule);
}

// Catalogue columns that PostgreSQL has only since version 18 are read through JSON, because a query that names them fails in older
// versions.
export const isEnforced = (constraint: string) =>
  `coalesce((to_jsonb(${constraint})->>'conenforced')::boolean, true)`;

/** Writes an operator with its schema, because the schema of an extension may not be in the search path. */
const operatorName = (operator: string) =>
  `(SELECT format('OPERATOR(%I.%s)', n.nspname, o.oprname) FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
                 WHERE o.oid = ${operator})`;

/**
 * The base type of a domain, or of the domain on which it is based, and so on. It is quoted and has no modifier. NULL: the type is no
 * domain.
 */
const baseOfDomain = (type: string) =>
  `(WITH RECURSIVE chain AS (
                 SELECT b.oid, b.typtype, b.typbasetype, b.typname, b.typnamespace FROM pg_type b WHERE b.oid = ${type}
                 UNION ALL
                 SELECT b.oid, b.typtype, b.typbasetype, b.typname, b.typnamespace
                 FROM chain JOIN pg_type b ON b.oid = chain.typbasetype WHERE chain.typtype = 'd')
               SELECT format('%I.%I', n.nspname, chain.typname) FROM chain JOIN pg_namespace n ON n.oid = chain.typnamespace
               WHERE chain.typtype <> 'd' AND chain.oid <> ${type})`;

/** The names of columns of a table, in the order of a list of their numbers. @param keys SQL of the list */
export const columnNames = (table: string, keys: string, condition = 'true') => `(
    SELECT jsonb_agg(a.attname ORDER BY k.position) FROM unnest(${keys}) WITH ORDINALITY AS k(attnum, position)
    JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = k.attnum WHERE ${condition})`;

/** An `Equality`. The parameters are SQL: an operator, and the types on both sides. */
export const equalityOf = (operator: string, left: string, right: string) =>
  `jsonb_build_object('operator', ${operatorName(operator)}, 'leftBase', ${baseOfDomain(left)}, 'rightBase', ${baseOfDomain(right)})`;

/**
 * An index over an expression is not read, nor one whose condition would be too long as text. The problem of a row that violates it has
 * PostgreSQL's own message. Only a B-tree can be unique, and its strategy 3 is equality.
 */
const uniqueRules = `
SELECT jsonb_build_object(
    'kind', 'unique', 'name', c.relname,
    'columns', ${columnNames('i.indrelid', 'i.indkey::int2[]', 'k.position <= i.indnkeyatts')},
    'equals', (
      SELECT jsonb_agg(${equalityOf('m.amopopr', 'a.atttypid', 'a.atttypid')} ORDER BY k.position)
      FROM ROWS FROM (unnest(i.indclass::oid[]), unnest(i.indkey::int2[])) WITH ORDINALITY AS k(class, attnum, position)
      JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum JOIN pg_opclass p ON p.oid = k.class
      JOIN pg_amop m ON m.amopfamily = p.opcfamily AND m.amopstrategy = 3
        AND m.amoplefttype = p.opcintype AND m.amoprighttype = p.opcintype),
    'isPrimary', i.indisprimary, 'nullsNotDistinct', i.indnullsnotdistinct,
    'isDeferrable', NOT i.indimmediate, 'predicate', pg_get_expr(i.indpred, i.indrelid),
    'predicateColumns', (
      SELECT coalesce(jsonb_agg(a.attname), '[]') FROM pg_attribute a
      WHERE i.indpred IS NOT NULL AND a.attrelid = i.indrelid AND a.attnum > 0 AND EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum))
  ) AS rule, c.oid AS place
FROM pg_index i JOIN target ON i.indrelid = target.oid JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indisunique AND i.indisvalid AND NOT i.indisexclusion AND i.indexprs IS NULL
  AND (i.indpred IS NULL OR ${isShortExpression('i.indpred')})`;

const foreignKeyRules = `
SELECT jsonb_build_object(
    'kind', 'foreign key', 'name', f.conname, 'columns', ${columnNames('f.conrelid', 'f.conkey')},
    'isSelf', f.confrelid = f.conrelid OR f.confrelid IN (SELECT relid FROM pg_partition_ancestors(f.conrelid)), 'isFull', f.confmatchtype = 'f', 'isHidden', row_security_active(f.confrelid),
    'isOfSharded', ${isKnownToCitus('f.confrelid')}, 'referencedSchema', n.nspname, 'referencedTable', r.relname,
    'referencedColumns', ${columnNames('f.confrelid', 'f.confkey')},
    'equals', (
      SELECT jsonb_agg(${equalityOf('k.operator', 'p.atttypid', 'a.atttypid')} ORDER BY k.position)
      FROM ROWS FROM (unnest(f.conpfeqop), unnest(f.confkey), unnest(f.conkey))
        WITH ORDINALITY AS k(operator, referenced, attnum, position)
      JOIN pg_attribute p ON p.attrelid = f.confrelid AND p.attnum = k.referenced
      JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum)), f.oid
FROM pg_constraint f JOIN target ON f.conrelid = target.oid
JOIN pg_class r ON r.oid = f.confrelid JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE f.contype = 'f' AND ${isWholeKey('f')} AND ${isEnforced('f')} AND NOT coalesce((to_jsonb(f)->>'conperiod')::boolean, false)`;

const checkRules = `
SELECT jsonb_build_object(
    'kind', 'check', 'name', k.conname,
    'columns', coalesce((SELECT jsonb_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
                WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)), '[]'),
    'expression', pg_get_expr(k.conbin, k.conrelid)), k.oid
FROM pg_constraint k JOIN target ON k.conrelid = target.oid WHERE k.contype = 'c' AND ${isEnforced('k')} AND ${isShortExpression('k.conbin')}
UNION ALL
SELECT jsonb_build_object(
    'kind', 'check', 'name', k.conname, 'domainOf', d.domain_of,
    'columns', jsonb_build_array(d.column_name), 'expression', pg_get_expr(k.conbin, 0)), k.oid
FROM types d JOIN pg_constraint k ON k.contypid = d.oid WHERE k.contype = 'c' AND ${isShortExpression('k.conbin')}`;

/** `types` is every type of a column, including the base types of domains and the element types of arrays. */
const rowRules = `
WITH RECURSIVE target AS (SELECT to_regclass($1)::oid AS oid),
types AS (
  SELECT a.attname AS column_name, a.atttypid AS oid, 'column' AS domain_of
  FROM pg_attribute a JOIN target ON a.attrelid = target.oid WHERE a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT d.column_name, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END,
    CASE WHEN t.typtype = 'd' THEN d.domain_of ELSE 'elements' END
  FROM types d JOIN pg_type t ON t.oid = d.oid
  WHERE t.typtype = 'd' OR d.domain_of = 'column' AND t.typcategory = 'A' AND t.typelem <> 0
)
${[uniqueRules, foreignKeyRules, checkRules].join('\nUNION ALL')}
ORDER BY place`;
