/** Starts a laid out image as the Dockerfile says, uses it, and stops it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { environmentsToTry } from './environments.ts';
import { type Image, imageEnvironment, type User } from './lay-out.ts';

export interface Trial {
  /** The bytes of the files without Node.js. */
  bytes: number;
  /** The time from the start of the process to the first 200 of /readyz, for each start. */
  readyMs: number[];
  /** The processor time of each start, which other programs on the machine hardly change; empty if the platform does not provide it. */
  processorMs: number[];
}

interface Running {
  child: ChildProcess;
  ended: Promise<[code: number | null]>;
  url: string;
  readyMs: number;
  processorMs: number | undefined;
}

const run = promisify(execFile);
const startTimeoutMs = 60_000;
const project = join(import.meta.dirname, '..', '..');
/** A separate process reads the second workbook. */
const workbooks = ['examples/orders.xlsx', 'test/fixtures/kinds.xls'];

/**
 * Starts the image once for each of `environmentsToTry` with a tree that nobody can write to. The first start also creates a table and
 * loads a workbook, and the others serve their metrics.
 *
 * @param tmp becomes a folder that the user can write to, for temporary files
 * @param spool becomes such a folder for the bodies of asynchronous uploads
 * @throws Error if anything is not as it should be
 */
export async function tryImage(
  image: Image,
  {
    databaseUrl,
    port,
    metricsPort,
    tmp,
    spool,
    user,
  }: {
    databaseUrl: string;
    port: number;
    metricsPort: number;
    tmp: string;
    spool: string;
    user: User | undefined;
  },
): Promise<Trial> {
  // A volume that is mounted there gets this mode.
  const { mode } = await stat(join(image.root, image.environment.SPOOL_DIR!));
  if ((mode & 0o7777) !== 0o1777) throw new Error('not every user can write to SPOOL_DIR of the image');
  await run('chmod', ['-R', 'a-w', image.root]);
  for (const volume of [tmp, spool]) {
    await mkdir(volume);
    await run('chmod', ['1777', volume]);
  }
  const place = {
    cwd: image.folder,
    env: {
      ...imageEnvironment(image),
      ...{ DATABASE_URL: databaseUrl, TOKEN_SECRET: randomBytes(32).toString('hex') },
      ...{ HOST: '127.0.0.1', PORT: String(port), TMPDIR: tmp, SPOOL_DIR: spool },
    },
    ...user,
  };
  await refuses(() => run('sh', ['-c', ': >> main.js || : > new'], place), 'the tree can be written to');
  const readyMs: number[] = [];
  const processorMs: number[] = [];
  for (const settings of await environmentsToTry(metricsPort)) {
    const running = await start(image, { ...place, env: { ...place.env, ...settings } }, port);
    readyMs.push(running.readyMs);
    if (running.processorMs !== undefined) processorMs.push(running.processorMs);
    try {
      await run(image.healthCheck[0]!, image.healthCheck.slice(1), place);
      if (settings.METRICS_PORT === undefined) {
        await use(running.url, (await run('node', ['token.js'], place)).stdout.trim());
      } else {
        const { status } = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
        if (status !== 200) throw new Error(`the metrics were answered with ${status}`);
      }
    } finally {
      running.child.kill('SIGTERM');
    }
    const [code] = await running.ended;
    if (code !== 0) throw new Error(`after SIGTERM the service ended with ${code}`);
    await refuses(() => run(image.healthCheck[0]!, image.healthCheck.slice(1), place), 'it is healthy');
  }
  const { stdout } = await run('du', ['-sk', '--apparent-size', image.folder]);
  return { bytes: Number.parseInt(stdout, 10) * 1024, readyMs, processorMs };
}

async function start(image: Image, place: object, port: number): Promise<Running> {
  const startedAt = performance.now();
  const [program, ...parameters] = image.command;
  const child = spawn(program!, parameters, { ...place, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  }
  const url = `http://127.0.0.1:${port}`;
  while (child.exitCode === null && performance.now() < startedAt + startTimeoutMs) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) {
      return { child, ended, url, readyMs: performance.now() - startedAt, processorMs: processorMsOf(child) };
    }
    await sleep(10);
  }
  child.kill('SIGKILL');
  throw new Error(`the service was not ready: ${output}`);
}

function processorMsOf({ pid }: ChildProcess): number | undefined {
  if (process.platform !== 'linux') return undefined;
  // proc(5): the 14th and 15th field, in hundredths of a second. The second field is a name in parentheses.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Creates a table, loads workbooks, which need temporary files, also asynchronously, and reads a guide. */
async function use(url: string, token: string): Promise<void> {
  const authorization = `Bearer ${token}`;
  const table = { columns: [{ name: 'n', type: 'integer' }] };
  const name = `image_${randomBytes(4).toString('hex')}`;
  const send = async (path: string, status: number, body?: string | FormData, prefer?: string) => {
    const headers = {
      authorization,
      ...(prefer !== undefined && { prefer }),
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body: body ?? null,
    });
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`${path} was answered with ${answer.status}: ${text}`);
    return text;
  };
  await send(`/api/v1/table/${name}`, 201, JSON.stringify({ table }));
  for (const [index, path] of workbooks.entries()) {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(await readFile(join(project, path)))]), 'workbook');
    await send(`/api/v1/table/${name}_${index}/upload/excel?cell_errors=null`, 201, form);
  }
  const rows = JSON.stringify({ data: [{ n: 1 }] });
  const later = await send(`/api/v1/table/${name}/upload/json?if_exists=append`, 202, rows, 'respond-async');
  const load = `/api/v1/loads/${JSON.parse(later).id}`;
  let state = '';
  while (['', 'queued', 'running'].includes(state)) {
    await sleep(50);
    state = JSON.parse(await send(load, 200)).state;
  }
  if (state !== 'committed') throw new Error(`the asynchronous load is ${state}`);
  for (const path of ['/docs/loading', '/docs/', '/docs/static/swagger-ui.css', '/openapi.json'])
    await send(path, 200);
}

async function refuses(work: () => Promise<unknown>, otherwise: string): Promise<void> {
  const isDone = await work().then(
    () => true,
    () => false,
  );
  if (isDone) throw new Error(otherwise);
}
