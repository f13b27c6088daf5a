/** `tablewright load FILE…` */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
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
import { noteChanges } from './changes.ts';
import type { CommandLine } from './commands.ts';
import { type Connected, withClient } from './connect.ts';
import {
  cancelAfterSignal,
  cancelMs,
  findMs,
  isInterruption,
  reportFailure,
  reportInterruption,
  reportLoaded,
} from './end-of-load.ts';
import { awaitEndSignal, exitCodeOfSignal, unlessEnded } from './end-signals.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { type FindLoad, keepsRecords, loadFinder } from './find-load.ts';
import { inCount, note, say, sayJson } from './print.ts';
import { checkProblemsFile, writeFaultyRows, writeProblems } from './problems-file.ts';
import { type Progress, showProgress } from './progress.ts';
import { exitCodeOf, isAnswerLost } from './report-error.ts';
import {
  contentOf,
  expandPaths,
  openSource,
  readDefinition,
  readPatch,
  type Source,
  shownPath,
  standardInput,
} from './source.ts';
import { refuseRemoval, tableOfFile } from './table-of-file.ts';
import { loadTogether } from './together.ts';
import { queryOf } from './upload-query.ts';
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
  if (options.async && options['dry-run'] && table !== undefined && paths.length > 1)
    throw new WrongUse('--async with --dry-run needs exactly one file.');
  if (options.together) return loadTogether(line, paths);
  refuseRemoval(paths, options);
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
    const file = { ...all, table: tableOfFile(path, options), onLoaded };
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

/** Returns the answer of a load whose connection broke; undefined: the load was not committed, or the service does not respond. */
async function loadedAnyway(client: Client, findLoad: FindLoad): Promise<LoadedTable | undefined> {
  try {
    const signal = AbortSignal.timeout(cancelMs);
    const id = await findLoad(signal);
    const load = id === undefined ? undefined : await client.describeLoad(id, { signal });
    const answer = load && hasEnded(load) ? resultOf(load) : undefined;
    return answer && 'table' in answer ? answer : undefined;
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
