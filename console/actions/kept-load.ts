/** Stores the current load in the storage of this browser tab, so that it is found again after the page is reloaded. */
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
