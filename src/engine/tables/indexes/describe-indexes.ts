/** Describes the indexes of a table that are not the indexes of its keys. */
import { ownCode, qualifiedTypes } from '../catalog/names-in-path.ts';
import { writeTypes } from '../defaults.ts';
import type { IndexDescription } from './index-definition.ts';
import { hasExpandedRanges, isTrusted } from './operator-classes.ts';

export interface IndexFacts {
  name: string;
  isUnique: boolean;
  method: string;
  /** PostgreSQL's text of the index; null: a definition can express the index; '': another session has just dropped it. */
  definition: string | null;
  /** `column` null: the index has an expression there. */
  columns: {
    column: string | null;
    expression: string | null;
    isDescending: boolean;
    areNullsFirst: boolean;
    operatorClass: string | null;
  }[];
  include: string[] | null;
  where: string | null;
  /** PostgreSQL's text of an index that has expressions; null: it has none. */
  text: string | null;
  /** See `TableFacts`. */
  ownCode: string[] | null;
  qualifiedTypes: Record<string, string> | null;
}

/**
 * Returns SQL of the list of `IndexFacts`. The query has the table as `c`.
 *
 * A definition can express an index of columns with their own collations or of expressions, operator classes of PostgreSQL or of extensions without options,
 * no NULLS NOT DISTINCT, no storage parameters and no tablespace, without a column twice, without texts in `spgist` (`checkTextTrees`), and without
 * `gist__int_ops` (`refuseExpandedRanges`).
 *
 * @param isShort SQL for whether the texts of the table's expressions are short enough to be read
 */
export const indexFacts = (isShort: string) => `
  SELECT json_agg(json_build_object(
    'name', ic.relname, 'isUnique', i.indisunique, 'method', m.amname,
    'definition', CASE WHEN i.indnullsnotdistinct OR NOT i.indisvalid OR ic.reloptions IS NOT NULL OR ic.reltablespace <> 0
        OR parts.are_special OR ${isTextTree('i', 'ic')} OR ${hasExpandedRanges('i')}
        OR NOT ${isShort} AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
        OR i.indexprs IS NOT NULL AND (ic.relam = 4000 OR pg_get_indexdef(i.indexrelid) ~ ' COLLATE ')
      THEN CASE WHEN ${isShort} THEN coalesce(pg_get_indexdef(i.indexrelid), '') ELSE '' END END,
    'text', CASE WHEN ${isShort} AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL) THEN coalesce(pg_get_indexdef(i.indexrelid), '') END,
    'where', CASE WHEN ${isShort} THEN pg_get_expr(i.indpred, i.indrelid) END,
    'ownCode', CASE WHEN i.indexprs IS NOT NULL OR i.indpred IS NOT NULL THEN ${ownCode('pg_class', 'i.indexrelid')} END,
    'qualifiedTypes', CASE WHEN i.indexprs IS NOT NULL OR i.indpred IS NOT NULL THEN ${qualifiedTypes('i.indexrelid', 'pg_class')} END,
    'columns', coalesce(parts.keys, '[]'), 'include', parts.include) ORDER BY i.indexrelid)
  FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am m ON m.oid = ic.relam, LATERAL (
    SELECT json_agg(json_build_object(
        'column', a.attname,
        'expression', CASE WHEN k.attnum = 0 AND ${isShort} THEN pg_get_indexdef(i.indexrelid, k.position::int, false) END,
        'isDescending', k.flags & 1 = 1, 'areNullsFirst', k.flags & 2 = 2,
        'operatorClass', CASE WHEN NOT o.opcdefault OR EXISTS (
            SELECT FROM pg_opclass own WHERE own.opcmethod = o.opcmethod AND own.opcdefault AND own.oid <> o.oid
              AND own.opcintype IN (a.atttypid, (SELECT t.typbasetype FROM pg_type t WHERE t.oid = a.atttypid)))
          THEN CASE WHEN o.opcnamespace = 'pg_catalog'::regnamespace THEN quote_ident(o.opcname)
            ELSE format('%s.%I', o.opcnamespace::regnamespace, o.opcname) END END) ORDER BY k.position)
        FILTER (WHERE k.position <= i.indnkeyatts) AS keys,
      json_agg(a.attname ORDER BY k.position) FILTER (WHERE k.position > i.indnkeyatts) AS include,
      count(a.attnum) FILTER (WHERE k.position <= i.indnkeyatts) > count(DISTINCT a.attnum) FILTER (WHERE k.position <= i.indnkeyatts)
        OR bool_or(k.sorted_by NOT IN (0, a.attcollation) OR NOT ${isTrusted('o')} OR x.attoptions IS NOT NULL)
        FILTER (WHERE k.position <= i.indnkeyatts) AS are_special
    FROM ROWS FROM (unnest(i.indkey::int2[]), unnest(i.indclass::oid[]), unnest(i.indcollation::oid[]), unnest(i.indoption::int2[]))
      WITH ORDINALITY AS k(attnum, class, sorted_by, flags, position)
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
    JOIN pg_attribute x ON x.attrelid = i.indexrelid AND x.attnum = k.position
    LEFT JOIN pg_opclass o ON o.oid = k.class) AS parts
  WHERE i.indrelid = c.oid AND NOT EXISTS (
    SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid AND k.contype IN ('p', 'u', 'x'))`;

/** Returns SQL for whether an index is of the method `spgist` and has a text. @param index rows of `pg_index` and `pg_class` */
export const isTextTree = (index: string, relation: string) => `(${relation}.relam = 4000 AND EXISTS (
    SELECT FROM pg_opclass o WHERE o.oid = ANY (${index}.indclass) AND o.opcintype = 'text'::regtype))`;

/** Returns SQL for whether an index has the trigrams of a text (extension pg_trgm). @param index a row of `pg_index` */
export const hasTrigrams = (index: string) => `EXISTS (
    SELECT FROM pg_opclass o WHERE o.oid = ANY (${index}.indclass) AND o.opcname IN ('gin_trgm_ops', 'gist_trgm_ops'))`;

/** Returns SQL for whether PostgreSQL sorts the parts of a value for an index, in the method `gin` or in functions of the extension intarray. @param index rows of `pg_index` and `pg_class` */
export const sortsParts = (index: string, relation: string) =>
  `(${relation}.relam = 2742 OR ${hasExpandedRanges(index)} OR ${excludesBy(index, ['_int_overlap'])})`;

/** Returns SQL for whether an exclusion constraint compares each part of a polygon with each part of the others. @param index a row of `pg_index` */
export const pairsParts = (index: string) => excludesBy(index, ['poly_overlap', 'poly_same']);

/** @param functions the names of the functions of operators */
const excludesBy = (index: string, functions: string[]) => `(${index}.indisexclusion AND EXISTS (
    SELECT FROM pg_constraint n JOIN pg_operator p ON p.oid = ANY (n.conexclop) JOIN pg_proc f ON f.oid = p.oprcode
    WHERE n.conindid = ${index}.indexrelid AND n.contype = 'x' AND f.proname = ANY ('{${functions}}')))`;

/** Returns the description of an index that a definition can express. It leaves out what is PostgreSQL's default. */
export function describeIndex(facts: IndexFacts): IndexDescription {
  const { name, isUnique, method, columns, include, where } = facts;
  const write = (expression: string) => writeTypes({ expression, qualifiedTypes: facts.qualifiedTypes });
  return {
    name,
    ...(isUnique && { unique: true }),
    ...(method !== 'btree' && { method }),
    columns: columns.map(({ column, expression, isDescending, areNullsFirst, operatorClass }) => ({
      ...(column === null ? { expression: write(withoutParentheses(expression ?? '')) } : { column }),
      ...(isDescending && { order: 'desc' as const }),
      ...(areNullsFirst !== isDescending && {
        nulls: areNullsFirst ? ('first' as const) : ('last' as const),
      }),
      ...(operatorClass !== null && { operator_class: operatorClass }),
    })),
    ...(include !== null && { include }),
    ...(where !== null && { where: write(where) }),
  };
}

/** PostgreSQL puts an expression of an index that is not the call of a function into parentheses. */
function withoutParentheses(expression: string): string {
  return expression.startsWith('(') ? expression.slice(1, -1) : expression;
}
