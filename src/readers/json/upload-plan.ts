/** The plan for the body `{"table": {…}, "data": [{…}, …]}` with its members in any order, for only an array of rows, or for only a definition. */

import { cutText } from '../../core/cut-text.ts';
import { AppError } from '../../core/errors.ts';
import { pointerTo } from '../../core/json-pointer.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { type DocumentPlan, describeValue, KEEP, ROWS, SKIP, WALK } from './document-plan.ts';

const WRONG_DEFINITION = 'The body must be an object that holds "table".';
const WRONG_DOCUMENT =
  'The body must be an object that holds "table", "data" or both, or an array of row objects.';

export class UploadPlan implements DocumentPlan {
  rowsAt = '/data';
  readonly isOneRow = false;
  /** The JSON text of `table`, after all of it was scanned. It is undefined if the body has no `table` or `table` is `null`. */
  table: Buffer | undefined;
  /** The JSON text of `patch`, the corrections of the rows. It comes before them, because they are corrected while they are read. */
  patch: Buffer | undefined;
  readonly #takesRows: boolean;
  #documentByte = 0;
  /** The current member; undefined: none yet. */
  #member: string | undefined;
  readonly #members = new Set<string>();
  /** The first unknown member, because of which the body will be refused. The scan still continues to the first array, so that the message can suggest that array for `rows_at`. */
  #unknown: string | undefined;

  /** @param takesRows false: the body contains only a definition */
  constructor(takesRows: boolean) {
    this.#takesRows = takesRows;
  }

  enter(firstByte: number): number {
    if (this.#documentByte === 0) {
      this.#documentByte = firstByte;
      if (firstByte === 0x7b) return WALK;
      if (firstByte !== 0x5b || !this.#takesRows) return SKIP;
      this.rowsAt = '';
      return ROWS;
    }
    if (this.#unknown !== undefined) {
      if (firstByte === 0x5b) throw this.#unknownMember(this.#unknown, this.#member);
      return SKIP;
    }
    if (this.#member === 'table' || this.#member === 'patch') return KEEP;
    return firstByte === 0x5b ? ROWS : SKIP;
  }

  key(name: string): void {
    const pointer = pointerTo(name);
    if (name === 'patch' && this.#takesRows && this.#members.has('data'))
      throw invalidBody(pointer, 'unknown-key', 'The member "patch" must come before "data".');
    if (name !== 'table' && !((name === 'data' || name === 'patch') && this.#takesRows)) {
      const belongsToTable = name === 'columns' || name === 'constraints';
      const hasData = this.#members.has('data');
      if (!this.#takesRows || belongsToTable || hasData)
        throw this.#unknownMember(name, hasData ? 'data' : undefined);
      this.#unknown ??= name;
    }
    if (this.#members.has(name)) {
      throw invalidBody(pointer, 'repeated-key', `The body has the member "${name}" twice.`);
    }
    this.#members.add(name);
    this.#member = name;
  }

  element(): void {}

  leave(): void {
    if (this.#unknown !== undefined) throw this.#unknownMember(this.#unknown);
  }

  ended(firstByte: number, text: Buffer | undefined): void {
    const isNull = firstByte === 0x6e;
    if (text !== undefined) {
      const kept = isNull ? undefined : Buffer.from(text);
      if (this.#member === 'patch') this.patch = kept;
      else this.table = kept;
    }
    if (text === undefined && this.#member === 'data' && !isNull && this.#unknown === undefined)
      throw invalidBody('/data', 'wrong-type', wrongData(firstByte));
  }

  rowsEnded(): void {}

  #unknownMember(name: string, array?: string): AppError {
    return invalidBody(pointerTo(name), 'unknown-key', unknownMember(name, this.#takesRows, array));
  }

  finish(): void {
    if (this.#documentByte === 0x7b || (this.#documentByte === 0x5b && this.#takesRows)) return;
    throw invalidBody('', 'wrong-type', this.#takesRows ? WRONG_DOCUMENT : WRONG_DEFINITION);
  }
}

/** Explains a member `data` that is not an array. */
function wrongData(firstByte: number): string {
  const expected = `The member "data" must be an array of row objects, not ${describeValue(firstByte)}.`;
  if (firstByte === 0x7b)
    return `${expected} Put one row into an array: {"data": [{…}]}, or send rows_at=/data. A DataFrame of pandas needs orient="records".`;
  return firstByte === 0x22 ? `${expected} Send the array itself, not its JSON text.` : expected;
}

const maxShownName = 63;

/**
 * Returns the message for an unknown member. If it belongs elsewhere, the message says where.
 *
 * @param array the first member that is an array; undefined: there is none, or it is not known
 */
function unknownMember(name: string, takesRows: boolean, array: string | undefined): string {
  if (name === 'columns') {
    const advice = '"columns" must be inside "table": {"table": {"columns": […]}}.';
    return takesRows
      ? `${advice} If the body is a DataFrame of pandas (orient="split"), write it with orient="records".`
      : advice;
  }
  if (name === 'constraints') {
    return '"constraints" must be inside "table": {"table": {"columns": […], "constraints": {…}}}.';
  }
  const member = cutText(name, maxShownName);
  const known = `The body has a member "${member}"; only ${takesRows ? '"table" and "data" are' : '"table" is'} known here.`;
  if (takesRows) {
    return `${known} If the rows are an array inside this document, name it with the parameter rows_at, as in ?rows_at=${array === undefined ? '/response/items' : pointerTo(cutText(array, maxShownName))}; POST /api/v1/inspect/json lists the arrays of a document. If the body is one row, send rows_at= (without a value) or put it into an array. If the body has one object per line, send it as application/x-ndjson.`;
  }
  return name === 'data' ? `${known} Send rows to upload/json, or in the file.` : known;
}

function invalidBody(pointer: string, code: ProblemCode, detail: string): AppError {
  return new AppError('invalid-data', detail, { errors: [{ pointer, code, detail }] });
}
