/** Scans the body of a JSON upload in any of its forms. */

import type { CellLocation } from '../../core/cells/cell-sink.ts';
import { pointerTo } from '../../core/json-pointer.ts';
import { type DocumentWords, JsonDocumentScanner } from './json-document-scanner.ts';
import type { JsonLimits } from './json-limits.ts';
import type { RowList } from './json-row-scanner.ts';
import { RowsAtPlan } from './rows-at-plan.ts';
import { UploadPlan } from './upload-plan.ts';

/**
 * The form of the body. `upload`: `{"table": {…}, "data": […]}` or only an array of rows. `definition`: `{"table": {…}}`. `lines`:
 * one row object on each line. A list has the steps of a JSON Pointer: the rows, or one row, are at this place of another document.
 */
export type JsonForm = 'upload' | 'definition' | 'lines' | readonly string[];

const NOT_JSON_AT_ALL =
  'Send a workbook or a text file such as CSV to upload/excel, as the part "file" of a multipart/form-data body.';

export class JsonUploadScanner extends JsonDocumentScanner {
  readonly #plan: UploadPlan | RowsAtPlan | undefined;

  constructor(limits: JsonLimits, form: JsonForm = 'upload') {
    const plan = planOf(form);
    super(limits, wordsOf(form), plan);
    this.#plan = plan;
  }

  /** Returns the JSON text of the definition, after all of it was scanned. It is undefined if the body has no definition or the definition is `null`. */
  get table(): Buffer | undefined {
    return this.#plan?.table;
  }

  /** Returns the JSON text of `patch`; undefined: the body has none before its rows, or it is `null`. */
  get patch(): Buffer | undefined {
    return this.#plan instanceof UploadPlan ? this.#plan.patch : undefined;
  }

  /** Returns the JSON Pointer of the array of rows; undefined: each line is a row. */
  get rowsAt(): string | undefined {
    return this.#plan?.rowsAt;
  }

  /** Returns how the rows follow each other, after the first one was found. */
  get list(): RowList {
    if (this.#plan === undefined) return 'lines';
    return this.#plan.isOneRow ? 'one' : 'array';
  }

  /** Returns the place of a cell. `row` is the row number that the sink received, and `column` is -1 for a whole row. */
  locate(row: number, column: number, name: string): CellLocation {
    if (this.#plan === undefined) return { line: row };
    const pointer = this.#plan.isOneRow ? this.#plan.rowsAt : `${this.#plan.rowsAt}/${row - 1}`;
    return { pointer: column < 0 ? pointer : pointer + pointerTo(name) };
  }
}

function planOf(form: JsonForm): UploadPlan | RowsAtPlan | undefined {
  if (form === 'lines') return undefined;
  return typeof form === 'string' ? new UploadPlan(form === 'upload') : new RowsAtPlan(form);
}

function wordsOf(form: JsonForm): DocumentWords {
  if (form === 'definition') return { expected: 'an object that holds "table"', otherFormat: '' };
  const expected =
    form === 'upload' ? 'an object that holds "table", "data" or both' : 'a document that holds the rows';
  return { expected, otherFormat: NOT_JSON_AT_ALL };
}
