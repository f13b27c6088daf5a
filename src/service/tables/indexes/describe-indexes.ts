/** Describes the indexes of a table that are not the indexes of its keys. */
import type { IndexDescription } from './index-definition.ts';
import { isTrusted } from './operator-classes.ts';

export interface IndexFacts {
  name: string;
  isUnique: boolean;
  method: string;
  /** PostgreSQL's text of the index; null: a definition can express the index; '': another session has just dropped it. */
  definition: string | null;
  columns: { column: string; isDescending: boolean; areNullsFirst: boolean; operatorClass: string | null }[];
  include: string[] | null;
}

/**
 * Returns SQL of the list of `IndexFacts` of the table `c`.
 *
 * A definition can express an index of columns with their own collations, operator classes of PostgreSQL or of extensions without options,
 * no condition, no NULLS NOT DISTINCT, no storage parameters and no tablespace, without a column twice, and without texts in `spgist` (`checkTextTrees`).
 *
 * @param isShort SQL for whether the texts of the table's expressions are short enough to be read
 */
export const indexFacts = (isShort: string) => `
  SELECT json_agg(json_build_object(
    'name', ic.relname, 'isUnique', i.indisunique, 'method', m.amname,
    'definition', CASE WHEN i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR i.indnullsnotdistinct OR NOT i.indisvalid
        OR ic.reloptions IS NOT NULL OR ic.reltablespace <> 0 OR parts.are_special OR ${isTextTree('i', 'ic')}
      THEN CASE WHEN ${isShort} THEN coalesce(pg_get_indexdef(i.indexrelid), '') ELSE '' END END,
    'columns', coalesce(parts.keys, '[]'), 'include', parts.include) ORDER BY i.indexrelid)
  FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am m ON m.oid = ic.relam, LATERAL (
    SELECT json_agg(json_build_object(
        'column', a.attname, 'isDescending', k.flags & 1 = 1, 'areNullsFirst', k.flags & 2 = 2,
        'operatorClass', CASE WHEN NOT o.opcdefault OR EXISTS (
            SELECT FROM pg_opclass own WHERE own.opcmethod = o.opcmethod AND own.opcdefault AND own.oid <> o.oid
              AND own.opcintype IN (a.atttypid, (SELECT t.typbasetype FROM pg_type t WHERE t.oid = a.atttypid)))
          THEN CASE WHEN o.opcnamespace = 'pg_catalog'::regnamespace THEN quote_ident(o.opcname)
            ELSE format('%s.%I', o.opcnamespace::regnamespace, o.opcname) END END) ORDER BY k.position)
        FILTER (WHERE k.position <= i.indnkeyatts) AS keys,
      json_agg(a.attname ORDER BY k.position) FILTER (WHERE k.position > i.indnkeyatts) AS include,
      count(*) FILTER (WHERE k.position <= i.indnkeyatts) > count(DISTINCT k.attnum) FILTER (WHERE k.position <= i.indnkeyatts)
        OR bool_or(k.sorted_by NOT IN (0, a.attcollation) OR NOT ${isTrusted('o')} OR x.attoptions IS NOT NULL)
        FILTER (WHERE k.position <= i.indnkeyatts) AS are_special
    FROM ROWS FROM (unnest(i.indkey::int2[]), unnest(i.indclass::oid[]), unnest(i.indcollation::oid[]), unnest(i.indoption::int2[]))
      WITH ORDINALITY AS k(attnum, class, sorted_by, flags, position)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
    JOIN pg_attribute x ON x.attrelid = i.indexrelid AND x.attnum = k.position
    LEFT JOIN pg_opclass o ON o.oid = k.class) AS parts
  WHERE i.indrelid = c.oid AND NOT EXISTS (
    SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid AND k.contype IN ('p', 'u', 'x'))`;

/** Returns SQL for whether an index is of the method `spgist` and has a text. @param index rows of `pg_index` and `pg_class` */
export const isTextTree = (index: string, relation: string) => `(${relation}.relam = 4000 AND EXISTS (
    SELECT FROM pg_opclass o WHERE o.oid = ANY (${index}.indclass) AND o.opcintype = 'text'::regtype))`;

/** Returns the description of an index that a definition can express. It leaves out what is PostgreSQL's default. */
export function describeIndex({ name, isUnique, method, columns, include }: IndexFacts): IndexDescription {
  return {
    name,
    ...(isUnique && { unique: true }),
    ...(method !== 'btree' && { method }),
    columns: columns.map(({ column, isDescending, areNullsFirst, operatorClass }) => ({
      column,
      ...(isDescending && { order: 'desc' as const }),
      ...(areNullsFirst !== isDescending && {
        nulls: areNullsFirst ? ('first' as const) : ('last' as const),
      }),
      ...(operatorClass !== null && { operator_class: operatorClass }),
    })),
    ...(include !== null && { include }),
  };
}
