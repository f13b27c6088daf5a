/** The file to which the option `--problems` writes. */
import { accessSync, closeSync, constants, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Client } from '../client/client.ts';
import { WrongUse } from './exit-codes.ts';
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

/** Writes all problems of the load into the file, if there is one. If this fails, prints the reason and returns false. */
export async function writeProblems(
  client: Client,
  path: string | boolean | undefined,
  id: string | undefined,
): Promise<boolean> {
  if (typeof path !== 'string') return true;
  if (id === undefined) {
    note(`${path} was not written, because the service has no record of the load.`);
    return true;
  }
  try {
    const csv = await client.problemsCsv(id);
    writeFileSync(path, csv);
    const count = Math.max(0, csv.trimEnd().split('\n').length - 1);
    if (count > 0) note(`All problems are in ${path}.`);
    return true;
  } catch (error) {
    note(`The problems of load ${id} could not be written into ${path}.`);
    reportError(error);
    return false;
  }
}
