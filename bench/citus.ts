/**
 * Compares uploads of JSON rows with a definition into a table of a distributed schema, and into one that is distributed by a column
 * with 8 shards, with the same upload into a local table. `CITUS_URL` is that of the coordinator (docs/scale.md).
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startBenchService } from './support/bench-server.ts';
import { type Contender, formatMeasured, runRounds } from './support/rounds.ts';
import { shapes, writeJson } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const shape = shapes.find(({ name }) => name === 'mixed')!;

export async function benchCitus(): Promise<void> {
  const { CITUS_URL: databaseUrl } = process.env;
  if (databaseUrl === undefined) throw new Error('Set CITUS_URL to the URL of a coordinator.');
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-bench-'));
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const service = await startBenchService({ folder, databaseUrl });
  try {
    await client.query(
      'SET citus.enable_schema_based_sharding TO on; CREATE SCHEMA IF NOT EXISTS bench_schema',
    );
    const plain = join(folder, 'rows.json');
    await writeJson(shape, plain, true);
    const text = await readFile(plain, 'latin1');
    const withDistribution = (distribution: object) =>
      text.replace('"table":{', `"table":{"distribution":${JSON.stringify(distribution)},`);
    const byColumn = join(folder, 'by-column.json');
    await writeFile(byColumn, withDistribution({ kind: 'column', column: 'id', shards: 8 }), 'latin1');
    const upload = (file: string, schema: string) => () =>
      service.upload(`/api/v1/table/bench/upload/json?schema=${schema}`, file, 'application/json');
    const prepare = async () => {
      await client.query('DROP TABLE IF EXISTS public.bench');
      await client.query('DROP TABLE IF EXISTS bench_schema.bench');
    };
    const contenders: Contender[] = [
      { name: 'local', run: upload(plain, 'public'), prepare },
      { name: 'distributed schema', run: upload(plain, 'bench_schema'), prepare },
      { name: 'by column, 8 shards', run: upload(byColumn, 'public'), prepare },
    ];
    const measured = await runRounds(contenders, rounds);
    await prepare();
    process.stdout.write(`${shape.rows} rows × ${shape.columns.length} columns, ${rounds} rounds\n`);
    process.stdout.write(`${formatMeasured(measured, ['local'])}\n`);
  } finally {
    await service.stop();
    await client.end();
    await rm(folder, { recursive: true, force: true });
  }
}
