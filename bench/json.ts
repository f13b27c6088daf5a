/** Compares JSON rows over HTTP with `psql \copy` of the same rows, and with a typical simple service. */
import { join } from 'node:path';
import { type BenchServer, startBenchServer, startBenchService } from './support/bench-server.ts';
import { type Contender, formatMeasured, formatTable, runRounds } from './support/rounds.ts';
import { type Shape, shapes, writeCsv, writeJson } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);

/**
 * Runs the benchmarks of JSON uploads.
 *
 * @param words the names of the shapes; empty: all
 */
export async function benchJson(words: string[]): Promise<void> {
  const server = await startBenchServer();
  try {
    for (const shape of shapes.filter(({ name }) => words.length === 0 || words.includes(name))) {
      await benchShape(server, shape);
    }
  } finally {
    await server.stop();
  }
}

async function benchShape(server: BenchServer, shape: Shape): Promise<void> {
  const file = (ending: string) => join(server.folder, `${shape.name}.${ending}`);
  await writeJson(shape, file('definition.json'), true);
  await writeJson(shape, file('rows.json'), false);
  await writeCsv(shape, file('csv'));
  const columns = shape.columns.map(({ name, type }) => `"${name}" ${type}`).join(', ');
  const create = `CREATE TABLE bench (${columns})`;
  await server.psql(create, `\\copy bench FROM '${file('csv')}' (FORMAT csv)`);
  await server.psql(`\\copy bench TO '${file('binary')}' (FORMAT binary)`);

  const withDefinition = await startBenchService(server);
  const inferring = await startBenchService(server);
  const naive = await startBenchService(server, { script: 'bench/support/naive-service.ts' });
  const prepare = () => server.sql('DROP TABLE IF EXISTS bench');
  const path = '/api/v1/table/bench/upload/json';
  const json = 'application/json';
  const contenders: Contender[] = [
    { name: 'service, definition', run: () => withDefinition.upload(path, file('definition.json'), json) },
    { name: 'service, inferred', run: () => inferring.upload(path, file('rows.json'), json) },
    { name: 'psql csv', run: () => server.psql(create, `\\copy bench FROM '${file('csv')}' (FORMAT csv)`) },
    {
      name: 'psql binary',
      run: () => server.psql(create, `\\copy bench FROM '${file('binary')}' (FORMAT binary)`),
    },
    { name: 'as people write it', run: () => naive.upload('/upload', file('definition.json'), json) },
  ].map((contender) => ({ ...contender, prepare }));
  const measured = await runRounds(contenders, rounds);

  process.stdout.write(
    `\n${shape.name}: ${shape.rows} rows × ${shape.columns.length} columns, ${rounds} rounds\n`,
  );
  process.stdout.write(`${formatMeasured(measured, ['psql csv', 'psql binary'])}\n`);
  const peaks: string[][] = [['peak memory', 'MiB']];
  for (const [name, service] of Object.entries({
    'service, definition': withDefinition,
    'service, inferred': inferring,
    'as people write it': naive,
  })) {
    peaks.push([name, (await service.peakMib()).toFixed(0)]);
    await service.stop();
  }
  process.stdout.write(`${formatTable(peaks)}\n`);
  await prepare();
}
