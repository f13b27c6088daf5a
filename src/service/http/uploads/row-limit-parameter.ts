/** Reads parameters that limit rows: a number, or a share of them such as `1%`. */
import Type from 'typebox';
import type { RowLimit } from '../../../engine/loading/request/row-limit.ts';

export const RowLimitSchema = Type.Union([
  Type.Integer({ minimum: 0 }),
  Type.String({ pattern: '^(100|\\d{1,2}(\\.\\d{1,3})?)%$', examples: ['1%'] }),
]);

export function rowLimitOf(value: number | string): RowLimit {
  return typeof value === 'number' ? value : { percent: Number(value.slice(0, -1)) };
}
