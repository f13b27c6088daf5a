/** `tablewright load FILE… --together`: loads several files, or the sheets of workbooks, in one transaction. */
import { parse } from 'node:path';
import type {
  Client,
  InspectedSpreadsheet,
  Load,
  LoadedTables,
  PlanFile,
  PlanOptions,
} from '../client/client.ts';
import { newKey } from '../client/new-key.ts';
import type { CommandLine } from './commands.ts';
import { withClient } from './connect.ts';
import {
  cancelAfterSignal,
  isInterruption,
  reportFailure,
  reportInterruption,
  reportLoaded,
} from './end-of-load.ts';
import { awaitEndSignal } from './end-signals.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { keepsRecords, loadFinder } from './find-load.ts';
import { unpackedPath } from './packed-file.ts';
import { say, sayJson } from './print.ts';
import { showProgress } from './progress.ts';
import { exitCodeOf, isAnswerLost } from './report-error.ts';
import { openSource, readDefinition, type Source, standardInput } from './source.ts';
import { queryOf } from './upload-query.ts';
import { needsPassword, passwordsOf } from './workbook-password.ts';

/** Options that are for one table. */
const ofOneTable = ['table', 'patch', 'problems', 'faulty-rows-file'];

type PlannedTable = PlanOptions['tables'][number];

/** @throws WrongUse */
export async function loadTogether(line: CommandLine, paths: string[]): Promise<number> {
  const { options } = line;
  for (const name of ofOneTable) {
    if (options[name] !== undefined)
      throw new WrongUse(`--together contradicts --${name}. Leave one of them out.`);
  }
  if (paths.includes(standardInput)) throw new WrongUse('--together needs files, not the standard input.');
  const sources = await Promise.all(
    paths.map((path) => openSource(path, options.kind as string | undefined)),
  );
  for (const { kind, path } of sources) {
    if (kind !== 'spreadsheet')
      throw new WrongUse(`--together loads workbooks and text files, and "${path}" is JSON.`);
  }
  const shown = paths.join(', ');
  return withClient(
    line,
    async ({ client, isEmbedded }) => {
      if (options.async && isEmbedded)
        throw new WrongUse('--async needs a service that runs on: set TABLEWRIGHT_URL.');
      try {
        return await sendPlan(client, line, sources, shown);
      } catch (error) {
        if (error instanceof WrongUse) throw error;
        reportFailure(shown, error, false, options.json === true);
        return exitCodeOf(error);
      }
    },
    true,
  );
}

async function sendPlan(
  client: Client,
  line: CommandLine,
  sources: Source[],
  shown: string,
): Promise<number> {
  const { options } = line;
  const ended = awaitEndSignal();
  const stop = new AbortController();
  const tables = await plannedTables(client, line, sources, stop.signal);
  const files = Object.fromEntries(
    sources.map(({ file, bytes, name }, index): [string, PlanFile] => [partOf(index), { file, bytes, name }]),
  );
  const given = options['idempotency-key'] as string | undefined;
  const key = given ?? newKey();
  let hasSent = false as boolean;
  const cancelling = cancelAfterSignal(client, loadFinder(client, key), () => hasSent, { ended, stop });
  try {
    const hasKeys = await keepsRecords(client, stop.signal);
    const send = options.async ? client.enqueueTables : client.loadTables;
    const attempt = async (password: string | undefined) => {
      const isQuiet = options.quiet === true || options.json === true;
      const progress = showProgress(shown, totalBytes(sources), isQuiet);
      const onSent = (bytes: number): void => {
        hasSent = true;
        progress.sent(bytes);
      };
      const sent = { tables, files, password, dry_run: options['dry-run'] === true, onSent };
      const { signal } = stop;
      try {
        return await send({ ...sent, signal, idempotencyKey: hasKeys ? key : given });
      } catch (error) {
        if (needsPassword(error)) hasSent = false;
        throw error;
      } finally {
        progress.stop();
      }
    };
    const first = { path: shown, file: sources[0]!.file };
    report(await passwordsOf(line)(first, stop.signal, attempt), tables, sources, options);
    return exitCodes.done;
  } catch (error) {
    if (ended.aborted && isInterruption(error))
      return reportInterruption(shown, !hasSent, options.json === true);
    reportFailure(shown, error, hasSent && isAnswerLost(error), options.json === true);
    return exitCodeOf(error);
  } finally {
    cancelling.end();
  }
}

/** Returns the name of the part with a file. */
function partOf(index: number): string {
  return `f${index + 1}`;
}

function totalBytes(sources: Source[]): number | undefined {
  let sum = 0;
  for (const { bytes } of sources) {
    if (bytes === undefined) return undefined;
    sum += bytes;
  }
  return sum;
}

/** Returns the plan: a table for each text file, and for each sheet of a workbook that has rows or that `--sheet` names. */
async function plannedTables(
  client: Client,
  line: CommandLine,
  sources: Source[],
  signal: AbortSignal,
): Promise<PlannedTable[]> {
  const { options } = line;
  const { dry_run: _, sheet, ...parameters } = queryOf(options);
  const path = options.definition as string | undefined;
  const definitions =
    path === undefined ? {} : (readDefinition(path) as Record<string, PlannedTable['definition']>);
  const tables: PlannedTable[] = [];
  for (const [index, source] of sources.entries()) {
    const sheets = sheet?.split(',') ?? (await sheetsOf(client, line, source, signal));
    const name = parse(unpackedPath(source.path)).name;
    const file = partOf(index);
    if (sheets.length === 0) tables.push({ ...parameters, table: name, file } as PlannedTable);
    for (const one of sheets)
      tables.push({ ...parameters, table: sheets.length > 1 ? one : name, file, sheet: one } as PlannedTable);
  }
  const unknown = Object.keys(definitions).find((name) => !tables.some(({ table }) => table === name));
  if (unknown !== undefined)
    throw new WrongUse(`"${path}" has a definition of "${unknown}", and no file or sheet gives this table.`);
  return tables.map((table) => {
    const definition = definitions[table.table];
    return definition === undefined ? table : { ...table, definition };
  });
}

/** Returns the visible sheets of a workbook that have rows. Empty: the file has no sheets. */
async function sheetsOf(
  client: Client,
  line: CommandLine,
  source: Source,
  signal: AbortSignal,
): Promise<string[]> {
  if (/\.(csv|tsv|txt|parquet)$/i.test(unpackedPath(source.path))) return [];
  const { file, bytes, name, kind } = source;
  const inspected = await passwordsOf(line)(source, signal, (password) =>
    client.inspect({ file, bytes, name, kind, password, signal }),
  );
  const { sheets } = inspected as InspectedSpreadsheet;
  return sheets
    .filter(({ rows, visibility, name }) => rows > 0 && visibility === 'visible' && name !== '')
    .map((one) => one.name);
}

function report(
  answer: LoadedTables | Load,
  planned: PlannedTable[],
  sources: Source[],
  { json, quiet }: CommandLine['options'],
): void {
  if (json) sayJson(answer);
  else if ('tables' in answer) {
    const { duration_ms, dry_run } = answer.load;
    for (const { part, table, load } of answer.tables) {
      const { file, sheet } = planned[part - 1]!;
      const { path } = sources.find((_, index) => partOf(index) === file)!;
      const shown = sheet === undefined ? path : `${path} (${sheet})`;
      const loaded = { table, load: { ...load, duration_ms, ...(dry_run && { dry_run }) } };
      reportLoaded(shown, loaded, quiet === true);
    }
  } else if (!quiet)
    say(
      `The files are stored as load ${answer.id}. "tablewright loads ${answer.id} --watch" waits for its end.`,
    );
}
