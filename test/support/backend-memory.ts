/** Measures the private memory of the backends of a test database, without shared memory. Linux only. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from './database.ts';

const intervalMs = 20;

/**
 * Does the work, and measures the service's backends at the same time.
 *
 * @returns the work's result and the most bytes of one backend; undefined if the platform does not provide it
 */
export async function withBackendMemory<Result>(
  { pool }: TestDatabase,
  work: () => Promise<Result>,
): Promise<{ result: Result; backendBytes: number | undefined }> {
  let most: number | undefined;
  let isDone = false;
  const measure = async (): Promise<void> => {
    while (!isDone) {
      const { rows } = await pool.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tablewright'",
      );
      for (const { pid } of rows) most = Math.max(most ?? 0, anonymousBytes(pid) ?? 0) || most;
      await sleep(intervalMs);
    }
  };
  const measuring = measure();
  try {
    return { result: await work(), backendBytes: most };
  } finally {
    isDone = true;
    await measuring;
  }
}

/** proc(5): RssAnon is the private memory of the process. */
function anonymousBytes(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
