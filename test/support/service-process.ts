/**
 * The service as a process of its own, on a database of its own: its memory is its own too, and can be measured.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allScopes, signDevToken } from '../../src/dev-token.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import type { TestAnswer } from './service.ts';

const secret = 'a secret for tests, of more than thirty-two bytes';
/** A service that hangs must not take the tests with it. */
const answerTimeoutMs = 30_000;
const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

export interface ServiceProcess {
  database: TestDatabase;
  /** A multipart upload of the part `file`; `path` begins with `/api`. */
  upload(path: string, file: Buffer): Promise<TestAnswer>;
  /** Begins to measure anew. */
  resetPeak(): Promise<void>;
  /** The most memory that the process has held since; undefined where the system does not tell (not Linux). */
  peakMib(): Promise<number | undefined>;
  /** What it has logged. */
  log(): string;
  stop(): Promise<void>;
}

/** @param environment settings that differ from the defaults */
export async function startServiceProcess(environment: Record<string, string> = {}): Promise<ServiceProcess> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-process-'));
  const child = spawn(process.execPath, [main], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      DATABASE_URL: database.url,
      TOKEN_SECRET: secret,
      DATA_DIR: join(folder, 'data'),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collectOutput(child);
  const url = await listeningUrl(child, output);
  const token = await signDevToken(
    { secret: Buffer.from(secret), issuer: undefined, audience: undefined },
    { scope: allScopes, ttlSeconds: 3600 },
  );
  const proc = `/proc/${child.pid}`;
  return {
    database,
    upload: async (path, file) => {
      const form = new FormData();
      form.append('file', new Blob([file as Buffer<ArrayBuffer>]), 'upload.xlsx');
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(new URL(path, url), {
        method: 'POST',
        headers,
        body: form,
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    },
    // proc(5): 5 sets the peak resident set size to the current one.
    resetPeak: () => writeFile(`${proc}/clear_refs`, '5').catch(() => {}),
    peakMib: async () => {
      const status = await readFile(`${proc}/status`, 'utf8').catch(() => '');
      const peak = /VmHWM:\s+(\d+) kB/.exec(status)?.[1];
      return peak === undefined ? undefined : Number(peak) / 1024;
    },
    log: () => output.text,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        const killing = setTimeout(() => child.kill('SIGKILL'), answerTimeoutMs);
        await exited;
        clearTimeout(killing);
      }
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function collectOutput(child: ChildProcess): { text: string } {
  const output = { text: '' };
  const add = (chunk: Buffer): void => {
    output.text += chunk;
  };
  child.stdout!.on('data', add);
  child.stderr!.on('data', add);
  return output;
}

/** From the log line that says so. */
function listeningUrl(child: ChildProcess, output: { text: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = /listening at (http:[^"\s]+)/i.exec(output.text);
      if (found) resolve(found[1]!);
    };
    child.stdout!.on('data', look);
    child.once('exit', () => reject(new Error(`the service ended at once:\n${output.text}`)));
  });
}
