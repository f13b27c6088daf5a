/**
 * `npm run bench -- readers [replaces] [changes]`: measures how long readers of a table wait while it is replaced, or while its definition changes without
 * a rewrite and without a scan. Four connections read in a loop. During replaces, the cores of the machine are busy with something else.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import pg from 'pg';
import { type BenchService, startBenchServer, startBenchService } from './support/bench-server.ts';
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

interface Work {
  /** Keeps the cores of the machine busy. */
  isBusy: boolean;
  run(count: number, service: BenchService, agent: Agent): Promise<void>;
}

const replace: Work['run'] = (_, service, agent) =>
  service.post('/api/v1/table/busy/upload/json?if_exists=replace', body, agent);

const works: Record<string, Work> = {
  replaces: { isBusy: true, run: replace },
  changes: { isBusy: false, run: change },
};

export async function benchReaders(words: string[]): Promise<void> {
  const server = await startBenchServer();
  const service = await startBenchService(server);
  const agent = new Agent({ keepAlive: true });
  await replace(0, service, agent);
  for (const name of words.length > 0 ? words : Object.keys(works)) {
    const { isBusy, run } = works[name]!;
    const loads = isBusy ? Array.from({ length: availableParallelism() }, keepCoreBusy) : [];
    const stop = new AbortController();
    const reading = Array.from({ length: readers }, () => read(server.databaseUrl, stop.signal));
    const done: Reading[] = [];
    for (let count = 0; count < replaces; count += 1) {
      const startedAt = performance.now();
      await run(count, service, agent);
      done.push({ startedAt, endedAt: performance.now() });
    }
    stop.abort();
    const all = (await Promise.all(reading)).flat();
    for (const load of loads) load.kill('SIGKILL');
    process.stdout.write(`${formatTable(linesOf(name, all, done))}\n`);
  }
  agent.destroy();
  await service.stop();
  await server.stop();
}

const named = (...names: string[]) => names.map((name) => ({ name }));

/** The definitions that the table gets in turn. None of them reads or writes rows. */
const definitions = [
  { columns: [...named('id', 'code', 'amount', 'created_at'), { name: 'note', type: 'text' }] },
  { columns: [...named('id', 'code', 'created_at'), { name: 'amount', default: '1' }] },
  { columns: [...named('id', 'code', 'amount'), { name: 'made_at', renamed_from: 'created_at' }] },
  { columns: [...named('id', 'code', 'amount'), { name: 'created_at', renamed_from: 'made_at' }] },
  { comment: 'busy' },
  { comment: null },
];

async function change(count: number, { url, token }: BenchService): Promise<void> {
  const answer = await fetch(`${url}/api/v1/table/busy?allow=drop_columns`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ table: definitions[count % definitions.length] }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
}

function linesOf(name: string, all: Reading[], works: Reading[]): string[][] {
  const near = all.filter((one) =>
    works.some((work) => one.endedAt > work.startedAt && one.startedAt < work.endedAt),
  );
  const longest = works.map((work) => {
    const during = all.filter((one) => one.endedAt > work.startedAt && one.startedAt < work.endedAt);
    return Math.max(...during.map(latency));
  });
  return [
    ['', 'count', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms'],
    line(`readings during ${name}`, near.map(latency)),
    line('longest reading of each', longest),
    line(name, works.map(latency)),
  ];
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
