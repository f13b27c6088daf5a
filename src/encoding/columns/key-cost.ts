/** Estimates what PostgreSQL needs to sort the parts of a value for an index of the method gin, and for expressions of the table. Measured on PostgreSQL 15. */
import { type ColumnType, firstOwnOid } from './load-column.ts';
import {
  addCost,
  MOST_UNITS,
  ownCost,
  type ReadingCost,
  UNITS_OF_PART,
  UNITS_OF_WRITTEN,
  UNITS_PER_BYTE,
} from './reading-cost.ts';

/** What the indexes and expressions of a table do with the values of a column. */
export interface UseOfColumn {
  /** An index for which PostgreSQL sorts the parts of a value, such as one of the method gin, contains it, or a value that is computed from it, or may. */
  isInGin: boolean;
  /** An exclusion constraint compares each part of it with each part of a value of another row, or may. Only constraints that were added in PostgreSQL do. */
  isPaired?: boolean;
  /** An index or an expression that takes the trigrams of texts (extension pg_trgm) contains it, or may. */
  isInTrigrams: boolean;
  /** How often the expressions of generated columns, indexes and checks make the parts of a `jsonb` from it, by reading a text or by `||`. */
  jsonCopies: number;
  /** How often such expressions may divide its texts into words: `to_tsvector(a)`. */
  splits: number;
  /** Such an expression may sort the elements of an array: `a & b` of the extension intarray. */
  isSorted: boolean;
  /** Such an expression may make an array of a text: `string_to_array(a, ',')`. */
  isListed: boolean;
  /** How many copies of its values such expressions make, which PostgreSQL keeps until the end of the row. Searches count as copies that take as long. */
  copies: number;
  /** How many other copies take as long as what such expressions compute for each element of an array, whatever it is. */
  work: number;
}

/** Returns what a value costs more because of its table; undefined: nothing. */
export function costOfUse(
  type: ColumnType,
  { isInGin, isPaired, isInTrigrams, jsonCopies, splits, isSorted, isListed, copies, work }: UseOfColumn,
): ReadingCost | undefined {
  return [
    isInGin || (isSorted && (type.base ?? type).kind === 'array') ? costOfKeys(type) : undefined,
    isPaired ? { ...none, partTime: PAIRED_TIME } : undefined,
    jsonCopies > 0 ? costOfJson(type, jsonCopies) : undefined,
    (isInGin || isSorted) && isListed
      ? { ...none, unitsPerByte: MOST_UNITS / MOST_BYTES_OF_LIST }
      : undefined,
    isInTrigrams ? { ...none, unitsPerByte: MOST_UNITS / MOST_BYTES_OF_TRIGRAMS } : undefined,
    splits > 0 ? { ...none, textTime: TEXT_TIME * splits } : undefined,
    costOfCopies(type, copies, work),
  ].reduce(higherCost, undefined);
}

/** Returns the higher one of each cost. */
export function higherCost(
  one: ReadingCost | undefined,
  other: ReadingCost | undefined,
): ReadingCost | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const cost = { ...one };
  addCost(cost, other);
  return cost;
}

export const listingFunction = 'string_to_array';
/** The names of the functions that divide texts into words or other parts, and sort these. */
export const splittingFunctions = ['to_tsvector', 'array_to_tsvector', 'plainto_tsquery', 'hstore'];
/** The names of the functions of the extensions hstore and intarray that sort the elements of an array, also those of operators. */
export const sortingFunctions = [
  ...[
    'exists_any',
    'exists_all',
    'delete',
    'slice',
    'sort',
    'sort_asc',
    'sort_desc',
    'intset_subtract',
    'intset_union_elem',
  ],
  ...[
    '_int_inter',
    '_int_union',
    '_int_contains',
    '_int_contained',
    '_int_overlap',
    '_int_same',
    'boolop',
    'rboolop',
  ],
];
/** The names of the functions that compare the trigrams of texts, also those of operators. */
export const trigramFunctions = [
  ...['similarity', 'similarity_op', 'similarity_dist'],
  ...['word_similarity', 'strict_word_similarity'].flatMap((name) =>
    ['', '_op', '_commutator_op', '_dist_op', '_dist_commutator_op'].map((ending) => name + ending),
  ),
];

/** The names of the functions that search a text for another one, or pair the parts of two values, also those of operators. */
export const searchingFunctions = [
  ...['text', 'bpchar', 'name'].flatMap((type) =>
    ['like', 'nlike', 'iclike', 'icnlike'].map((name) => type + name),
  ),
  ...['bytealike', 'byteanlike', 'like', 'notlike', 'strpos', 'position', 'split_part', 'string_to_array'],
  ...['replace', 'translate', 'btrim', 'ltrim', 'rtrim', 'byteatrim', 'array_remove', 'path_distance'],
  ...['arraycontains', 'arraycontained', 'arrayoverlap', 'jsonb_contains', 'jsonb_contained', 'jsonb_delete'],
  ...[
    'jsonb_exists_any',
    'jsonb_exists_all',
    'poly_contain',
    'poly_contained',
    'poly_overlap',
    'poly_distance',
  ],
];

const none = ownCost(0);
const BYTEA = 17;
const NAME = 19;
const JSON_TEXT = 114;
const JSONB = 3802;
const ARRAY_OF_JSONB = 3807;
/** So few copies need no limit. */
const FEW_COPIES = 2;
/** A copy takes up to 2.4 bytes for each byte, because `concat` makes its text longer in steps. */
export const UNITS_OF_COPY = 0.024;
/** A part of a copied `jsonb` takes 12 bytes, and one that is read 90. */
const PART_OF_COPY = 0.12;
/**
 * About 1,000 points. PostgreSQL compares two such polygons in 0.15 s, and a new one with up to 170 of a page of the index without being interrupted, if
 * hostile rows have made all of their bounding boxes overlap.
 */
const PAIRED_TIME = 300;
/** About 200,000 words, as many as a long novel has. In the worst order they take PostgreSQL half a minute. */
const TEXT_TIME = 0.04;
/**
 * The longest text that an expression may make into an array for an index of the method gin (`listingFunction`). The array may have an
 * element for every second byte of the text.
 */
const MOST_BYTES_OF_LIST = 256 * 1024;
/** A text has a trigram for each byte. In the worst order they take PostgreSQL half a minute. */
const MOST_BYTES_OF_TRIGRAMS = 384 * 1024;

/** Returns what copies of a value cost; undefined: nothing. */
function costOfCopies(type: ColumnType, copies: number, work: number): ReadingCost | undefined {
  const all = (copies + work) * lengthOfCopy(type);
  if (all <= FEW_COPIES) return undefined;
  const { partUnits: ofPart = 0, elementUnits: ofElement = 0 } = type.cost ?? {};
  const cost = {
    ...none,
    unitsPerByte: UNITS_PER_BYTE + all * UNITS_OF_COPY,
    // A text of the value takes for each element or range about what PostgreSQL needs to read or to write one.
    partUnits: ofPart >= UNITS_OF_PART ? ofPart * (1 + copies) : 0,
    elementUnits: ofElement > 0 ? ofElement + copies * Math.min(ofElement, UNITS_OF_WRITTEN) : 0,
  };
  if ((type.base ?? type).oid !== JSONB) return cost;
  // A number of `jsonb` is longer than its text, but most documents have few numbers.
  const { partUnits, objectUnits, bracketUnits } = ownCost(JSONB);
  const ofParts = 1 + copies * PART_OF_COPY;
  return {
    ...cost,
    partUnits: partUnits * ofParts,
    objectUnits: objectUnits * ofParts,
    bracketUnits: bracketUnits * ofParts,
  };
}

/** Returns how many times as long as its text a value of the type may be in memory: an element `name` of one letter has 64 bytes, and one of `numeric[]` 12. */
function lengthOfCopy(type: ColumnType): number {
  const { oid, kind, category, element } = type.base ?? type;
  // An element of a padded type has at least two bytes of the text.
  const padding = type.repeatsPadding ? (type.paddedBytes ?? 0) / 2 : 0;
  if (kind === 'array') return Math.max(padding, (element!.base ?? element!).oid === NAME ? 32 : 6);
  if (kind === 'other') return Math.max(padding, 32);
  return category === 'S' || [BYTEA, JSON_TEXT, JSONB].includes(oid) ? 1 : 6;
}

/** The parts are made for each copy, and when a value of the type `jsonb` is read. */
function costOfJson(type: ColumnType, copies: number): ReadingCost {
  const { oid } = type.base ?? type;
  const times = copies + (oid === JSONB || oid === ARRAY_OF_JSONB ? 1 : 0);
  const { partUnits, objectUnits, bracketUnits, ...others } = ownCost(JSONB);
  return {
    ...others,
    partUnits: partUnits * times,
    objectUnits: objectUnits * times,
    bracketUnits: bracketUnits * times,
  };
}

/**
 * Returns what the parts of a value cost in an index of the method gin; undefined: nothing. PostgreSQL sorts all keys of a row, and cannot be
 * interrupted meanwhile. Its sort takes 0.08 comparisons for each pair of elements that are in the worst order, which is up to 2 s at each limit.
 */
function costOfKeys(type: ColumnType): ReadingCost | undefined {
  const value = type.base ?? type;
  if (value.kind !== 'array') {
    // Such as `hstore`, which has two keys for each comma. Texts, such as `citext`, have no parts.
    const isOwn = value.oid >= firstOwnOid && value.category !== 'S';
    return value.oid === JSONB ? { ...none, partTime: 3 } : isOwn ? { ...none, partTime: 12 } : undefined;
  }
  const { oid, kind } = value.element!.base ?? value.element!;
  if (fastToCompare.has(oid)) return keys(60_000);
  const isSimple = oid !== JSONB && kind !== 'other' && (oid < firstOwnOid || kind === 'enum');
  // jsonb, ranges, composite values, and types of extensions: `citext` converts both texts for each comparison.
  if (isSimple) return keys(20_000, 1024 * 1024);
  // The elements of `jsonb[]` have a cost besides.
  const { partUnits, ...others } = keys(5000, 128 * 1024);
  return { ...others, partUnits: partUnits - (value.cost?.elementUnits ?? 0) };
}

function keys(most: number, mostBytes = Number.POSITIVE_INFINITY): ReadingCost {
  return { ...none, partUnits: MOST_UNITS / most, unitsPerByte: MOST_UNITS / mostBytes };
}

/** The types of PostgreSQL whose values are numbers for it: bool, "char", whole numbers, floats, dates, times, money, macaddr and pg_lsn. */
const fastToCompare = new Set([
  16, 18, 20, 21, 23, 26, 700, 701, 790, 829, 1082, 1083, 1114, 1184, 1266, 3220,
]);
