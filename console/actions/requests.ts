/** The requests that are under way. A request replaces an earlier one for the same part of the page, whose answer is then ignored. */
import type { Load } from '../../client/client.ts';
import type { Failure } from '../failure.ts';
import { ChangedFileError } from '../file/chosen-file.ts';
import type { Remote, State } from '../state.ts';
import type { Store } from '../store.ts';

/** The parts of the state that the service is asked for. */
type RemoteKey = { [Key in keyof State]: State[Key] extends Remote<unknown> ? Key : never }[keyof State];
type ValueOf<Key extends RemoteKey> = Extract<State[Key], { is: 'ready' }>['value'];

type Work<Value> = (
  signal: AbortSignal,
  progress: (change: { sentBytes?: number; load?: Load }) => void,
) => Promise<Value>;

interface RemoteOptions<Value> {
  /** true: the page shows what it has until the answer comes. */
  isQuiet?: boolean;
  /** Returns what changes together with the part. @param value undefined: the request has failed */
  also?: (value: Value | undefined) => Partial<State>;
}

export interface Requests {
  /** Begins a request, and stops an earlier one with the same key. */
  begin(key: RemoteKey | 'load'): AbortSignal;
  stop(key: RemoteKey | 'load', reason?: Error): void;
  /**
   * Makes a part of the state busy, does the work, and puts its value or its failure into the part.
   *
   * @returns whether the value was taken; another request may have replaced this one
   */
  remote<Key extends RemoteKey>(
    key: Key,
    work: Work<ValueOf<Key>>,
    options?: RemoteOptions<ValueOf<Key>>,
  ): Promise<boolean>;
}

export function createRequests(store: Store, failureOf: (error: unknown) => Failure): Requests {
  const last = new Map<RemoteKey | 'load', AbortController>();

  const stop: Requests['stop'] = (key, reason) => last.get(key)?.abort(reason);

  const begin: Requests['begin'] = (key) => {
    stop(key);
    const request = new AbortController();
    last.set(key, request);
    return request.signal;
  };

  const remote: Requests['remote'] = async (key, work, { isQuiet = false, also } = {}) => {
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

  return { begin, stop, remote };
}

/** Returns whether a person has stopped the request, or another one replaces it. */
export function wasStopped({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof ChangedFileError);
}
