/**
 * Keeps what is known about a long JSON value while a sink takes it. A sink checks such a value in turns before it takes the cell
 * (`CellSink.longCell`). The code that takes the cell then finds the results here, and need not scan the value at once.
 */

import type { CountedCost } from '../columns/reading-cost.ts';

/** The results of the checks that were made. */
export interface JsonFacts {
  /** The result of `findRepeatedKey`. */
  keysRepeat?: boolean;
  /** Whether `jsonb` can store the value. */
  fitsJsonb?: boolean;
  /** The result of `classifyNested`. */
  nestedClass?: number;
  /** The result of `countCost` for the type of the column. */
  cost?: CountedCost | undefined;
}

interface KnownValue {
  bytes: Buffer;
  start: number;
  end: number;
  facts: JsonFacts;
}

let known: KnownValue | undefined;

/** Returns what is known about the value; undefined: nothing. */
export function knownFacts(bytes: Buffer, start: number, end: number): JsonFacts | undefined {
  const isKnown = known !== undefined && known.bytes === bytes && known.start === start && known.end === end;
  return isKnown ? known!.facts : undefined;
}

/** Takes the cell while the facts about its value are known. */
export function takeKnown(value: KnownValue, take: () => void): void {
  known = value;
  try {
    take();
  } finally {
    known = undefined;
  }
}
