/** Finds the id of the load of a running upload. The answer to the upload would have it, but progress and cancelling need it earlier. */
import { type Client, ProblemError } from '../client/client.ts';

/** Returns the id of the load; undefined: it is not recorded yet, or the idempotency key no longer belongs to a load. */
export type FindLoad = (signal?: AbortSignal) => Promise<string | undefined>;

/** Returns whether the service stores records of loads. Only such a service accepts idempotency keys. @throws as all methods of the client do */
export async function keepsRecords(client: Client, signal: AbortSignal): Promise<boolean> {
  try {
    await client.loads({ limit: 1, signal }).next();
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'not-enabled') return false;
    throw error;
  }
}

/** Returns a function that asks the service for the load with this idempotency key. */
export function loadFinder(client: Client, key: string): FindLoad {
  return async (signal) => {
    const { value } = await client.loads({ idempotency_key: key, limit: 1, signal }).next();
    return value?.id;
  };
}
