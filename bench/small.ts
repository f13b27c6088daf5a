/**
 * Compares appends of 10 and of 200 rows × 10 columns to a table with a primary key, over one connection and over 16, with a program
 * that inserts the same rows by one multi-row INSERT in a transaction and checks nothing.
 */
import { Agent } from 'node:http';
import { startTurnCounter } from '../test/support/turn-counter.ts';
import {
  type BenchServer,
  type BenchService,
  startBenchServer,
  startBenchService,
} from './support/bench-server.ts';
import { formatTable } from './support/rounds.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
/** About the requests of a connection in a round. */
const requests = 300;

const ourPath = '/api/v1/table/ours/upload/json?if_exists=append';

const columns = `id bigint PRIMARY KEY, name text, price numeric(10,2), day date, at timestamptz, a int, b int, c text,
  is_new boolean, rate double precision`;

interface Contender {
  name: string;
  service: BenchService;
  path: string;
  latencies: number[];
  elapsedMs: number;
  cpuSeconds: number;
}

export async function benchSmall(): Promise<void> {
  const server = await startBenchServer();
  try {
    await server.sql(`CREATE TABLE ours (${columns}); CREATE TABLE naive (${columns})`);
    const settings = { MAX_REQUESTS_PER_MINUTE: '0', LOG_LEVEL: 'info', CONSOLE: 'off' };
    const ours = await startBenchService(server, { settings });
    const naive = await startBenchService(server, { script: 'bench/support/naive-service.ts' });
    const lines = [
      [
        'rows',
        'connections',
        '',
        'p50 ms',
        'requests / s',
        'processor ms',
        'p50 / INSERT',
        'requests / INSERT',
      ],
    ];
    for (const rows of [10, 200]) {
      for (const connections of [1, 16])
        lines.push(...(await measure(server, ours, naive, rows, connections)));
    }
    process.stdout.write(`${formatTable(lines)}\n`);
    await Promise.all([ours.stop(), naive.stop()]);
    process.stdout.write(`round trips of an append of one row: ${await countRoundTrips(server, settings)}\n`);
  } finally {
    await server.stop();
  }
}

/** Returns the round trips of an append to a known table over a connection that has prepared its statements. */
async function countRoundTrips(server: BenchServer, settings: Record<string, string>): Promise<number> {
  const url = new URL(server.databaseUrl);
  const counter = await startTurnCounter(url.hostname, Number(url.port));
  url.port = String(counter.port);
  const service = await startBenchService({ ...server, databaseUrl: url.href }, { settings });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await server.sql('TRUNCATE ours');
  for (let id = 0; id < 10; id++) {
    counter.reset();
    await service.post(ourPath, JSON.stringify({ data: [rowOf(id)] }), agent);
  }
  const turns = counter.turnsWith('COPY "public"."ours"');
  agent.destroy();
  await service.stop();
  await counter.stop();
  return turns;
}

async function measure(
  server: BenchServer,
  ours: BenchService,
  naive: BenchService,
  rows: number,
  connections: number,
): Promise<string[][]> {
  const none = () => ({ latencies: [], elapsedMs: 0, cpuSeconds: 0 });
  const contenders: Contender[] = [
    { name: 'one INSERT', service: naive, path: '/append/naive', ...none() },
    {
      name: 'this service',
      service: ours,
      path: ourPath,
      ...none(),
    },
  ];
  for (let round = 0; round <= rounds; round++) {
    await server.sql('TRUNCATE ours; TRUNCATE naive');
    for (const contender of contenders) await runRound(contender, rows, connections, round > 0);
  }
  const [base] = contenders.map(figures);
  return contenders.map((contender) => {
    const { p50, perSecond } = figures(contender);
    const cpuMs = (contender.cpuSeconds * 1000) / contender.latencies.length;
    return [
      String(rows),
      String(connections),
      contender.name,
      p50.toFixed(2),
      perSecond.toFixed(0),
      cpuMs.toFixed(2),
      (p50 / base!.p50).toFixed(2),
      (perSecond / base!.perSecond).toFixed(2),
    ];
  });
}

async function runRound(
  contender: Contender,
  rows: number,
  connections: number,
  isCounted: boolean,
): Promise<void> {
  const { service, path } = contender;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  let left = Math.ceil(requests * (connections === 1 ? 1 : 4) * (rows > 100 ? 0.5 : 1));
  let id = 0;
  const cpuBefore = await service.cpuSeconds();
  const startedAt = performance.now();
  const send = async (): Promise<void> => {
    while (left-- > 0) {
      const body = JSON.stringify({ data: Array.from({ length: rows }, () => rowOf(id++)) });
      const sentAt = performance.now();
      await service.post(path, body, agent);
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, send));
  agent.destroy();
  if (!isCounted) return;
  contender.elapsedMs += performance.now() - startedAt;
  contender.cpuSeconds += (await service.cpuSeconds()) - cpuBefore;
  contender.latencies.push(...latencies);
}

function rowOf(id: number): Record<string, unknown> {
  const at = '2026-01-02T03:04:05Z';
  return {
    id,
    name: `name ${id}`,
    price: '12.50',
    day: '2026-01-02',
    at,
    a: id,
    b: id * 2,
    c: `text ${id}`,
    is_new: id % 2 === 0,
    rate: id / 3,
  };
}

function figures({ latencies, elapsedMs }: Contender): { p50: number; perSecond: number } {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50: sorted[sorted.length >> 1]!, perSecond: (latencies.length / elapsedMs) * 1000 };
}
