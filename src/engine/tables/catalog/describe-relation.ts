/** Reads what PostgreSQL's catalogue says about one table. */
import { readInCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { DefaultFacts } from '../defaults.ts';
import { isCitus } from '../distribution/citus-facts.ts';
import type { ForeignKeyTime } from '../foreign-keys.ts';
import { type IndexFacts, indexFacts } from '../indexes/describe-indexes.ts';
import { type NumberingFacts, numberingFacts } from '../numbering.ts';
import { type TypeFacts, usedTypes } from '../types/describe-types.ts';
import { hasShortTrees } from './expressions.ts';
import { isWholeKey } from './keys-of-partitions.ts';
import { ownCode, qualifiedTypes, shownType } from './names-in-path.ts';
import { maySee } from './relations.ts';

/** Everything about a table that PostgreSQL's catalogue has and a description needs. */
export interface TableFacts {
  oid: number;
  kind: string;
  isUnlogged: boolean;
  /** PostgreSQL's clause of a partitioned table or of a partition; null: it is neither. */
  partitioning: string | null;
  /** The role may use the schema and has some privilege on it. */
  maySee: boolean;
  /** The database has Citus 12 or newer. */
  isCitus: boolean;
  /** false: the texts of defaults and checks may be too long, so they were not read. See `readTexts`. */
  isRead: boolean;
  /** The comment; null: there is none, or the comments are too long. Those of the columns, too. */
  comment: string | null;
  columns:
    | {
        id: number;
        name: string;
        type: string;
        notNull: boolean;
        /** For a generated column: the expression that generates it. */
        default: DefaultFacts | null;
        /** `pg_attribute.attidentity`: `a` GENERATED ALWAYS, `d` BY DEFAULT, '' no identity column. */
        identity: string;
        /** How an identity column counts. */
        numbering: NumberingFacts | null;
        generated: string;
        comment: string | null;
      }[]
    | null;
  constraints:
    | {
        name: string;
        /** `pg_constraint.contype` */
        kind: string;
        /** PostgreSQL's text of the constraint; null: a table definition can express the constraint completely; '': another session has just dropped it. */
        definition: string | null;
        /** A check: the functions and operators in it that belong neither to PostgreSQL nor to an extension. */
        ownCode: string[] | null;
        /** A check: its types, as those of `DefaultFacts`. */
        qualifiedTypes: Record<string, string> | null;
        /** The `id` of each column. */
        columns: number[] | null;
        deferrable: ForeignKeyTime | null;
        isValid: boolean;
        /** The `id` of each column of INCLUDE, and NULLS NOT DISTINCT; null: it is no primary key and no unique constraint. */
        key: { include: number[]; areNullsDistinct: boolean } | null;
        /** null: it is not a foreign key. */
        reference: {
          schema: string;
          table: string;
          columns: string[];
          /** `pg_constraint.confdeltype` */
          onDelete: string;
          onUpdate: string;
        } | null;
      }[]
    | null;
  /** The indexes of the table that do not belong to a constraint. */
  indexes: IndexFacts[] | null;
  types: TypeFacts[] | null;
}

/** The maximum number of bytes of all comments on a table and its columns that are described. */
export const maxCommentBytes = 4 * 1024 * 1024;

const takesFractions = `t.typoutput IN (
      'numeric_out'::regproc, 'float4out'::regproc, 'float8out'::regproc, 'cash_out'::regproc)`;

/** The `DefaultFacts` of the column `a` of the table `c`. */
const defaultFacts = `
  SELECT json_build_object(
    'expression', pg_get_expr(d.adbin, CASE WHEN a.attgenerated = '' THEN 0 ELSE d.adrelid END),
    'qualifiedTypes', ${qualifiedTypes('d.oid')},
    'category', t.typcategory,
    'takesFractions', ${takesFractions},
    'ownSequence', (
      SELECT json_build_object('name', s.relname, 'isInSchema', s.relnamespace = c.relnamespace,
        'numbering', (SELECT ${numberingFacts('q')} FROM pg_sequence q WHERE q.seqrelid = s.oid)) FROM pg_depend owned
      JOIN pg_depend used ON used.refclassid = owned.classid AND used.refobjid = owned.objid
      JOIN pg_class s ON s.oid = owned.objid
      WHERE owned.classid = 'pg_class'::regclass AND owned.refclassid = 'pg_class'::regclass
        AND owned.refobjid = c.oid AND owned.refobjsubid = a.attnum AND owned.deptype = 'a'
        AND used.classid = 'pg_attrdef'::regclass AND used.objid = d.oid LIMIT 1))
  FROM pg_attrdef d,
    LATERAL (SELECT x.typcategory, x.typoutput FROM pg_type x WHERE x.oid = a.atttypid OFFSET 0) t
  WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum`;

/** How the identity column `a` of the table `c` counts. */
const numberingOfIdentity = `
  SELECT ${numberingFacts('q')} FROM pg_depend d JOIN pg_sequence q ON q.seqrelid = d.objid
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
    AND d.refobjsubid = a.attnum AND d.deptype = 'i'`;

/** What the constraint `k` refers to. */
const referenceFacts = `CASE WHEN k.contype = 'f' THEN (
      SELECT json_build_object(
        'schema', (SELECT n.nspname FROM pg_namespace n WHERE n.oid = f.relnamespace),
        'table', f.relname,
        'columns', (
          SELECT json_agg((
            SELECT a.attname FROM pg_attribute a WHERE a.attrelid = f.oid AND a.attnum = member.attnum)
            ORDER BY member.position)
          FROM unnest(k.confkey) WITH ORDINALITY AS member(attnum, position)),
        'onDelete', k.confdeltype, 'onUpdate', k.confupdtype)
      FROM pg_class f WHERE f.oid = k.confrelid) END`;

/** The options of the constraint `k`. */
const optionFacts = `
    'isValid', k.convalidated, 'deferrable', CASE WHEN k.condeferred THEN 'initially deferred' WHEN k.condeferrable THEN 'initially immediate' END,
    'key', CASE WHEN k.contype IN ('p', 'u') THEN (
      SELECT json_build_object('include', (i.indkey::smallint[])[i.indnkeyatts:], 'areNullsDistinct', NOT i.indnullsnotdistinct)
      FROM pg_index i WHERE i.indexrelid = k.conindid) END`;

const orderOfConstraints =
  "CASE k.contype WHEN 'f' THEN k.conkey[1] END, CASE k.contype WHEN 'f' THEN k.conname END, k.oid";

/** The list `constraints` of the table `c`. */
const constraintFacts = `
  SELECT json_agg(json_build_object(
    'name', k.conname, 'kind', k.contype,
    'definition', CASE WHEN k.contype NOT IN ('p', 'u', 'f')
      OR NOT k.convalidated AND pg_get_constraintdef(k.oid) NOT LIKE '% NOT VALID'
      OR k.contype = 'f' AND (k.confmatchtype <> 's' OR k.confdelsetcols IS NOT NULL)
      OR (SELECT i.indisexclusion FROM pg_index i WHERE i.indexrelid = k.conindid)
      THEN CASE WHEN size.is_short THEN coalesce(pg_get_constraintdef(k.oid), '') ELSE '' END END,
    'ownCode', CASE WHEN k.contype = 'c' THEN ${ownCode('pg_constraint', 'k.oid')} END,
    'qualifiedTypes', CASE WHEN k.contype = 'c' THEN ${qualifiedTypes('k.oid', 'pg_constraint')} END,
    'columns', k.conkey, ${optionFacts},
    'reference', ${referenceFacts})
    ORDER BY ${orderOfConstraints})
  FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f', 'c', 'x') AND ${isWholeKey('k')}`;

/**
 * Returns a query that describes a table: one row, `found`, of the type `TableFacts`, or null if no relation has the name. The schema `pg_temp` is the
 * session's own temporary schema. A domain has the category and the output function of its base type.
 *
 * The texts of defaults and checks are left out if they may be too long: a few bytes in the catalogue can become hundreds of megabytes of text
 * (expression-trees.ts). `pg_get_expr` gets no table for a default, because a default names no column: with a table of 1,600 columns it would take 10 s
 * on PostgreSQL 15. Foreign keys are ordered by their first columns, because they are created in the order of the tables that they refer to (ddl.ts).
 *
 * A table definition can express a constraint completely if the constraint is enforced, has no
 * special match, no list of columns for SET NULL, no WITHOUT OVERLAPS and no PERIOD. PostgreSQL 18 introduced the last two; their index, or the index that they refer to, is that of an exclusion constraint.
 *
 * @param isMeasured the texts are known to be short enough, for example because the definition of the table was checked
 */
export function describeRelation(schema: string, name: string, isMeasured = false): Statement {
  return {
    preparedName: 'tablewright describe',
    text: readInCallersPath(`(
SELECT json_build_object(
  'oid', c.oid::bigint, 'kind', c.relkind, 'isUnlogged', c.relpersistence = 'u', 'maySee', ${maySee('c')}, 'isCitus', ${isCitus}, 'isRead', size.is_short,
  'partitioning', CASE WHEN c.relispartition THEN (
      SELECT format('PARTITION OF %s ', i.inhparent::regclass) || pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i WHERE i.inhrelid = c.oid)
    WHEN c.relkind = 'p' THEN 'PARTITION BY ' || pg_get_partkeydef(c.oid) END,
  'comment', CASE WHEN comments.are_short THEN obj_description(c.oid, 'pg_class') END,
  'columns', (
    SELECT json_agg(json_build_object(
      'id', a.attnum, 'name', a.attname, 'type', ${shownType('a.atttypid', 'a.atttypmod')}, 'notNull', a.attnotnull,
      'identity', a.attidentity, 'generated', a.attgenerated, 'numbering', CASE WHEN a.attidentity <> '' THEN (${numberingOfIdentity}) END,
      'comment', CASE WHEN comments.are_short THEN col_description(c.oid, a.attnum) END,
      'default', CASE WHEN a.atthasdef AND size.is_short THEN (${defaultFacts}) END) ORDER BY a.attnum)
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  'constraints', (${constraintFacts}), 'indexes', (${indexFacts('size.is_short')}), 'types', (${usedTypes}))
FROM pg_class c, LATERAL (
  SELECT $3 OR ${hasShortTrees('c.oid')} AS is_short OFFSET 0) AS size, LATERAL (
  SELECT coalesce(sum(octet_length(d.description)) <= ${maxCommentBytes}, true) AS are_short
  FROM pg_description d WHERE d.objoid = c.oid AND d.classoid = 'pg_class'::regclass OFFSET 0) AS comments
WHERE c.relname = $2 AND c.relnamespace = CASE $1::text WHEN 'pg_temp' THEN pg_my_temp_schema()
    ELSE (SELECT n.oid FROM pg_namespace n WHERE n.nspname = $1) END)`),
    values: [schema, name, isMeasured],
  };
}

/**
 * Describes a table like `describeRelation`, in half of its time. The table was created in this transaction from a definition with columns, keys and
 * foreign keys alone (`isPlainCreation`), so all of it is short, and it has no comments, indexes, checks or sequences and only types of PostgreSQL itself.
 */
export function describeNewRelation(schema: string, name: string, hasReferences: boolean): Statement {
  return {
    preparedName: hasReferences ? 'tablewright describe new references' : 'tablewright describe new',
    text: readInCallersPath(`(
SELECT json_build_object(
  'oid', c.oid::bigint, 'kind', c.relkind, 'isUnlogged', c.relpersistence = 'u', 'maySee', true, 'isCitus', false, 'isRead', true, 'hasShortComments', true, 'comment', NULL,
  'columns', (
    SELECT json_agg(json_build_object(
      'id', a.attnum, 'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'notNull', a.attnotnull,
      'identity', a.attidentity, 'generated', '', 'comment', NULL,
      'default', CASE WHEN a.atthasdef THEN (
        SELECT json_build_object('expression', pg_get_expr(d.adbin, 0), 'qualifiedTypes', NULL,
          'category', t.typcategory, 'takesFractions', ${takesFractions}, 'ownSequence', NULL)
        FROM pg_attrdef d, pg_type t WHERE d.adrelid = c.oid AND d.adnum = a.attnum AND t.oid = a.atttypid) END) ORDER BY a.attnum)
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
  'constraints', (
    SELECT json_agg(json_build_object('name', k.conname, 'kind', k.contype, 'definition', NULL, 'columns', k.conkey, ${optionFacts},
      'reference', ${hasReferences ? referenceFacts : 'NULL'}) ORDER BY ${orderOfConstraints})
    FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f')${hasReferences ? ` AND ${isWholeKey('k')}` : ''}),
  'indexes', NULL)
FROM pg_class c WHERE c.relname = $2 AND c.relnamespace = (SELECT n.oid FROM pg_namespace n WHERE n.nspname = $1))`),
    values: [schema, name],
  };
}
