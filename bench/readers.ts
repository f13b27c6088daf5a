/**
 * Measures how long readers of a table wait while it is replaced: four connections read in a loop, on a machine whose cores are
 * busy with something else.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import pg from 'pg';
import { startBenchServer, startBenchService } from './support/bench-server.ts';
import { formatTable } from './support/rounds.ts';

const replaces = Number(process.env.BENCH_REPLACES ?? 60);
const readers = 4;
const rows = 1000;

const body = JSON.stringify({
  table: {
    columns: [
      { name: 'id', type: 'bigserial' },
      { name: 'code', type: 'text', is_nullable: false },
      { name: 'amount', type: 'numeric(12,2)', default: '0' },
      { name: 'created_at', type: 'timestamptz', default: 'now()' },
    ],
    constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['code'] }] },
  },
  data: Array.from({ length: rows }, (_, index) => ({ code: `code ${index}`, amount: index })),
});

interface Reading {
  startedAt: number;
  endedAt: number;
}

export async function benchReaders(): Promise<void> {
  const server = await startBenchServer();
  const service = await startBenchService(server);
  const agent = new Agent({ keepAlive: true });
  const replace = () => service.post('/api/v1/table/busy/upload/json?if_exists=replace', body, agent);
  await replace();
  const loads = Array.from({ length: availableParallelism() }, keepCoreBusy);
  const stop = new AbortController();
  const reading = Array.from({ length: readers }, () => read(server.databaseUrl, stop.signal));
  const swaps: Reading[] = [];
  for (let count = 0; count < replaces; count += 1) {
    const startedAt = performance.now();
    await replace();
    swaps.push({ startedAt, endedAt: performance.now() });
  }
  stop.abort();
  const all = (await Promise.all(reading)).flat();
  for (const load of loads) load.kill('SIGKILL');
  const near = all.filter((one) =>
    swaps.some((swap) => one.endedAt > swap.startedAt && one.startedAt < swap.endedAt),
  );
  const longest = swaps.map((swap) => {
    const during = all.filter((one) => one.endedAt > swap.startedAt && one.startedAt < swap.endedAt);
    return Math.max(...during.map(latency));
  });
  const lines = [['', 'count', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms']];
  lines.push(line('readings during replaces', near.map(latency)));
  lines.push(line('longest reading of each replace', longest));
  lines.push(line('replaces', swaps.map(latency)));
  process.stdout.write(`${formatTable(lines)}\n`);
  agent.destroy();
  await service.stop();
  await server.stop();
}

async function read(url: string, stop: AbortSignal): Promise<Reading[]> {
  const client = new pg.Client(url);
  await client.connect();
  const readings: Reading[] = [];
  while (!stop.aborted) {
    const startedAt = performance.now();
    await client.query('SELECT count(*) FROM busy');
    readings.push({ startedAt, endedAt: performance.now() });
  }
  await client.end();
  return readings;
}

function keepCoreBusy(): ChildProcess {
  return spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
}

function latency({ startedAt, endedAt }: Reading): number {
  return endedAt - startedAt;
}

function line(name: string, values: number[]): string[] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(1);
  return [name, String(values.length), at(0.5), at(0.9), at(0.99), at(1)];
}
