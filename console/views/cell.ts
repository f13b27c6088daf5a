/** A value in a cell of a grid. */
import type { VNode } from 'preact';
import { h } from '../h.ts';
import { shortened } from './parts.ts';

const numberTypes = /^(bigint|integer|smallint|numeric|double precision|real)/;

export function cellOf(value: string | null, type = 'text'): { content: VNode | string; kind?: string } {
  if (value === null) return { content: 'NULL', kind: 'null' };
  return { content: h('bdi', null, shortened(value)), ...(numberTypes.test(type) && { kind: 'number' }) };
}
