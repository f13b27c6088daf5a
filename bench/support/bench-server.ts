/** The servers of a benchmark: one embedded PostgreSQL in a temporary folder, and the service as a separate process. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { type Agent, type ClientRequest, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { allScopes, signDevToken } from '../../src/service/start/dev-token.ts';

const secret = 'a secret for benchmarks, of more than thirty-two bytes';

export interface BenchServer {
  /** The folder for data files. It is removed at the end. */
  folder: string;
  databaseUrl: string;
  sql(text: string): Promise<void>;
  /** Runs psql commands in one session, which ends at the first error. */
  psql(...commands: string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface BenchService {
  url: string;
  token: string;
  /** Sends a file as the body. It fails if the answer is not a 2xx. */
  upload(path: string, file: string, contentType: string): Promise<void>;
  /** Sends a small JSON body. It fails if the answer is not a 2xx. */
  post(path: string, body: string, agent: Agent): Promise<void>;
  /** Sends a small body of any type; fails on any answer but a 2xx. */
  send(path: string, body: Buffer, contentType: string, agent: Agent): Promise<void>;
  /** The processor time that the process has taken so far (Linux; elsewhere 0). */
  cpuSeconds(): Promise<number>;
  /** The process's peak memory so far, in MiB (Linux). */
  peakMib(): Promise<number>;
  stop(): Promise<void>;
}

export async function startBenchServer(): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-bench-'));
  await chmod(folder, 0o711);
  const log = { info: () => {}, warn: () => {} };
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), log });
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  // It ends with the server.
  pool.on('error', () => {});
  return {
    folder,
    databaseUrl: postgres.url,
    sql: async (text) => void (await pool.query(text)),
    psql: async (...commands) => {
      const flags = ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...commands.flatMap((command) => ['-c', command])];
      await promisify(execFile)('psql', [postgres.url, ...flags], { maxBuffer: 1 << 26 });
    },
    stop: async () => {
      await pool.end();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts the service as a separate process.
 *
 * @param options `script`: a server program that reads the settings of the service from the environment
 */
export async function startBenchService(
  server: Pick<BenchServer, 'databaseUrl' | 'folder'>,
  { script = 'src/main.ts', settings = {} }: { script?: string; settings?: Record<string, string> } = {},
): Promise<BenchService> {
  const child = spawn(process.execPath, [script], {
    env: {
      ...process.env,
      PORT: '0',
      DATABASE_URL: server.databaseUrl,
      TOKEN_SECRET: secret,
      DATA_DIR: join(server.folder, 'service'),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await listeningUrl(child);
  const token = await signDevToken(
    { secret: Buffer.from(secret), issuer: undefined, audience: undefined },
    { scope: allScopes, ttlSeconds: 86_400 },
  );
  return {
    url,
    token,
    upload: (path, file, contentType) => sendFile(new URL(path, url), file, contentType, token),
    post: (path, body, agent) => sendBody(new URL(path, url), body, 'application/json', token, agent),
    send: (path, body, contentType, agent) => sendBody(new URL(path, url), body, contentType, token, agent),
    cpuSeconds: async () => {
      const text = await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => '');
      // proc(5): fields 14 and 15 are utime and stime in ticks of 10 ms. The name before them may contain spaces.
      const [user = 0, system = 0] = text
        .slice(text.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 13)
        .map(Number);
      return (user + system) / 100;
    },
    peakMib: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
    },
    stop: async () => {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Reads the URL from the log. */
function listeningUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout!.on('data', (chunk) => {
      if (output.length > 100_000) return;
      output += chunk;
      const found = /listening at (http:[^"\s]+)/.exec(output);
      if (found) resolve(found[1]!);
    });
    child.once('exit', () => reject(new Error(`the service ended at once:\n${output}`)));
  });
}

async function sendFile(url: URL, file: string, contentType: string, token: string): Promise<void> {
  const { size } = await stat(file);
  const sending = request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': contentType, 'content-length': size },
  });
  const answered = success(sending);
  await Promise.all([pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), sending), answered]);
}

async function sendBody(
  url: URL,
  body: string | Buffer,
  contentType: string,
  token: string,
  agent: Agent,
): Promise<void> {
  const sending = request(url, {
    method: 'POST',
    agent,
    headers: { authorization: `Bearer ${token}`, 'content-type': contentType },
  });
  const answered = success(sending);
  sending.end(body);
  await answered;
}

function success(sending: ClientRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    sending.on('error', reject);
    sending.on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      if (response.statusCode! < 300) resolve();
      else reject(new Error(`${response.statusCode}: ${text.slice(0, 1000)}`));
    });
  });
}
