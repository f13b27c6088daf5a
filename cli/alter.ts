/** The command `tablewright alter`: tables become what files of definitions say. */
import { basename } from 'node:path';
import type { AlteredTable } from '../client/client.ts';
import type { CommandLine } from './commands.ts';
import { withClient } from './connect.ts';
import { WrongUse } from './exit-codes.ts';
import { note, say, sayJson } from './print.ts';
import { expandPaths, readDefinition } from './source.ts';

export async function alter(line: CommandLine): Promise<number> {
  const { options } = line;
  const files = await expandPaths(line.positionals);
  if (files.length === 0) throw new WrongUse('Name the file of a definition.');
  if (files.length > 1 && options.table !== undefined)
    throw new WrongUse('--table can be used with one file only.');
  const isPlan = options.plan === true;
  const maxLockMs = options['max-lock-ms'];
  const query = {
    dry_run: isPlan,
    ...(options.allow !== undefined && { allow: options.allow as string }),
    ...(maxLockMs !== undefined && { max_lock_ms: maxLockMs as unknown as number }),
  };
  return withClient(line, async ({ client }) => {
    for (const file of files) {
      const definition = readDefinition(file) as AlteredTable;
      const name = textOf(options.table ?? definition.name) ?? basename(file).replace(/\.[^.]*$/, '');
      const schema = textOf(options.schema ?? definition.schema);
      const answer = await client.alterTable(name, definition, { ...query, ...(schema && { schema }) });
      if (options.json) sayJson(answer);
      else if (!options.quiet) show(`${answer.table.schema}.${name}`, answer.changes, isPlan);
    }
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

interface Step {
  detail: string;
  sql: string;
  rewrites: boolean;
  scans: boolean;
  lock: string;
  loses: string | null;
}

/** Whether a value changes is known only when all rows are read. */
const onlyLossy = 'refused without --allow lossy_types if a value would change';

function show(table: string, changes: Step[], isPlan: boolean): void {
  if (changes.length === 0) say(`${table} is already what the definition says.`);
  for (const { detail, sql, rewrites, scans, lock, loses } of changes) {
    const effects = [
      rewrites && 'writes all rows',
      scans && 'reads all rows',
      (rewrites || scans) && lock === 'ACCESS EXCLUSIVE' && 'readers wait',
      loses && (loses === 'lossy_types' ? onlyLossy : `needs --allow ${loses}`),
    ].filter(Boolean);
    say(`${table}: ${detail}${effects.length === 0 ? '' : ` (${effects.join(', ')})`}`);
    if (isPlan) note(sql);
  }
  if (isPlan && changes.length > 0) note('This is the plan. Nothing was changed.');
}
