/**
 * Decides what `JsonDocumentScanner` does with the values of a document. The scanner knows only the grammar of JSON. A plan knows
 * where the rows are and which other values are needed.
 */

/** The scanner checks the value and does not keep it. */
export const SKIP = 0;
/** The scanner walks the object or array and asks the plan about each of its values. */
export const WALK = 1;
/** The scanner checks the value and keeps its text. */
export const KEEP = 2;
/** The value is the array of the rows. */
export const ROWS = 3;
/** The value is an object that is the only row. */
export const ONE_ROW = 4;

export interface DocumentPlan {
  /** The JSON Pointer of the array of rows, after it was found. */
  readonly rowsAt: string;

  /** Called when a value begins: the document itself, or the value that `key` or `element` announced. @returns what to do with it */
  enter(firstByte: number): number;

  /** Called for a key of the walked object. */
  key(name: string): void;

  /** Called for an element of the walked array. @param index from 0 */
  element(index: number): void;

  /** Called when the walked object or array ends. @param count the number of elements, if it is an array */
  leave(count: number): void;

  /** Called when a skipped or kept value ends. @param text the text of a kept value; valid during the call */
  ended(firstByte: number, text: Buffer | undefined): void;

  /**
   * Called when the rows end.
   *
   * @param isAllNested for `ONE_ROW`: every value of the object is an object or an array, so the object may not be a row
   * @throws AppError if the object is not taken as a row
   */
  rowsEnded(isAllNested: boolean): void;

  /** Called when the document is complete. @throws AppError if it is not a document that the plan expects */
  finish(): void;
}

/** Describes a value by its first byte, with an article: "an object". */
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
