/** Compares `tablewright load` with `curl` and the same upload, and measures the start of `tablewright --help`. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { startBenchServer, startBenchService } from './support/bench-server.ts';
import { formatMeasured, runRounds } from './support/rounds.ts';
import { shapes, writeJson } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const helpRounds = 20;
const program = join(import.meta.dirname, '..', 'cli', 'tablewright.mjs');

export async function benchCommandLine(): Promise<void> {
  const server = await startBenchServer();
  try {
    const shape = shapes.find(({ name }) => name === 'mixed')!;
    const service = await startBenchService(server);
    const prepare = () => server.sql('DROP TABLE IF EXISTS bench');
    for (const [kind, hasDefinition] of [
      ['inferred', false],
      ['definition', true],
    ] as const) {
      const file = join(server.folder, 'bench.json');
      await writeJson(shape, file, hasDefinition);
      const curl = curlParameters(`${service.url}/api/v1/table/bench/upload/json`, file, service.token);
      const env = { ...process.env, TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: service.token };
      const measured = await runRounds(
        [
          { name: 'curl', prepare, run: () => run('curl', curl) },
          {
            name: 'tablewright load',
            prepare,
            run: () => run(process.execPath, [program, 'load', file], env),
          },
        ],
        rounds,
      );
      process.stdout.write(`\n${shape.rows} rows, ${kind}, ${rounds} rounds\n`);
      process.stdout.write(`${formatMeasured(measured, ['curl'])}\n`);
    }
    await service.stop();
  } finally {
    await server.stop();
  }
  const help = { name: 'tablewright --help', run: () => run(process.execPath, [program, '--help']) };
  const node = { name: 'node --eval ""', run: () => run(process.execPath, ['--eval', '']) };
  const measured = await runRounds([help, node], helpRounds);
  process.stdout.write(`\n${helpRounds} rounds\n${formatMeasured(measured, [])}\n`);
}

function curlParameters(url: string, file: string, token: string): string[] {
  const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  const body = ['--fail', '--silent', '--show-error', '--request', 'POST', '--upload-file', file, url];
  return [...headers.flatMap((header) => ['--header', header]), ...body];
}

async function run(file: string, parameters: string[], env = process.env): Promise<void> {
  await promisify(execFile)(file, parameters, { env });
}
