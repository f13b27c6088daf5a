/**
 * Runs a client that sends the same request again and again. It runs in a separate process, so that it measures the service and not a
 * test that is busy with sending. This file is also the program of that process: `steady-client.ts <url> <token> <pause in ms> <pid>`.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SteadyClient {
  /** Resolves when the first request was answered. From then on no request is slow because the process is new. */
  ready: Promise<void>;
  /**
   * Ends it. Returns for each request that ended after `since` (`Date.now()`) how long the service's event loop worked between the
   * request and its answer, in milliseconds, the shortest first. This is processor time, because the service does not cause the work of
   * other programs. If the platform does not provide it, it is elapsed time.
   */
  stop(since: number): Promise<number[]>;
  /** Returns the times of the requests that ended since the last call, at least one, and does not end the client. */
  take(): Promise<number[]>;
}

/** Sends requests until it is stopped. `stop` fails if the status of an answer was not 200. */
export function startSteadyClient(url: URL, token: string, pauseMs: number, pid: number): SteadyClient {
  const parameters = [url.href, token, String(pauseMs), String(pid)];
  const child = spawn(process.execPath, [import.meta.filename, ...parameters], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => JSON.parse((await lines.next()).value ?? '{"failed":"ended early"}') as Report;
  const ready = nextLine().then(succeeded);
  return {
    ready: ready.then(() => {}),
    stop: async (since) => {
      await ready;
      child.stdin.end();
      return timesOf(succeeded(await nextLine()).filter(({ endedAt }) => endedAt > since));
    },
    take: async () => {
      await ready;
      child.stdin.write('take\n');
      return timesOf(succeeded(await nextLine()));
    },
  };
}

interface Request {
  endedAt: number;
  tookMs: number;
}

type Report = Request[] | { failed: string };

function succeeded(report: Report): Request[] {
  if (!Array.isArray(report)) throw new Error(report.failed);
  return report;
}

function timesOf(requests: Request[]): number[] {
  return requests.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
}

/** Returns the processor time of a process's main thread. */
function mainThreadMs(pid: number): number {
  const path = `/proc/${pid}/schedstat`;
  if (!existsSync(path)) return performance.now();
  return Number(readFileSync(path, 'utf8').split(' ')[0]) / 1e6;
}

async function askUntilStopped(url: string, token: string, pauseMs: number, pid: number): Promise<Request[]> {
  let isStopped = false;
  let isAsked = false;
  let isReady = false;
  process.stdin
    .on('data', () => {
      isAsked = true;
    })
    .once('end', () => {
      isStopped = true;
    });
  const requests: Request[] = [];
  while (!isStopped) {
    const startedAt = mainThreadMs(pid);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const body = await answer.text();
    if (answer.status !== 200) throw new Error(`${answer.status} ${body}`);
    requests.push({ endedAt: Date.now(), tookMs: mainThreadMs(pid) - startedAt });
    if (!isReady) report([]);
    isReady = true;
    if (isAsked) report(requests.splice(0));
    isAsked = false;
    await sleep(pauseMs);
  }
  return requests;
}

function report(report: Report): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

if (import.meta.main) {
  const [url, token, pauseMs, pid] = process.argv.slice(2) as [string, string, string, string];
  report(
    await askUntilStopped(url, token, Number(pauseMs), Number(pid)).catch((error) => ({
      failed: String(error),
    })),
  );
}
