/** Measures the private memory of the service and of PostgreSQL's processes during a run. Linux only. */
import { readFileSync } from 'node:fs';
import { childProcesses } from './leftovers.ts';
import type { Machinery } from './machinery.ts';

export interface MemoryWatch {
  /** The most bytes of one process that were seen: of the service, and of PostgreSQL. */
  peaks(): Record<Watched, number>;
  stop(): void;
}

type Watched = 'service' | 'backend';

const mebibyte = 2 ** 20;
const limits: Record<Watched, number> = { service: 300 * mebibyte, backend: 512 * mebibyte };
const intervalMs = 200;

/** @param report is called once for each process that takes more than its limit */
export function watchMemory(machinery: Machinery, report: (violation: string) => void): MemoryWatch {
  const peaks: Record<Watched, number> = { service: 0, backend: 0 };
  const reported = new Set<number>();
  const measure = (watched: Watched, pid: number): void => {
    const bytes = privateBytes(pid);
    peaks[watched] = Math.max(peaks[watched], bytes);
    if (bytes <= limits[watched] || reported.has(pid)) return;
    reported.add(pid);
    const name = watched === 'service' ? 'the service' : `PostgreSQL (${commandOf(pid)})`;
    report(`a process of ${name} takes ${Math.round(bytes / mebibyte)} MiB of memory`);
  };
  const timer = setInterval(async () => {
    for (const { child } of machinery.services) measure('service', child.pid!);
    // PostgreSQL has no main process while it is stopped.
    const postmaster = await machinery.postmaster().catch(() => undefined);
    if (postmaster !== undefined) for (const pid of childProcesses(postmaster)) measure('backend', pid);
  }, intervalMs);
  return { peaks: () => peaks, stop: () => clearInterval(timer) };
}

/** proc(5): RssAnon is the private memory of the process. */
function privateBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

/** Returns the content of a file; '' if its process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
