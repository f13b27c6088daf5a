/** `tablewright loads` and `tablewright cancel` */
import { type Client, hasEnded, type ListedLoad, type Load, resultOf } from '../client/client.ts';
import type { CommandLine } from './commands.ts';
import { withClient } from './connect.ts';
import { WrongUse } from './exit-codes.ts';
import { inBytes, inCount, inThousands, note, say, sayJson, sayTable } from './print.ts';
import { exitCodeOf, reportError } from './report-error.ts';

const defaultLimit = 20;

export async function loads(line: CommandLine): Promise<number> {
  const { positionals, options } = line;
  if (positionals.length > 1) throw new WrongUse('Name at most one load.');
  const [id] = positionals;
  if (options.watch && id === undefined) throw new WrongUse('--watch needs the ID of a load.');
  return withClient(line, async ({ client }) => {
    if (id === undefined) return list(client, line);
    let found = await client.describeLoad(id);
    if (options.watch) {
      for await (const load of client.watch(id)) {
        if (!options.quiet && !options.json && !hasEnded(load)) note(summaryOf(load));
        found = load;
      }
    }
    if (options.json) sayJson(found);
    else say(summaryOf(found));
    // If the load was not committed, its error is reported in the same way as by `tablewright load`.
    try {
      if (hasEnded(found)) resultOf(found);
    } catch (error) {
      // The printed JSON already contains the error, so nothing else is printed.
      return options.json ? exitCodeOf(error) : reportError(error);
    }
    return undefined;
  });
}

/** Returns the id of the load that the command names. @throws WrongUse */
export function idOf({ positionals: [id, ...others] }: CommandLine): string {
  if (id === undefined || others.length > 0) throw new WrongUse('Name one load by its ID.');
  return id;
}

export async function cancel(line: CommandLine): Promise<number> {
  const id = idOf(line);
  return withClient(line, async ({ client }) => {
    const load = await client.cancel(id);
    if (line.options.json) sayJson(load);
    else if (!line.options.quiet) say(`Load ${id} will be cancelled.`);
  });
}

function filterOf({ state, schema, table }: CommandLine['options']): object {
  const given = Object.entries({ state, schema, table }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

/** @throws WrongUse */
export function limitOf({ limit }: CommandLine['options']): number {
  const count = limit === undefined ? defaultLimit : Number(limit);
  if (!Number.isInteger(count) || count < 1)
    throw new WrongUse(`--limit is a number from 1, not "${limit}".`);
  return count;
}

async function list(client: Client, { options }: CommandLine): Promise<undefined> {
  const limit = limitOf(options);
  const rows: string[][] = [];
  for await (const load of client.loads(filterOf(options))) {
    if (options.json) sayJson(load);
    const { id, state, table, rows_read: count, created_at: createdAt } = load;
    const error = options.json ? '' : await errorOf(client, load);
    rows.push([id, state, error, `${table.schema}.${table.name}`, inThousands(count), createdAt]);
    if (rows.length === limit) break;
  }
  const head = ['id', 'state', 'error', 'table', 'rows read', 'created'];
  if (!options.json) sayTable(head, rows);
}

/** Returns the error code of a load. The list of loads does not contain it, so the load is requested. */
async function errorOf(client: Client, { id, state }: ListedLoad): Promise<string> {
  if (state !== 'refused' && state !== 'failed') return '';
  const { answer } = await client.describeLoad(id);
  return (answer?.body as { code?: string } | null | undefined)?.code ?? '';
}

function summaryOf({
  id,
  state,
  table,
  rows_read: rows,
  bytes_received: bytes,
  problems_found: problems,
}: Load): string {
  const parts = [`${inBytes(bytes)} received`, `${inCount(rows, 'row')} read`];
  if (problems > 0) parts.push(inCount(problems, 'problem'));
  return `${id} ${table.schema}.${table.name} ${state}: ${parts.join(', ')}`;
}
