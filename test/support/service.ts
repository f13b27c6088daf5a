/** Starts the service on a separate database, with a client for it. The tests use real HTTP and a real PostgreSQL. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/core/settings/config.ts';
import { startService } from '../../src/service/service.ts';
import { allScopes, type DevTokenOptions, signDevToken } from '../../src/service/start/dev-token.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { until } from './until.ts';

/** The tests run in a database with Citus, and all their tables are ordinary ones (citus.matrix.ts). */
export const hasOrdinaryTablesOfCitus = process.env.TEST_ORDINARY_TABLES_OF_CITUS !== undefined;

/** The secret with which tokens are signed. */
export const secret = 'a secret for tests, of more than thirty-two bytes';

/** Sends requests to a service. The token has all scopes if the test does not say otherwise. */
export interface ServiceClient {
  url: string;
  /** Returns a token. Default: with all scopes. */
  token(options?: Partial<DevTokenOptions>): Promise<string>;
  /** Sends a request. A `path` that begins with `/table` gets the prefix `/api/v1`; every other path is sent unchanged. */
  request(method: string, path: string, options?: RequestOptions): Promise<TestAnswer>;
  post(path: string, json: unknown, options?: RequestOptions): Promise<TestAnswer>;
  get(path: string, options?: RequestOptions): Promise<TestAnswer>;
  /** Sends a multipart upload with the part `file` and, if `body` is set, the part `body`. */
  upload(
    path: string,
    file: Buffer,
    body?: unknown,
    options?: Pick<RequestOptions, 'signal'>,
  ): Promise<TestAnswer>;
}

export interface TestService extends ServiceClient {
  database: TestDatabase;
  /** The address of the metrics; undefined: there are none. */
  metricsUrl: string | undefined;
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

/**
 * Starts a service for tests.
 *
 * @param environment settings that differ from the defaults
 * @param prepare runs before the service starts, and returns the URL that the service connects to
 */
export async function startTestService(
  environment: Record<string, string> = {},
  prepare?: (database: TestDatabase) => Promise<string>,
): Promise<TestService> {
  // The schema in the template belongs to the role of the test server, and has the default name.
  const fitsTemplate = prepare === undefined && environment.SERVICE_SCHEMA === undefined;
  const database = await createTestDatabase(fitsTemplate ? process.env.TEST_TEMPLATE_DATABASE : undefined);
  const url = await prepare?.(database);
  const dataDir = await mkdtemp(join(tmpdir(), 'tablewright-service-'));
  const config = readConfig(
    testEnvironment(database, dataDir, { ...(url && { DATABASE_URL: url }), ...environment }),
  );
  const service = await startService(config);
  // On a busy machine the service may listen before PostgreSQL has answered.
  await until('the service to reach its database', () => !service.isWaiting());
  return {
    ...(await serviceClient(service.url, config.tokens)),
    database,
    metricsUrl: service.metricsUrl,
    rows: async (sql, values) => (await database.pool.query(sql, values)).rows,
    stop: async () => {
      await service.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Returns the environment of a service for tests, for a separate process or for the process of the test. */
export function testEnvironment(
  database: Pick<TestDatabase, 'serviceUrl'>,
  dataDir: string,
  environment: Record<string, string> = {},
): Record<string, string> {
  const settings = {
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATABASE_URL: database.serviceUrl,
    TOKEN_SECRET: secret,
  };
  return { ...settings, DATA_DIR: dataDir, ...environment };
}

/**
 * Returns a client of a service.
 *
 * @param tokens the service's issuer and audience; default: none
 */
export async function serviceClient(
  url: string,
  tokens: { issuer?: string | undefined; audience?: string | undefined } = {},
): Promise<ServiceClient> {
  const settings = { secret: Buffer.from(secret), issuer: tokens.issuer, audience: tokens.audience };
  const token: ServiceClient['token'] = (options = {}) =>
    signDevToken(settings, { scope: allScopes, ttlSeconds: 3600, ...options });
  const anyToken = await token();

  const request: ServiceClient['request'] = async (method, path, options = {}) => {
    const answer = await fetch(new URL(path.startsWith('/table') ? `/api/v1${path}` : path, url), {
      method,
      headers: {
        ...(options.token !== null && { authorization: `Bearer ${options.token ?? anyToken}` }),
        ...options.headers,
      },
      ...(options.body !== undefined && { body: options.body, duplex: 'half' }),
      ...(options.signal && { signal: options.signal }),
    } as RequestInit);
    const text = await answer.text();
    const isJson = /\bjson/.test(answer.headers.get('content-type') ?? '');
    const body = isJson ? JSON.parse(text) : text;
    if (isJson && hasOrdinaryTablesOfCitus) removeDistributions(body);
    return { status: answer.status, headers: answer.headers, body };
  };

  return {
    url,
    token,
    request,
    post: (path, json, options = {}) =>
      request('POST', path, {
        body: JSON.stringify(json),
        ...options,
        headers: { 'content-type': 'application/json', ...options.headers },
      }),
    get: (path, options) => request('GET', path, options),
    upload: (path, file, body, options) => {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(file)]), 'upload.xlsx');
      if (body !== undefined) form.append('body', JSON.stringify(body));
      return request('POST', path, { ...options, body: form });
    },
  };
}

/**
 * Removes the distribution from the descriptions of tables in an answer, because the tests expect the answers of a database without Citus.
 * Asserts that each description has one, and that it is that of an ordinary table.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever JSON the service answers
function removeDistributions(body: any): void {
  const described = body?.table?.columns?.[0]?.id === undefined ? [] : [body.table];
  // A load of several tables answers with parts.
  const several = (body?.tables ?? []).map((one: { load?: object; table?: object }) =>
    one.load ? one.table : one,
  );
  for (const table of [...described, ...several]) {
    const { kind, bytes: _, ...rest } = table.distribution;
    assert.deepEqual({ kind, ...rest }, { kind: 'local' });
    delete table.distribution;
  }
}
