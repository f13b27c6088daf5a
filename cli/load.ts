/** `tablewright load FILE…` */
import { parse } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  ConnectionError,
  type Correction,
  hasEnded,
  type Load,
  type LoadedTable,
  type LoadOptions,
  type LoadQuery,
  ProblemError,
  resultOf,
  type UploadDefinition,
} from '../client/client.ts';
import { newKey } from '../client/new-key.ts';
import { uploadParameters } from '../client/parameters.ts';
import { noteWarnings } from './as-options.ts';
import { noteChanges } from './changes.ts';
import { type CommandLine, optionOf } from './commands.ts';
import { type Connected, withClient } from './connect.ts';
import { awaitEndSignal, exitCodeOfSignal, unlessEnded } from './end-signals.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { type FindLoad, keepsRecords, loadFinder } from './find-load.ts';
import { unpackedPath } from './packed-file.ts';
import { inCount, note, say, sayJson } from './print.ts';
import { checkProblemsFile, writeFaultyRows, writeProblems } from './problems-file.ts';
import { type Progress, showProgress } from './progress.ts';
import { errorDocument, exitCodeOf, isAnswerLost, noteProblems, reportError } from './report-error.ts';
import {
  contentOf,
  expandPaths,
  namedPath,
  openSource,
  readDefinition,
  readPatch,
  type Source,
  shownPath,
  standardInput,
} from './source.ts';
import { hasObject, withDefinition } from './with-definition.ts';
import { needsPassword, passwordsOf, type WithPassword } from './workbook-password.ts';

export async function load(line: CommandLine): Promise<number> {
  const { positionals, options } = line;
  if (positionals.length === 0) throw new WrongUse('Name a file, or "-" for the standard input.');
  const paths = await expandPaths(positionals);
  const table = options.table as string | undefined;
  if (table === undefined && paths.includes(standardInput)) {
    throw new WrongUse('The standard input has no name: name the table with --table.');
  }
  for (const name of ['patch', 'problems', 'faulty-rows-file', 'idempotency-key']) {
    if (paths.length > 1 && options[name] !== undefined)
      throw new WrongUse(`--${name} needs exactly one file.`);
  }
  for (const name of ['problems', 'faulty-rows-file']) {
    if (options.async && options[name] !== undefined) {
      throw new WrongUse(
        `--async ends before the problems are known, so it contradicts --${name}. Leave one of them out.`,
      );
    }
    if (typeof options[name] === 'string') checkProblemsFile(options[name], name);
  }
  if (table !== undefined && paths.length > 1 && (options['missing-rows'] ?? 'keep') !== 'keep')
    throw new WrongUse(
      '--missing-rows needs one file for a table: rows of the other files would be missing.',
    );
  if (options.async && options['dry-run'] && table !== undefined && paths.length > 1)
    throw new WrongUse('--async with --dry-run needs exactly one file.');
  const path = options.definition as string | undefined;
  const definition = path === undefined ? undefined : readDefinition(path);
  const patch = typeof options.patch === 'string' ? readPatch(options.patch) : undefined;
  const all = { line, query: queryOf(options), definition, patch, withPassword: passwordsOf(line) };
  return withClient(line, (connected) => loadFiles(connected, paths, all), true);
}

/** Loads the files one after the other, and stops at the first that is not loaded. */
async function loadFiles(
  connected: Connected,
  paths: string[],
  all: Pick<FileLoad, 'line' | 'query' | 'definition' | 'patch' | 'withPassword'>,
): Promise<number> {
  const { options } = all.line;
  const table = options.table as string | undefined;
  if (options.async && connected.isEmbedded) {
    throw new WrongUse('--async needs a service that runs on: set TABLEWRIGHT_URL.');
  }
  let earlier: LoadedTable | undefined;
  const onLoaded = (answer: LoadedTable): void => {
    earlier ??= answer;
  };
  for (const [index, path] of paths.entries()) {
    const file = { ...all, table: table ?? parse(unpackedPath(namedPath(path))).name, onLoaded };
    const isFurther = table !== undefined && index > 0;
    const code = await loadFile(connected, path, isFurther ? afterEarlierFile(file, earlier) : file);
    if (code === exitCodes.done && exitCodeOfSignal() === undefined) continue;
    reportSkipped(paths.slice(index + 1).map(shownPath), options.json === true);
    return code;
  }
  if (table !== undefined && paths.length > 1 && all.query.dry_run && !options.json && hasKeys(earlier)) {
    note('Keys that are in more than one of the files were not checked, because a dry run keeps no rows.');
  }
  return exitCodes.done;
}

/** Returns the upload parameters among the options. The service checks their values. @throws WrongUse */
export function queryOf(options: CommandLine['options']): LoadQuery {
  const entries = uploadParameters.map(({ name }) => [name, options[optionOf(name)]]);
  const given = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  if (infersMissing(options)) given.extra_columns = 'add';
  return given as LoadQuery;
}

/** @throws WrongUse */
function infersMissing({ infer, 'extra-columns': extra = 'add' }: CommandLine['options']): boolean {
  if (infer === undefined) return false;
  if (extra !== 'add')
    throw new WrongUse('--infer missing contradicts --extra-columns. Leave one of them out.');
  return true;
}

interface FileLoad {
  line: CommandLine;
  table: string;
  query: LoadQuery;
  definition: UploadDefinition | undefined;
  patch: Correction[] | undefined;
  /** true: `definition` comes from an earlier file of the same command, not from the user. */
  isDefinitionOfEarlier?: boolean;
  onLoaded: (answer: LoadedTable) => void;
  withPassword: WithPassword;
}

/**
 * Returns how a further file is loaded into the table of the first one: with `if_exists=append`. A dry run does not create the
 * table, so the definition of the first file is sent with the further ones.
 */
function afterEarlierFile(file: FileLoad, earlier: LoadedTable | undefined): FileLoad {
  const { query } = file;
  if (!query.dry_run) return { ...file, query: { ...query, if_exists: 'append' } };
  const { if_exists: ifExists = 'fail', primary_key: _, ...others } = query;
  const wasCreated = earlier?.load.warnings.some(({ code }) => code === 'table-created');
  const mayAppend = ifExists === 'append' || ifExists === 'truncate' || query.profile !== undefined;
  if (mayAppend && !wasCreated) return file;
  const definition = earlier?.table as UploadDefinition | undefined;
  return { ...file, query: { ...others, if_exists: ifExists }, definition, isDefinitionOfEarlier: true };
}

function hasKeys(loaded: LoadedTable | undefined): boolean {
  const { primary_key: primaryKey, unique = [] } = loaded?.table.constraints ?? {};
  return unique.length > 0 || (primaryKey?.columns.length ?? 0) > 0;
}

async function loadFile(connected: Connected, given: string, file: FileLoad): Promise<number> {
  const { client } = connected;
  const { options } = file.line;
  const ended = awaitEndSignal();
  // Reading from the standard input may wait for a long time, so a signal must end it.
  const source = await unlessEnded(sourceOf(given, file));
  const path = shownPath(given);
  const [stop, following] = [new AbortController(), new AbortController()];
  const isQuiet = options.quiet === true || options.json === true;
  let progress: Progress | undefined;
  const givenKey = options['idempotency-key'] as string | undefined;
  // The load is found by its key while it runs. The key is also sent if the body can be sent only once.
  const key = givenKey ?? newKey();
  const findLoad = loadFinder(client, key);
  let hasSent = false as boolean;
  const cancelling = cancelAfterSignal(client, findLoad, () => hasSent, { ended, stop });
  try {
    const hasKeys = await keepsRecords(client, stop.signal);
    if (hasKeys && !isQuiet) followRows(client, findLoad, (rows) => progress?.rows(rows), following.signal);
    const upload: LoadOptions = {
      ...uploadOf(file, source),
      idempotencyKey: hasKeys ? key : givenKey,
      signal: stop.signal,
      onSent: (bytes) => {
        hasSent = true;
        progress?.sent(bytes);
      },
    };
    const send = options.async ? client.enqueue : client.load;
    const attempt = async (password: string | undefined) => {
      progress = showProgress(source.name, source.bytes, isQuiet);
      try {
        return await send({ ...upload, password });
      } catch (error) {
        // The upload was refused, so nothing is being loaded while the user types the password.
        if (needsPassword(error)) hasSent = false;
        throw error;
      } finally {
        progress.stop();
      }
    };
    const sent = file.withPassword(source, stop.signal, attempt).catch(async (error) => {
      const found = hasSent && hasKeys && isAnswerLost(error) && (await loadedAnyway(client, findLoad));
      if (!found) throw error;
      return found;
    });
    const answer = await sent.finally(() => following.abort());
    return await reportAnswer(client, path, file, answer);
  } catch (error) {
    if (ended.aborted && isInterruption(error)) {
      const isCertain = error instanceof ProblemError || !hasSent;
      return reportInterruption(path, isCertain, options.json === true);
    }
    reportFailure(path, error, hasSent && isAnswerLost(error), options.json === true);
    await writeProblemsOf(client, error, options);
    return exitCodeOf(error);
  } finally {
    cancelling.end();
  }
}

/** Prints the answer, and writes the problems of left-out rows to the file. @returns the exit code */
async function reportAnswer(
  client: Client,
  path: string,
  { line: { options }, onLoaded }: FileLoad,
  answer: LoadedTable | Load,
): Promise<number> {
  report(path, answer, options);
  await showChanges(client, answer, options);
  if ('load' in answer) onLoaded(answer);
  const id = 'load' in answer ? answer.load.id : undefined;
  const isWritten = await writeProblems(client, options.problems, id);
  // Without left-out rows there is no file to write.
  const leftOut = 'load' in answer ? (answer.load.rows_left_out ?? 0) : 0;
  const areRowsWritten = leftOut === 0 || (await writeFaultyRows(client, options['faulty-rows-file'], id));
  return isWritten && areRowsWritten ? exitCodes.done : exitCodes.refused;
}

/** Shows what a load that compares keys would change. The dry run has ended, so its result does not depend on this. */
async function showChanges(
  client: Client,
  answer: LoadedTable | Load,
  options: CommandLine['options'],
): Promise<void> {
  if (!('load' in answer) || !answer.load.dry_run || options.json || options.quiet) return;
  if (answer.load.id === undefined || answer.load.conflict_key === undefined) return;
  await noteChanges(client, answer.load.id).catch(() => {});
}

async function writeProblemsOf(
  client: Client,
  error: unknown,
  options: CommandLine['options'],
): Promise<void> {
  if (!(error instanceof ProblemError) || error.errorCount === 0) return;
  await writeProblems(client, options.problems, error.loadId);
  if (error.code === 'invalid-data') await writeFaultyRows(client, options['faulty-rows-file'], error.loadId);
}

function uploadOf({ query, table, definition, patch }: FileLoad, source: Source): LoadOptions {
  return {
    ...query,
    table,
    ...contentOf(source),
    ...(source.kind === 'spreadsheet' && { definition, patch }),
  };
}

/** @param isCertain true: nothing was loaded; false: the load may have been committed */
function reportInterruption(path: string, isCertain: boolean, isJson: boolean): number {
  if (isJson) sayJson({ file: path, outcome: isCertain ? 'cancelled' : 'unknown' });
  note(isCertain ? 'Cancelled. Nothing was changed.' : stoppedUnconfirmed);
  return exitCodes.interrupted;
}

/** @param isUnknown true: the load may have been committed */
function reportFailure(path: string, error: unknown, isUnknown: boolean, isJson: boolean): void {
  if (isJson) {
    sayJson({ file: path, ...(isUnknown && { outcome: 'unknown' }), error: errorDocument(error) });
    return;
  }
  note(isUnknown ? unknownOutcome(path) : `${path} was not loaded.`);
  reportError(error);
}

function unknownOutcome(path: string): string {
  return `It is not known whether ${path} was loaded, because the answer of the service was lost. See "tablewright loads".`;
}

/** Returns the answer of a load whose connection broke; undefined: the load was not committed, or the service does not respond. */
async function loadedAnyway(client: Client, findLoad: FindLoad): Promise<LoadedTable | undefined> {
  try {
    const signal = AbortSignal.timeout(cancelMs);
    const id = await findLoad(signal);
    const load = id === undefined ? undefined : await client.describeLoad(id, { signal });
    return load && hasEnded(load) ? resultOf(load) : undefined;
  } catch {
    // The caller reports the error of the upload instead.
    return undefined;
  }
}

function reportSkipped(paths: string[], isJson: boolean): void {
  if (isJson) for (const file of paths) sayJson({ file, skipped: true });
  else if (paths.length > 0) note(`${inCount(paths.length, 'file')} after it not loaded.`);
}

async function sourceOf(
  path: string,
  { line, definition, patch, isDefinitionOfEarlier }: FileLoad,
): Promise<Source> {
  const source = await openSource(path, line.options.kind as string | undefined);
  if (patch !== undefined && source.kind !== 'spreadsheet')
    throw new WrongUse('--patch corrects cells of workbooks and text files. Correct the JSON itself.');
  if (isDefinitionOfEarlier && source.kind === 'json' && hasObject(source)) {
    throw new WrongUse(
      `--dry-run cannot check ${path} after another file, because it is a JSON object. Check it alone.`,
    );
  }
  return definition === undefined || source.kind === 'spreadsheet'
    ? source
    : withDefinition(source, definition);
}

/** Printed if the service did not confirm that the load is cancelled. */
const stoppedUnconfirmed =
  'Stopped without an answer of the service. A load whose whole body the service has received may go on: see "tablewright loads".';

function isInterruption(error: unknown): boolean {
  if (error instanceof ProblemError) return error.code === 'load-cancelled';
  if (error instanceof ConnectionError) return true;
  return (error as Error | undefined)?.name === 'AbortError';
}

/** How long the service may take to find the load and then to end it. */
const cancelMs = 5_000;

/** Cancels the load after a signal. `stop` aborts the upload if the service does not cancel the load. */
function cancelAfterSignal(
  client: Client,
  findLoad: FindLoad,
  hasSent: () => boolean,
  { ended, stop }: { ended: AbortSignal; stop: AbortController },
) {
  const over = new AbortController();
  const cancel = async (): Promise<void> => {
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(cancelMs)]);
    let id: string | undefined;
    // The request may have reached the service without being recorded yet, so the load is searched for repeatedly.
    while (id === undefined && hasSent()) {
      id = await findLoad(signal);
      if (id === undefined) await sleep(findMs, undefined, { signal });
    }
    if (id !== undefined) {
      // If the load has just ended, the service refuses to cancel it, and the answer to the upload arrives soon.
      await client.cancel(id, { signal }).catch(ignoreRefusal);
      await sleep(cancelMs, undefined, { signal });
    }
    stop.abort();
  };
  const start = (): void => {
    note('Cancelling the load. Ctrl-C again ends at once.');
    // Aborting closes the connection. The service cancels a load whose body it has not received completely.
    cancel().catch(() => stop.abort());
  };
  ended.addEventListener('abort', start);
  return {
    end: () => {
      ended.removeEventListener('abort', start);
      over.abort();
    },
  };
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ProblemError)) throw error;
}

const findMs = 250;

/** Reports how many rows the service has read, as soon as the load is found, until the signal is aborted. */
async function followRows(
  client: Client,
  findLoad: FindLoad,
  onRows: (rows: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let followed: string | undefined;
  while (!signal.aborted) {
    // The progress is only information. The result comes from the answer to the upload, so every error here is ignored and the request repeated.
    try {
      await sleep(findMs, undefined, { signal, ref: false });
      const id = await findLoad(signal);
      // If the upload was sent again because the service restarted, the key belongs to a new load.
      if (id === undefined || id === followed) continue;
      followed = id;
      for await (const load of client.watch(id, { signal })) onRows(load.rows_read);
    } catch {}
  }
}

function report(path: string, answer: Load | LoadedTable, { json, quiet }: CommandLine['options']): void {
  if (json) sayJson({ file: path, ...('load' in answer ? answer : { load: answer }) });
  else if ('load' in answer) reportLoaded(path, answer, quiet === true);
  else if (!quiet)
    say(
      `${path} is stored as load ${answer.id}. "tablewright loads ${answer.id} --watch" waits for its end.`,
    );
}

function reportLoaded(path: string, { table, load }: LoadedTable, isQuiet: boolean): void {
  const {
    rows,
    updated,
    unchanged = 0,
    skipped,
    missing = 0,
    deleted = 0,
    marked = 0,
    rows_left_out: leftOut = 0,
    left_out: problems = [],
    left_out_count: count = 0,
  } = load;
  if (!isQuiet) {
    noteWarnings(load.warnings);
    const parts = [`${inCount(rows, 'row')} loaded`];
    const same = unchanged > 0 ? ` (${unchanged} unchanged)` : '';
    if (updated > 0) parts.push(`${inCount(updated, 'row')} updated${same}`);
    if (skipped > 0) parts.push(`${inCount(skipped, 'row')} skipped`);
    if (deleted > 0) parts.push(`${inCount(deleted, 'row')} deleted`);
    if (marked > 0) parts.push(`${inCount(marked, 'row')} marked`);
    if (missing > deleted + marked)
      parts.push(`${inCount(missing - deleted - marked, 'row')} missing and kept`);
    if (leftOut > 0) parts.push(`${inCount(leftOut, 'row')} left out`);
    const end = load.dry_run ? ' This was a dry run: nothing was changed.' : '';
    say(
      `${path} → ${table.schema}.${table.name}: ${parts.join(', ')}, ${(load.duration_ms / 1000).toFixed(1)} s.${end}`,
    );
  }
  noteProblems(problems, count);
}
