/** The body of a JSON upload, in each of the forms in which rows come, as a push scanner. */

import type { CellLocation } from '../cell-sink.ts';
import { type DocumentWords, JsonDocumentScanner } from './json-document-scanner.ts';
import type { JsonLimits } from './json-limits.ts';
import { pointerTo } from './json-pointer.ts';
import { RowsAtPlan } from './rows-at-plan.ts';
import { UploadPlan } from './upload-plan.ts';

/**
 * `upload`: `{"table": {…}, "data": […]}` or a bare array of rows. `definition`: `{"table": {…}}`. `lines`: one row object per
 * line. The steps of a JSON Pointer: rows inside another document.
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

  /** The JSON text of the definition, once the whole of it has been seen; undefined too where that is `null`. */
  get table(): Buffer | undefined {
    return this.#plan?.table;
  }

  /** The JSON Pointer of the array of rows; undefined: each line is a row. */
  get rowsAt(): string | undefined {
    return this.#plan?.rowsAt;
  }

  /** The place of a cell; `row` as the sink was told it, `column` -1 is the row. */
  locate(row: number, column: number, name: string): CellLocation {
    if (this.#plan === undefined) return { line: row };
    const pointer = `${this.#plan.rowsAt}/${row - 1}`;
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
