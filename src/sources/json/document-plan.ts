/**
 * What `JsonDocumentScanner` does with the values of a document. The scanner knows JSON; a plan knows where in a document the rows are
 * and what else is wanted of it.
 */

/** Checks the value and forgets it. */
export const SKIP = 0;
/** Goes into the object or array: each of its values is asked about in turn. */
export const WALK = 1;
/** Checks the value and keeps its text. */
export const KEEP = 2;
/** The value is the array of the rows. */
export const ROWS = 3;

export interface DocumentPlan {
  /** The JSON Pointer of the array of rows, once it has been found. */
  readonly rowsAt: string;

  /** A value begins: the document itself, or the value that `key` or `element` announced. @returns what to do with it */
  enter(firstByte: number): number;

  /** A key of the object that is walked. */
  key(name: string): void;

  /** An element of the array that is walked, from 0. */
  element(index: number): void;

  /** The object or array that is walked ends. @param count its elements, if it is an array */
  leave(count: number): void;

  /** A value that was skipped or kept ends. @param text of a kept one; valid during the call */
  ended(firstByte: number, text: Buffer | undefined): void;

  /** The document is complete, and nothing follows it. @throws AppError if it is not what the plan is for */
  finish(): void;
}

/** What a value is by its first byte, with an article: "an object". */
export function describeValue(firstByte: number): string {
  switch (firstByte) {
    case 0x7b:
      return 'an object';
    case 0x5b:
      return 'an array';
    case 0x22:
      return 'a string';
    case 0x74:
      return 'true';
    case 0x66:
      return 'false';
    case 0x6e:
      return 'null';
    default:
      return 'a number';
  }
}
