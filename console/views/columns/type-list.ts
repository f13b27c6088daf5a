/** The types that fields suggest. The service accepts every type that the database knows. */
import type { VNode } from 'preact';
import type { ListedType } from '../../../client/client.ts';
import { h } from '../../h.ts';

/** Returns the list for the fields with `list: 'types'`. @param types the types that PostgreSQL itself does not have */
export function typeList(types: ListedType[]): VNode {
  const all = [...types.map((type) => [type.type, aboutType(type)] as const), ...pgTypes];
  return h('datalist', { id: 'types' }, [all.map(([type, about]) => h('option', { value: type }, about))]);
}

/** PostgreSQL's own types. */
const pgTypes: readonly (readonly [type: string, about: string])[] = [
  ['text', 'any text'],
  ['character varying(100)', 'text of at most 100 characters'],
  ['character(10)', 'text of exactly 10 characters'],
  ['bigint', 'whole numbers, 8 bytes'],
  ['integer', 'whole numbers, 4 bytes'],
  ['smallint', 'whole numbers, 2 bytes'],
  ['numeric', 'exact numbers'],
  ['numeric(12,2)', 'exact numbers with two decimals'],
  ['double precision', 'inexact numbers, 8 bytes'],
  ['real', 'inexact numbers, 4 bytes'],
  ['money', 'amounts of money'],
  ['boolean', 'true or false'],
  ['date', 'days'],
  ['timestamp without time zone', 'dates with a time of day'],
  ['timestamp with time zone', 'points in time'],
  ['time without time zone', 'times of day'],
  ['time with time zone', 'times of day with an offset'],
  ['interval', 'durations'],
  ['uuid', 'universally unique identifiers'],
  ['jsonb', 'JSON, stored in parts'],
  ['json', 'JSON, stored as text'],
  ['xml', 'XML'],
  ['bytea', 'bytes'],
  ['inet', 'IP addresses'],
  ['cidr', 'IP networks'],
  ['macaddr', 'MAC addresses'],
  ['bigserial', 'whole numbers that count up'],
  ['serial', 'whole numbers that count up, 4 bytes'],
  ['text[]', 'lists of texts'],
  ['integer[]', 'lists of whole numbers'],
  ['bigint[]', 'lists of whole numbers, 8 bytes'],
  ['numeric[]', 'lists of exact numbers'],
  ['date[]', 'lists of days'],
  ['uuid[]', 'lists of UUIDs'],
  ['daterange', 'ranges of days'],
  ['tstzrange', 'ranges of points in time'],
  ['int4range', 'ranges of whole numbers'],
  ['numrange', 'ranges of exact numbers'],
  ['bit(8)', '8 bits'],
  ['bit varying', 'bits'],
  ['tsvector', 'text for searching'],
  ['point', 'points in a plane'],
];

/** Says what a type of the database is. */
function aboutType({ kind, labels, base, check, extension }: ListedType): string {
  if (labels) return `one of ${labels.slice(0, 5).join(', ')}${labels.length > 5 ? ', …' : ''}`;
  if (extension) return `extension ${extension}`;
  if (kind === 'domain') return check ? `${base} with ${check.slice(0, 60)}` : (base ?? kind);
  return kind;
}
