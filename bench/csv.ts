/**
 * Compares a CSV file over HTTP with `psql \copy` of the same file, and with readers that only read it. What each of them has read is compared with
 * the rows, also when a late row needs another type than the rows before it.
 */
import { execFile } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import {
  type BenchServer,
  type BenchService,
  startBenchServer,
  startBenchService,
} from './support/bench-server.ts';
import { multipart, writeMultipart } from './support/multipart.ts';
import { type Contender, formatMeasured, formatTable, runRounds } from './support/rounds.ts';
import { shapes, writeCsv } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const path = '/api/v1/table/bench/upload/excel';
const readers = ['duckdb', 'udsv', 'csv-parse'];

export async function benchCsv(): Promise<void> {
  const server = await startBenchServer();
  try {
    await benchFile(server);
    await compareLateValues(server);
  } finally {
    await server.stop();
  }
}

async function benchFile(server: BenchServer): Promise<void> {
  const shape = shapes.find(({ name }) => name === 'mixed')!;
  const file = (ending: string) => join(server.folder, `${shape.name}.${ending}`);
  await writeCsv(shape, file('csv'), true);
  await writeMultipart(file('csv'), file('definition'), shape, 'bench.csv');
  await writeMultipart(file('csv'), file('inferred'), undefined, 'bench.csv');
  const columns = shape.columns.map(({ name, type }) => `"${name}" ${type}`).join(', ');
  const create = (table: string) => `CREATE TABLE ${table} (${columns})`;
  const copy = (table: string, from = file('csv'), header = ', HEADER') =>
    `\\copy ${table} FROM '${from}' (FORMAT csv${header})`;
  await server.psql(create('expected'), copy('expected'));

  const services: Record<string, BenchService> = {
    definition: await startBenchService(server),
    inferred: await startBenchService(server),
  };
  const peaks = new Map<string, string>();
  const prepare = () => server.sql('DROP TABLE IF EXISTS bench');
  const contenders: Contender[] = [
    ...Object.entries(services).map(([name, service]) => ({
      name: `service, ${name}`,
      run: () => service.upload(path, file(name), multipart),
    })),
    { name: 'psql csv', run: () => server.psql(create('bench'), copy('bench')) },
    ...readers.map((name) => ({
      name,
      run: async () => void peaks.set(name, await readBy(name, shape.rows, file('csv'))),
    })),
  ].map((contender) => ({ ...contender, prepare }));
  const measured = await runRounds(contenders, rounds);
  const mib = ((await stat(file('csv'))).size / 2 ** 20).toFixed(0);
  process.stdout.write(
    `\n${shape.rows} rows × ${shape.columns.length} columns, ${mib} MiB, ${rounds} rounds\n`,
  );
  process.stdout.write(`${formatMeasured(measured, ['psql csv', 'duckdb'])}\n`);

  const lines = [['', 'rows that differ', 'peak MiB']];
  for (const [name, service] of Object.entries(services)) {
    await prepare();
    await service.upload(path, file(name), multipart);
    lines.push([`service, ${name}`, await differences(server), (await service.peakMib()).toFixed(0)]);
    await service.stop();
  }
  for (const name of readers) {
    await prepare();
    await readBy(name, shape.rows, file('csv'), file(name));
    await server.psql(create('bench'), copy('bench', file(name), ''));
    lines.push([name, await differences(server), peaks.get(name)!]);
  }
  process.stdout.write(`${formatTable(lines)}\n`);
  await prepare();
}

/** Runs a reader. @returns its peak memory in MiB */
async function readBy(name: string, rows: number, ...files: string[]): Promise<string> {
  const script = join(import.meta.dirname, 'support', 'read-csv.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, name, ...files]);
  const [found, mib = ''] = stdout.trim().split(' ');
  if (Number(found) !== rows) throw new Error(`${name} read ${found} rows of ${rows}`);
  return mib;
}

/** Returns the number of rows that are in only one of the tables. */
async function differences(server: BenchServer): Promise<string> {
  const less = (one: string, other: string) => `(TABLE ${one} EXCEPT ALL TABLE ${other})`;
  const both = `${less('expected', 'bench')} UNION ALL ${less('bench', 'expected')}`;
  return query(server, `SELECT count(*)::text FROM (${both}) AS differing`);
}

/** Returns the first value of the answer. */
async function query({ databaseUrl }: BenchServer, sql: string): Promise<string> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return String(rows[0]![0]);
  } finally {
    await client.end();
  }
}

/** DuckDB infers types from a sample of at most 20,480 rows. */
const lateRow = 30_000;

/** What most rows have, and what the last one has. */
const lateValues = {
  json: [
    ['true', '7'],
    ['true', '"no"'],
    ['1', 'true'],
    ['1', '2.7'],
    ['1.5', '12345678901234567'],
    ['1', '"n/a"'],
  ],
  csv: [
    ['1', '2.7'],
    ['1', '007'],
    ['1.5', '12345678901234567.25'],
    ['1', 'n/a'],
  ],
};

/** Prints what is read of the last row if it needs another type than all rows before it. */
async function compareLateValues(server: BenchServer): Promise<void> {
  const service = await startBenchService(server);
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  const lines = [['', 'rows', 'last row', 'duckdb', 'service']];
  for (const [kind, values] of Object.entries(lateValues)) {
    for (const [early = '', late = ''] of values) {
      const file = join(server.folder, `late.${kind}`);
      const all = Array.from({ length: lateRow }, (_, row) => (row === lateRow - 1 ? late : early));
      const text = kind === 'csv' ? `id,a\n${numbered(all)}` : `[${all.map((value) => `{"a":${value}}`)}]`;
      await writeFile(file, text);
      const read = await duckdb
        .runAndReadAll(`SELECT a::varchar FROM read_${kind}('${file}') OFFSET ${lateRow - 1}`)
        .then(
          (answer) => String(answer.getRows()[0]![0]),
          () => 'error',
        );
      await server.sql('DROP TABLE IF EXISTS bench');
      await uploadLate(service, file, kind);
      const stored = await query(server, 'SELECT a::text FROM bench ORDER BY ctid DESC LIMIT 1');
      lines.push([kind, early, late, read, stored]);
    }
  }
  await service.stop();
  process.stdout.write(`\na late value: ${lateRow} rows\n${formatTable(lines)}\n`);
}

function numbered(values: string[]): string {
  return values.map((value, row) => `${row},${value}\n`).join('');
}

async function uploadLate(service: BenchService, file: string, kind: string): Promise<void> {
  if (kind === 'json') return service.upload('/api/v1/table/bench/upload/json', file, 'application/json');
  await writeMultipart(file, `${file}.form`, undefined, 'late.csv');
  return service.upload(path, `${file}.form`, multipart);
}
