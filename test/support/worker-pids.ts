/** Finds the processes of a service with several workers (Linux). */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Returns the ids of the processes that the first process of the service has started. */
export function workerPids({ pid }: ChildProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}
