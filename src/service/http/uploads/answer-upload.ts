/** Loads the rows of an upload, and makes the answer, the line of the audit log and the metrics from the result. */
import type { FastifyRequest } from 'fastify';
import { AppError, type ErrorBody } from '../../../core/errors.ts';
import type { ProblemCollector } from '../../../encoding/problems/problems.ts';
import type { LoadInput } from '../../loading/inputs/load-input.ts';
import { readText } from '../../loading/inputs/read-text.ts';
import { renameColumns } from '../../loading/inputs/rename-columns.ts';
import { loadTable } from '../../loading/load-table.ts';
import type { LoadContext, LoadRequest, LoadResult } from '../../loading/request/load-request.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import { tableLocation } from '../admission/table-request.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import { csvContentType, ProblemTable } from '../answers/problem-table.ts';
import type { HttpContext } from '../context.ts';
import { factsOf } from '../observing/access-log.ts';
import { type AuditedChange, noteChange } from '../observing/audit.ts';
import { requireSchema, requireScope } from '../tokens/auth.ts';
import { prefersCsv } from '../wire/accept.ts';
import type { AdmittedUpload, UploadQuery } from './upload.ts';

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
  const startedAt = performance.now();
  const input = readText(renameColumns(unread, upload.columns.rename), upload.textReading);
  const table = prefersCsv(accept) ? new ProblemTable() : undefined;
  const toAnswer = (loaded: LoadResult): KeptAnswer => {
    const durationMs = Math.round(performance.now() - startedAt);
    return answerOf(loaded, { upload, query, input, table, loadId: run?.id, durationMs });
  };
  if (run) run.toAnswer = toAnswer;
  run?.start();
  try {
    const request = loadRequestOf(upload, query, run, table);
    const loaded = await loadTable(loadContextOf(context, upload, run), request, input);
    onLoaded(loaded, input);
    if (!loaded.isLate) return run?.answer ?? toAnswer(loaded);
    const answer = toAnswer(loaded);
    if (run) await context.loads?.amend(run, answer);
    return answer;
  } catch (error) {
    // The warnings often name the cause of the problems, for example a wrong row that was read as the header.
    const isRefused = error instanceof AppError && error.status === 422;
    throw isRefused ? error.with({ warnings: input.warnings, body: csvOf(error, table) }) : error;
  } finally {
    await input.close();
  }
}

function loadContextOf(
  { pool, config, measures }: HttpContext,
  { transaction }: AdmittedUpload,
  run: LoadRun | undefined,
): LoadContext {
  return {
    pool,
    transaction,
    extraFunctions: config.database.defaultFunctions,
    limits: config.limits,
    observer: run,
    onPhase: measures.phase,
  };
}

/** @param table receives all problems, if the client prefers CSV */
function loadRequestOf(
  { schema, name, grants, signal, columns, maxFaultyRows }: AdmittedUpload,
  query: UploadQuery,
  run: LoadRun | undefined,
  table: ProblemTable | undefined,
): LoadRequest {
  return {
    schema,
    name,
    ifExists: query.if_exists,
    mustExist: query.if_missing === 'fail',
    extraColumns: query.extra_columns,
    onConflict: query.on_conflict,
    conflictKey: columns.conflictKey,
    primaryKey: columns.primaryKey,
    maxFaultyRows,
    collector: table && run ? bothCollectors(table, run.found) : (table ?? run?.found),
    bytes: run?.facts.bytesExpected,
    dryRun: query.dry_run,
    signal,
    requireCreation: () => requireScope(grants, 'table:create'),
    admitSchema: (other) => requireSchema(grants, other),
  };
}

/** What the answer says, in addition to the result of the load. */
interface AnswerFacts {
  upload: AdmittedUpload;
  query: UploadQuery;
  input: LoadInput;
  /** The problems of rows that were left out; undefined: the client does not prefer CSV. */
  table: ProblemTable | undefined;
  loadId: string | undefined;
  durationMs: number;
}

function answerOf(
  loaded: LoadResult,
  { upload, query, input, table, loadId, durationMs }: AnswerFacts,
): KeptAnswer {
  const load = {
    ...(loadId !== undefined && { id: loadId }),
    rows: loaded.rows,
    skipped: loaded.skipped,
    updated: loaded.updated,
    ...leftOutOf(loaded),
    ...(loaded.conflictKey && { conflict_key: loaded.conflictKey }),
    ...readingOf(input),
    warnings: loaded.warnings,
    duration_ms: durationMs,
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
