/**
 * The parts that all uploads share: the schema of the answer, and what the parameters say about columns and texts.
 */
import Type from 'typebox';
import { type ErrorCode, wrongParameter } from '../../../core/errors.ts';
import type { TypeChoices } from '../../../encoding/infer/infer-types.ts';
import type { TextReading } from '../../../encoding/text-reading/text-reading.ts';
import type { RowLimit } from '../../../engine/loading/request/row-limit.ts';
import { TableDescriptionSchema } from '../../../engine/tables/definition.ts';
import { optionalBoolean, optionalInteger, optionalText } from '../../../engine/tables/name-schemas.ts';
import { Load, LoadProfile } from '../answers/load-answers.ts';
import { missingCounts } from '../openapi/missing-counts.ts';
import {
  encodingHeader,
  idempotencyHeader,
  keyErrors,
  LocatedProblem,
  ProblemGroups,
  tableErrors,
  Warnings,
} from '../openapi/openapi.ts';
import { WidenedColumns } from '../openapi/widened-columns.ts';
import { type ColumnChoices, columnChoicesOf } from './column-parameters.ts';
import { maxFaultyRowsOf } from './faulty-row-parameters.ts';
import { type MissingChoices, missingRowsOf } from './missing-row-parameters.ts';
import type { UploadQuery } from './parameters.ts';
import { textReadingOf, typeChoicesOf } from './text-parameters.ts';

const CorrectedCell = Type.Object({
  pointer: optionalText('For JSON: the JSON Pointer of the value.'),
  line: optionalInteger('For newline-delimited JSON: the line.'),
  cell: optionalText('For spreadsheets: the cell, `Orders!C1483`.'),
  row: Type.Integer({ description: 'The number of the data row, from 1.' }),
  column: Type.String({ description: 'The header or the key.' }),
  from: Type.Union([Type.String(), Type.Null()], { description: 'The value that was sent, shortened.' }),
  to: Type.Union([Type.String(), Type.Null()], { description: 'The value that counts, shortened.' }),
});

export const LoadedSchema = Type.Object(
  {
    table: TableDescriptionSchema,
    load: Type.Object({
      id: Type.Optional(
        Type.String({
          format: 'uuid',
          description:
            'The id of the load, for `GET /api/v1/loads/{id}`. It is also in the header `Load-Id`. Absent if the service records no loads.',
        }),
      ),
      profile: Type.Optional(LoadProfile),
      rows: Type.Integer({ description: 'Rows loaded.' }),
      skipped: Type.Integer({
        description: 'Rows left out because their key already exists (`on_conflict=skip`).',
      }),
      updated: Type.Integer({
        description:
          'Rows whose key already exists (`on_conflict=update`): `changed` and `unchanged` together.',
      }),
      inserted: Type.Integer({ description: 'Rows added: the same number as `rows`.' }),
      changed: Type.Integer({ description: 'Existing rows that got other values.' }),
      unchanged: Type.Integer({
        description:
          'Rows that changed nothing: the existing row has the same values and is not written, or a later row of the upload has the same key.',
      }),
      ...missingCounts,
      rows_left_out: optionalInteger(
        'Rows that were left out because they have problems (`faulty_rows=leave_out`).',
      ),
      left_out: Type.Optional(
        Type.Array(LocatedProblem, {
          maxItems: 100,
          description: 'The first 100 problems of the rows that were left out.',
        }),
      ),
      left_out_count: optionalInteger(
        'The number of all problems of the rows that were left out, including those not listed. A row may have several.',
      ),
      faulty_rows: optionalInteger(
        'The number of the rows that were left out in the file of `GET /api/v1/loads/{id}/faulty-rows`. Absent: there is no such file.',
      ),
      error_groups: Type.Optional(ProblemGroups),
      corrected: Type.Optional(
        Type.Array(CorrectedCell, { maxItems: 1000, description: 'The first corrected cells (`patch`).' }),
      ),
      corrected_count: optionalInteger('The number of all corrected cells.'),
      widened: Type.Optional(WidenedColumns),
      conflict_key: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'The columns of the key by which rows were compared (`on_conflict=skip` or `update`). Empty: the data has no complete key.',
        }),
      ),
      format: Type.String({
        description: 'The format in which the rows were read: `json`, `ndjson`, or the format of the file.',
      }),
      file_in_zip: optionalText('The file that was read of the zip file that was sent.'),
      delimiter: optionalText('For text files: the character between the fields.'),
      encoding: optionalText('For text files: the encoding in which the file was read.'),
      sheet: optionalText('The sheet that was read.'),
      header_row: optionalInteger('The row of the sheet with the column names, from 1.'),
      header_rows: optionalInteger('The number of rows of the header, if there are several.'),
      range: optionalText(
        'The cells that were read, from the header to the last row with a value: `A3:F200`.',
      ),
      warnings: Warnings,
      duration_ms: Type.Integer({ description: 'The duration of the load in milliseconds.' }),
      dry_run: optionalBoolean('true: nothing was changed.'),
    }),
  },
  { title: 'LoadedTable' },
);

/** The OpenAPI document describes the CSV answer in words only, because client generators make one type for each answer, which is JSON. */
export const csvInWords =
  'With `Accept: text/csv` an upload with problems answers all of them, at most 100,000, as CSV with the columns `sheet,cell,row,column,value,code,reason`.';

export const loadIdHeaders = {
  'Load-Id': { type: 'string', description: 'The id of the load, also in answers to refused uploads.' },
};

/** The headers of an upload. With `Prefer` a client asks for an answer before the rows are loaded. */
export const uploadHeaders = Type.Object({
  ...idempotencyHeader,
  Prefer: optionalText(
    '`respond-async` (RFC 7240): the answer is 202 as soon as the body is stored, and the rows are loaded later. `Location` is the load.',
  ),
  ...encodingHeader,
});

export const uploadResponses = {
  200: {
    description: 'The rows were added to an existing table. With `dry_run`: nothing was changed.',
    headers: loadIdHeaders,
    content: { 'application/json': { schema: LoadedSchema } },
  },
  201: {
    description: 'The table was created or replaced.',
    headers: {
      Location: { type: 'string', description: 'The URL that describes the table.' },
      ...loadIdHeaders,
    },
    content: { 'application/json': { schema: LoadedSchema } },
  },
  202: {
    description: 'With `Prefer: respond-async`: the body is stored, and the rows will be loaded.',
    headers: {
      Location: { type: 'string', description: 'The URL that describes the load.' },
      'Preference-Applied': { type: 'string', description: '`respond-async`.' },
      ...loadIdHeaders,
    },
    content: { 'application/json': { schema: Load } },
  },
};

export const uploadErrors: ErrorCode[] = [
  ...tableErrors,
  'invalid-json',
  'invalid-content-encoding',
  'table-not-found',
  'profile-not-found',
  'request-timeout',
  'table-exists',
  'dependent-objects',
  'loses-data',
  'load-cancelled',
  ...keyErrors,
  'limit-exceeded',
  'unsupported-media-type',
  'invalid-definition',
  'distribution-unavailable',
  'invalid-data',
  'nothing-to-load',
  'too-many-uploads',
  'queue-full',
  'storage-full',
];

/** What the parameters say about columns, texts and rows. */
export interface UploadChoices {
  columns: ColumnChoices;
  /** How text is read; undefined: the parameters have their defaults. */
  textReading: TextReading | undefined;
  types: TypeChoices;
  /** undefined: no row may be left out. */
  maxFaultyRows: RowLimit | undefined;
  /** undefined: rows of the table that the upload does not have are neither counted nor changed. */
  missing: MissingChoices | undefined;
}

/** Returns what the parameters say about columns, texts and rows. @throws AppError `invalid-parameter` */
export function uploadChoices(query: UploadQuery): UploadChoices {
  if (query.if_missing === 'fail' && query.if_exists === 'fail') {
    const detail =
      'if_missing=fail needs if_exists=append, truncate or replace, because if_exists=fail loads only into a new table.';
    throw wrongParameter('if_missing', detail);
  }
  const { if_exists, misfits } = query;
  if (misfits !== 'fail' && if_exists !== 'append' && if_exists !== 'truncate') {
    const detail = `misfits=${misfits} needs if_exists=append or truncate, because only an existing table has columns to widen.`;
    throw wrongParameter('misfits', detail);
  }
  return {
    columns: columnChoicesOf(query),
    textReading: textReadingOf(query),
    types: typeChoicesOf(query),
    maxFaultyRows: maxFaultyRowsOf(query),
    missing: missingRowsOf(query),
  };
}
