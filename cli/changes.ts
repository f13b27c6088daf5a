/** `tablewright changes`, and the first changes of a dry run. */
import type { Client, LoadChanges } from '../client/client.ts';
import type { CommandLine } from './commands.ts';
import { withClient } from './connect.ts';
import { idOf, limitOf } from './loads.ts';
import { inCount, inThousands, note, say, sayJson } from './print.ts';

export async function changes(line: CommandLine): Promise<number> {
  const id = idOf(line);
  const limit = limitOf(line.options);
  return withClient(line, async ({ client }) => {
    const page = await client.changesPage(id, { limit });
    if (line.options.json) sayJson(page);
    else for (const one of linesOf(page)) say(one);
  });
}

/** The number of changes that a dry run shows. */
const shownChanges = 10;

/** Prints the first changes of a dry run, as a note beside the result. */
export async function noteChanges(client: Client, id: string): Promise<void> {
  const page = await client.changesPage(id, { limit: shownChanges });
  if (page.changes.length === 0) return;
  for (const one of linesOf(page)) note(one);
  if (page.next !== null) note(`"tablewright changes ${id} --limit 1000" shows more.`);
}

/** Yields the counts, and for each change its key, its old values after "-" and its new values after "+". */
function* linesOf({
  counts,
  values,
  state,
  changes,
  changes_stored: stored,
}: LoadChanges): Generator<string> {
  if (counts === null) {
    yield `The load is ${state}, and its rows were not compared with those of the table.`;
    return;
  }
  yield Object.entries(counts)
    .map(([name, count]) => `${inThousands(count)} ${name}`)
    .join(', ');
  if (values === 'none') yield 'The load is of another subject, so its rows are not shown.';
  for (const { kind, row, key, cells } of changes) {
    const place = row === undefined ? '' : ` (data row ${row})`;
    yield `${kind} ${pairs(Object.entries(key))}${place}`;
    for (const [sign, side] of [
      ['-', 'old'],
      ['+', 'new'],
    ] as const) {
      const shown = cells.flatMap((cell) => {
        const value = cell[side];
        return value === undefined ? [] : [[cell.column, value] as const];
      });
      if (shown.length > 0) yield `${sign} ${pairs(shown)}`;
    }
  }
  if (values === 'own' && changes.length > 0)
    yield 'Old values need the scope table:read and SELECT on the columns.';
  if (stored > changes.length && values !== 'none')
    yield `… and ${inCount(stored - changes.length, 'more change')}.`;
}

function pairs(cells: (readonly [string, string | null])[]): string {
  return cells.map(([column, value]) => `${column}=${value ?? 'NULL'}`).join(', ');
}
