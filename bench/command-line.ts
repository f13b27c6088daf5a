/** Compares `tablewright load` with `curl` and the same upload, and measures the start of `tablewright --help`. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import {
  type BenchServer,
  type BenchService,
  startBenchServer,
  startBenchService,
} from './support/bench-server.ts';
import { type Contender, formatMeasured, runRounds, summary } from './support/rounds.ts';
import { shapes, writeJson } from './support/shapes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const helpRounds = 20;
const program = join(import.meta.dirname, '..', 'cli', 'tablewright.mjs');

export async function benchCommandLine(): Promise<void> {
  const server = await startBenchServer();
  try {
    const service = await startBenchService(server);
    for (const hasDefinition of [false, true]) await benchLoad(server, service, hasDefinition);
    await service.stop();
  } finally {
    await server.stop();
  }
  const help = {
    name: 'tablewright --help',
    run: async () => void (await run(process.execPath, [program, '--help'])),
  };
  const node = {
    name: 'node --eval ""',
    run: async () => void (await run(process.execPath, ['--eval', ''])),
  };
  const measured = await runRounds([help, node], helpRounds);
  process.stdout.write(`\n${helpRounds} rounds\n${formatMeasured(measured, [])}\n`);
}

/** Measures the same upload with both programs: the elapsed time, and the processor time of the program and the service together. */
async function benchLoad(server: BenchServer, service: BenchService, hasDefinition: boolean): Promise<void> {
  const shape = shapes.find(({ name }) => name === 'mixed')!;
  const file = join(server.folder, 'bench.json');
  await writeJson(shape, file, hasDefinition);
  const url = `${service.url}/api/v1/table/bench/upload/json`;
  const env = { ...process.env, TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: service.token };
  const processorMs = new Map<string, number[]>();
  const contender = (name: string, command: string, parameters: () => string[]): Contender => ({
    name,
    prepare: () => server.sql('DROP TABLE IF EXISTS bench'),
    run: async () => {
      const before = await service.cpuSeconds();
      const own = await run(command, parameters(), env);
      const spentMs = (own + (await service.cpuSeconds()) - before) * 1000;
      processorMs.set(name, [...(processorMs.get(name) ?? []), spentMs]);
    },
  });
  const contenders = [
    contender('curl', 'curl', () => curlParameters(url, file, service.token)),
    contender('tablewright load', process.execPath, () => [program, 'load', file]),
  ];
  const measured = await runRounds(contenders, rounds);
  const kind = hasDefinition ? 'definition' : 'inferred';
  process.stdout.write(
    `\n${shape.rows} rows, ${kind}, ${rounds} rounds\n${formatMeasured(measured, ['curl'])}\n`,
  );
  // The first round is not counted.
  const processor = contenders.map(({ name }) => summary(name, processorMs.get(name)!.slice(1)));
  process.stdout.write(`processor time\n${formatMeasured(processor, ['curl'])}\n`);
}

/** The command sends a key, too. The service computes a digest of the body for it. */
function curlParameters(url: string, file: string, token: string): string[] {
  const headers = [
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Idempotency-Key: ${randomUUID()}`,
  ];
  const body = ['--fail', '--silent', '--show-error', '--request', 'POST', '--upload-file', file, url];
  return [...headers.flatMap((header) => ['--header', header]), ...body];
}

/** Runs a program. @returns its processor time in seconds */
async function run(file: string, parameters: string[], env = process.env): Promise<number> {
  // The second line of `times` has the children of the shell: `0m0.08s 0m0.02s`.
  const script = ['-c', '"$@" > /dev/null && times', 'sh', file, ...parameters];
  const { stdout } = await promisify(execFile)('sh', script, { env });
  const times = stdout
    .trim()
    .split('\n')
    .at(-1)!
    .matchAll(/(\d+)m([\d.]+)s/g);
  return [...times].reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}
