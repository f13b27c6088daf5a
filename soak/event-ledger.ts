/** The expected events and records of loads: what the answers say, compared with the feeds, the webhook and the records. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Feed, SeenEvent } from './feed.ts';
import type { Ledger, ReadTexts } from './ledger.ts';

export interface ExpectedLoad {
  state: 'committed' | 'checked' | 'refused' | 'failed' | 'cancelled';
  /** The types of its events. */
  events: string[];
  operation: string;
}

const feedTimeoutMs = 30_000;
const schema = 'tablewright_service';

/**
 * Waits until the feeds have sent all events, and returns what is wrong.
 *
 * @param arrived the events that the receiver of the webhook has accepted
 */
export async function compareEvents(
  { loads, existed, ended }: Ledger,
  feeds: Feed[],
  arrived: Map<string, SeenEvent>,
  read: ReadTexts,
): Promise<string[]> {
  const stored = await read(`SELECT position, id, event FROM ${schema}.events ORDER BY position`);
  const wrong: string[] = [];
  const lastPosition = Number(stored.at(-1)?.[0] ?? 0);
  const giveUpAt = performance.now() + feedTimeoutMs;
  for (const [number, feed] of feeds.entries()) {
    while (feed.last() < lastPosition && performance.now() < giveUpAt) await sleep(50);
    const sent = [...feed.events].map(([position, { id }]) => `${position} ${id}`);
    const expected = stored.map(([position, id]) => `${position} ${id}`);
    const missing = new Set(expected).difference(new Set(sent));
    const surplus = new Set(sent).difference(new Set(expected));
    wrong.push(...feed.wrong);
    for (const one of missing) wrong.push(`the feed ${number} lacks the event ${one}`);
    for (const one of surplus) wrong.push(`the feed ${number} has the event ${one}, which does not exist`);
  }
  const byLoad = new Map<string, string[]>();
  const created = new Map<string, number>();
  const endings: string[] = [];
  for (const [, id, json] of stored) {
    const event: SeenEvent = JSON.parse(json!);
    const { load, table } = event.data;
    if (load !== undefined) byLoad.set(load, [...(byLoad.get(load) ?? []), event.type]);
    if (event.type === 'table.created') created.set(table, (created.get(table) ?? 0) + 1);
    if (event.type === 'table.dropped') endings.push(`${table}: ${event.type}`);
    const oldName = event.data.renamed_from?.table;
    if (oldName !== undefined) endings.push(`${oldName}: ${event.type}`);
    const delivered = arrived.get(id!);
    if (delivered !== undefined && (delivered.type !== event.type || delivered.data.load !== load)) {
      wrong.push(`the event ${id} arrived as ${JSON.stringify(delivered)} instead of ${json}`);
    }
  }
  for (const table of new Set([...created.keys(), ...existed])) {
    const times = created.get(table) ?? 0;
    const isThere = existed.has(table) ? 1 : 0;
    if (times !== isThere) wrong.push(`${table}: ${times} events table.created instead of ${isThere}`);
  }
  const expectedEndings = [...ended].map(([table, type]) => `${table}: ${type}`);
  if (endings.toSorted().join() !== expectedEndings.toSorted().join())
    wrong.push(`tables ended with the events [${endings}], and not [${expectedEndings}]`);
  const ends = await read(`SELECT id, state, answer_status FROM ${schema}.loads`);
  const records = new Map(ends.map(([id, state]) => [id!, state!]));
  // The answer of a load whose process ended has this status. Other failures have 500.
  const abandoned = new Set(ends.filter(([, , status]) => status === '503').map(([id]) => id));
  for (const [id, { state, events, operation }] of loads) {
    const found = (byLoad.get(id) ?? []).toSorted().join();
    // The end of a refused load that its process could not write in time is lost with the process (docs/loads.md).
    const isUnknown = records.get(id) === undefined && found === '';
    const isAbandoned = records.get(id) === 'failed' && abandoned.has(id) && found === 'load.failed';
    if (state === 'refused' && (isUnknown || isAbandoned)) continue;
    if (records.get(id) !== state)
      wrong.push(`${operation}: load ${id} is ${records.get(id)}, and not ${state}`);
    const expected = events.toSorted().join();
    if (found !== expected)
      wrong.push(`${operation}: load ${id} has the events [${found}], and not [${expected}]`);
  }
  return wrong;
}
