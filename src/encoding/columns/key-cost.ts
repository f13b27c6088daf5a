/** Estimates what PostgreSQL needs to sort the keys of a value for an index of the method gin. Measured on PostgreSQL 15. */
import { type ColumnType, firstOwnOid } from './load-column.ts';
import { type KeyCost, MOST_UNITS } from './reading-cost.ts';

/**
 * Returns what the parts of a value cost in an index of the method gin; undefined: nothing. PostgreSQL sorts all keys of a row, and cannot be
 * interrupted meanwhile. Its sort takes 0.08 comparisons for each pair of elements that are in the worst order, which is up to 2 s at each limit.
 */
export function costOfKeys(type: ColumnType): KeyCost | undefined {
  const value = type.base ?? type;
  if (value.kind !== 'array') {
    // Such as `hstore`. Texts, such as `citext`, have no parts. Such values are sorted when they are read, too.
    const isOwn = value.oid >= firstOwnOid && value.category !== 'S';
    return value.oid === 3802 ? keys(900_000) : isOwn ? keys(300_000) : undefined;
  }
  const { oid, kind } = value.element!.base ?? value.element!;
  if (fastToCompare.has(oid)) return keys(60_000);
  const isSimple = oid !== 3802 && kind !== 'other' && (oid < firstOwnOid || kind === 'enum');
  // jsonb, ranges, composite values, and types of extensions: `citext` converts both texts for each comparison.
  return isSimple ? keys(20_000, 1024 * 1024) : keys(5000, 128 * 1024);
}

function keys(most: number, mostBytes = Number.POSITIVE_INFINITY): KeyCost {
  return { partUnits: MOST_UNITS / most, unitsPerByte: MOST_UNITS / mostBytes };
}

/** The types of PostgreSQL whose values are numbers for it: bool, "char", whole numbers, floats, dates, times, money, macaddr and pg_lsn. */
const fastToCompare = new Set([
  16, 18, 20, 21, 23, 26, 700, 701, 790, 829, 1082, 1083, 1114, 1184, 1266, 3220,
]);
