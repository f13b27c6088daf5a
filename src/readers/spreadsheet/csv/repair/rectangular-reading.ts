/**
 * Finds the reading of lines with wrong quotes in which every record has the wanted number of fields.
 *
 * A field that begins with a quote may be quoted or a text. A quoted field may end at each quote before a delimiter or a line end, and quotes
 * before it that are not doubled are part of its value. All these choices make many readings. Each deviation from RFC 4180 costs
 * something, and only the cheapest reading counts. If two readings cost the same, there is no answer.
 */

import { CR, LF, SPACE, TAB } from '../../../../core/bytes/ascii.ts';
import type { CsvDialect } from '../csv-dialect.ts';
import { nextLineEnd } from '../field-bytes.ts';

/** How a field is read. */
const PLAIN = 0;
const QUOTED = 1;
/** A quoted field with quotes that are not doubled. */
const UNDOUBLED = 2;
/** A field that begins with a quote that is text. */
const TEXT = 3;

/** The cost of a quote that is text at the beginning of a field. */
const leadingCost = 2;
/** The cost of a quote within quotes that looks as if it closed the field. */
const closingCost = 2;
/** The cost of a quote within quotes that follows a delimiter, as if it opened a field. */
const openingCost = 2;
/** The cost of a field with wrong quotes and several lines, because the lines may be records. */
const linesCost = 2;
/** The maximum cost of a field. Readings with more wrong quotes in a field are not searched. */
const maxFieldCost = 16;
/** The maximum number of steps for each byte. Ordinary lines need about one. */
const stepsPerByte = 16;
/** More fields than a record can have, as a factor: a spreadsheet has at most 16,384 columns. */
const maxFields = 32_768;

export interface ReadField {
  start: number;
  /** The position of the delimiter or the line end. */
  end: number;
  kind: number;
}

/** The possible steps from one field to the next, and the states that they reach. A state is a position and the number of fields before it in its record. */
class Readings {
  readonly position: number[] = [];
  readonly index: number[] = [];
  readonly cost: number[] = [];
  /** Whether only one reading has this cost. */
  readonly isOnly: boolean[] = [];
  readonly before: number[] = [];
  readonly fieldEnd: number[] = [];
  readonly kind: number[] = [];
  readonly #byPosition = new Map<number, number[]>();
  /** A position may have as many states as a record has fields. */
  readonly #byBoth = new Map<number, number>();

  at(position: number): number[] | undefined {
    return this.#byPosition.get(position);
  }

  reach(position: number, index: number, cost: number, before: number, fieldEnd: number, kind: number): void {
    const known = this.#byPosition.get(position);
    const both = position * maxFields + index;
    let state = this.#byBoth.get(both) ?? -1;
    if (state >= 0 && cost > this.cost[state]!) return;
    const isTie = state >= 0 && cost === this.cost[state]!;
    if (state < 0) {
      state = this.position.length;
      this.#byBoth.set(both, state);
      if (known === undefined) this.#byPosition.set(position, [state]);
      else known.push(state);
    }
    this.position[state] = position;
    this.index[state] = index;
    this.cost[state] = cost;
    this.isOnly[state] = !isTie && (before < 0 || this.isOnly[before]!);
    this.before[state] = before;
    this.fieldEnd[state] = fieldEnd;
    this.kind[state] = kind;
  }
}

export class RectangularReading {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #dialect: CsvDialect;
  readonly #fields: number;
  readonly #readings = new Readings();
  #stepsLeft: number;

  /** @param fields the number of fields that every record must have, at least 2 */
  constructor(bytes: Buffer, end: number, dialect: CsvDialect, fields: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.#dialect = dialect;
    this.#fields = fields;
    this.#stepsLeft = 0;
  }

  /**
   * Reads the lines from `start` to the end of the bytes.
   *
   * @returns the records; undefined: no reading or more than one is the best, or it is not plausible
   */
  read(start: number): ReadField[][] | undefined {
    const readings = this.#readings;
    this.#stepsLeft = (this.#end - start) * stepsPerByte;
    readings.reach(start, 0, 0, -1, 0, PLAIN);
    for (let at = start; at < this.#end; at++) {
      const states = readings.at(at);
      if (states === undefined) continue;
      this.#moveFrom(at, states);
      if (this.#stepsLeft < 0) return undefined;
    }
    const last = readings.at(this.#end)?.find((state) => readings.index[state] === 0);
    if (last === undefined || !readings.isOnly[last]) return undefined;
    const records = this.#recordsTo(last);
    // Wrong records next to each other may be parts of one record, so they are not accepted.
    const isAlone = records.every((record, at) => !record.some(isWrong) || !records[at + 1]?.some(isWrong));
    return isAlone && records.every(isPlausible) ? records : undefined;
  }

  #moveFrom(start: number, states: readonly number[]): void {
    const { quote, delimiter, skipsSpace } = this.#dialect;
    const bytes = this.#bytes;
    let at = start;
    while (skipsSpace && at < this.#end && isSpace(bytes[at]!) && bytes[at] !== delimiter) at++;
    if (bytes[at] === quote && at < this.#end) this.#moveQuoted(at + 1, states);
    let quotes = 0;
    let end = start;
    for (; end < this.#end && !this.#endsField(end); end++) if (bytes[end] === quote) quotes++;
    this.#stepsLeft -= end - start;
    const isLeading = bytes[at] === quote && at < end;
    this.#move(states, isLeading ? leadingCost + quotes - 1 : quotes, end, isLeading ? TEXT : PLAIN);
  }

  /** Adds the steps to each end that a quoted field may have. @param from the position after its opening quote */
  #moveQuoted(from: number, states: readonly number[]): void {
    const { quote } = this.#dialect;
    const bytes = this.#bytes;
    let cost = 0;
    // The cost of quotes that look as if they opened a field. It is added only if other quotes of the field are wrong.
    let ofOpening = 0;
    let at = from;
    while (cost < maxFieldCost) {
      const found = bytes.indexOf(quote, at);
      if (found < 0 || found >= this.#end) break;
      let run = found;
      while (run < this.#end && bytes[run] === quote) run++;
      this.#stepsLeft -= run - at;
      const isOdd = (run - found) % 2 === 1;
      let end = run;
      while (end < this.#end && isSpace(bytes[end]!) && !this.#endsField(end)) end++;
      const mayClose = this.#endsField(end);
      const isOpening = found > from && this.#followsDelimiter(found);
      // A quote that follows a delimiter or a line end opens the next field.
      if (isOpening && isOdd && !mayClose) break;
      if (isOpening) ofOpening += openingCost;
      if (mayClose && isOdd && cost === 0) this.#move(states, 0, end, QUOTED);
      else if (mayClose) this.#moveUndoubled(from, end, states, cost + ofOpening + (isOdd ? 0 : 1));
      if (isOdd) cost += mayClose ? closingCost : 1;
      at = run;
    }
    if (cost < maxFieldCost) this.#stepsLeft -= Math.min(this.#end - at, 64);
  }

  #moveUndoubled(from: number, end: number, states: readonly number[], cost: number): void {
    const hasLines = nextLineEnd(this.#bytes.subarray(0, end), from, true) < end;
    this.#move(states, hasLines ? cost + linesCost : cost, end, UNDOUBLED);
  }

  /** Adds the step that ends a field, from all states at its beginning. @param end the position of the delimiter, the line end or the end of the lines */
  #move(states: readonly number[], cost: number, end: number, kind: number): void {
    const readings = this.#readings;
    const isInRecord = this.#bytes[end] === this.#dialect.delimiter && end < this.#end;
    const next = isInRecord ? end + 1 : this.#afterLineEnd(end);
    for (const state of states) {
      this.#stepsLeft--;
      const index = readings.index[state]! + 1;
      const isBlankLine = index === 1 && end === readings.position[state];
      if (isInRecord ? index === this.#fields : index !== this.#fields && !isBlankLine) continue;
      readings.reach(next, isInRecord ? index : 0, readings.cost[state]! + cost, state, end, kind);
    }
  }

  #endsField(at: number): boolean {
    const byte = this.#bytes[at];
    return at >= this.#end || byte === this.#dialect.delimiter || byte === LF || byte === CR;
  }

  #afterLineEnd(at: number): number {
    if (at >= this.#end) return this.#end;
    return this.#bytes[at] === CR && this.#bytes[at + 1] === LF && at + 1 < this.#end ? at + 2 : at + 1;
  }

  #followsDelimiter(at: number): boolean {
    let before = at - 1;
    while (isSpace(this.#bytes[before]!) && !this.#endsField(before)) before--;
    return this.#endsField(before);
  }

  #recordsTo(last: number): ReadField[][] {
    const { position, index, before, fieldEnd, kind } = this.#readings;
    const records: ReadField[][] = [];
    for (let state = last; before[state]! >= 0; state = before[state]!) {
      if (index[state] === 0) records.push([]);
      const start = position[before[state]!]!;
      records.at(-1)!.push({ start, end: fieldEnd[state]!, kind: kind[state]! });
    }
    for (const record of records) record.reverse();
    return records.reverse();
  }
}

/** Returns whether the field must be written differently so that its quotes are valid. */
export function isWrong({ kind }: ReadField): boolean {
  return kind === UNDOUBLED || kind === TEXT;
}

/** Returns whether the reading of a record is plausible. A quote may be text at the beginning of a field only if nothing else is wrong with the record. */
function isPlausible(record: readonly ReadField[]): boolean {
  return !record.some(({ kind }) => kind === TEXT) || record.filter(isWrong).length === 1;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}

/** Returns the field with valid quotes. */
export function withValidQuotes(bytes: Buffer, { start, end, kind }: ReadField, quote: number): Buffer {
  const written: number[] = [];
  let from = start;
  let to = end;
  if (kind === UNDOUBLED) {
    from = bytes.indexOf(quote, start) + 1;
    to = bytes.lastIndexOf(quote, end - 1);
  }
  written.push(quote);
  for (let at = from; at < to; ) {
    let run = at;
    while (run < to && bytes[run] === quote) run++;
    if (run === at) {
      written.push(bytes[at++]!);
      continue;
    }
    const quotes = kind === UNDOUBLED ? Math.ceil((run - at) / 2) : run - at;
    for (let count = 0; count < 2 * quotes; count++) written.push(quote);
    at = run;
  }
  written.push(quote);
  return Buffer.from(written);
}
