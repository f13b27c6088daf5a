/** A column of a table, prepared for encoding. */

import {
  BOOLEAN_VALUE,
  DATE_VALUE,
  INTERVAL_VALUE,
  NUMBER_VALUE,
  TEXT_VALUE,
  TIME_VALUE,
} from '../../core/cells/cell-sink.ts';
import type { LoadColumn } from '../columns/load-column.ts';
import type { ColumnEncoder } from '../encoders/column-encoder.ts';
import * as codes from '../encoders/type-codes.ts';

/** A column that rows are loaded into. */
export interface TargetColumn {
  column: LoadColumn;
  encoder: ColumnEncoder;
  /**
   * The encoded field of a missing cell: NULL or a constant default. undefined: a row without the cell must leave the column out.
   * This is always so if PostgreSQL generates the column.
   */
  fill: Buffer | undefined;
}

/** Returns the kind of value (a number, a date or a text) as which the column reads a text. */
export function valueFor({ column, encoder }: TargetColumn): number {
  const base = column.type.kind === 'domain' ? (column.type.base ?? column.type) : column.type;
  // `money` is a number, but PostgreSQL itself reads its text and ignores the commas in it.
  if (base.name === 'money') return NUMBER_VALUE;
  switch (encoder.code) {
    case codes.INT2:
    case codes.INT4:
    case codes.INT8:
    case codes.NUMERIC:
    case codes.FLOAT4:
    case codes.FLOAT8:
      return NUMBER_VALUE;
    case codes.DATE:
    case codes.TIMESTAMP:
    case codes.TIMESTAMPTZ:
      return DATE_VALUE;
    case codes.BOOL:
      return BOOLEAN_VALUE;
    case codes.TIME:
      return TIME_VALUE;
    case codes.INTERVAL:
      return INTERVAL_VALUE;
    default:
      return TEXT_VALUE;
  }
}
