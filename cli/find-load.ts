/** Finds the load of an upload that runs: its id is in the answer only, and progress and cancelling need it before. */
import { type Client, hasEnded, type ListedLoad } from '../client/client.ts';

export interface LoadPlace {
  schema: string;
  table: string;
  /** The length of the body; null: it is not known. */
  bytesExpected: () => number | null;
}

const listedLoads = 20;

/** Returns a function that returns the id of the one load that began after this call; undefined: there is none, or several. */
export async function loadFinder(
  client: Client,
  { schema, table, bytesExpected }: LoadPlace,
): Promise<() => Promise<string | undefined>> {
  const running = async (): Promise<ListedLoad[]> => {
    const loads: ListedLoad[] = [];
    try {
      for await (const load of client.loads({ schema, table, limit: listedLoads })) {
        if (!hasEnded(load)) loads.push(load);
        // One page is enough: running loads are among the newest.
        if (loads.length >= listedLoads || hasEnded(load)) break;
      }
    } catch {
      // A service without records lists no loads.
    }
    return loads;
  };
  const before = new Set((await running()).map(({ id }) => id));
  return async () => {
    const found = await running();
    const own = found.filter(
      ({ id, bytes_expected }) => !before.has(id) && bytes_expected === bytesExpected(),
    );
    // Another program may load the same table. Its load must not be cancelled.
    return own.length === 1 ? own[0]!.id : undefined;
  };
}
