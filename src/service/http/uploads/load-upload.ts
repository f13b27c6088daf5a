/** Loads the rows of an upload, and makes the answer from the result. */
import { AppError, type ErrorBody, type Warning } from '../../../core/errors.ts';
import type { ProblemCollector } from '../../../encoding/problems/problems.ts';
import { keepFaultyRows } from '../../../engine/loading/faulty-rows/keep-faulty-rows.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { readDefinition } from '../../../engine/loading/inputs/read-definition.ts';
import { readText } from '../../../engine/loading/inputs/read-text.ts';
import { renameColumns } from '../../../engine/loading/inputs/rename-columns.ts';
import { useDefinition } from '../../../engine/loading/inputs/use-definition.ts';
import { loadTable } from '../../../engine/loading/load-table.ts';
import type { LoadContext, LoadRequest, LoadResult } from '../../../engine/loading/request/load-request.ts';
import type { AnswerKeeper } from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import { tableLocation } from '../admission/table-request.ts';
import { enterLine } from '../admission/waiting-line.ts';
import { loadsOf } from '../answers/load-answers.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import { csvContentType, ProblemTable } from '../answers/problem-table.ts';
import type { HttpContext } from '../context.ts';
import { requireSchema, requireScope } from '../tokens/auth.ts';
import { prefersCsv } from '../wire/accept.ts';
import type { Upload } from './admit-upload.ts';
import { sentNotationOf } from './text-parameters.ts';

/** Waits for a place, opens the rows of an upload, loads them, and returns the answer. When it returns, the end of the load is recorded. */
export async function loadUpload(
  context: HttpContext,
  upload: Upload,
  keeper: AnswerKeeper,
): Promise<KeptAnswer> {
  const { operation, caller, signal, query, run, line } = upload;
  const answer = await line.use({ caller }, signal, () =>
    operation.withInput(context, upload, (input) => loadInput(context, upload, keeper, input)),
  );
  if (query.dry_run) await keeper.keep(answer);
  await context.records.uploads.end(run, query.dry_run ? 'checked' : 'committed', answer);
  return answer;
}

/** Loads the input, always closes it, and returns the answer. */
async function loadInput(
  context: HttpContext,
  upload: Upload,
  keeper: AnswerKeeper,
  unread: LoadInput,
): Promise<KeptAnswer> {
  const since = performance.now();
  const { run, body } = upload;
  const renamed = readText(renameColumns(unread, upload.columns.rename), upload.textReading);
  const input = useDefinition(renamed, await definitionOf(upload));
  const table = prefersCsv(body.headers.accept) ? new ProblemTable() : undefined;
  run.toAnswer = (loaded) => answerOf(loaded, upload, input, table, performance.now() - since);
  const startedAt = run.start();
  try {
    const loaded = await loadTable(
      loadContextOf(context, upload, keeper),
      loadRequestOf(upload, table, startedAt),
      input,
      context.knownTables,
    );
    reportLoaded(context, upload, loaded, input);
    if (!loaded.isLate) return run.answer ?? run.toAnswer(loaded);
    return await amendAnswer(context, upload, keeper, run.toAnswer(loaded));
  } catch (error) {
    // The warnings are added, because they often name the cause of the problems, for example that a wrong row was read as the header.
    const isRefused = error instanceof AppError && error.status === 422;
    if (isRefused && error.code === 'invalid-data') await keepRows(unread, upload);
    throw isRefused ? error.with({ warnings: input.warnings, body: csvOf(error, table) }) : error;
  } finally {
    await input.close();
  }
}

/** Keeps the rows with problems with the load, if it is recorded. If this fails, the load ends as it would without it. */
async function keepRows(
  input: LoadInput,
  { query, run, columns, types, signal, log }: Upload,
): Promise<void> {
  const { found } = run;
  if (run.shownId === undefined || found.count === 0) return;
  const problems = {
    areAll: run.problems() <= found.count,
    inOrderOfRows: () => found.inOrderOfRows(),
  };
  const { columns: ofTable, notationOf } = run;
  const { words } = types;
  const sent = {
    columns: ofTable,
    notationOf,
    words,
    rename: columns.rename,
    notation: sentNotationOf(query),
  };
  try {
    found.rows = await keepFaultyRows(input, problems, sent, signal);
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'the faulty rows of a load could not be kept');
  }
}

/** Returns the definition of the profile; undefined: none. */
async function definitionOf({ definition }: Upload): Promise<unknown> {
  return definition === undefined ? undefined : readDefinition(Buffer.from(definition));
}

/** Reports the rows to the audit log, and to the metrics if they are committed. */
function reportLoaded(
  { measures }: HttpContext,
  { query: { dry_run }, body, onLoaded }: Upload,
  { tableChange, counts, updated, skipped, leftOut, widened }: LoadResult,
  { reading = { format: 'json' } }: LoadInput,
): void {
  const { inserted: rows, changed, unchanged, ...missing } = counts;
  onLoaded({
    outcome: dry_run ? 'checked' : 'committed',
    change: tableChange ?? 'loaded',
    rows,
    ...(updated > 0 && { updated, changed, unchanged }),
    ...(skipped > 0 && { skipped }),
    ...missing,
    ...(leftOut !== undefined && { leftOut: leftOut.rows }),
    ...(widened.length > 0 && { widened }),
  });
  if (!dry_run) measures.loaded(reading.format, rows + updated, body.bytesReceived());
}

const unlearnt =
  'The facts about a table could not be kept for small appends, so the upload goes the usual way';

const notAmended =
  'The answer that is kept for an idempotency key lacks a warning that was found after the commit';

/** Replaces the answer of a load that is committed. @returns it */
export async function amendAnswer(
  { records }: HttpContext,
  { run, log }: Upload,
  keeper: AnswerKeeper,
  answer: KeptAnswer,
): Promise<KeptAnswer> {
  await records.uploads.amend(run, answer);
  await keeper.amend(answer).catch((error: unknown) => log.warn({ err: error }, notAmended));
  return answer;
}

export function loadContextOf(context: HttpContext, upload: Upload, keeper: AnswerKeeper): LoadContext {
  const { pool, config, measures } = context;
  const { transaction, run, log } = upload;
  return {
    pool,
    transaction: {
      ...transaction,
      beforeCommit: () => [...run.commitStatements(), ...keeper.commitStatements(() => run.answer!)],
      onCommitRefused: () => run.commitRefused(),
    },
    extraFunctions: config.database.defaultFunctions,
    limits: config.limits,
    observer: run,
    lateWarnings: sameFileSearch(context, upload),
    onPhase: measures.phase,
    enterLongRow: (signal) => enterLine(context.lines.longRows, { caller: upload.caller }, signal),
    onUnlearnt: (error) => log.info({ err: error }, unlearnt),
  };
}

/** Returns a function that warns if the file was loaded before. A file that has arrived is searched for while its rows are read. */
function sameFileSearch({ records }: HttpContext, { run, grants, query }: Upload): () => Promise<Warning[]> {
  let found: Promise<Warning[]> | undefined;
  const search = (): Promise<Warning[]> => {
    found ??= records.uploads.warnOfSameFile(run, loadsOf(grants, 'load:read-all'));
    return found;
  };
  if (query.if_exists !== 'fail' && run.digest() !== undefined) search();
  return search;
}

/** Returns the request for the loader. @param table receives all problems, if the client prefers CSV */
export function loadRequestOf(upload: Upload, table: ProblemTable | undefined, startedAt: Date): LoadRequest {
  const { schema, name, grants, signal, query, columns, types, maxFaultyRows, missing, run } = upload;
  const { provenance } = columns;
  return {
    schema,
    name,
    ifExists: query.if_exists,
    mustExist: query.if_missing === 'fail',
    extraColumns: query.extra_columns,
    provenance: provenance && { columns: provenance, loadId: run.id, loadedAt: startedAt },
    misfits: query.misfits,
    types,
    onConflict: query.on_conflict,
    conflictKey: columns.conflictKey,
    missing: missing && { ...missing, areKeysShown: grants.scopes.has('table:read') },
    primaryKey: columns.primaryKey,
    maxFaultyRows,
    collector: table ? bothCollectors(table, run.found) : run.found,
    keepFaultyRows: (input) => keepRows(input, upload),
    bytes: run.facts.bytesExpected,
    dryRun: query.dry_run,
    signal,
    requireCreation: () => requireScope(grants, 'table:create'),
    admitSchema: (other) => requireSchema(grants, other),
  };
}

/** Returns the answer to a successful load. @param table the problems of rows that were left out; undefined: the client does not prefer CSV */
function answerOf(
  loaded: LoadResult,
  upload: Upload,
  input: LoadInput,
  table: ProblemTable | undefined,
  durationMs: number,
): KeptAnswer {
  const { query, run } = upload;
  const load = {
    ...(run.shownId !== undefined && { id: run.shownId }),
    ...(run.facts.profile && { profile: run.facts.profile }),
    ...loadedMembers(loaded, input, run.found.rows?.count),
    duration_ms: Math.round(durationMs),
    ...(query.dry_run && { dry_run: true }),
  };
  const isCreated = loaded.isNew && !query.dry_run;
  const location = isCreated ? { location: tableLocation(upload) } : {};
  // Without left-out rows there are no problems, so the answer is JSON.
  const csv = table && table.count > 0 ? table.toBuffer() : undefined;
  return {
    status: isCreated ? 201 : 200,
    headers: { ...location, 'content-type': csv ? csvContentType : jsonContentType },
    body: csv ?? Buffer.from(JSON.stringify({ table: loaded.table, load })),
  };
}

/**
 * Returns the members of the answer about the rows of one table.
 *
 * @param keptRows the number of rows with problems that are kept; undefined: none are
 * @param tables the number of tables of the answer
 */
export function loadedMembers(
  loaded: LoadResult,
  input: LoadInput,
  keptRows?: number,
  tables = 1,
): Record<string, unknown> {
  return {
    rows: loaded.counts.inserted,
    skipped: loaded.skipped,
    updated: loaded.updated,
    ...loaded.counts,
    ...leftOutOf(loaded),
    ...(keptRows !== undefined && { faulty_rows: keptRows }),
    ...(loaded.widened.length > 0 && { widened: loaded.widened }),
    ...correctedOf(input, tables),
    ...(loaded.conflictKey && { conflict_key: loaded.conflictKey }),
    ...readingOf(input),
    warnings: loaded.warnings,
  };
}

/** Returns the members of the answer about corrected cells. */
function correctedOf({ corrected = [] }: LoadInput, tables: number): Record<string, unknown> {
  if (corrected.length === 0) return {};
  return {
    corrected: corrected.slice(0, Math.ceil(maxCorrected / tables)),
    corrected_count: corrected.length,
  };
}

/** How many corrected cells an answer lists, of all its tables. */
const maxCorrected = 1000;

/** Returns the members of the answer that describe what was read. */
function readingOf({ reading = { format: 'json' } }: LoadInput): Record<string, string | number> {
  const { format, fileInZip, delimiter, encoding, sheet, headerRow, headerRows, range } = reading;
  return {
    format,
    ...(fileInZip !== undefined && { file_in_zip: fileInZip }),
    ...(delimiter !== undefined && { delimiter }),
    ...(encoding !== undefined && { encoding }),
    ...(sheet !== undefined && { sheet }),
    ...(headerRow !== undefined && { header_row: headerRow }),
    ...(headerRows !== undefined && { header_rows: headerRows }),
    ...(range !== undefined && { range }),
  };
}

/** Returns the problems of refused data as CSV, if the client prefers that. */
export function csvOf(error: AppError, table: ProblemTable | undefined): ErrorBody | undefined {
  if (table === undefined || error.code !== 'invalid-data' || error.errors === undefined) return undefined;
  // Some errors were made without the collector of problems. They list all of their problems themselves.
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

/** Returns a collector that passes each problem on to two others. */
export function bothCollectors(first: ProblemCollector, second: ProblemCollector): ProblemCollector {
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
