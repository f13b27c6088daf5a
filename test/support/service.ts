/**
 * The service on a database of its own, and a client for it: real HTTP, real PostgreSQL.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { allScopes, type DevTokenOptions, signDevToken } from '../../src/dev-token.ts';
import { startService } from '../../src/service.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

const secret = 'a secret for tests, of more than thirty-two bytes';

export interface TestService {
  url: string;
  database: TestDatabase;
  /** A token with all scopes, unless told otherwise. */
  token(options?: Partial<DevTokenOptions>): Promise<string>;
  /** A request with a token with all scopes; `path` begins behind `/api/v1`, or is a whole path. */
  request(method: string, path: string, options?: RequestOptions): Promise<TestAnswer>;
  post(path: string, json: unknown, options?: RequestOptions): Promise<TestAnswer>;
  get(path: string, options?: RequestOptions): Promise<TestAnswer>;
  /** A multipart upload of the parts `file` and, where given, `body`. */
  upload(path: string, file: Buffer, body?: unknown): Promise<TestAnswer>;
  /** The rows of a query in the service's database, as objects. */
  rows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

export interface RequestOptions {
  /** null: none. */
  token?: string | null;
  headers?: Record<string, string>;
  body?: string | Buffer | FormData | ReadableStream;
  signal?: AbortSignal;
}

export interface TestAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers, for assertions
  body: any;
}

/** @param environment settings that differ from the defaults */
export async function startTestService(environment: Record<string, string> = {}): Promise<TestService> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'tablewright-service-'));
  const config = readConfig({
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATABASE_URL: database.url,
    TOKEN_SECRET: secret,
    DATA_DIR: dataDir,
    ...environment,
  });
  const service = await startService(config);
  const tokenSettings = {
    secret: Buffer.from(secret),
    issuer: config.tokens.issuer,
    audience: config.tokens.audience,
  };
  const token = (options: Partial<DevTokenOptions> = {}) =>
    signDevToken(tokenSettings, { scope: allScopes, ttlSeconds: 600, ...options });
  const anyToken = await token();

  const request: TestService['request'] = async (method, path, options = {}) => {
    const answer = await fetch(
      new URL(path.startsWith('/api') || !path.startsWith('/table') ? path : `/api/v1${path}`, service.url),
      {
        method,
        headers: {
          ...(options.token !== null && { authorization: `Bearer ${options.token ?? anyToken}` }),
          ...options.headers,
        },
        ...(options.body !== undefined && { body: options.body, duplex: 'half' }),
        ...(options.signal && { signal: options.signal }),
      } as RequestInit,
    );
    const text = await answer.text();
    const isJson = /json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
  };

  return {
    url: service.url,
    database,
    token,
    request,
    post: (path, json, options = {}) =>
      request('POST', path, {
        body: JSON.stringify(json),
        ...options,
        headers: { 'content-type': 'application/json', ...options.headers },
      }),
    get: (path, options) => request('GET', path, options),
    upload: (path, file, body) => {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(file)]), 'upload.xlsx');
      if (body !== undefined) form.append('body', JSON.stringify(body));
      return request('POST', path, { body: form });
    },
    rows: async (sql, values) => (await database.pool.query(sql, values)).rows,
    stop: async () => {
      await service.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
