/**
 * A sink that turns the members of nested objects into columns: the value at `a.b` goes into the column `a_b`. Arrays remain
 * values. Each pass over the rows has its own sink.
 *
 * The members form a tree. Each object has the names of its members as bytes, so that after its first appearance a member costs no
 * string and no allocation. The scanner has checked the values, so this code only finds where they end.
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { type ByteLimit, GrowableBytes } from '../../core/bytes/growable-bytes.ts';
import { noBytes, type Scan, SHORT_SCAN_BYTES, scanInTurns } from '../../core/bytes/scan-in-turns.ts';
import { NULL, OBJECT, REPEATED_KEY, SAME_COLUMN_NAME, STRING } from '../../core/cells/cell-kind.ts';
import type { CellSink } from '../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../core/cells/forwarding-sink.ts';
import type { AppError } from '../../core/errors.ts';
import { pointerTo } from '../../core/json-pointer.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { ColumnNames } from './column-names.ts';
import { kindOf } from './json-row-scanner.ts';
import { afterBlanks, endOfString } from './parse-in-turns.ts';
import { StringUnescaper } from './string-unescaper.ts';

export interface FlatteningOptions {
  /** The text between the names of the members, such as `_`. */
  separator: string;
  maxColumns: number;
  maxCellBytes: number;
  /** Returns whether the table has a column with this name; always false if the table is not known. */
  hasColumn(name: string): boolean;
  /** Returns whether objects are stored as a whole in the column with this name. */
  keepsObject(name: string): boolean;
}

/** The maximum length in bytes of the name of a column, which is the same as for keys. */
const maxNameBytes = 1024;

/** A key of the rows, or a member of a nested object. */
class Member {
  /** The name of its column. */
  readonly name: string;
  /** The JSON Pointer in its row. */
  readonly pointer: string;
  /** Its number among all members, in the order of their first appearance. */
  readonly place: number;
  /** The column of the inner sink; -1: the member has no column yet. */
  column = -1;
  /** The member has no column, because another member with the same name has it. */
  hasSameName = false;
  /** Objects are stored as a whole in its column. */
  readonly keepsObject: boolean;
  readonly isOfTable: boolean;
  /** The members of its objects; undefined: none of its values was an object to flatten. */
  names: ColumnNames | undefined;
  readonly members: Member[] = [];
  /** The last row that had the member. */
  lastRow = -1;
  /** The number of rows in which it was NULL while it had no column. */
  nulls = 0;

  constructor(name: string, pointer: string, place: number, { hasColumn, keepsObject }: FlatteningOptions) {
    this.name = name;
    this.pointer = pointer;
    this.place = place;
    this.isOfTable = hasColumn(name);
    this.keepsObject = keepsObject(name);
  }
}

/** A long object or array that becomes a cell. */
interface LongCell {
  column: number;
  kind: number;
  start: number;
  end: number;
}

/** An object whose members are being pushed. */
interface OpenObject {
  owner: Member;
  /** The index of the last member. */
  index: number;
  /** It has a repeated key. Its other members are only skipped, so that a long object has few problems. */
  isRepeated: boolean;
}

export class FlatteningSink extends ForwardingSink implements Scan {
  readonly #options: FlatteningOptions;
  /** The members that are keys of the rows, by the scanner's column number. */
  readonly #keys: Member[] = [];
  /** The members that have a column, by its name. */
  readonly #byName = new Map<string, Member>();
  /** All members that were seen, for the limit and for the end of the pass. */
  readonly #all: Member[] = [];
  #row = 0;
  /** The member that has the problem that the inner sink is taking, if another member has its column. */
  #refused: Member | undefined;
  /** The values of the current cell that the inner sink takes in turns after the others; undefined: the cell is not long. */
  #waiting: LongCell[] | undefined;
  /** The objects that contain the current position, the innermost one last. The objects after the first `#depth` are kept for other rows. */
  readonly #open: OpenObject[] = [];
  #depth = 0;
  #bytes: Buffer = noBytes;
  /** The position before a key of the innermost object, or before its end. */
  #at = 0;
  readonly #unescaper = new StringUnescaper();
  readonly #held: GrowableBytes;

  constructor(inner: CellSink, options: FlatteningOptions) {
    super(inner);
    this.#options = options;
    const limit: ByteLimit = {
      maxBytes: options.maxCellBytes,
      exceeded: () =>
        limitExceeded('The value is too long', options.maxCellBytes, { setting: 'MAX_CELL_BYTES' }),
    };
    this.#held = new GrowableBytes(limit);
  }

  /** Returns the JSON Pointer in its row of the member with this column. Within a problem it is the member that has the problem. */
  pointerOf(column: string): string | undefined {
    const { name, pointer } = this.#refused ?? {};
    return name === column ? pointer : this.#byName.get(column)?.pointer;
  }

  /** Returns the members that are objects in some rows and NULL in others. Such a NULL does not set the columns of the object. */
  nullObjects(): Member[] {
    return this.#all.filter(({ column, nulls, names }) => column < 0 && nulls > 0 && names !== undefined);
  }

  /** Returns whether a member has been NULL in all rows so far. It may become a column, or it may be an object in a later row. */
  get hasUnknownMembers(): boolean {
    return this.#all.some(isUnknown);
  }

  /** Call this after a whole pass. Members that were always NULL become columns. */
  finish(): void {
    for (const member of this.#all) if (isUnknown(member)) this.#addColumn(member);
  }

  override column(column: number, name: string): void {
    this.#keys[column] = this.#newMember(name, pointerTo(name));
  }

  override beginRow(row: number): void {
    this.#row = row;
    super.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const member = this.#keys[column]!;
    if (kind !== OBJECT || member.keepsObject) this.#put(member, kind, bytes, start, end);
    else this.#begin(member, bytes, start).scanTo(end);
  }

  async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    const member = this.#keys[column]!;
    const waiting: LongCell[] = [];
    this.#waiting = waiting;
    if (kind !== OBJECT || member.keepsObject) this.#put(member, kind, bytes, start, end);
    else await scanInTurns(this.#begin(member, bytes, start), start, end);
    this.#waiting = undefined;
    this.#bytes = noBytes;
    for (const cell of waiting) await this.passLong(cell.column, cell.kind, bytes, cell.start, cell.end);
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    super.fault(column < 0 ? -1 : this.#keys[column]!.column, fault, bytes, start, end);
  }

  #put(member: Member, kind: number, bytes: Buffer, start: number, end: number): void {
    if (member.column < 0) {
      // NULL may stand for an object, because another row may have an object here. And an inferred column with only NULL would mean nothing.
      if (kind === NULL && !member.isOfTable) {
        member.nulls++;
        return;
      }
      this.#addColumn(member);
    }
    if (member.hasSameName) {
      this.#refused = member;
      this.inner.fault(member.column, SAME_COLUMN_NAME, bytes, start, end);
      this.#refused = undefined;
    } else if (kind >= OBJECT && end - start > SHORT_SCAN_BYTES && this.#waiting !== undefined)
      this.#waiting.push({ column: member.column, kind, start, end });
    else this.inner.cell(member.column, kind, bytes, start, end);
  }

  /** Begins to flatten the object that begins at `start`. */
  #begin(owner: Member, bytes: Buffer, start: number): this {
    this.#bytes = bytes;
    this.#depth = 0;
    this.#openObject(owner, start);
    return this;
  }

  #openObject(owner: Member, start: number): void {
    owner.names ??= new ColumnNames();
    const kept = this.#open[this.#depth++];
    if (kept === undefined) this.#open.push({ owner, index: -1, isRepeated: false });
    else {
      kept.owner = owner;
      kept.index = -1;
      kept.isRepeated = false;
    }
    this.#at = afterBlanks(this.#bytes, start + 1);
  }

  /** Pushes the members of the open objects whose keys begin before `until`. */
  scanTo(until: number): boolean {
    const bytes = this.#bytes;
    while (this.#at < until) {
      if (bytes[this.#at] !== ascii.CLOSING_BRACE) this.#pushMember(this.#open[this.#depth - 1]!);
      else if (--this.#depth > 0) this.#at = this.#nextMember(this.#at + 1);
      else return true;
    }
    return false;
  }

  /** Pushes the member whose key is at the position, or opens its object. */
  #pushMember(object: OpenObject): void {
    const bytes = this.#bytes;
    const start = this.#at;
    const { owner, index } = object;
    const names = owner.names!;
    const expected = names.followerOf(index);
    const after = names.match(expected, bytes, start + 1, bytes.length);
    const found = after < 0 ? this.#findMember(owner, bytes, start + 1) : expected;
    if (after < 0) names.setFollower(index, found);
    object.index = found;
    const member = owner.members[found]!;
    // Skips the colon after the key.
    const at = afterBlanks(bytes, afterBlanks(bytes, after < 0 ? endOfString(bytes, start) : after) + 1);
    if (!object.isRepeated && member.lastRow !== this.#row) {
      const kind = kindOf(bytes[at]!);
      if (kind === OBJECT && !member.keepsObject) this.#openObject(member, at);
      else this.#at = this.#nextMember(this.#putValue(member, kind, at));
    } else {
      const end = endOfValue(bytes, at);
      if (!object.isRepeated) this.inner.fault(member.column, REPEATED_KEY, bytes, at, end);
      object.isRepeated = true;
      this.#at = this.#nextMember(end);
    }
    member.lastRow = this.#row;
  }

  /** Pushes the value that begins at `start`. @returns the position after it */
  #putValue(member: Member, kind: number, start: number): number {
    const bytes = this.#bytes;
    if (kind !== STRING) {
      const end = endOfValue(bytes, start);
      this.#put(member, kind, bytes, start, end);
      return end;
    }
    let end = start + 1;
    while (bytes[end] !== ascii.QUOTE && bytes[end] !== ascii.BACKSLASH) end++;
    if (bytes[end] === ascii.QUOTE) {
      this.#put(member, STRING, bytes, start + 1, end);
      return end + 1;
    }
    const after = this.#unescape(bytes, start + 1);
    this.#put(member, STRING, this.#held.bytes, 0, this.#held.length);
    return after;
  }

  /** Returns the position of the next key, or of the end of the object. @param end the position after a value */
  #nextMember(end: number): number {
    const at = afterBlanks(this.#bytes, end);
    return this.#bytes[at] === ascii.COMMA ? afterBlanks(this.#bytes, at + 1) : at;
  }

  /** Returns the index of the member whose key begins at `start`, after the quote. */
  #findMember(owner: Member, bytes: Buffer, start: number): number {
    this.#unescape(bytes, start);
    const { bytes: key, length } = this.#held;
    const names = owner.names!;
    const found = names.find(key, 0, length);
    if (found >= 0) return found;
    const name = key.toString('utf8', 0, length);
    const column = owner.name + this.#options.separator + name;
    if (Buffer.byteLength(column) > maxNameBytes)
      throw limitExceeded('The name of a flattened column is too long', maxNameBytes, 'bytes');
    owner.members.push(this.#newMember(column, owner.pointer + pointerTo(name)));
    return names.add(key, 0, length);
  }

  #unescape(bytes: Buffer, start: number): number {
    this.#held.clear();
    this.#unescaper.begin();
    return this.#unescaper.unescape(bytes, start, bytes.length, this.#held);
  }

  #newMember(name: string, pointer: string): Member {
    // Objects without members never get a column, so all members are limited, not only the columns.
    if (this.#all.length === 2 * this.#options.maxColumns) throw this.#tooManyKeys();
    const member = new Member(name, pointer, this.#all.length, this.#options);
    this.#all.push(member);
    return member;
  }

  #addColumn(member: Member): void {
    const other = this.#byName.get(member.name);
    if (other !== undefined) {
      member.hasSameName = true;
      member.column = other.column;
      return;
    }
    if (this.#byName.size === this.#options.maxColumns) throw this.#tooManyKeys();
    member.column = this.#byName.size;
    this.#byName.set(member.name, member);
    this.inner.column(member.column, member.name, member.place);
  }

  #tooManyKeys(): AppError {
    const { maxColumns } = this.#options;
    return limitExceeded('The rows have too many different keys', maxColumns, { setting: 'MAX_COLUMNS' });
  }
}

function isUnknown({ column, nulls, names }: Member): boolean {
  return column < 0 && nulls > 0 && names === undefined;
}

/** Returns the position after the value that begins at `start`. */
function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  for (;;) {
    const byte = bytes[at]!;
    if (byte === ascii.QUOTE) at = endOfString(bytes, at);
    else if (byte === ascii.OPENING_BRACE || byte === ascii.OPENING_BRACKET) {
      depth++;
      at++;
    } else if (byte === ascii.CLOSING_BRACE || byte === ascii.CLOSING_BRACKET) {
      // A number or literal ends at the brace of the enclosing object.
      if (depth === 0) return at;
      depth--;
      at++;
    } else if (depth === 0 && (byte === ascii.COMMA || byte <= ascii.SPACE)) {
      return at;
    } else {
      at++;
      continue;
    }
    if (depth === 0) return at;
  }
}
