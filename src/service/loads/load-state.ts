/** The states of a load and the changes between them. */

export type LoadState =
  /** The body is arriving. */
  | 'receiving'
  /** An asynchronous load is stored and waits for its turn. */
  | 'queued'
  /** The rows are read, checked and written. */
  | 'running'
  /** All rows are in the table. */
  | 'committed'
  /** A dry run that would have been committed. */
  | 'checked'
  /** The request or its data was wrong. */
  | 'refused'
  /** The service or the database failed, or the process ended. */
  | 'failed'
  /** The caller cancelled it, or closed the connection before the end of the body. */
  | 'cancelled';

/** The states that may follow each state. A load whose process ended goes back to `queued` if its body is stored. */
export const nextStates: Readonly<Record<LoadState, readonly LoadState[]>> = {
  receiving: ['queued', 'running', 'refused', 'failed', 'cancelled'],
  queued: ['running', 'refused', 'failed', 'cancelled'],
  running: ['queued', 'committed', 'checked', 'refused', 'failed', 'cancelled'],
  committed: [],
  checked: [],
  refused: [],
  failed: [],
  cancelled: [],
};

export const loadStates = Object.keys(nextStates) as LoadState[];

/** Returns whether a load in this state has ended. */
export function hasEnded(state: LoadState): boolean {
  return nextStates[state].length === 0;
}

/** Returns whether a load in the state `from` can reach the state `to`, perhaps through other states. */
export function canReach(from: LoadState, to: LoadState, seen: readonly LoadState[] = []): boolean {
  return nextStates[from].some(
    (next) => next === to || (!seen.includes(next) && canReach(next, to, [...seen, next])),
  );
}

/** Returns the state in which a load ends if it was answered with this HTTP status, which is that of an error. */
export function endOfStatus(status: number): 'refused' | 'failed' {
  return status >= 500 ? 'failed' : 'refused';
}
