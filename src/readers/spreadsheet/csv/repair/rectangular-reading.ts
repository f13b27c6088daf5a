/**
 * Finds the reading of lines with wrong quotes in which every record has the wanted number of fields.
 *
 * A field that begins with a quote may be quoted or a text. A quoted field may end at each quote before a delimiter or a line end, and quotes
 * before it that are not doubled are part of its value. All these choices make many readings. Each deviation from RFC 4180 costs
 * something, and only the cheapest reading counts. If two readings cost the same, there is no answer.
 */

import { CR, LF, SPACE, TAB } from '../../../../core/bytes/ascii.ts';
import type { CsvDialect } from '../csv-dialect.ts';

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

export interface ReadField {
  start: number;
  /** The position of the delimiter or the line end. */
  end: number;
  kind: number;
}

/** The numbers of a state: its position, the number of fields before it in its record, and the cheapest step that reaches it. */
const INDEX = 0;
const COST = 1;
/** 1 if only one reading has this cost. */
const IS_ONLY = 2;
/** The state before the step. */
const BEFORE = 3;
/** The position of the delimiter or the line end of the field. */
const FIELD_END = 4;
const KIND = 5;
/** Another state of the same position; -1: there is none. */
const OTHER = 6;
const POSITION = 7;
const stateNumbers = 8;

/**
 * The possible steps from one field to the next, and the states that they reach. A state is a position and the number of fields before it in its
 * record. All states are in one list of numbers, because 64 KiB may have as many states, and objects or maps for them would take 100 ms.
 */
class Readings {
  numbers = new Int32Array(1024 * stateNumbers);
  #length = 0;
  /** The number of states that `find` has compared. */
  compared = 0;
  /** The last state of each position; -1: there is none. */
  readonly lastAt: Int32Array;

  constructor(end: number) {
    this.lastAt = new Int32Array(end + 1).fill(-1);
  }

  /** Returns the state of a position with this number of fields before it; -1: there is none. */
  find(position: number, index: number): number {
    const { numbers } = this;
    let state = this.lastAt[position]!;
    for (; state >= 0 && numbers[state + INDEX] !== index; this.compared++) state = numbers[state + OTHER]!;
    return state;
  }

  /** @param before the state before; -1 for the first state */
  reach(position: number, index: number, cost: number, before: number, fieldEnd: number, kind: number): void {
    let state = this.find(position, index);
    let isOnly = before < 0 ? 1 : this.numbers[before + IS_ONLY]!;
    if (state < 0) {
      state = this.#add(position, index);
    } else {
      const known = this.numbers[state + COST]!;
      if (cost > known) return;
      if (cost === known) isOnly = 0;
    }
    const { numbers } = this;
    numbers[state + COST] = cost;
    numbers[state + IS_ONLY] = isOnly;
    numbers[state + BEFORE] = before;
    numbers[state + FIELD_END] = fieldEnd;
    numbers[state + KIND] = kind;
  }

  #add(position: number, index: number): number {
    const state = this.#length;
    this.#length += stateNumbers;
    if (this.#length > this.numbers.length) {
      const grown = new Int32Array(2 * this.numbers.length);
      grown.set(this.numbers);
      this.numbers = grown;
    }
    this.numbers[state + POSITION] = position;
    this.numbers[state + INDEX] = index;
    this.numbers[state + OTHER] = this.lastAt[position]!;
    this.lastAt[position] = state;
    return state;
  }
}

export class RectangularReading {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #dialect: CsvDialect;
  readonly #fields: number;
  readonly #readings: Readings;
  #stepsLeft: number;

  /** @param fields the number of fields that every record must have, at least 2 */
  constructor(bytes: Buffer, end: number, dialect: CsvDialect, fields: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.#dialect = dialect;
    this.#fields = fields;
    this.#readings = new Readings(end);
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
      if (readings.lastAt[at]! < 0) continue;
      this.#moveFrom(at);
      if (this.#stepsLeft < readings.compared) return undefined;
    }
    const last = readings.find(this.#end, 0);
    if (last < 0 || readings.numbers[last + IS_ONLY] === 0) return undefined;
    const records = this.#recordsTo(last);
    // Wrong records next to each other may be parts of one record, so they are not accepted.
    const isAlone = records.every((record, at) => !record.some(isWrong) || !records[at + 1]?.some(isWrong));
    return isAlone && records.every(isPlausible) ? records : undefined;
  }

  #moveFrom(start: number): void {
    const { quote, delimiter, skipsSpace } = this.#dialect;
    const bytes = this.#bytes;
    let at = start;
    while (skipsSpace && at < this.#end && isSpace(bytes[at]!) && bytes[at] !== delimiter) at++;
    if (bytes[at] === quote && at < this.#end) this.#moveQuoted(at + 1, start);
    let quotes = 0;
    let end = start;
    for (; end < this.#end && !this.#endsField(end); end++) if (bytes[end] === quote) quotes++;
    this.#stepsLeft -= end - start;
    const isLeading = bytes[at] === quote && at < end;
    this.#move(start, isLeading ? leadingCost + quotes - 1 : quotes, end, isLeading ? TEXT : PLAIN);
  }

  /** Adds the steps to each end that a quoted field may have. @param from the position after its opening quote */
  #moveQuoted(from: number, start: number): void {
    const { quote } = this.#dialect;
    const bytes = this.#bytes;
    let cost = 0;
    // The cost of quotes that look as if they opened a field. It is added only if other quotes of the field are wrong.
    let ofOpening = 0;
    let at = from;
    let hasLines = false;
    while (cost < maxFieldCost) {
      let found = at;
      for (; found < this.#end && bytes[found] !== quote; found++)
        if (bytes[found] === LF || bytes[found] === CR) hasLines = true;
      if (found === this.#end) break;
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
      const costOfLines = hasLines ? linesCost : 0;
      if (mayClose && isOdd && cost === 0) this.#move(start, 0, end, QUOTED);
      else if (mayClose) this.#move(start, cost + ofOpening + (isOdd ? 0 : 1) + costOfLines, end, UNDOUBLED);
      if (isOdd) cost += mayClose ? closingCost : 1;
      at = run;
    }
    if (cost < maxFieldCost) this.#stepsLeft -= Math.min(this.#end - at, 64);
  }

  /**
   * Adds the step that ends a field, from all states at its beginning.
   *
   * @param start where the field begins
   * @param end the position of the delimiter, the line end or the end of the lines
   */
  #move(start: number, cost: number, end: number, kind: number): void {
    const readings = this.#readings;
    const isInRecord = this.#bytes[end] === this.#dialect.delimiter && end < this.#end;
    const next = isInRecord ? end + 1 : this.#afterLineEnd(end);
    for (let state = readings.lastAt[start]!; state >= 0; state = readings.numbers[state + OTHER]!) {
      this.#stepsLeft--;
      const index = readings.numbers[state + INDEX]! + 1;
      const isBlankLine = index === 1 && end === start;
      if (isInRecord ? index === this.#fields : index !== this.#fields && !isBlankLine) continue;
      const total = readings.numbers[state + COST]! + cost;
      readings.reach(next, isInRecord ? index : 0, total, state, end, kind);
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
    const { numbers } = this.#readings;
    const records: ReadField[][] = [];
    let state = last;
    for (let before = numbers[state + BEFORE]!; before >= 0; before = numbers[state + BEFORE]!) {
      if (numbers[state + INDEX] === 0) records.push([]);
      const start = numbers[before + POSITION]!;
      records.at(-1)!.push({ start, end: numbers[state + FIELD_END]!, kind: numbers[state + KIND]! });
      state = before;
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
