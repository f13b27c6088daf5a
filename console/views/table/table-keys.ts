/** The keys, rules and indexes of a table in words. */
import type { VNode } from 'preact';
import type { TableDescription } from '../../../client/client.ts';
import { plural, sizeInWords } from '../../derived/words.ts';
import { data, factList } from '../parts.ts';

export function keysOf({ constraints, indexes = [], distribution }: Partial<TableDescription>): VNode | null {
  const { primary_key: primary, unique, foreign_keys: references, checks } = constraints ?? {};
  const lines: [string, string][] = [];
  if (primary?.columns?.length) lines.push(['Primary key', primary.columns.join(', ')]);
  for (const { columns } of unique ?? []) if (columns?.length) lines.push(['Unique', columns.join(', ')]);
  for (const { column, reference_schema: schema, ...to } of references ?? []) {
    const target = `${schema ?? 'public'}.${to.reference_table}.${to.reference_column}`;
    const rules = [
      to.on_delete && `, on delete ${to.on_delete}`,
      to.on_update && `, on update ${to.on_update}`,
      to.deferrable && `, deferrable ${to.deferrable}`,
      to.not_valid && ', not valid',
    ];
    lines.push(['Foreign key', `${column} to ${target}${rules.filter(Boolean).join('')}`]);
  }
  for (const { expression, not_valid: isNotValid } of checks ?? [])
    lines.push(['Check', `${expression}${isNotValid ? ', not valid' : ''}`]);
  for (const { unique, method = 'btree', columns } of indexes) {
    const names = columns.map(({ column }) => column).join(', ');
    lines.push([unique ? 'Unique index' : 'Index', `${names} (${method})`]);
  }
  const placed = distributionInWords(distribution);
  if (placed !== undefined) lines.push(['Distributed', placed]);
  if (lines.length === 0) return null;
  return factList(
    'keys',
    lines.map(([label, text]) => [label, data(text)]),
  );
}

/** Describes how Citus distributes a table; undefined: the table is not distributed. */
export function distributionInWords(distribution: TableDescription['distribution']): string | undefined {
  if (distribution === undefined || distribution.kind === 'local') return undefined;
  const { kind, column, shards, bytes } = distribution;
  const how =
    kind === 'column' ? `by ${column}` : kind === 'reference' ? 'a copy on every node' : 'with its schema';
  const size = bytes == null ? '' : `, ${sizeInWords(bytes)} on all nodes`;
  return shards === undefined ? `${how}${size}` : `${how}, ${plural(shards, 'shard')}${size}`;
}
