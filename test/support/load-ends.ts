/** Waits for the end of asynchronous loads, and finds their stored bodies. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServiceClient } from './service.ts';
import { until } from './until.ts';

interface EndedLoad {
  state: string;
  answer: { status: number; body: { code: string; load: { rows: number } } };
}

/** Returns whether a load in this state has ended. */
export function hasEnded(state: string): boolean {
  return /^(committed|checked|refused|failed|cancelled)$/.test(state);
}

/** Waits until the load has ended, and returns it. */
export async function endOf(service: ServiceClient, id: string, token?: string): Promise<EndedLoad> {
  let load: EndedLoad;
  await until('the end of the load', async () => {
    load = (await service.get(`/api/v1/loads/${id}`, token === undefined ? {} : { token })).body;
    return hasEnded(load.state);
  });
  return load!;
}

/** Returns the paths of the stored bodies below the folder. */
export async function storedBodies(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.body')).map((name) => join(folder, name));
}
