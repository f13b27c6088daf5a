/** Compares exports with `psql \copy (SELECT …) to` a CSV file. The bytes of both CSV files must be the same. */
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type BenchService, startBenchServer, startBenchService } from './support/bench-server.ts';
import { type Contender, formatMeasured, formatTable, runRounds } from './support/rounds.ts';
import { shapes, writeCsv } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const formats = ['csv', 'ndjson', 'json', 'xlsx'];

export async function benchExport(): Promise<void> {
  const server = await startBenchServer();
  try {
    const shape = shapes.find(({ name }) => name === 'mixed')!;
    const file = (name: string) => join(server.folder, name);
    await writeCsv(shape, file('rows.csv'), true);
    const columns = shape.columns.map(({ name, type }) => `"${name}" ${type}`).join(', ');
    await server.psql(
      `CREATE TABLE bench (${columns})`,
      `\\copy bench FROM '${file('rows.csv')}' (FORMAT csv, HEADER)`,
      'VACUUM (FREEZE, ANALYZE) bench',
    );
    const services = new Map<string, BenchService>();
    for (const format of formats) services.set(format, await startBenchService(server));
    const contenders: Contender[] = [
      ...[...services].map(([format, service]) => ({
        name: `service, ${format}`,
        run: () => download(service, format, file(`service.${format}`)),
      })),
      {
        name: 'psql csv',
        run: () => server.psql(`\\copy (SELECT * FROM bench) TO '${file('psql.csv')}' (FORMAT csv, HEADER)`),
      },
    ];
    const measured = await runRounds(contenders, rounds);
    process.stdout.write(`\n${shape.rows} rows × ${shape.columns.length} columns, ${rounds} rounds\n`);
    process.stdout.write(`${formatMeasured(measured, ['psql csv'])}\n`);
    const same = (await readFile(file('service.csv'))).equals(await readFile(file('psql.csv')));
    if (!same) throw new Error('the CSV of the service differs from that of psql');
    const lines = [['', 'MiB', 'peak memory, MiB']];
    for (const [format, service] of services) {
      const mib = (await stat(file(`service.${format}`))).size / 2 ** 20;
      lines.push([format, mib.toFixed(0), (await service.peakMib()).toFixed(0)]);
      await service.stop();
    }
    process.stdout.write(`${formatTable(lines)}\n`);
  } finally {
    await server.stop();
  }
}

async function download({ url, token }: BenchService, format: string, file: string): Promise<void> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`${url}/api/v1/table/bench/rows?format=${format}`, { headers }, resolve).on('error', reject);
  });
  if (answer.statusCode !== 200) throw new Error(`the export was answered with ${answer.statusCode}`);
  await pipeline(answer, createWriteStream(file));
}
