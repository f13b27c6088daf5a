/**
 * Records how the work of a service in a process of its own is divided into steps of the event loop, in processor time. This file is also
 * the module that the service loads before its program: on SIGUSR2 it writes the steps since the last signal to a file.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ChildService } from './child-service.ts';
import { until } from './until.ts';

export interface RecordedSteps {
  count: number;
  /** The processor time of the longest step, and the time that 999 of 1,000 steps do not exceed. */
  longestMs: number;
  p999Ms: number;
  /** The number of steps above 20 ms. */
  longSteps: number;
}

const fileVariable = 'TEST_LOOP_STEPS_FILE';

/** Returns the environment of a service whose steps are recorded. @param folder for the file with the steps */
export function recordingSteps(folder: string): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${pathToFileURL(import.meta.filename).href}`,
    [fileVariable]: join(folder, 'loop-steps.json'),
  };
}

/** Returns the steps of the service since the last call. */
export async function takeSteps(service: ChildService, folder: string): Promise<RecordedSteps> {
  const path = join(folder, 'loop-steps.json');
  rmSync(path, { force: true });
  service.child.kill('SIGUSR2');
  await until('the steps of the event loop', () => existsSync(path));
  return JSON.parse(readFileSync(path, 'utf8')) as RecordedSteps;
}

function record(path: string): void {
  let steps: number[] = [];
  let before = process.threadCpuUsage();
  const look = (): void => {
    const now = process.threadCpuUsage();
    steps.push((now.user - before.user + now.system - before.system) / 1000);
    before = now;
    // A timer is due in each step that takes longer.
    setTimeout(look, 1).unref();
  };
  look();
  process.on('SIGUSR2', () => {
    const sorted = steps.toSorted((a, b) => a - b);
    steps = [];
    const p999Ms = sorted[Math.floor(sorted.length * 0.999)]!;
    const longSteps = sorted.filter((step) => step > 20).length;
    const summary: RecordedSteps = { count: sorted.length, longestMs: sorted.at(-1)!, p999Ms, longSteps };
    writeFileSync(`${path}.new`, JSON.stringify(summary));
    renameSync(`${path}.new`, path);
  });
}

const path = process.env[fileVariable];
if (path !== undefined) record(path);
