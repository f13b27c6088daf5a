/**
 * Finds the defaults of columns that are constants, and their values.
 *
 * A constant may be sent with a row in place of a missing value. Every other default is left to PostgreSQL, which evaluates it
 * for each row that needs it. A default counts as a constant only if PostgreSQL writes it as a literal, possibly with a cast
 * between built-in types. Calls of functions never count as constants, because the declared volatility of a function may be wrong.
 */
import type { ClientBase } from 'pg';
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';

/**
 * Returns an SQL expression for the binary form of a constant default; undefined: the default is not a constant.
 *
 * @param expression the default, as `pg_get_expr` writes it
 * @param type the type of the column; a domain is replaced by its base type
 * @param bareName the type's name without its modifier: `"char"`, `timestamp(3)` without `(3)`
 * @param send the function that writes the type's binary form
 */
export function constantDefault(
  expression: string,
  type: ColumnType,
  bareName: string,
  send: string,
): string | undefined {
  // A domain of the elements is excluded because its check may fail when the array is read.
  if (send === '-' || type.element?.kind === 'domain') return undefined;
  if (!isLiteral(expression, bareName, type)) return undefined;
  // The modifier is left out, because a cast would cut a text that is too long. PostgreSQL applies the modifier when it stores the row.
  return `${send}(CAST(${expression} AS ${bareName}))`;
}

const numberTypes = ['smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision'];
const textTypes = ['text', 'character varying', 'bpchar'];

const quoted = "'(?:[^']|'')*'";
const quotedLiteral = new RegExp(`^${quoted}$`);
const numberLiteral = new RegExp(
  String.raw`^(?:\d+(?:\.\d+)?|\(\d+(?:\.\d+)?\)::(?:${numberTypes.join('|')})|${quoted}::(?:${numberTypes.join('|')}))$`,
);
const textLiteral = new RegExp(`^${quoted}::(?:${textTypes.join('|')})$`);
const booleanLiteral = /^(?:true|false)$/;

/**
 * Returns whether the expression is a literal of the column's own type. For built-in types of numbers and of texts it may be a
 * literal of any type of the same group. Literals of other types are excluded: they may have an implicit cast that PostgreSQL does
 * not write, and that cast may call a function that a user has created.
 */
function isLiteral(expression: string, bareName: string, { kind }: ColumnType): boolean {
  if (kind === 'base') {
    if (numberTypes.includes(bareName)) return numberLiteral.test(expression);
    if (textTypes.includes(bareName)) return textLiteral.test(expression);
    if (bareName === 'boolean') return booleanLiteral.test(expression);
  }
  const cast = `::${bareName}`;
  return expression.endsWith(cast) && quotedLiteral.test(expression.slice(0, -cast.length));
}

/** Returns the binary forms of the columns' constant defaults, in the order of the columns. Takes one round trip, or none without such defaults. */
export async function readConstants(client: ClientBase, columns: LoadColumn[]): Promise<(Buffer | null)[]> {
  if (columns.length === 0) return [];
  const list = columns.map(({ constant }) => constant).join(', ');
  const { rows } = await client.query<(Buffer | null)[]>({ text: `SELECT ${list}`, rowMode: 'array' });
  return rows[0]!;
}
