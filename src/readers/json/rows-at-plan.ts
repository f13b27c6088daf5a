/**
 * The plan for rows at the place that a JSON Pointer names: an array inside a document, or one row. The only other value that is
 * kept is a definition: the member `table` of the document, if it is an object.
 */

import { cutText } from '../../core/cut-text.ts';
import { AppError } from '../../core/errors.ts';
import { isArrayIndex, pointerOf } from '../../core/json-pointer.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { type DocumentPlan, describeValue, KEEP, ONE_ROW, ROWS, SKIP, WALK } from './document-plan.ts';

/** How many of its keys a message lists if an object does not have the wanted key. */
const maxShownKeys = 10;
const maxShownLength = 63;

export class RowsAtPlan implements DocumentPlan {
  readonly rowsAt: string;
  /** The value at the pointer is an object, which is the only row. */
  isOneRow = false;
  /** The JSON text of the definition, after all of it was scanned. */
  table: Buffer | undefined;
  readonly #steps: readonly string[];
  /** The number of open objects and arrays that are walked. Each is one step of the pointer. */
  #depth = 0;
  /** Whether the innermost walked object or array contained the member or element that its step of the pointer names. */
  #isResolved = true;
  /** Whether the keys and indexes so far are those of the pointer. */
  #isOnPath = true;
  #isTable = false;
  #hasTable = false;
  /** The keys of the innermost walked object. */
  #keys: string[] = [];
  /** The first byte of the document, if it is neither an object nor an array. */
  #scalar: number | undefined;

  constructor(steps: readonly string[]) {
    this.#steps = steps;
    this.rowsAt = pointerOf(steps);
  }

  enter(firstByte: number): number {
    if (!this.#isOnPath) return this.#isTable && firstByte === 0x7b ? KEEP : SKIP;
    const isArray = firstByte === 0x5b;
    if (!isArray && firstByte !== 0x7b) return SKIP;
    if (this.#depth === this.#steps.length) {
      this.isOneRow = !isArray;
      return isArray ? ROWS : ONE_ROW;
    }
    const step = this.#steps[this.#depth]!;
    if (isArray && !isArrayIndex(step)) {
      const example = `${pointerOf(this.#foundSteps)}/0`;
      throw this.#notFound(
        `is an array; its elements have numbers, as in ${cutText(example, maxShownLength)}, not the name "${cutText(step, maxShownLength)}"`,
      );
    }
    this.#depth++;
    this.#isResolved = false;
    this.#keys = [];
    return WALK;
  }

  key(name: string): void {
    const isStep = name === this.#steps[this.#depth - 1];
    this.#isTable = !isStep && this.#depth === 1 && name === 'table';
    if ((isStep && this.#isResolved) || (this.#isTable && this.#hasTable)) {
      throw repeatedKey(pointerOf([...this.#steps.slice(0, this.#depth - 1), name]));
    }
    if (this.#isTable) this.#hasTable = true;
    this.#isOnPath = isStep;
    if (isStep) this.#isResolved = true;
    else if (this.#keys.length <= maxShownKeys) this.#keys.push(cutText(name, maxShownLength));
  }

  element(index: number): void {
    this.#isTable = false;
    this.#isOnPath = String(index) === this.#steps[this.#depth - 1];
    if (this.#isOnPath) this.#isResolved = true;
  }

  leave(count: number): void {
    if (!this.#isResolved) {
      const elements = count === 1 ? 'one element' : `${count} elements`;
      throw this.#notFound(
        count < 0
          ? `is an object ${describeKeys(this.#keys)}`
          : `is an array of ${elements}, numbered from 0`,
      );
    }
    this.#depth--;
    this.#isOnPath = false;
  }

  ended(firstByte: number, text: Buffer | undefined): void {
    if (text !== undefined) this.table = Buffer.from(text);
    if (!this.#isOnPath) return;
    if (this.#depth === 0) this.#scalar = firstByte;
    else this.#refuseScalar(firstByte);
  }

  rowsEnded(isAllNested: boolean): void {
    if (!this.isOneRow || !isAllNested) return;
    throw this.#refusal(
      'rows-not-an-array',
      `${this.#whatIsAtPointer()} is an object whose values are all objects or arrays, so they may be rows or columns of their own. Put the rows into an array: [{…}]. A DataFrame of pandas needs orient="records".`,
    );
  }

  finish(): void {
    if (this.#scalar !== undefined) this.#refuseScalar(this.#scalar);
  }

  #refuseScalar(firstByte: number): never {
    if (this.#depth === this.#steps.length) throw this.#notAnArray(firstByte);
    throw this.#notFound(`is ${describeValue(firstByte)}`);
  }

  get #foundSteps(): readonly string[] {
    return this.#steps.slice(0, this.#depth - (this.#isResolved ? 0 : 1));
  }

  #notAnArray(firstByte: number): AppError {
    return this.#refusal(
      'rows-not-an-array',
      `${this.#whatIsAtPointer()} is ${describeValue(firstByte)}; rows_at must name an array of row objects, or one row object.`,
    );
  }

  #whatIsAtPointer(): string {
    return this.rowsAt === '' ? 'The document' : `The value at ${cutText(this.rowsAt, maxShownLength)}`;
  }

  /**
   * Returns the error for a document that has nothing at the wanted place.
   *
   * @param what describes the deepest value that was found
   */
  #notFound(what: string): AppError {
    const deepest = pointerOf(this.#foundSteps);
    const where = deepest === '' ? 'The document' : `The value at ${cutText(deepest, maxShownLength)}`;
    return this.#refusal(
      'rows-not-found',
      `The document has nothing at ${cutText(this.rowsAt, maxShownLength)}. ${where} ${what}.`,
    );
  }

  #refusal(code: ProblemCode, detail: string): AppError {
    const pointer = pointerOf(this.#foundSteps);
    return new AppError('invalid-parameter', detail, {
      errors: [{ parameter: 'rows_at', pointer, value: cutText(this.rowsAt, maxShownLength), code, detail }],
    });
  }
}

function describeKeys(keys: string[]): string {
  if (keys.length === 0) return 'without members';
  const shown = keys.slice(0, maxShownKeys).map((key) => `"${key}"`);
  const more = keys.length > maxShownKeys ? ' and others' : '';
  return `with the ${keys.length === 1 ? 'member' : 'members'} ${shown.join(', ')}${more}`;
}

function repeatedKey(pointer: string): AppError {
  const detail = `The document has the member ${cutText(pointer, maxShownLength)} twice.`;
  return new AppError('invalid-data', detail, { errors: [{ pointer, code: 'repeated-key', detail }] });
}
