/** Compares eight JSON uploads at the same time to a service with one worker, to one with two, and with eight `psql \copy` at the same time. */
import { join } from 'node:path';
import { startBenchServer, startBenchService } from './support/bench-server.ts';
import { type Contender, formatMeasured, runRounds } from './support/rounds.ts';
import { shapes, writeJson } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const tables = Array.from({ length: 8 }, (_, number) => `bench_${number}`);
/** 100,000 rows × 10 columns. */
const shape = shapes.find(({ name }) => name === 'shorter')!;

export async function benchWorkers(): Promise<void> {
  const server = await startBenchServer();
  try {
    const json = join(server.folder, 'rows.json');
    const binary = join(server.folder, 'rows.binary');
    await writeJson(shape, json, true);
    const settings = { MAX_UPLOADS_PER_SUBJECT: '8' };
    const one = await startBenchService(server, { settings });
    const two = await startBenchService(server, { settings: { ...settings, WORKERS: '2' } });
    const prepare = () => server.sql(tables.map((table) => `DROP TABLE IF EXISTS ${table}`).join('; '));
    const uploadAll = (service: typeof one) => async () => {
      await Promise.all(
        tables.map((table) => service.upload(`/api/v1/table/${table}/upload/json`, json, 'application/json')),
      );
    };
    await uploadAll(one)();
    await server.psql(`\\copy ${tables[0]} TO '${binary}' (FORMAT binary)`);
    const columns = shape.columns.map(({ name, type }) => `"${name}" ${type}`).join(', ');
    const copyAll = async () => {
      await Promise.all(
        tables.map((table) =>
          server.psql(
            `CREATE TABLE ${table} (${columns})`,
            `\\copy ${table} FROM '${binary}' (FORMAT binary)`,
          ),
        ),
      );
    };
    const contenders: Contender[] = [
      { name: 'one process', run: uploadAll(one), prepare },
      { name: 'WORKERS=2', run: uploadAll(two), prepare },
      { name: 'psql binary', run: copyAll, prepare },
    ];
    // Both workers must have compiled their code.
    await runRounds(contenders, 1);
    const before = await one.cpuSeconds();
    const measured = await runRounds(contenders, rounds);
    const perRound = ((await one.cpuSeconds()) - before) / (rounds + 1);
    process.stdout.write(
      `8 × ${shape.rows} rows × ${shape.columns.length} columns at the same time, ${rounds} rounds\n`,
    );
    process.stdout.write(`${formatMeasured(measured, ['one process', 'psql binary'])}\n`);
    process.stdout.write(`processor seconds of the one process in a round: ${perRound.toFixed(2)}\n`);
    await Promise.all([one.stop(), two.stop()]);
  } finally {
    await server.stop();
  }
}
