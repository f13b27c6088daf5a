/** The running requests. A new request for a part of the page replaces an earlier one for the same part. The answer to the earlier one is ignored. */
import type { Load } from '../../client/client.ts';
import type { Failure } from '../failure.ts';
import { ChangedFileError } from '../file/chosen-file.ts';
import type { Remote, State } from '../state.ts';
import type { Store } from '../store.ts';

/** The parts of the state whose values come from the service. */
type RemoteKey = { [Key in keyof State]: State[Key] extends Remote<unknown> ? Key : never }[keyof State];
type ValueOf<Key extends RemoteKey> = Extract<State[Key], { is: 'ready' }>['value'];

type Work<Value> = (
  signal: AbortSignal,
  progress: (change: { sentBytes?: number; load?: Load }) => void,
) => Promise<Value>;

interface RemoteOptions<Value> {
  /** true: the page keeps showing the present value until the answer arrives. */
  isQuiet?: boolean;
  /** Returns other parts of the state that change together with the value. @param value undefined: the request failed */
  also?: (value: Value | undefined) => Partial<State>;
}

export interface Requests {
  /** Starts a request, and aborts an earlier one with the same key. */
  begin(key: RemoteKey | 'load'): AbortSignal;
  stop(key: RemoteKey | 'load', reason?: Error): void;
  /** Resolved when the last request of the part has ended. */
  settled(key: RemoteKey): Promise<unknown>;
  /**
   * Marks a part of the state as busy, does the work, and then stores its value or its failure there.
   *
   * @returns whether the value was stored; false: another request has replaced this one
   */
  remote<Key extends RemoteKey>(
    key: Key,
    work: Work<ValueOf<Key>>,
    options?: RemoteOptions<ValueOf<Key>>,
  ): Promise<boolean>;
}

export function createRequests(store: Store, failureOf: (error: unknown) => Failure): Requests {
  const last = new Map<RemoteKey | 'load', AbortController>();
  const works = new Map<RemoteKey, Promise<boolean>>();

  const stop: Requests['stop'] = (key, reason) => last.get(key)?.abort(reason);

  const begin: Requests['begin'] = (key) => {
    stop(key);
    const request = new AbortController();
    last.set(key, request);
    return request.signal;
  };

  const remote: Requests['remote'] = (key, work, options) => {
    const done = run(key, work, options);
    works.set(key, done);
    return done;
  };

  const run: Requests['remote'] = async (key, work, { isQuiet = false, also } = {}) => {
    const signal = begin(key);
    const put = (part: Remote<unknown>, more: Partial<State> = {}): void =>
      store.set({ [key]: part, ...more } as Partial<State>);
    if (!isQuiet) put({ is: 'busy', sentBytes: 0 });
    try {
      const value = await work(signal, (change) => {
        const part = store.state[key];
        if (part.is === 'busy' && !signal.aborted) put({ ...part, ...change });
      });
      if (wasStopped(signal)) return false;
      put({ is: 'ready', value }, also?.(value));
      return true;
    } catch (error) {
      if (!wasStopped(signal)) put({ is: 'failed', failure: failureOf(error) }, also?.(undefined));
      return false;
    }
  };

  return { begin, stop, remote, settled: async (key) => works.get(key) };
}

/** Returns whether the request was stopped by the user or replaced by another one, and not by a changed file. */
export function wasStopped({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof ChangedFileError);
}

/** Returns the first items of a list that the service sends in pages. */
export async function firstOf<Item>(
  items: AsyncIterable<Item>,
  count: number,
  isWanted: (item: Item) => boolean = () => true,
): Promise<Item[]> {
  const first: Item[] = [];
  for await (const item of items) if (isWanted(item) && first.push(item) >= count) break;
  return first;
}
