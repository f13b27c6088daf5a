/** What is known of a change of a column's type before it is made. */
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';

/** A column whose type changes. */
export interface TypeChange {
  /** The column as the table has it now, from `readLoadColumns`. */
  from: LoadColumn;
  /** A column of the new type, from `readTargetColumns`. Only its type is used. */
  to: Pick<LoadColumn, 'type'>;
}

/** What a conversion may lose with `allow=lossy_types`. */
export type Loss = 'fraction' | 'precision' | 'time of day';

/** How the values of a column become values of its new type. */
export interface Conversion {
  change: TypeChange;
  /** The new type for `ALTER COLUMN … TYPE`, with the collation of the column if it has its own one. */
  typeSql: string;
  /** The expression for USING, which names the column without a table. undefined: PostgreSQL needs none. Like `typeSql`, it means the same in every search path. */
  using: string | undefined;
  /** PostgreSQL writes the table and its indexes anew. */
  rewrites: boolean;
  /** A row may be refused or lose something, so `findUnconvertible` reads all rows. */
  scans: boolean;
  /** undefined: a value that is not converted exactly is a problem, whatever is allowed. */
  loss: Loss | undefined;
  path: Path;
}

/** SQL expressions about one value that is not NULL, for the service's own search path. */
export interface ValueSql {
  value: string;
  /** The value converted. It fails unless the conversion is possible. */
  converted: string;
  /** Returns the condition that a text is valid input of a type. It never fails because of the text. */
  isInput: (text: string, type: string) => string;
}

/** How one value becomes a value of another type. */
export interface Path {
  /** The types to which the value is cast, one after the other, in SQL. The last one is the new type. */
  steps: string[];
  /** The stored bytes stay the same, so PostgreSQL does not write the table anew. */
  isUnchanged?: boolean;
  /** Returns the condition that the value can be converted, exactly or with a loss. undefined: every value can. */
  isPossible?: ((sql: ValueSql) => string) | undefined;
  /** Returns the condition that nothing is lost. It is evaluated only if the conversion is possible. undefined: nothing ever is. */
  isExact?: ((sql: ValueSql) => string) | undefined;
  loss?: Loss | undefined;
  /** The new type is a domain that is NOT NULL. */
  refusesNull?: boolean;
}

/** A change that is not possible, whatever the rows are. */
export interface NoConversion {
  /** The reason and the remedy, as `detail` of a problem with the code `no-conversion`. */
  refused: string;
}

/** Returns the type with its modifiers, as SQL that means the same in every search path. */
export function nameInSql({ name, sqlName = name }: ColumnType): string {
  return sqlName;
}

/** Returns the value after the steps of the path. */
export function convertedBy(value: string, { steps }: Path): string {
  return [value, ...steps].join('::');
}

/** Returns the text that the output function of the type writes. Unlike a cast, it never calls a function of another role. */
export function outputOf(value: string): string {
  return `format('%s', ${value})`;
}
