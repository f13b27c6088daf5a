/**
 * Computes how much longer than its text a value of a type may become. `char(1000)` stores one letter as 1,000 bytes, and a field
 * `numeric(500,500)` of a composite type writes `0` with 500 digits (`partDigits`). A type may contain such types: a domain, an array, a composite
 * type, a range, and any of these within another one.
 */

import * as reading from '../../encoding/columns/reading-cost.ts';

/** A type with its modifier, and the types that its values directly contain. */
export interface TypeNode {
  oid: number;
  typmod: number;
  /** The name of a base type outside of `pg_catalog`, which an extension has. null: another type. */
  extension: string | null;
  /** The type is an array or a multirange, so a value may contain any number of values of its parts. */
  isRepeating: boolean;
  /** The type is a composite type, a range or a multirange. */
  isOfParts: boolean;
  /** The base type of a domain, the type of the elements or of the bounds, or those of the fields. null: none. */
  parts: { oid: number; typmod: number; count: number }[] | null;
}

export interface TypeWidth {
  /** The bytes to which PostgreSQL pads a value. For an array it is the number for one element. */
  paddedBytes: number;
  /** The characters that PostgreSQL adds to the text of a value. For an array it is the number for one element. */
  addedText: number;
  /** A value is an array or contains one, so it can have any number of parts of `paddedBytes`. */
  repeats: boolean;
  /** The number of types within the type, and one more. A type counts each time, also within another one, because PostgreSQL visits it each time. */
  visits: number;
  /** The type is a composite type, a range or a multirange, or contains one. */
  hasParts: boolean;
  /** The units of a value as an element of an array, with those of its fields (`reading.unitsOfElement`). */
  elementUnits: number;
  /** What PostgreSQL needs to read a text of the type. */
  cost: reading.ReadingCost;
}

const NUMERIC = 1700;

/** The width of a type that another session has dropped, or whose parts were not read because there are too many. It is so large that every limit refuses it. */
const unknownWidth: TypeWidth = {
  paddedBytes: Number.MAX_SAFE_INTEGER,
  addedText: Number.MAX_SAFE_INTEGER,
  repeats: false,
  visits: Number.MAX_SAFE_INTEGER,
  hasParts: true,
  elementUnits: reading.UNITS_OF_WRITTEN,
  cost: { ...reading.ownCost(NUMERIC), mostBytes: 0 },
};

/** Returns a function that finds the width of each of the types. Each type is computed once, because its parts may share types. */
export function typeWidths(nodes: Iterable<TypeNode>): (oid: number, typmod: number) => TypeWidth {
  const byKey = new Map<string, TypeNode>();
  for (const node of nodes) byKey.set(typeKey(node.oid, node.typmod), node);
  const known = new Map<string, TypeWidth>();
  const widthOf = (oid: number, typmod: number): TypeWidth => {
    const key = typeKey(oid, typmod);
    const found = known.get(key);
    if (found !== undefined) return found;
    const node = byKey.get(key);
    const width = node === undefined ? unknownWidth : leafWidth(node);
    known.set(key, width);
    for (const part of node?.parts ?? []) {
      const inner = widthOf(part.oid, part.typmod);
      width.paddedBytes += inner.paddedBytes * part.count;
      width.addedText += inner.addedText * part.count;
      width.visits += inner.visits * part.count;
      width.repeats ||= inner.repeats;
      width.hasParts ||= inner.hasParts;
      width.elementUnits = Math.max(width.elementUnits, inner.elementUnits);
      reading.addCost(width.cost, inner.cost);
      if (!node!.isRepeating && !node!.isOfParts) width.cost.isJson = inner.cost.isJson;
    }
    if (node !== undefined) addElements(node, width);
    return width;
  };
  return widthOf;
}

/** Adds what the elements and fields of a value cost. */
function addElements({ isRepeating, isOfParts }: TypeNode, width: TypeWidth): void {
  const { cost } = width;
  const isPlainArray = isRepeating && !isOfParts && !width.hasParts && !width.repeats;
  if (isPlainArray) {
    // An element whose type has no parts takes up to 100 bytes, and what PostgreSQL needs to write it.
    cost.partUnits = Math.max(cost.partUnits, 1);
    cost.elementUnits = width.elementUnits;
  } else if (isRepeating || isOfParts) {
    // In a text with parts, quotes do not show where an element ends.
    cost.partUnits = Math.max(cost.partUnits, cost.elementUnits);
    cost.elementUnits = 0;
  }
  if (isRepeating) {
    const ofPart = width.hasParts ? Math.max(reading.UNITS_OF_PART, width.elementUnits) : 1;
    if (!isPlainArray) cost.partUnits = Math.max(cost.partUnits, ofPart);
    // A multirange.
    if (isOfParts) cost.partTime = Math.max(cost.partTime, reading.RANGE_TIME);
    width.repeats = true;
    // The elements of an inner array have commas of their own.
    width.elementUnits = 0;
  }
  if (isOfParts) {
    width.hasParts = true;
    // The value is written into a buffer, and so is the value of each field.
    width.elementUnits += reading.UNITS_OF_WRITTEN;
  }
}

export function typeKey(oid: number, typmod: number): string {
  return `${oid} ${typmod}`;
}

function leafWidth({ oid, typmod, extension, isRepeating }: TypeNode): TypeWidth {
  const width = {
    paddedBytes: 0,
    addedText: 0,
    repeats: false,
    hasParts: false,
    visits: 1,
    elementUnits: isRepeating ? 0 : reading.unitsOfElement(oid, extension),
    cost: { ...(extension === null ? reading.ownCost(oid) : reading.costOfExtension(extension)) },
  };
  if (typmod < 0) return width;
  // The stored modifiers of char and numeric include 4 bytes for a header (bpchartypmodin and numerictypmodin).
  if (oid === 1042) width.paddedBytes = width.addedText = Math.max(typmod - 4, 0);
  if (oid === 1560) {
    width.paddedBytes = Math.ceil(typmod / 8);
    width.addedText = typmod;
  }
  // The lower eleven bits of the modifier are the scale, which has a sign.
  if (oid === NUMERIC) width.cost.partDigits = Math.max((((typmod - 4) & 0x7ff) ^ 1024) - 1024, 0);
  return width;
}

/** Returns the maximum number of parts that the text of an array or a composite value can have: the number of its commas plus one. */
export function countParts(text: string): number {
  let count = 1;
  for (let at = text.indexOf(','); at >= 0; at = text.indexOf(',', at + 1)) count++;
  return count;
}
