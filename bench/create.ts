/** Compares Create Table over HTTP with the same DDL sent by pgbench to the same server. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type BenchServer,
  type BenchService,
  startBenchServer,
  startBenchService,
} from './support/bench-server.ts';
import { formatTable } from './support/rounds.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
/** The number of requests until the engine has compiled the code of a request. */
const warmUpRounds = 4;
const tablesPerRun = 320;

/** A table with ten columns, a primary key, a unique constraint and a foreign key. */
const definition = {
  columns: [
    { name: 'id', type: 'bigint', is_nullable: false },
    { name: 'customer_id', type: 'bigint', is_nullable: false },
    { name: 'number', type: 'varchar(20)', is_nullable: false },
    { name: 'status', type: 'text', default: 'pending' },
    { name: 'amount', type: 'numeric(12,2)', default: '0' },
    { name: 'paid', type: 'boolean', default: 'false' },
    { name: 'ordered_on', type: 'date' },
    { name: 'created_at', type: 'timestamptz', default: 'now()' },
    { name: 'tags', type: 'text[]' },
    { name: 'details', type: 'jsonb' },
  ],
  constraints: {
    primary_key: { name: '', columns: ['id'] },
    unique: [{ name: '', columns: ['number'] }],
    foreign_keys: [{ name: '', column: 'customer_id', reference_table: 'customers', reference_column: 'id' }],
  },
};

const ddl = `CREATE TABLE t:name (
  id bigint NOT NULL, customer_id bigint NOT NULL, number varchar(20) NOT NULL, status text DEFAULT 'pending',
  amount numeric(12,2) DEFAULT 0, paid boolean DEFAULT false, ordered_on date, created_at timestamptz DEFAULT now(),
  tags text[], details jsonb, PRIMARY KEY (id), UNIQUE (number), FOREIGN KEY (customer_id) REFERENCES customers (id))`;

interface Run {
  perSecond: number;
  p99Ms: number;
}

export async function benchCreate(): Promise<void> {
  const server = await startBenchServer();
  const service = await startBenchService(server);
  const script = join(server.folder, 'create.sql');
  await writeFile(script, `\\set name random(1, 1000000000000)\n${ddl.replaceAll('\n', ' ')};\n`);
  await server.sql('CREATE TABLE customers (id bigint PRIMARY KEY)');
  const lines = [['', 'connections', 'tables/s', 'p99 ms', '/ pgbench']];
  for (const connections of [1, 16]) {
    const ours: Run[] = [];
    const theirs: Run[] = [];
    for (let round = -warmUpRounds; round < rounds; round += 1) {
      const our = await createByService(service, connections);
      // Each foreign key to a table makes the next one slower.
      await dropTables(server);
      const their = await createByPgbench(server, script, connections);
      await dropTables(server);
      if (round < 0) continue;
      ours.push(our);
      theirs.push(their);
    }
    const ratio = median(ours, 'perSecond') / median(theirs, 'perSecond');
    lines.push(
      line('service', connections, ours, ratio.toFixed(2)),
      line('pgbench', connections, theirs, '1.00'),
    );
  }
  process.stdout.write(`${formatTable(lines)}\n`);
  await service.stop();
  await server.stop();
}

async function createByService(service: BenchService, connections: number): Promise<Run> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const body = JSON.stringify({ table: definition });
  const latencies: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  const work = async (): Promise<void> => {
    while (next < tablesPerRun) {
      next += 1;
      const sentAt = performance.now();
      await service.post(`/api/v1/table/s${process.hrtime.bigint()}_${next}`, body, agent);
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  return { perSecond: tablesPerRun / seconds, p99Ms: p99(latencies) };
}

async function createByPgbench(server: BenchServer, script: string, connections: number): Promise<Run> {
  const log = join(server.folder, `pgbench-${process.hrtime.bigint()}`);
  const args = [
    '-n',
    '-f',
    script,
    '-c',
    String(connections),
    '-j',
    '1',
    '-t',
    String(tablesPerRun / connections),
  ];
  const { stdout } = await promisify(execFile)('pgbench', [
    ...args,
    '-l',
    '--log-prefix',
    log,
    server.databaseUrl,
  ]);
  const perSecond = Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  const { stdout: logged } = await promisify(execFile)('sh', ['-c', `cat ${log}*`]);
  // The third field of a line is the transaction's time in microseconds.
  const latencies = logged
    .trim()
    .split('\n')
    .map((entry) => Number(entry.split(' ')[2]) / 1000);
  return { perSecond, p99Ms: p99(latencies) };
}

async function dropTables(server: BenchServer): Promise<void> {
  await server.sql(`DO $$ DECLARE t text; BEGIN
    FOR t IN SELECT format('%I', relname) FROM pg_class
             WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'customers'
    LOOP EXECUTE 'DROP TABLE ' || t; COMMIT; END LOOP; END $$`);
}

function p99(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
}

function median(runs: Run[], field: keyof Run): number {
  return runs.map((run) => run[field]).toSorted((a, b) => a - b)[runs.length >> 1]!;
}

function line(name: string, connections: number, runs: Run[], ratio: string): string[] {
  return [
    name,
    String(connections),
    median(runs, 'perSecond').toFixed(0),
    median(runs, 'p99Ms').toFixed(1),
    ratio,
  ];
}
