/**
 * The parts that all uploads share: their parameters, the permission that they need, and the answer.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { AppError, type ErrorBody, type ErrorCode } from '../errors.ts';
import type { LoadInput } from '../loading/inputs/load-input.ts';
import { renameColumns } from '../loading/inputs/rename-columns.ts';
import { loadTable } from '../loading/load-table.ts';
import type { ProblemCollector } from '../loading/problems/problems.ts';
import type { LoadResult } from '../loading/request/load-request.ts';
import { readText } from '../loading/text-reading/read-text.ts';
import type { TextReading } from '../loading/text-reading/text-reading.ts';
import type { KeptAnswer } from '../loads/load-record.ts';
import type { LoadRun } from '../loads/load-run.ts';
import { TableDescriptionSchema } from '../tables/definition.ts';
import { prefersCsv } from './accept.ts';
import { factsOf } from './access-log.ts';
import { type AuditedChange, noteChange } from './audit.ts';
import { requireSchema, requireScope, type Scope } from './auth.ts';
import { type ColumnChoices, columnChoicesOf, columnParameters } from './column-parameters.ts';
import type { HttpContext } from './context.ts';
import { Load } from './load-answers.ts';
import { LocatedProblem, ProblemGroups, tableErrors, Warnings } from './openapi.ts';
import { jsonContentType } from './problem-json.ts';
import { csvContentType, ProblemTable } from './problem-table.ts';
import { choice } from './query.ts';
import { maxFaultyRowsOf, rowParameters } from './row-parameters.ts';
import { admitTableRequest, schemaParameter, type TableRequest, tableLocation } from './table-request.ts';
import { textParameters, textReadingOf } from './text-parameters.ts';

export const uploadParameters = {
  schema: schemaParameter,
  if_exists: choice(['fail', 'append', 'truncate', 'replace'], {
    default: 'fail',
    description:
      'What to do with an existing table. `fail`: 409. `append`: add the rows. `truncate`: empty the table and load the rows; its definition, grants and views stay. `replace`: the new table replaces it in one step at the end and gets its owner, grants and comments.',
  }),
  extra_columns: choice(['fail', 'ignore', 'add'], {
    default: 'fail',
    description:
      'What to do with columns of the data that the table does not have. `fail`: 422 that names all of them. `ignore`: leave them out. `add`: add them to the table with inferred types.',
  }),
  on_conflict: choice(['fail', 'skip', 'update'], {
    default: 'fail',
    description:
      'What to do with a row whose key already exists, in the table or earlier in the upload. The key is the primary key or else the first unique constraint, if the data has all of its columns. A row without a value for a column of the key is always inserted, with the warning `key-not-brought`. `fail`: 422 that names both rows. `skip`: the first row is kept. `update`: the existing row is updated; only columns present in the upload change. If the upload has the key twice, only the last of those rows is used.',
  }),
  dry_run: Type.Boolean({
    default: false,
    description:
      'true: the load is done and checked, and then rolled back. The answer shows what would have happened.',
  }),
  ...rowParameters,
  ...columnParameters,
  ...textParameters,
};

const uploadQuery = Type.Object(uploadParameters);
export type UploadQuery = Static<typeof uploadQuery>;

const Loaded = Type.Object(
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
      rows: Type.Integer({ description: 'Rows loaded.' }),
      skipped: Type.Integer({
        description: 'Rows left out because their key already exists (`on_conflict=skip`).',
      }),
      updated: Type.Integer({
        description: 'Rows that updated the existing row with the same key (`on_conflict=update`).',
      }),
      rows_left_out: Type.Optional(
        Type.Integer({
          description: 'Rows that were left out because they have problems (`faulty_rows=leave_out`).',
        }),
      ),
      left_out: Type.Optional(
        Type.Array(LocatedProblem, {
          maxItems: 100,
          description: 'The first 100 problems of the rows that were left out.',
        }),
      ),
      left_out_count: Type.Optional(
        Type.Integer({
          description:
            'The number of all problems of the rows that were left out, including those not listed. A row may have several.',
        }),
      ),
      error_groups: Type.Optional(ProblemGroups),
      conflict_key: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'The columns of the key by which rows were compared (`on_conflict=skip` or `update`). Empty: the data has no complete key.',
        }),
      ),
      format: Type.String({
        description: 'The format in which the rows were read: `json`, `ndjson`, or the format of the file.',
      }),
      delimiter: Type.Optional(
        Type.String({ description: 'For text files: the character between the fields.' }),
      ),
      encoding: Type.Optional(
        Type.String({ description: 'For text files: the encoding in which the file was read.' }),
      ),
      sheet: Type.Optional(Type.String({ description: 'The sheet that was read.' })),
      header_row: Type.Optional(
        Type.Integer({ description: 'The row of the sheet with the column names, from 1.' }),
      ),
      range: Type.Optional(
        Type.String({
          description: 'The cells that were read, from the header to the last row with a value: `A3:F200`.',
        }),
      ),
      warnings: Warnings,
      duration_ms: Type.Integer({ description: 'The duration of the load in milliseconds.' }),
      dry_run: Type.Optional(Type.Boolean({ description: 'true: nothing was changed.' })),
    }),
  },
  { title: 'LoadedTable' },
);

/** The document names JSON only, because generators of clients make one type for each answer. So the operations describe CSV in words. */
export const csvInWords =
  'With `Accept: text/csv` an upload with problems answers all of them, at most 100,000, as CSV with the columns `sheet,cell,row,column,value,code,reason`.';

const loadIdHeaders = {
  'Load-Id': { type: 'string', description: 'The id of the load, also in answers to refused uploads.' },
};

/** The header with which a client asks for an answer before the rows are loaded. */
export const preferHeader = Type.Object({
  Prefer: Type.Optional(
    Type.String({
      description:
        '`respond-async` (RFC 7240): the answer is 202 as soon as the body is stored, and the rows are loaded later. `Location` is the load.',
      examples: ['respond-async'],
    }),
  ),
});

export const uploadResponses = {
  200: {
    description: 'The rows were added to an existing table. With `dry_run`: nothing was changed.',
    headers: loadIdHeaders,
    content: { 'application/json': { schema: Loaded } },
  },
  201: {
    description: 'The table was created or replaced.',
    headers: {
      Location: { type: 'string', description: 'The URL that describes the table.' },
      ...loadIdHeaders,
    },
    content: { 'application/json': { schema: Loaded } },
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
  'request-timeout',
  'table-exists',
  'dependent-objects',
  'write-conflict',
  'load-cancelled',
  'idempotency-key-in-use',
  'idempotency-key-reused',
  'not-enabled',
  'limit-exceeded',
  'unsupported-media-type',
  'invalid-definition',
  'invalid-data',
  'nothing-to-load',
  'too-many-uploads',
  'queue-full',
  'storage-full',
];

/** An upload that is admitted, with what its parameters say about columns and texts. */
export interface AdmittedUpload extends TableRequest {
  columns: ColumnChoices;
  /** undefined: text is read as usual. */
  textReading: TextReading | undefined;
  /** undefined: no row may be left out. */
  maxFaultyRows: number | undefined;
}

/** Admits an upload before its body is read. @throws the errors of `admitTableRequest`; AppError `invalid-parameter` */
export async function admitUpload(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  query: UploadQuery,
): Promise<AdmittedUpload> {
  const choices = uploadChoices(query);
  const scope = uploadScope(query.if_exists);
  const table = await admitTableRequest(request, reply, context, query.schema, scope);
  // `add` may change the definition of the table, so it needs the scope before the rows are read.
  if (query.extra_columns === 'add') requireScope(table.grants, 'table:create');
  return { ...table, ...choices };
}

/** Returns what the parameters say about columns and texts. @throws AppError `invalid-parameter` */
export function uploadChoices(
  query: UploadQuery,
): Pick<AdmittedUpload, 'columns' | 'textReading' | 'maxFaultyRows'> {
  return {
    columns: columnChoicesOf(query),
    textReading: textReadingOf(query),
    maxFaultyRows: maxFaultyRowsOf(query),
  };
}

/** Returns the scope that every such upload needs. */
function uploadScope(ifExists: UploadQuery['if_exists']): Scope {
  if (ifExists === 'append') return 'table:load';
  return ifExists === 'fail' ? 'table:create' : 'table:replace';
}

/** Returns the members of the answer that describe what was read. */
function readingOf({ reading = { format: 'json' } }: LoadInput): Record<string, string | number> {
  const { format, delimiter, encoding, sheet, headerRow, range } = reading;
  return {
    format,
    ...(delimiter !== undefined && { delimiter }),
    ...(encoding !== undefined && { encoding }),
    ...(sheet !== undefined && { sheet }),
    ...(headerRow !== undefined && { header_row: headerRow }),
    ...(range !== undefined && { range }),
  };
}

/** Returns the problems of refused data as CSV, if the client prefers that. */
function csvOf(error: AppError, table: ProblemTable | undefined): ErrorBody | undefined {
  if (table === undefined || error.code !== 'invalid-data' || error.errors === undefined) return undefined;
  // Some errors are made without the collector. They list all of their problems.
  if (table.count === 0) for (const problem of error.errors) table.add(problem);
  return { contentType: csvContentType, bytes: table.toBuffer() };
}

/** Returns the members of the answer about rows that were left out. */
function leftOutOf({ leftOut }: LoadResult): Record<string, unknown> {
  if (leftOut === undefined) return {};
  const { rows, problems, problemCount, groups } = leftOut;
  return {
    rows_left_out: rows,
    ...(rows > 0 && { left_out: problems, left_out_count: problemCount }),
    ...(groups && { error_groups: groups }),
  };
}

/** Returns a collector that gives each problem to both. */
function bothCollectors(first: ProblemCollector, second: ProblemCollector): ProblemCollector {
  return {
    get count() {
      return Math.min(first.count, second.count);
    },
    max: first.max,
    add: (problem) => {
      first.add(problem);
      second.add(problem);
    },
    clear: () => {
      first.clear();
      second.clear();
    },
  };
}

/** What an upload needs to know of its request. */
export interface UploadOrigin {
  /** The header `Accept`. */
  accept: string | undefined;
  /** Called when the rows are committed or, in a dry run, checked. */
  onLoaded: (result: LoadResult, input: LoadInput) => void;
}

/** Returns what an upload needs to know of a request that runs. */
export function originOf(request: FastifyRequest, context: HttpContext, query: UploadQuery): UploadOrigin {
  return {
    accept: request.headers.accept,
    onLoaded: (result, input) => noteLoaded(context, request, query, result, input),
  };
}

/** Notes the rows for the logs and the metrics. */
function noteLoaded(
  context: HttpContext,
  request: FastifyRequest,
  query: UploadQuery,
  result: LoadResult,
  input: LoadInput,
): void {
  const facts = factsOf(request);
  facts.rows = result.rows;
  noteChange(request, changeOf(query, result));
  measureLoaded(context, query, result, input, facts.bytes ?? 0);
}

/** Counts the rows of a load, unless it was a dry run. @param bytes the received bytes of the body */
export function measureLoaded(
  { measures }: Pick<HttpContext, 'measures'>,
  query: UploadQuery,
  { rows, updated }: LoadResult,
  { reading = { format: 'json' } }: LoadInput,
  bytes: number,
): void {
  if (!query.dry_run) measures.loaded(reading.format, rows + updated, bytes);
}

/** Returns the change that an upload has made, for the audit log. */
export function changeOf(
  query: UploadQuery,
  { tableChange, rows, updated, skipped, leftOut }: LoadResult,
): AuditedChange {
  return {
    outcome: query.dry_run ? 'checked' : 'committed',
    change: tableChange ?? 'loaded',
    rows,
    ...(updated > 0 && { updated }),
    ...(skipped > 0 && { skipped }),
    ...(leftOut !== undefined && { leftOut: leftOut.rows }),
  };
}

/** Loads the input, always closes it, and returns the answer. */
export async function answerUpload(
  context: HttpContext,
  upload: AdmittedUpload,
  query: UploadQuery,
  unread: LoadInput,
  { accept, onLoaded }: UploadOrigin,
  run: LoadRun | undefined,
): Promise<KeptAnswer> {
  const { schema, name, grants, signal, transaction, columns, textReading, maxFaultyRows } = upload;
  const { pool, config } = context;
  const startedAt = performance.now();
  const { primaryKey, conflictKey, rename } = columns;
  const input = readText(renameColumns(unread, rename), textReading);
  const table = prefersCsv(accept) ? new ProblemTable() : undefined;
  const collector = table && run ? bothCollectors(table, run.found) : (table ?? run?.found);
  const toAnswer = (loaded: LoadResult): KeptAnswer => {
    const load = {
      ...(run && { id: run.id }),
      rows: loaded.rows,
      skipped: loaded.skipped,
      updated: loaded.updated,
      ...leftOutOf(loaded),
      ...(loaded.conflictKey && { conflict_key: loaded.conflictKey }),
      ...readingOf(input),
      warnings: loaded.warnings,
      duration_ms: Math.round(performance.now() - startedAt),
      ...(query.dry_run && { dry_run: true }),
    };
    const isCreated = loaded.isNew && !query.dry_run;
    const location = isCreated ? { location: tableLocation(upload) } : {};
    // A load that left out nothing has no problems for a file.
    const csv = table && table.count > 0 ? table.toBuffer() : undefined;
    return {
      status: isCreated ? 201 : 200,
      headers: { ...location, 'content-type': csv ? csvContentType : jsonContentType },
      body: csv ?? Buffer.from(JSON.stringify({ table: loaded.table, load })),
    };
  };
  if (run) run.toAnswer = toAnswer;
  run?.start();
  try {
    const loaded = await loadTable(
      {
        pool,
        transaction,
        extraFunctions: config.database.defaultFunctions,
        limits: config.limits,
        observer: run,
        onPhase: context.measures.phase,
      },
      {
        schema,
        name,
        ifExists: query.if_exists,
        extraColumns: query.extra_columns,
        onConflict: query.on_conflict,
        conflictKey,
        primaryKey,
        maxFaultyRows,
        collector,
        bytes: run?.facts.bytesExpected,
        dryRun: query.dry_run,
        signal,
        requireCreation: () => requireScope(grants, 'table:create'),
        admitSchema: (other) => requireSchema(grants, other),
      },
      input,
    );
    onLoaded(loaded, input);
    return run?.answer ?? toAnswer(loaded);
  } catch (error) {
    // The warnings often name the cause of the problems, for example a wrong row that was read as the header.
    const isRefused = error instanceof AppError && error.status === 422;
    throw isRefused ? error.with({ warnings: input.warnings, body: csvOf(error, table) }) : error;
  } finally {
    await input.close();
  }
}
