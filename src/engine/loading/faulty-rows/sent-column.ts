/** Describes how the columns of the table read the cells of the sent columns. */
import { NUMBER_VALUE, TEXT_VALUE } from '../../../core/cells/cell-sink.ts';
import { ColumnMatcher } from '../../../encoding/columns/column-matching.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { columnEncoder, stagedEncoder } from '../../../encoding/encoders/column-encoder.ts';
import * as codes from '../../../encoding/encoders/type-codes.ts';
import { valueFor } from '../../../encoding/sink/target-column.ts';

export interface SentColumn {
  /** `decimal`: `numeric` without digits, which stores the zeros behind the point. `number`: another number. */
  type: 'number' | 'float' | 'decimal' | 'json' | 'array' | 'bytes' | 'other';
  /** An empty cell is not NULL. */
  hasDefault: boolean;
  /** What the column needs, as in `CellSink.wants`. */
  wanted: number;
}

export function isNumberColumn({ wanted }: SentColumn): boolean {
  return wanted === NUMBER_VALUE;
}

/** A column that the table does not have. */
const noColumn: SentColumn = { type: 'other', hasDefault: false, wanted: TEXT_VALUE };

/**
 * Returns a function that describes the column of the table for a sent column.
 *
 * @param nameMatching as in `LoadInput`
 */
export function sentColumns(
  columns: readonly LoadColumn[],
  nameMatching: 'exact' | 'loose',
): (name: string) => SentColumn {
  const matcher = new ColumnMatcher([...columns], nameMatching, 'ignore');
  return (name) => {
    const { target } = matcher.match(name);
    return target < 0 ? noColumn : sentColumn(columns[target]!);
  };
}

function sentColumn(column: LoadColumn): SentColumn {
  const encoder = columnEncoder(column.type) ?? stagedEncoder(column.type);
  const wanted = valueFor({ column, encoder, fill: undefined });
  const isDecimal = encoder.code === codes.NUMERIC && encoder.precision < 0;
  const type = types[encoder.code] ?? (isDecimal ? 'decimal' : wanted === NUMBER_VALUE ? 'number' : 'other');
  return { type, hasDefault: column.default !== 'none', wanted };
}

const types: Record<number, SentColumn['type']> = {
  [codes.FLOAT4]: 'float',
  [codes.FLOAT8]: 'float',
  [codes.PLAIN_JSON]: 'json',
  [codes.JSONB]: 'json',
  [codes.ARRAY]: 'array',
  [codes.STAGED_ARRAY]: 'array',
  [codes.BYTEA]: 'bytes',
};
