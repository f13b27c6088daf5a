/** The files to which the options `--problems` and `--faulty-rows-file` write. */
import { accessSync, closeSync, constants, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { type Client, ProblemError } from '../client/client.ts';
import { WrongUse } from './exit-codes.ts';
import { brokenOff, intoFile, isOfFile } from './export.ts';
import { note } from './print.ts';
import { reportError } from './report-error.ts';

/** Checks before the upload that the file of an option can be written, because the load cannot be undone afterwards. @throws WrongUse if it cannot */
export function checkProblemsFile(path: string, option: string): void {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory()) throw new Error('it is a folder');
    if (stats) {
      accessSync(path, constants.W_OK);
    } else {
      closeSync(openSync(path, 'wx'));
      rmSync(path);
    }
  } catch (error) {
    throw new WrongUse(`The file "${path}" of --${option} cannot be written: ${(error as Error).message}`);
  }
}

/**
 * Writes what the service has stored of the load into the file of an option, if there is one. If this fails, prints the reason and returns false.
 *
 * @param write returns what to print then; undefined: nothing
 */
async function writeOf(
  what: string,
  path: string | boolean | undefined,
  id: string | undefined,
  write: (path: string, id: string) => Promise<string | undefined>,
): Promise<boolean> {
  if (typeof path !== 'string') return true;
  if (id === undefined) {
    note(`${path} was not written, because the service has no record of the load.`);
    return true;
  }
  try {
    const said = await write(path, id);
    if (said !== undefined) note(said);
    return true;
  } catch (error) {
    note(`The ${what} of load ${id} could not be written into ${path}.`);
    reportError(error);
    return false;
  }
}

type Write = (client: Client, path: string | boolean | undefined, id: string | undefined) => Promise<boolean>;

/** Writes all problems of the load into the file of `--problems`. */
export const writeProblems: Write = (client, file, load) =>
  writeOf('problems', file, load, async (path, id) => {
    const csv = await client.problemsCsv(id);
    writeFileSync(path, csv);
    return csv.trimEnd().includes('\n') ? `All problems are in ${path}.` : undefined;
  });

/** The extensions that decide the format of `--faulty-rows-file`. With another one, the file is like the one that was sent. */
const formats = ['csv', 'ndjson', 'xlsx'] as const;

/** Writes the rows with problems of the load into the file of `--faulty-rows-file`. */
export const writeFaultyRows: Write = (client, file, load) =>
  writeOf('rows with problems', file, load, async (path, id) => {
    const format = formats.find((one) => one === extname(path).slice(1).toLowerCase());
    try {
      const { body, isComplete } = await client.faultyRows(id, format && { format });
      await intoFile(path, async (write) => {
        for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) await write(chunk);
      }).catch((error: unknown) => {
        throw isOfFile(error) ? error : brokenOff(error);
      });
      return isComplete
        ? `The rows with problems are in ${path}.`
        : `${path} does not have all rows with problems: the service stores only the first of them.`;
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== 'no-faulty-rows') throw error;
      return `${path} was not written. ${error.detail}`;
    }
  });
