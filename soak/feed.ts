/** Reads the feed of events of one replica, and connects again after the last event when the connection ends. */
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SeenEvent {
  id: string;
  type: string;
  data: { table: string; load?: string; renamed_from?: { table: string } };
}

export interface Feed {
  /** The events by their positions, in the order in which they came. */
  events: Map<number, SeenEvent>;
  /** What is wrong with the order of the events. */
  wrong: string[];
  /** Returns the last position that was sent. */
  last(): number;
  connections(): number;
  close(): void;
}

const againMs = 100;

/** @param url returns the present address of the replica */
export function followFeed(name: string, url: () => string, token: string): Feed {
  const events = new Map<number, SeenEvent>();
  const wrong: string[] = [];
  const closing = new AbortController();
  let last = 0;
  let connections = 0;
  const note = (position: number, data: string | undefined): void => {
    if (data !== undefined) {
      const event: SeenEvent = JSON.parse(data);
      if (position <= last) wrong.push(`${name} sent ${event.id} at ${position} after ${last}`);
      events.set(position, event);
    } else if (position < last) wrong.push(`${name} began at ${position} after ${last}`);
    last = Math.max(last, position);
  };
  const readOnce = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'last-event-id': String(last) };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sent = get(new URL('/api/v1/events', url()), { agent: false, headers, signal: closing.signal });
    sent.on('error', reject);
    sent.once('response', (response) => {
      response.on('error', reject).on('close', resolve);
      if (response.statusCode !== 200) {
        if (response.statusCode !== 503) wrong.push(`${name} was answered with ${response.statusCode}`);
        response.resume();
        return;
      }
      connections += 1;
      let position: number | undefined;
      let data: string | undefined;
      const lines = createInterface(response).on('error', reject);
      lines.on('line', (line) => {
        if (line.startsWith('id: ')) position = Number(line.slice(4));
        else if (line.startsWith('data: ')) data = line.slice(6);
        else if (line === '' && position !== undefined) {
          note(position, data);
          position = undefined;
          data = undefined;
        }
      });
    });
    await promise;
  };
  const follow = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      // A connection ends when its replica does.
      await readOnce().catch(() => {});
      await sleep(againMs, undefined, { ref: false });
    }
  };
  void follow();
  return { events, wrong, last: () => last, connections: () => connections, close: () => closing.abort() };
}
