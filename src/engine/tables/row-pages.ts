/**
 * Pages of the rows of a table. A page begins after a row, which its values in the ordering columns name: rows that are added, changed or removed
 * meanwhile neither repeat nor hide another row.
 *
 * Rows with equal values are ordered by the primary key. A table without one, and rows in the order in which PostgreSQL stores them, are ordered
 * by the place of the row (`ctid`): a row that is changed meanwhile may appear twice or not at all.
 */
import { type AppError, wrongParameter } from '../../core/errors.ts';
import { didYouMean } from '../../core/identifiers.ts';
import { quoteIdentifier, quoteLiteral, type Statement } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import type { OrderBy } from './export/export-columns.ts';
import type { RowColumn } from './row-columns.ts';

/** The rows that are wanted. */
export interface RowPage {
  limit: number;
  /** The column by which the rows are ordered; undefined: the order in which PostgreSQL stores them. */
  by: OrderBy | undefined;
  /** The columns of the primary key; empty: there is none. */
  key: string[];
  /** The value of `next` of the page before. */
  after: string | undefined;
  /** false: Citus keeps the rows in shards. */
  isWhole: boolean;
}

/** What a page is ordered by: the wanted column, and what tells rows with equal values apart. */
export interface PageOrder {
  columns: RowColumn[];
  isDescending: boolean;
  /** The place of the row is the last ordering value. */
  hasPlace: boolean;
  /** false: rows with equal values cannot be told apart, so no page can follow. */
  isTotal: boolean;
}

/** Asks whether a row has a place of its own in the table. Rows of partitions and of tables that inherit have the same places as others. */
export function hasPlaces(schema: string, name: string): Statement {
  return {
    text: `SELECT c.relkind = 'r' AND NOT c.relhassubclass AS "hasPlaces" FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
    values: [schema, name],
  };
}

/** @throws AppError `invalid-parameter` if the table has no such column */
export function pageOrder({ by, key, isWhole }: RowPage, all: RowColumn[], hasPlaces: boolean): PageOrder {
  const placesAreOwn = hasPlaces && isWhole;
  if (by === undefined)
    return { columns: [], isDescending: false, hasPlace: placesAreOwn, isTotal: placesAreOwn };
  const { column, isDescending } = by;
  const byName = new Map(all.map((one) => [one.name, one]));
  if (!byName.has(column)) {
    const detail = `The table has no column "${column}".${didYouMean(column, byName.keys())}`;
    throw wrongParameter('order', detail, { code: 'unknown-column', value: column });
  }
  const hasPlace = key.length === 0 && placesAreOwn;
  const columns = [...new Set([column, ...key])].map((name) => byName.get(name)!);
  return { columns, isDescending, hasPlace, isTotal: hasPlace || key.length > 0 };
}

/** Returns the clauses WHERE and ORDER BY, for a table with the alias `t`. @throws AppError `invalid-parameter` */
export function pageClauses(order: PageOrder, { by, after }: RowPage): string {
  const { columns, isDescending, hasPlace } = order;
  const values = after === undefined ? undefined : readPlace(after, placeName(by), order);
  const fields = [
    ...columns.map(({ name }) => `t.${quoteIdentifier(name)}`),
    ...(hasPlace ? ['t.ctid'] : []),
  ];
  const direction = isDescending ? ' DESC' : '';
  const sorted = fields.map((field) => field + direction).join(', ');
  // PostgreSQL reads the rows of a table in the order of their places, so it need not sort them.
  const orderBy = columns.length === 0 ? '' : ` ORDER BY ${sorted}`;
  if (values === undefined) return orderBy;
  if (columns.length === 0)
    return ` WHERE t.ctid OPERATOR(pg_catalog.>) ${quoteLiteral(values[0]!)}::pg_catalog.tid`;
  // The comparison of two records uses the operators by which PostgreSQL sorts, and NULL is the largest value for both. The CASE gives the
  // texts the types of the columns, and both sides the type on which a domain is based.
  const collations = columns.map(({ collation }) => (collation === null ? '' : ` COLLATE ${collation}`));
  const typed = (field: string, index: number, isField: boolean, value: string) =>
    `CASE WHEN ${isField} THEN ${field} ELSE ${value} END${collations[index] ?? ''}`;
  const own = fields.map((field, index) => typed(field, index, true, 'NULL'));
  const texts = values.map((value) => (value === null ? 'NULL' : quoteLiteral(value)));
  const last = fields.map((field, index) => typed(field, index, false, texts[index]!));
  const record = (list: string[]): string => `ROW(${list.join(', ')})::pg_catalog.record`;
  return ` WHERE ${record(own)} OPERATOR(pg_catalog.${isDescending ? '<' : '>'}) ${record(last)}${orderBy}`;
}

/** A row whose JSON is longer is not parsed, and a text that names it must fit into a URL. */
const maxParsed = 256 * 1024;
const maxPlace = 3000;

/**
 * Returns the `next` of a page; undefined: no page can follow it.
 *
 * @param last the JSON of the last row, in which no value of an ordering column was cut, and its `ctid`
 */
export function nextPlace(
  order: PageOrder,
  by: OrderBy | undefined,
  { row, place }: { row: string | null; place: string | null },
): string | undefined {
  if (!order.isTotal || row === null || (order.columns.length > 0 && row.length > maxParsed))
    return undefined;
  const exact = (_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' ? source : value;
  const values =
    order.columns.length === 0 ? {} : (JSON.parse(row, exact as () => unknown) as Record<string, unknown>);
  const texts = order.columns.map((column) => textOf(column, values[column.name]));
  if (texts.includes(undefined)) return undefined;
  const text = writePlace([placeName(by), ...(texts as Place), ...(order.hasPlace ? [place] : [])]);
  return text.length > maxPlace ? undefined : text;
}

type Place = (string | null)[];

const jsonb = 3802;

/**
 * Returns PostgreSQL's text of a value in JSON; undefined: it cannot be told from the JSON. In a column of the type `jsonb`, null may be a value or NULL,
 * and the text of `"5"` is not `5`.
 *
 * @param column its `base` is the oid of a type (pg_type.dat)
 */
function textOf({ base }: RowColumn, value: unknown): string | null | undefined {
  if (base === jsonb) return undefined;
  if (value === null) return null;
  return typeof value === 'object' ? undefined : String(value);
}

function placeName(by: OrderBy | undefined): string {
  return by === undefined ? '' : `${by.column}${by.isDescending ? ' desc' : ''}`;
}

function writePlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** @throws AppError `invalid-parameter` */
function readPlace(text: string, name: string, { columns, hasPlace }: PageOrder): Place {
  try {
    const place = JSON.parse(Buffer.from(text, 'base64url').toString()) as Place;
    const [first, ...values] = place;
    const isValue = (value: unknown) =>
      value === null || (typeof value === 'string' && !value.includes('\0'));
    const isPlace = !hasPlace || /^\(\d{1,10},\d{1,5}\)$/.test(values.at(-1) ?? '');
    const isWhole = first === name && values.length === columns.length + Number(hasPlace);
    if (isWhole && isPlace && values.every(isValue) && writePlace(place) === text) return values;
  } catch {
    // The text is not a value of `next`.
  }
  throw wrongAfter();
}

/** Returns the error for the caller if PostgreSQL could not order the rows, or read a value of `after`. */
export function ofOrder(error: unknown, { by, after }: RowPage): unknown {
  if (by === undefined) return error;
  const condition = conditionOf(error) ?? '';
  const { column: value } = by;
  if (condition === 'undefined_function')
    return wrongParameter('order', `PostgreSQL cannot order by the column "${value}".`, { value });
  return after !== undefined && ofValues.includes(condition) ? wrongAfter() : error;
}

const ofValues = ['invalid_text_representation', 'datetime_field_overflow', 'numeric_value_out_of_range'];

function wrongAfter(): AppError {
  const detail = 'The query parameter after must be the value of next in an answer with the same order.';
  return wrongParameter('after', detail);
}
