/** Which table a file goes into, and whether the files of one command remove rows of each other. */
import { parse } from 'node:path';
import type { CommandLine } from './commands.ts';
import { WrongUse } from './exit-codes.ts';
import { unpackedPath } from './packed-file.ts';
import { namedPath, shownPath } from './source.ts';

/** Returns the table in `--table`, or the name of the file without its extension. */
export function tableOfFile(path: string, { table }: CommandLine['options']): string {
  return (table as string | undefined) ?? parse(unpackedPath(namedPath(path))).name;
}

/**
 * Refuses several files for one table if a later file may remove rows of an earlier one. An upload profile is not read, because it
 * may change before the upload. So it may remove rows unless the options override what it says about them.
 *
 * @throws WrongUse
 */
export function refuseRemoval(paths: string[], options: CommandLine['options']): void {
  const hasProfile = options['upload-profile'] !== undefined;
  const earlier = new Map<string, string>();
  for (const path of paths) {
    const table = tableOfFile(path, options);
    const first = earlier.get(table);
    earlier.set(table, path);
    if (first === undefined) continue;
    const missing = options['missing-rows'];
    if ((missing ?? 'keep') !== 'keep')
      throw new WrongUse(
        '--missing-rows needs one file for a table: rows of the other files would be missing. Join the files into one.',
      );
    const existing = options['if-exists'];
    const empties = existing === undefined ? hasProfile : existing === 'replace' || existing === 'truncate';
    // With --table, later files are appended, whatever --if-exists and the profile say.
    if (empties && options.table === undefined) {
      const cause = existing === undefined ? '--upload-profile' : `--if-exists ${existing}`;
      throw new WrongUse(
        `"${shownPath(first)}" and "${shownPath(path)}" go into one table, "${table}", and with ${cause} the second may remove the rows of the first. Append it with --table, or load each file into its own table with a command of its own.`,
      );
    }
    if (hasProfile && missing === undefined)
      throw new WrongUse(
        '--upload-profile needs one file for a table: if it has missing_rows, rows of the other files would be missing. Send --missing-rows keep, or join the files into one.',
      );
  }
}
