/**
 * A client that asks for the same thing again and again, in a process of its own: what it measures is the service, and not
 * a test that is busy with sending. Run by itself it is that process: `steady-client.ts <url> <token> <pause in ms>`.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SteadyClient {
  /** Ends it, and answers how long each request took, in milliseconds, the shortest first. */
  stop(): Promise<number[]>;
}

/** Asks until it is stopped; `stop` fails where an answer was not 200. */
export function startSteadyClient(url: URL, token: string, pauseMs: number): SteadyClient {
  const child = spawn(process.execPath, [import.meta.filename, url.href, token, String(pauseMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  return {
    stop: async () => {
      child.stdin.end();
      const result = JSON.parse(await output) as number[] | { failed: string };
      if (!Array.isArray(result)) throw new Error(result.failed);
      return result.toSorted((a, b) => a - b);
    },
  };
}

async function askUntilStopped(url: string, token: string, pauseMs: number): Promise<number[]> {
  let isStopped = false;
  process.stdin.resume().once('end', () => {
    isStopped = true;
  });
  const latencies: number[] = [];
  while (!isStopped) {
    const startedAt = performance.now();
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const body = await answer.text();
    latencies.push(performance.now() - startedAt);
    if (answer.status !== 200) throw new Error(`${answer.status} ${body}`);
    await sleep(pauseMs);
  }
  return latencies;
}

if (import.meta.main) {
  const [url, token, pauseMs] = process.argv.slice(2) as [string, string, string];
  const result = await askUntilStopped(url, token, Number(pauseMs)).catch((error) => ({
    failed: String(error),
  }));
  process.stdout.write(JSON.stringify(result));
}
