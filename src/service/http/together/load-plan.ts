/** Loads several tables for a request: admits it, receives and loads its files, and makes the answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError } from '../../../core/errors.ts';
import type { ProblemCollector } from '../../../encoding/problems/problems.ts';
import { type LoadedTable, loadTogether } from '../../../engine/loading/together/load-together.ts';
import type { PlannedTable } from '../../../engine/loading/together/part.ts';
import type { AnswerKeeper } from '../../loads/idempotency-key.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import type { ProblemLines } from '../../loads/problem-lines.ts';
import type { FoundProblems } from '../../loads/stored-problems.ts';
import { holdBody } from '../admission/held-body.ts';
import { largeDefinitionBytes } from '../admission/lines.ts';
import { admitRequest } from '../admission/table-request.ts';
import { jsonContentType } from '../answers/problem-json.ts';
import { csvContentType, csvHeaderOfTables, ProblemTable } from '../answers/problem-table.ts';
import type { HttpContext } from '../context.ts';
import { factsOf } from '../observing/access-log.ts';
import type { TableChange } from '../observing/audit.ts';
import { queryParser } from '../query.ts';
import { beginLoad, bodyOfRequest, type Upload, type UploadOperation } from '../uploads/admit-upload.ts';
import {
  amendAnswer,
  bothCollectors,
  csvOf,
  loadContextOf,
  loadedMembers,
  loadRequestOf,
} from '../uploads/load-upload.ts';
import { uploadChoices } from '../uploads/upload.ts';
import { prefersCsv } from '../wire/accept.ts';
import { readFirstPart } from '../wire/multipart.ts';
import {
  admitPlan,
  defaultQuery,
  maxPlanBytes,
  type PlannedPart,
  type PlannedQuery,
  readPlan,
} from './plan.ts';
import { completePlan, type PlanFiles, planPart, receiveFiles, withRowsOf } from './plan-files.ts';

export const PlanQuery = Type.Object({
  dry_run: Type.Boolean({
    default: false,
    description: 'true: everything is done and checked, and then rolled back.',
  }),
});

const parsePlanQuery = queryParser(PlanQuery);

export const loadTables: UploadOperation<PlannedQuery> = {
  name: 'load-tables',
  parseQuery: (query) => ({ ...defaultQuery, ...parsePlanQuery(query) }),
  check: () => {},
  withInput: () => Promise.reject(new Error('a plan has no single input')),
  load: loadPlan,
  readBody: async (context, body, signal) => {
    const { files } = await receivePlan(context, { ...body, fetch: undefined }, signal);
    await files.close();
  },
  completeBody: async (context, body, signal) => {
    const { part, parts, chunks } = await readPlanOf(context, body.headers, body.chunks(signal), signal);
    return completePlan(body, chunks(), part, { parts, signal });
  },
};

/**
 * Admits the request: reads the plan, and checks the scopes and schemas of all its tables, before the files arrive.
 *
 * @throws the errors of `admitRequest`, `readPlan` and `admitPlan`
 */
export async function admitPlanRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
): Promise<Upload> {
  const query = loadTables.parseQuery(request.query);
  const admitted = await admitRequest(request, reply, context, undefined);
  const { grants, caller, signal } = admitted;
  const { lines } = context;
  let isHeld = true;
  const line = {
    get isFull() {
      return (isHeld ? lines.bodies : lines.uploads).isFull;
    },
  };
  const body = bodyOfRequest(request, context, grants, line);
  const received = body.chunks(signal);
  // A body whose reading has begun is given up with its answer, so that nothing waits for the rest of it.
  reply.raw.once('close', () => received.return(undefined).catch(() => {}));
  const sent = unlessAborted(received, signal);
  const { part, chunks } = await readFirstPart(body.headers, sent, planPart, maxPlanBytes, (take) =>
    holdBody(context, admitted, take),
  );
  isHeld = false;
  const read = () => readPlan(part, context.config.limits, signal);
  const isLarge = part.length > largeDefinitionBytes;
  const parts = await (isLarge ? lines.largeCreates.use({ caller }, signal, read) : read());
  await admitPlan(parts, grants, signal);
  const tables = parts.map(({ schema, name: table }) => ({ schema, table }));
  const { schema, name } = parts[0]!;
  Object.assign(factsOf(request), tables[0]);
  const facts = { operation: loadTables.name, schema, table: name, parts: tables, dryRun: query.dry_run };
  const begun = beginLoad(request, context, admitted, { ...body, facts });
  const { statementTimeoutMs, lockTimeoutMs } = context.config.database;
  return {
    ...admitted,
    ...uploadChoices(query),
    schema,
    name,
    transaction: { role: grants.role, statementTimeoutMs, lockTimeoutMs, signal },
    operation: loadTables,
    query,
    sentQuery: request.query as Record<string, unknown>,
    definition: undefined,
    ...begun,
    body: { ...body, chunks, digest: begun.key?.digest },
    line: lines.uploads,
  };
}

/** Passes chunks on. If they end because the client has left, its reader gets the reason, and does not take that for the end of the form. */
async function* unlessAborted(chunks: AsyncGenerator<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield chunk;
  signal.throwIfAborted();
}

/** Waits for a place, receives the files, loads them and returns the answer. When it returns, the end of the load is recorded. */
async function loadPlan(context: HttpContext, upload: Upload, keeper: AnswerKeeper): Promise<KeptAnswer> {
  const { caller, signal, query, run, line, body } = upload;
  const answer = await line.use({ caller }, signal, async () => {
    const since = performance.now();
    const { parts, files } = await receivePlan(context, body, signal);
    noteFiles(run, parts, files);
    try {
      return await loadParts(context, upload, keeper, { parts, files, since });
    } finally {
      await files.close();
    }
  });
  if (query.dry_run) await keeper.keep(answer);
  await context.records.uploads.end(run, query.dry_run ? 'checked' : 'committed', answer);
  return answer;
}

/** Notes the file of each table for the record of the load, and the only file of all for lists of loads. */
function noteFiles(run: Upload['run'], parts: PlannedPart[], { names }: PlanFiles): void {
  run.facts.parts = parts.map(({ schema, name: table, file, query }) => {
    return {
      schema,
      table,
      file: names.get(file) || undefined,
      sheet: query.sheet,
      fileInZip: query.file_in_zip,
    };
  });
  const [file] = names.values();
  if (names.size === 1) run.fileName = file || undefined;
}

async function receivePlan(
  context: HttpContext,
  body: Upload['body'],
  signal: AbortSignal,
): Promise<{ parts: PlannedPart[]; files: PlanFiles }> {
  const { part, parts, chunks } = await readPlanOf(context, body.headers, body.chunks(signal), signal);
  return { parts, files: await receiveFiles(context, body, chunks(), part, { parts, signal }) };
}

/** Reads the plan at the beginning of a form. `chunks` has the form from its beginning. */
async function readPlanOf(
  { config }: HttpContext,
  headers: Upload['body']['headers'],
  received: AsyncGenerator<Buffer>,
  signal: AbortSignal,
) {
  const { part, chunks } = await readFirstPart(headers, received, planPart, maxPlanBytes);
  return { part, parts: await readPlan(part, config.limits, signal), chunks };
}

interface ReceivedPlan {
  parts: PlannedPart[];
  files: PlanFiles;
  since: number;
}

async function loadParts(
  context: HttpContext,
  upload: Upload,
  keeper: AnswerKeeper,
  { parts, files, since }: ReceivedPlan,
): Promise<KeptAnswer> {
  const { run, signal, query } = upload;
  const startedAt = run.start();
  const table = prefersCsv(upload.body.headers.accept) ? new ProblemTable(csvHeaderOfTables) : undefined;
  const planned = parts.map((part): PlannedTable => {
    const { schema, name, choices, definition } = part;
    const ofPart = { ...upload, ...choices, schema, name, query: { ...part.query, dry_run: query.dry_run } };
    const areSheetsChosen = parts.filter(({ file }) => file === part.file).length > 1;
    const request = {
      ...loadRequestOf(ofPart, undefined, startedAt),
      collector: collectorsOf(run.found, table, part.part, parts.length),
      keepFaultyRows: undefined,
      bytes: files.spools.get(part.file)!.size,
    };
    return { request, definition, withInput: withRowsOf(context, upload, files, part, areSheetsChosen) };
  });
  const toAnswer = (results: LoadedTable[]): KeptAnswer => {
    const answer = answerOf(results, upload, parts, performance.now() - since);
    // Without left-out rows there are no problems, so the answer is JSON.
    if (table === undefined || table.count === 0) return answer;
    return { ...answer, headers: { 'content-type': csvContentType }, body: table.toBuffer() };
  };
  const loaded = await loadTogether(loadContextOf(context, upload, keeper), planned, signal, (results) => {
    const tables = results.map(({ result }, index) => ({ ...run.facts.parts![index]!, result }));
    run.committingTables(toAnswer(results), tables);
  }).catch((error) => {
    throw error instanceof AppError && error.status === 422
      ? error.with({ body: csvOf(error, table) })
      : error;
  });
  report(context, upload, loaded);
  if (!loaded.some(({ result }) => result.isLate)) return run.answer!;
  return amendAnswer(context, upload, keeper, toAnswer(loaded));
}

function collectorsOf(
  found: FoundProblems,
  table: ProblemTable | undefined,
  part: number,
  parts: number,
): ProblemCollector {
  const ofLoad = collectorOf(found, part, parts);
  return table === undefined ? ofLoad : bothCollectors(collectorOf(table, part, parts), ofLoad);
}

/** Returns a collector that adds the number of the table to each problem, and keeps the table's equal share of all problems. `clear` removes the problems of this table only. */
function collectorOf(all: ProblemLines, part: number, parts: number): ProblemCollector {
  const max = Math.floor(all.max / parts);
  let before: number | undefined;
  const countOwn = (): number => all.count - (before ?? all.count);
  return {
    get count() {
      return countOwn();
    },
    max,
    add: (problem) => {
      if (countOwn() < max) all.add({ part, ...problem });
    },
    clear: () => {
      before ??= all.count;
      all.cutTo(before);
    },
  };
}

function answerOf(
  loaded: LoadedTable[],
  { query: { dry_run }, run }: Upload,
  parts: PlannedPart[],
  durationMs: number,
): KeptAnswer {
  const tables = loaded.map(({ result, input }, index) => ({
    part: index + 1,
    file: parts[index]!.file,
    change: changeOf(result),
    table: result.table,
    load: loadedMembers(result, input, undefined, parts.length),
  }));
  const load = {
    ...(run.shownId !== undefined && { id: run.shownId }),
    rows: rowsOf(loaded),
    duration_ms: Math.round(durationMs),
    ...(dry_run && { dry_run: true }),
  };
  const isCreated = !dry_run && loaded.some(({ result }) => result.isNew);
  const body = Buffer.from(JSON.stringify({ load, tables }));
  return { status: isCreated ? 201 : 200, headers: { 'content-type': jsonContentType }, body };
}

function changeOf({ tableChange }: LoadedTable['result']): TableChange {
  return tableChange ?? 'loaded';
}

function rowsOf(loaded: LoadedTable[]): number {
  return loaded.reduce((sum, { result }) => sum + result.counts.inserted, 0);
}

/** Reports the rows to the audit log, and to the metrics if they are committed. */
function report({ measures }: HttpContext, { query, body, onLoaded }: Upload, loaded: LoadedTable[]): void {
  const tables = loaded.map(({ result }) => {
    const { schema, name: table } = result.table;
    return { schema, table, change: changeOf(result), rows: result.counts.inserted };
  });
  const outcome = query.dry_run ? 'checked' : 'committed';
  onLoaded({ outcome, change: 'loaded', rows: rowsOf(loaded), tables });
  if (query.dry_run) return;
  for (const [index, { result, input }] of loaded.entries()) {
    const rows = result.counts.inserted + result.updated;
    measures.loaded(input.reading?.format ?? 'csv', rows, index === 0 ? body.bytesReceived() : 0);
  }
}
