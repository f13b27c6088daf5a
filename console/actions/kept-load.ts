/** The load that this tab keeps, to find it again after the page was loaded again. */
import { type KeptLoad, keptLoadOf } from '../derived/load.ts';

const loadKey = 'tablewright.load';

export function keepLoad(load: KeptLoad): void {
  sessionStorage.setItem(loadKey, JSON.stringify(load));
}

export function keptLoad(): KeptLoad | undefined {
  return keptLoadOf(sessionStorage.getItem(loadKey));
}

export function forgetKeptLoad(): void {
  sessionStorage.removeItem(loadKey);
}
