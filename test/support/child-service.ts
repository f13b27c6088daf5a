/** Runs the service as a separate process that a test can kill and measure, and whose output it can read. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceEnvironment } from './child-environment.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type ServiceClient, serviceClient, testEnvironment } from './service.ts';
import { until } from './until.ts';

/** The longest time to wait for the end of a process, so that a process that hangs does not block the tests. */
const endTimeoutMs = 30_000;

/** The unit of processor time in Linux: a hundredth of a second (USER_HZ). */
const msPerTick = 10;

/**
 * Returns the path of the service's program: in the bundle that the setup of the test run makes (`whole-run-setup.ts`), or the TypeScript file if
 * it makes none.
 */
export async function serviceProgram(): Promise<string> {
  const folder = process.env.TEST_SERVICE_FOLDER;
  if (folder === undefined) return join(import.meta.dirname, '..', '..', 'src', 'main.ts');
  await until('the bundle of the service', () => existsSync(folder));
  return join(folder, 'main.js');
}

export interface ChildService extends ServiceClient {
  child: ChildProcess;
  /** Everything that the process has printed. */
  output(): string;
  /** Sends the signal and returns how the process ended: its exit code, or the signal's name. */
  end(signal: NodeJS.Signals): Promise<number | string | null>;
  /**
   * The most memory that the process has used so far, or since `resetPeakMemory`; undefined if the platform does not provide
   * it.
   */
  peakMemoryBytes(): number | undefined;
  resetPeakMemory(): void;
  /** The processor time that the process has used so far; undefined if the platform does not provide it. */
  processorMs(): number | undefined;
}

/** A service that has a database of its own. */
export interface ChildWithDatabase extends ChildService {
  database: TestDatabase;
  /** Ends the process with the signal, and drops the database. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Starts the service on a new database. */
export async function startChildWithDatabase(
  environment?: Record<string, string>,
): Promise<ChildWithDatabase> {
  const database = await createTestDatabase();
  const service = await startChildService(database, environment).catch(async (error) => {
    await database.drop();
    throw error;
  });
  const stop = async (signal: NodeJS.Signals) => {
    await service.end(signal);
    await database.drop();
  };
  return { ...service, database, stop };
}

/**
 * Starts the service.
 *
 * @param maxOpenFiles the number of files that the process may have open; default: the same as for this process
 */
export async function startChildService(
  database: Pick<TestDatabase, 'serviceUrl'>,
  environment: Record<string, string> = {},
  maxOpenFiles?: number,
): Promise<ChildService> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-child-'));
  const limit = maxOpenFiles === undefined ? '' : `ulimit -n ${maxOpenFiles} && `;
  const program = await serviceProgram();
  const child = spawn('sh', ['-c', `${limit}exec "$0" "$1"`, process.execPath, program], {
    cwd: folder,
    env: {
      ...serviceEnvironment(),
      ...testEnvironment(database, folder, { LOG_LEVEL: 'info', ...environment }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Waiting for the exit is not enough, because the last output may still be on its way.
  const ended = once(child, 'close');
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer): void => {
      output += chunk;
      const listening = /listening at (http:\/\/[\d.]+:\d+)/.exec(output);
      if (listening) resolve(listening[1]!);
    };
    child.stdout!.on('data', listen);
    child.stderr!.on('data', listen);
    ended.then(() => reject(new Error(`the service ended: ${output}`)));
  });
  return {
    ...(await serviceClient(url)),
    child,
    output: () => output,
    end: async (signal) => {
      child.kill(signal);
      const killing = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
      const [code, killedBy] = await ended;
      clearTimeout(killing);
      await rm(folder, { recursive: true, force: true });
      return code ?? killedBy;
    },
    peakMemoryBytes: () => {
      if (process.platform !== 'linux') return undefined;
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) * 1024;
    },
    resetPeakMemory: () => {
      // proc(5): 5 sets the peak resident set size to the current one.
      if (process.platform === 'linux') writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
    },
    processorMs: () => {
      if (process.platform !== 'linux') return undefined;
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
      // proc(5): utime and stime are fields 14 and 15. The name, field 2, is in parentheses and may contain spaces.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11]) + Number(fields[12])) * msPerTick;
    },
  };
}
