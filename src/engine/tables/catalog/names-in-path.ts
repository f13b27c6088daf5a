/**
 * Returns SQL that finds what an unqualified name of a definition means, and that writes the name of a type so that a definition reads
 * it as the same type (docs/decisions/0045-names-of-types.md). Use it in the callers' search path (postgres/search-path.ts).
 */
import { reservedTypeNames } from '../column-types.ts';

/**
 * Returns SQL for the position of a schema in the search path; NULL: the path does not contain it. The temporary schema counts as
 * not contained, because code of other users may have left objects in it.
 *
 * @param schema an object identifier
 */
const placeInPath = (schema: string) => `CASE WHEN ${schema} <> pg_my_temp_schema() THEN array_position(
  current_schemas(true), (SELECT s.nspname FROM pg_namespace s WHERE s.oid = ${schema})) END`;

/** Returns SQL for whether a schema is searched for unqualified names. @param schema an object identifier */
export const isInPath = (schema: string) => `(${placeInPath(schema)} IS NOT NULL)`;

/**
 * Returns SQL for the order in which the schemas are searched. An object of `pg_catalog` is always found first, even if the administrator's path
 * has `pg_catalog` after a schema in which other roles can create objects.
 */
export const orderInPath = (schema: string) =>
  `${schema} <> 'pg_catalog'::regnamespace, ${placeInPath(schema)}`;

/** Returns SQL for whether the type in the `pg_type` row is the row type of a table or a view, or an array type of it. */
export const isRowType = (type: string) => `EXISTS (
  SELECT FROM pg_type row_type JOIN pg_class c ON c.oid = row_type.typrelid
  WHERE row_type.oid IN (${type}.oid, ${type}.typelem) AND c.relkind <> 'c')`;

/**
 * Returns SQL for the object identifier of the type that a name without a schema means. A name without quotes means a row type only if there is no
 * other type; the definition is then refused with advice.
 */
export const unqualifiedType = (name: string, isQuoted: string) => `(
  SELECT y.oid FROM pg_type y WHERE y.typname = ${name} AND ${isInPath('y.typnamespace')}
  ORDER BY NOT ${isQuoted} AND ${isRowType('y')}, ${orderInPath('y.typnamespace')} LIMIT 1)`;

/**
 * Returns SQL for whether `format_type` writes a name without a schema that a definition would read as another type. This happens
 * if a type of `pg_catalog` or an alias has the same name, or if it is a row type's name without quotes.
 *
 * @param type a `pg_type` row that is not an array type
 */
const isReadAsAnother = (type: string) => `(
  ${type}.typnamespace <> 'pg_catalog'::regnamespace AND pg_type_is_visible(${type}.oid)
  AND (EXISTS (SELECT FROM pg_type own
      WHERE own.typname = ${type}.typname AND own.typnamespace = 'pg_catalog'::regnamespace)
    OR ${type}.typname IN (${reservedTypeNames.map((name) => `'${name}'`).join(', ')})
    OR quote_ident(${type}.typname) = ${type}.typname AND ${isRowType(type)}))`;

/** Returns SQL for the element type of an array type, and for every other type the type itself. @param type a `pg_type` row */
const elementType = (type: string) => `coalesce((
  SELECT e.oid FROM pg_type e WHERE e.oid = ${type}.typelem AND e.typarray = ${type}.oid), ${type}.oid)`;

/** The types of `pg_catalog` have the object identifiers below this one (PostgreSQL, src/include/access/transam.h). */
export const firstUnpinnedOid = 10_000;

/**
 * Returns SQL for the name of a type with its modifier, as answers and messages have it. A table may have 1,600 columns, so the types of
 * `pg_catalog` are not looked up.
 */
export const shownType = (
  type: string,
  modifier: string,
) => `CASE WHEN ${type} < ${firstUnpinnedOid} THEN format_type(${type}, ${modifier}) ELSE (
  SELECT CASE WHEN ${isReadAsAnother('element')}
    THEN quote_ident((SELECT n.nspname FROM pg_namespace n WHERE n.oid = element.typnamespace)) || '.' ELSE '' END
    || format_type(${type}, ${modifier})
  FROM pg_type shown JOIN pg_type element ON element.oid = ${elementType('shown')} WHERE shown.oid = ${type}) END`;

/**
 * Returns SQL for the types in a default whose names, as `pg_get_expr` writes them, a definition would read as other types. The
 * result is a JSON object from each name to the qualified name. NULL: there are none.
 *
 * @param owner the object identifier of the row that has the expression
 * @param catalog the table of the row
 */
export const qualifiedTypes = (owner: string, catalog = 'pg_attrdef') => `(
  SELECT json_object_agg(quote_ident(element.typname), quote_ident(n.nspname) || '.' || quote_ident(element.typname))
  FROM pg_depend used JOIN pg_type type_used ON type_used.oid = used.refobjid
  JOIN pg_type element ON element.oid = ${elementType('type_used')} JOIN pg_namespace n ON n.oid = element.typnamespace
  WHERE used.classid = '${catalog}'::regclass AND used.objid = ${owner} AND used.refclassid = 'pg_type'::regclass
    AND ${isReadAsAnother('element')})`;

/**
 * Returns SQL for the functions and operators in an expression that belong neither to PostgreSQL nor to an extension: a list of their names.
 * PostgreSQL notes no dependency on its own. NULL: there are none.
 */
export const ownCode = (catalog: string, owner: string) =>
  ownCodeOf(`used.classid = '${catalog}'::regclass AND used.objid = ${owner}`);

/** Returns what `ownCode` returns, for several expressions. @param owners a condition of the rows `used` of `pg_depend` */
export const ownCodeOf = (owners: string) => `(
  SELECT json_agg(coalesce((SELECT n.nspname FROM pg_namespace n WHERE n.oid = p.pronamespace) || '.' || p.proname, 'operator'))
  FROM pg_depend used LEFT JOIN pg_proc p ON used.refclassid = 'pg_proc'::regclass AND p.oid = used.refobjid
  WHERE ${owners}
    AND used.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
    AND NOT EXISTS (SELECT FROM pg_depend e
      WHERE e.classid = used.refclassid AND e.objid = used.refobjid AND e.deptype = 'e'))`;
