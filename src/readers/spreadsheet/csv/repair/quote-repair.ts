/**
 * Repairs wrong quotes of records before they are scanned.
 *
 * Text after a closing quote shows that the quotes of a record are wrong. Most often a quote within a quoted field was not doubled, or a
 * single quote is at the beginning of a field. Such a record is repaired if one reading of its lines is clearly the best, and all records
 * of this reading, and the record after them, have as many fields as the header. Its quotes are then written as RFC 4180 says. All
 * other bytes are passed on unchanged, so a record that cannot be repaired has the same problem as before.
 *
 * Only a file that has such a record comes here.
 */

import { CR, LF } from '../../../../core/bytes/ascii.ts';
import type { CsvDialect } from '../csv-dialect.ts';
import { LineEnds } from './line-ends.ts';
import { RecordWalk } from './record-walk.ts';
import { isWrong, type ReadField, RectangularReading, withValidQuotes } from './rectangular-reading.ts';

/** The maximum number of bytes of a record that is repaired. In a longer record only the first lines can be repaired. */
const maxBytes = 64 * 1024;
/** How many further records a faulty record may continue in, and how many bytes these may have. */
const maxJoined = 3;
const maxJoinedBytes = 8 * 1024;
/** The bytes of readings that fail, in a whole file. After them no record is repaired, because each such byte takes up to a microsecond. */
const maxFailedBytes = 1024 * 1024;
/** The most lines that are named. */
const maxNamedLines = 10;

interface RepairTarget {
  push(bytes: Buffer): void;
  /** The number of fields that a record must have; less than 2: no record is repaired. */
  readonly wantedFields: number;
}

export class QuoteRepair {
  /** The number of repaired records. */
  repaired = 0;
  /** The line numbers of the first repaired records, for the warning. */
  readonly lines: number[] = [];
  /** The line from which on no record is repaired; 0: there is none. */
  endLine = 0;

  readonly #target: RepairTarget;
  readonly #dialect: CsvDialect;
  readonly #walk: RecordWalk;
  /** The bytes that were not passed on yet. They begin at the beginning of a record. */
  #bytes: Buffer = Buffer.alloc(0);
  /** The walk has read `#bytes` up to this position. `#start` is where the current record begins. */
  #at = 0;
  #start = 0;
  /** If the record at 0 is faulty: the ends of the records from it on. Empty: all records before `#start` are without faults. */
  #ends: number[] = [];
  /** The current record is too long to be kept. Its bytes are passed on unchanged. */
  #isTooLong = false;
  /** Counts the lines before 0. */
  readonly #lines = new LineEnds();
  #failedBytes = 0;

  constructor(target: RepairTarget, dialect: CsvDialect) {
    this.#target = target;
    this.#dialect = dialect;
    this.#walk = new RecordWalk(dialect);
  }

  push(bytes: Buffer): void {
    if (this.endLine > 0) {
      this.#target.push(bytes);
      return;
    }
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    this.#process();
    while (this.#at < this.#bytes.length) {
      // The first record, or the faulty one and those after it, are longer than the limit.
      if (this.#at === maxBytes) {
        if (this.#ends.length > 0) this.#giveUp();
        else this.#isTooLong = !this.#repairFirstLines();
      }
      this.#process();
    }
  }

  finish(): void {
    do {
      this.push(Buffer.alloc(0));
      if (this.#start < this.#bytes.length) this.#endRecord(true);
      if (this.#ends.length > 0 && !this.#repair(this.#ends.at(-1)!)) this.#giveUp();
    } while (this.#start < this.#bytes.length || this.#ends.length > 0);
    this.#passOn(this.#bytes.length);
  }

  /**
   * Walks over the records within the limit, and passes on those that are faultless. The walk goes no further, so that it does not depend on the
   * slices which records are too long.
   */
  #process(): void {
    for (let end = this.#limit; this.#at < end; end = this.#limit) {
      const found = this.#walk.run(this.#bytes, this.#at, end);
      this.#at = found < 0 ? end : found;
      if (found < 0) break;
      this.#endRecord(false);
    }
    if (this.#isTooLong) this.#passOn(this.#at);
    else if (this.#ends.length === 0) this.#passOn(this.#start);
  }

  get #limit(): number {
    return Math.min(this.#bytes.length, maxBytes);
  }

  /** @param isCut the text ends within the record, because a quote is missing */
  #endRecord(isCut: boolean): void {
    const begin = this.#start;
    const { fields, hasQuoteInText } = this.#walk;
    const isFaulty = this.#walk.isFaulty || (isCut && this.#walk.isQuoted);
    this.#start = isCut ? this.#bytes.length : this.#at;
    this.#at = this.#start;
    this.#walk.begin();
    if (this.#isTooLong) {
      this.#isTooLong = false;
    } else if (this.#ends.length > 0) {
      this.#ends.push(this.#start);
      const first = this.#bytes[begin];
      const isBlank = first === LF || first === CR;
      const isWhole = fields === this.#target.wantedFields && !hasQuoteInText;
      this.#decide(isFaulty ? undefined : isBlank || isWhole);
    } else if (isFaulty) {
      this.#passOn(begin);
      this.#ends.push(this.#start);
    }
  }

  /** Decides about the faulty records when the record after them is known. @param isSound whether that record is without faults; undefined: it is faulty, too */
  #decide(isSound: boolean | undefined): void {
    const end = this.#ends.at(-2)!;
    if ((isSound ?? this.#readingOf(end, this.#ends.at(-1)!) !== undefined) && this.#repair(end)) return;
    if (this.#ends.length > maxJoined || end > maxJoinedBytes) this.#giveUp();
  }

  #readingOf(start: number, end: number): ReadField[][] | undefined {
    const { wantedFields } = this.#target;
    if (wantedFields < 2 || this.#failedBytes > maxFailedBytes) return undefined;
    const reading = new RectangularReading(this.#bytes, end, this.#dialect, wantedFields).read(start);
    if (reading === undefined) this.#failedBytes += end - start;
    return reading;
  }

  /** Repairs the records up to `end`. @returns whether a repair was found */
  #repair(end: number): boolean {
    const records = this.#readingOf(0, end);
    if (records === undefined) return false;
    this.#passRepaired(records, end);
    return true;
  }

  /** Repairs the first record, if a wrong quote has joined it with very many lines. */
  #repairFirstLines(): boolean {
    const head = this.#bytes.subarray(0, maxBytes);
    const end = head.lastIndexOf(head.includes(LF) ? LF : CR) + 1;
    const records = this.#readingOf(0, end);
    if (records === undefined || records.length < 3 || records.slice(1).some((one) => one.some(isWrong)))
      return false;
    this.#passRepaired(records, end);
    return true;
  }

  #passRepaired(records: readonly ReadField[][], end: number): void {
    const parts: Buffer[] = [];
    let from = 0;
    for (const record of records) {
      const wrong = record.filter(isWrong);
      if (wrong.length === 0) continue;
      this.repaired++;
      if (this.lines.length < maxNamedLines)
        this.lines.push(this.#lines.after(this.#bytes, record[0]!.start));
      for (const field of wrong) {
        parts.push(
          this.#bytes.subarray(from, field.start),
          withValidQuotes(this.#bytes, field, this.#dialect.quote),
        );
        from = field.end;
      }
    }
    this.#lines.add(this.#bytes, end);
    this.#target.push(Buffer.concat([...parts, this.#bytes.subarray(from, end)]));
    this.#rewind(end);
  }

  /** Passes on the faulty record unchanged. */
  #giveUp(): void {
    const [end] = this.#ends;
    if (this.#failedBytes > maxFailedBytes && this.endLine === 0)
      this.endLine = this.#lines.after(this.#bytes, 0);
    this.#passOn(this.endLine > 0 ? this.#bytes.length : end!);
    this.#rewind(0);
  }

  #passOn(length: number): void {
    if (length === 0) return;
    this.#lines.add(this.#bytes, length);
    this.#target.push(this.#bytes.subarray(0, length));
    this.#bytes = this.#bytes.subarray(length);
    this.#start = Math.max(0, this.#start - length);
    this.#at = Math.max(0, this.#at - length);
  }

  /** Continues to read at the record at this position. */
  #rewind(to: number): void {
    this.#bytes = this.#bytes.subarray(to);
    this.#ends = [];
    this.#start = 0;
    this.#at = 0;
    this.#walk.begin();
  }
}
