/**
 * `npm run bench -- update [main.ts]`: a first load of 1,000,000 rows with `on_conflict=update` into an empty table, and updates of these rows
 * of which 1 % have another value. It shows the times and the written WAL, compared with another version of the service if its `main.ts` is named.
 */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { type BenchService, startBenchServer, startBenchService } from './support/bench-server.ts';
import { formatTable, summary } from './support/rounds.ts';

const rows = Number(process.env.BENCH_ROWS ?? 1_000_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);

const columns = `id bigint PRIMARY KEY, name text, price numeric(10,2), day date, at timestamptz, a int, b int, c text,
  is_new boolean, rate double precision`;

interface Contender {
  name: string;
  table: string;
  service: BenchService;
}

export async function benchUpdate([other]: string[]): Promise<void> {
  const server = await startBenchServer();
  const pool = new pg.Pool({ connectionString: server.databaseUrl, max: 1 });
  const contenders: Contender[] = [];
  try {
    const files = [join(server.folder, 'even.ndjson'), join(server.folder, 'odd.ndjson')];
    for (const [odd, file] of files.entries())
      await pipeline(Readable.from(linesOf(odd)), createWriteStream(file));
    const settings = { MAX_BODY_BYTES: String(2 ** 32), STATEMENT_TIMEOUT_MS: '600000' };
    contenders.push({ name: 'this', table: 'ours', service: await startBenchService(server, { settings }) });
    if (other)
      contenders.push({
        name: 'other',
        table: 'others',
        service: await startBenchService(server, { script: other, settings }),
      });
    const measured = new Map<string, { ms: number[]; wal: number[] }>();
    for (let round = 0; round < rounds; round += 1) {
      // The version that begins alternates.
      for (const { name, table, service } of round % 2 === 0 ? contenders : contenders.toReversed()) {
        await pool.query(`DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (${columns})`);
        for (const [load, file] of [
          ['first load', files[0]!],
          ['update', files[1]!],
          ['update', files[0]!],
        ] as const) {
          const before = await walBytes(pool);
          const startedAt = performance.now();
          await service.upload(
            `/api/v1/table/${table}/upload/json?if_exists=append&on_conflict=update`,
            file,
            'application/x-ndjson',
          );
          const found = measured.get(`${load}, ${name}`) ?? { ms: [], wal: [] };
          measured.set(`${load}, ${name}`, found);
          found.ms.push(performance.now() - startedAt);
          found.wal.push((await walBytes(pool)) - before);
        }
      }
    }
    const lines = [...measured].map(([name, { ms, wal }]) => {
      const { medianMs, minMs, maxMs } = summary(name, ms);
      const times = [medianMs, minMs, maxMs].map((value) => (value / 1000).toFixed(2));
      return [name, ...times, (summary(name, wal).medianMs / 2 ** 20).toFixed(1)];
    });
    process.stdout.write(`${formatTable([['', 'median s', 'min', 'max', 'WAL MiB'], ...lines])}\n`);
  } finally {
    for (const { service } of contenders) await service.stop();
    await pool.end();
    await server.stop();
  }
}

async function walBytes(pool: pg.Pool): Promise<number> {
  const { rows: found } = await pool.query("SELECT pg_current_wal_lsn() - '0/0' AS bytes");
  return Number(found[0].bytes);
}

/** Every hundredth row has another price in the odd file. */
function* linesOf(odd: number): Generator<string> {
  for (let id = 1; id <= rows; id += 1000) {
    let text = '';
    for (let row = id; row < Math.min(id + 1000, rows + 1); row += 1) {
      const price = ((row % 9000) + (row % 100 === 0 ? odd : 0)).toFixed(2);
      const day = `2024-${String((row % 12) + 1).padStart(2, '0')}-15`;
      const numbers = `"id":${row},"price":${price},"a":${row % 77},"b":${row % 1000},"rate":${row / 8}`;
      text += `{${numbers},"name":"name ${row}","day":"${day}","at":"${day}T12:00:00Z","c":"text of row ${row}","is_new":${row % 2 === 0}}\n`;
    }
    yield text;
  }
}
