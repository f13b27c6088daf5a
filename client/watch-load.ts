/** Follows a load until it has ended: with server-sent events, or by repeated requests if the events do not arrive. */
import type { components } from './api-types.ts';
import { ProblemError } from './problem-error.ts';
import { readEvents } from './server-sent-events.ts';
import { sleep } from './sleep.ts';
import type { TransportAnswer } from './transport.ts';

export type Load = components['schemas']['Load'];
type LoadedTable = components['schemas']['LoadedTable'];
type LoadedTables = components['schemas']['LoadedTables'];

/** How to request the state of the load. */
export interface LoadReader {
  /** Opens the stream of events of the load. */
  open: (signal: AbortSignal) => Promise<TransportAnswer>;
  read: (signal: AbortSignal | undefined) => Promise<Load>;
}

/** The states of a load that has ended. */
const endStates = ['committed', 'checked', 'refused', 'failed', 'cancelled'];

export function hasEnded(load: Pick<Load, 'state'>): boolean {
  return endStates.includes(load.state);
}

/**
 * Returns the answer of a load that has ended: of several tables (`loadTables`) it has `tables`. undefined: the load was committed, but its
 * answer was too long to be stored.
 *
 * @throws ProblemError if the load was refused, failed or was cancelled
 */
export function resultOf({ id, state, answer }: Load): LoadedTable | LoadedTables | undefined {
  const body = answer?.body ?? undefined;
  if (state === 'committed' || state === 'checked') return body as LoadedTable | LoadedTables | undefined;
  const headers = new Headers({ ...answer?.headers, 'load-id': id });
  if (body === undefined) headers.set('content-type', 'application/problem+json');
  const problem = body ?? { title: `The load is ${state}, and its answer was not kept.` };
  throw new ProblemError(
    answer?.status ?? 0,
    headers,
    typeof problem === 'string' ? problem : JSON.stringify(problem),
  );
}

/** The longest silence before a stream of events counts as broken. The service sends the first event at once, and a comment after 15 seconds without an event. */
const firstEventMs = 5_000;
const nextEventMs = 30_000;
const pollMs = 1_000;

/**
 * Yields the load as it is now and after each change. The last one has ended and contains the answer to the upload.
 *
 * @throws ProblemError if the load does not exist, ConnectionError if the service does not answer for a long time
 */
export async function* watchLoad(reader: LoadReader, signal?: AbortSignal): AsyncGenerator<Load> {
  signal?.throwIfAborted();
  let hasEvents = true;
  for (;;) {
    if (hasEvents) {
      let count = 0;
      for await (const load of eventsOf(reader, signal)) {
        count++;
        yield load;
        if (hasEnded(load)) return;
      }
      signal?.throwIfAborted();
      // If no event has arrived, a proxy may hold the events back. It would do so again, so only requests are used from now on.
      hasEvents = count > 0;
    }
    // This request is also made after the service has ended the stream, for example because it restarts.
    const load = await reader.read(signal);
    yield load;
    if (hasEnded(load)) return;
    await sleep(pollMs, signal);
  }
}

/** Yields the states of the load from one stream of events. Returns when the stream ends, fails or is silent for too long. */
async function* eventsOf({ open }: LoadReader, signal: AbortSignal | undefined): AsyncGenerator<Load> {
  const silence = new AbortController();
  const stop = (): void => silence.abort();
  signal?.addEventListener('abort', stop);
  let timer = setTimeout(stop, firstEventMs);
  try {
    const answer = await open(silence.signal);
    if (!answer.body || !answer.headers.get('content-type')?.startsWith('text/event-stream')) return;
    for await (const data of readEvents(answer.body)) {
      clearTimeout(timer);
      timer = setTimeout(stop, nextEventMs);
      if (data !== undefined) yield JSON.parse(data);
    }
  } catch (error) {
    // The service would refuse further requests for the same reason.
    if (error instanceof ProblemError && [401, 403, 404, 501].includes(error.status)) throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
