/**
 * Inspects a JSON body before it is loaded. The result has the arrays of objects in the body. For the rows that would be loaded it has
 * the columns that would be inferred, the first rows as text, and the warnings.
 */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { AppError, type Warning } from '../../../core/errors.ts';
import { parsePointer } from '../../../core/json-pointer.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import type { TypeChoices } from '../../../encoding/infer/infer-types.ts';
import { type TextReading, TextReadingSink } from '../../../encoding/text-reading/text-reading.ts';
import { ArrayFinder, type FoundArray } from '../../../readers/json/array-finder.ts';
import type { JsonLimits } from '../../../readers/json/json-limits.ts';
import { type JsonForm, JsonUploadScanner } from '../../../readers/json/json-upload-scanner.ts';
import { pushSlices, sliceBytes } from '../../../readers/json/push-slices.ts';
import type { Spool } from '../../../readers/spool.ts';
import { Flattener, type Flattening } from '../inputs/flatten-objects.ts';
import { shortYearWarnings } from '../inputs/read-text.ts';
import { Preview, type PreviewedRows } from './preview.ts';

export interface JsonInspection {
  format: 'json' | 'ndjson';
  /** The places of the arrays of objects, the one with the most rows first. A body with a row on each line has none. */
  arrays: FoundArray[];
  /** The rows that would be loaded, or the proposed rows. */
  data: { rowsAt?: string; rowCount: number; warnings: Warning[] } & PreviewedRows;
}

/** How the request wants texts to be read and types to be inferred. */
export interface TextChoices {
  /** undefined: the request does not say how text is read. */
  textReading: TextReading | undefined;
  types: TypeChoices;
}

/** How the request wants values to be read. */
interface ValueReading extends TextChoices {
  /** undefined: nested objects are values. */
  flattening: Flattening | undefined;
}

type RowForm = Exclude<JsonForm, 'definition'>;

/**
 * Shows the arrays of a JSON document, the proposed columns and the first rows.
 *
 * @param spool contains the whole body
 * @param form the form that the request states; if the document does not have the form of an upload, its largest array is shown
 * @throws AppError `invalid-json`, `invalid-data` or `invalid-parameter` if there are no rows, `limit-exceeded`
 */
export async function inspectJson(
  spool: Spool,
  form: RowForm,
  { textReading, types, flattening }: ValueReading,
  limits: JsonLimits & { maxRows: number },
  signal: AbortSignal,
): Promise<JsonInspection> {
  if (form === 'lines') {
    return { format: 'ndjson', arrays: [], data: await previewRows(form) };
  }
  const arrays = await findArrays(spool, limits, signal);
  try {
    return { format: 'json', arrays, data: await previewRows(form) };
  } catch (error) {
    signal.throwIfAborted();
    if (!isWithoutRows(error)) throw error;
    const [largest] = arrays;
    if (form !== 'upload' || largest === undefined) throw nameArrays(error, arrays);
    const data = await previewRows(parsePointer(largest.rowsAt)!);
    return { format: 'json', arrays, data: { ...data, warnings: [proposal(largest), ...data.warnings] } };
  }

  async function previewRows(rowForm: RowForm): Promise<JsonInspection['data']> {
    const scanner = new JsonUploadScanner(limits, rowForm);
    const ofDocument = scanner.locate.bind(scanner);
    const flattener = flattening && new Flattener(flattening.separator, limits, ofDocument);
    const locate = flattener?.locate ?? ofDocument;
    const preview = new Preview(limits, locate, types);
    const textSink = textReading && new TextReadingSink(preview, textReading);
    const sink = textSink ?? preview;
    await readRows(spool, scanner, flattener?.through(sink) ?? sink, signal);
    flattener?.endPass();
    const warnings = [
      ...(preview.size.rows === 0 ? [noRows] : []),
      ...(textSink ? shortYearWarnings(textSink, { locate }) : []),
      ...preview.warnings,
    ];
    const { rowsAt } = scanner;
    return {
      ...(rowsAt !== undefined && { rowsAt }),
      rowCount: preview.size.rows,
      ...preview.result([]),
      warnings,
    };
  }
}

async function findArrays(spool: Spool, limits: JsonLimits, signal: AbortSignal): Promise<FoundArray[]> {
  const finder = new ArrayFinder(limits);
  for await (const chunk of spool.chunks()) {
    for (let start = 0; start < chunk.length; start += sliceBytes) {
      signal.throwIfAborted();
      finder.write(chunk, start, Math.min(start + sliceBytes, chunk.length));
      await pauseForOthers();
    }
  }
  finder.end();
  return finder.arrays;
}

async function readRows(
  spool: Spool,
  scanner: JsonUploadScanner,
  sink: CellSink,
  signal: AbortSignal,
): Promise<void> {
  scanner.sink = sink;
  for await (const chunk of spool.chunks()) await pushSlices(scanner, chunk, 0, sink, signal);
  signal.throwIfAborted();
  scanner.end();
}

/** Returns whether the body is valid JSON without the form of an upload, so that the rows may be somewhere else in it. */
function isWithoutRows(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  const code = error.errors?.[0]?.code ?? '';
  return ['unknown-key', 'wrong-type', 'rows-not-found', 'rows-not-an-array'].includes(code);
}

const maxNamedArrays = 10;

function nameArrays(error: AppError, arrays: FoundArray[]): AppError {
  if (arrays.length === 0)
    return error.with({ detail: `${error.detail} The document has no array of objects.` });
  const named = arrays.slice(0, maxNamedArrays).map(({ rowsAt }) => `"${rowsAt}"`);
  const more = arrays.length > maxNamedArrays ? ' and others' : '';
  return error.with({
    detail: `${error.detail} The document has arrays of objects at ${named.join(', ')}${more}.`,
  });
}

function proposal({ rowsAt }: FoundArray): Warning {
  const detail = `The document is neither {"data": […]} nor an array; the rows shown are its array of objects with the most elements. To load them, send rows_at=${rowsAt}.`;
  return { code: 'rows-elsewhere', detail, choices: [{ parameters: { rows_at: rowsAt } }] };
}

const noRows: Warning = { code: 'no-rows', detail: 'The body has no rows.' };
