/** Finds the load of an upload that runs: the answer has its id, and progress and cancelling need it before. */
import { type Client, ProblemError } from '../client/client.ts';

/** Returns the id of the load; undefined: it is not recorded yet, or its key is free again. */
export type FindLoad = (signal?: AbortSignal) => Promise<string | undefined>;

/** Returns whether the service has records of loads, and so idempotency keys. @throws as all methods of the client do */
export async function keepsRecords(client: Client, signal: AbortSignal): Promise<boolean> {
  try {
    await client.loads({ limit: 1, signal }).next();
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'not-enabled') return false;
    throw error;
  }
}

/** Returns a function that asks the service for the load that runs under the key. */
export function loadFinder(client: Client, key: string): FindLoad {
  return async (signal) => {
    const { value } = await client.loads({ idempotency_key: key, limit: 1, signal }).next();
    return value?.id;
  };
}
