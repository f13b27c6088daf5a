/** Causes each error of the catalogue in the running service. error-details.ts has the details of the answers. */
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { generateKeyPair, SignJWT } from 'jose';
import pg from 'pg';
import type { ErrorCode } from '../../src/core/errors.ts';
import { encryptAgile } from './encrypt-workbook.ts';
import { allowsFileServer, formOfLink } from './file-server.ts';
import { freePort } from './free-port.ts';
import { openSocket, rawRequest } from './raw-http.ts';
import { startTestService, type TestAnswer, type TestService } from './service.ts';
import { until } from './until.ts';
import { openUpload } from './uploads.ts';

export interface Provocation {
  /** The method and the path, and in words what is special about the request. */
  request: string;
  send(service: TestService): Promise<Pick<TestAnswer, 'status' | 'headers' | 'body'>>;
}

const encryptedWorkbook = encryptAgile(Buffer.from('a workbook'), 'secret', 10);

/** Limits that are low enough to be reached within a test. */
const limits = {
  MAX_ROWS: '100',
  MAX_UPLOADS: '1',
  UPLOAD_WAIT_MS: '0',
  MAX_QUEUED_BYTES_PER_SUBJECT: '1024',
  LOCK_TIMEOUT_MS: '200',
  BODY_IDLE_TIMEOUT_MS: '1000',
  ...allowsFileServer,
};

/** Starts a service with tables for these requests. */
export async function startServiceForErrors(): Promise<TestService> {
  const service = await startTestService(limits);
  await service.rows(`
    CREATE TABLE orders (number text NOT NULL PRIMARY KEY, quantity integer NOT NULL, ordered_on date);
    INSERT INTO orders VALUES ('000417', 1, '2026-11-21');
    CREATE TABLE reported (number text);
    CREATE FUNCTION wait(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM pg_sleep(60); RETURN true; END';
    CREATE DOMAIN slow AS int CHECK (wait(VALUE));
    CREATE VIEW report AS SELECT number FROM reported;
    CREATE TABLE failing (sqlstate text);
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'as the row asks' USING ERRCODE = NEW.sqlstate; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON failing FOR EACH ROW EXECUTE FUNCTION fail()`);
  return service;
}

/** The errors that cannot be caused here: a full disk, and no file descriptors (connections.test.ts). */
export const unprovoked: ErrorCode[] = ['storage-full', 'service-busy'];

function link(url: string, about: string): Provocation {
  return {
    request: `POST /api/v1/table/new/upload/excel, with the link of a file ${about}`,
    send: (service) => service.request('POST', '/table/new/upload/excel', { body: formOfLink(url) }),
  };
}

function alter(query: string, table: string, headers: Record<string, string> = {}): Provocation {
  return {
    request: `PUT /api/v1/table/orders${query}`,
    send: (service) =>
      service.request('PUT', `/table/orders${query}`, {
        body: `{"table": ${table}}`,
        headers: { 'content-type': 'application/json', ...headers },
      }),
  };
}

export const provocations: Partial<Record<ErrorCode, Provocation>> = {
  'invalid-json': json('/table/new/upload/json', '{"data": [{"number": "000417",}]}'),
  'invalid-multipart': {
    request: 'POST /api/v1/table/new/upload/excel, its body cut off',
    send: (service) =>
      service.request('POST', '/table/new/upload/excel', {
        headers: { 'content-type': 'multipart/form-data; boundary=part' },
        body: '--part\r\nContent-Disposition: form-data; name="file"; filename="a.xlsx"\r\n\r\nPK',
      }),
  },
  'invalid-file': workbook(Buffer.from('PK\x03\x04 and then nothing of a zip archive'), 'of a file cut off'),
  'invalid-content-encoding': {
    request: 'POST /api/v1/table/new/upload/json, with Content-Encoding: gzip and a body that is not packed',
    send: (service) =>
      service.post('/table/new/upload/json', { data: [] }, { headers: { 'content-encoding': 'gzip' } }),
  },
  'invalid-request': {
    request: 'GET /api/v1/table/%E0%A4%A',
    send: (service) => service.get('/table/%E0%A4%A'),
  },
  'missing-token': {
    request: 'GET /api/v1/table/orders, without an Authorization header',
    send: (service) => service.get('/table/orders', { token: null }),
  },
  'invalid-token': {
    request: 'GET /api/v1/table/orders, with a token that ended yesterday',
    send: async (service) =>
      service.get('/table/orders', { token: await service.token({ ttlSeconds: -86_400 }) }),
  },
  'insufficient-scope': {
    request: 'POST /api/v1/table/new, with a token of the scope table:read',
    send: async (service) =>
      service.post('/table/new', definition, { token: await service.token({ scope: 'table:read' }) }),
  },
  'schema-forbidden': {
    request: 'GET /api/v1/table/orders, with a token of the schemas sales_*',
    send: async (service) =>
      service.get('/table/orders', { token: await service.token({ schemas: ['sales_*'] }) }),
  },
  'permission-denied': {
    request: 'GET /api/v1/table/orders, with a token of the role reporting, which does not exist',
    send: async (service) =>
      service.get('/table/orders', { token: await service.token({ role: 'reporting' }) }),
  },
  'path-not-found': {
    request: 'GET /api/v2/table/orders',
    send: (service) => service.get('/api/v2/table/orders'),
  },
  'schema-not-found': {
    request: 'GET /api/v1/table/orders?schema=sales',
    send: (service) => service.get('/table/orders?schema=sales'),
  },
  'table-not-found': {
    request: 'GET /api/v1/table/order',
    send: (service) => service.get('/table/order'),
  },
  'method-not-allowed': {
    request: 'PUT /api/v1/tables',
    send: (service) => service.request('PUT', '/api/v1/tables'),
  },
  'not-acceptable': {
    request: 'GET /api/v1/table/orders, with Accept: text/csv',
    send: (service) => service.get('/table/orders', { headers: { accept: 'text/csv' } }),
  },
  'request-timeout': {
    request:
      'POST /api/v1/table/new/upload/json, with a body that stops arriving and BODY_IDLE_TIMEOUT_MS=1000',
    send: sendStalled,
  },
  'expectation-failed': {
    request: 'GET /api/v1/table/orders, with Expect: x',
    send: async (service) =>
      rawRequest(
        service.url,
        `GET /api/v1/table/orders HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await service.token()}\r\nExpect: x\r\nConnection: close\r\n\r\n`,
      ),
  },
  'table-exists': {
    request: 'POST /api/v1/table/orders',
    send: (service) => service.post('/table/orders', definition),
  },
  'dependent-objects': json('/table/reported/upload/json?if_exists=replace', '{"data": [{"number": "1"}]}'),
  'write-conflict': {
    request:
      'POST /api/v1/table/failing/upload/json?if_exists=append, into a table whose trigger fails with SQLSTATE 40P01',
    send: (service) => failWith(service, '40P01'),
  },
  'loses-data': alter('', '{"columns": [{"name": "quantity"}, {"name": "ordered_on"}]}'),
  'lock-too-long': alter(
    '?max_lock_ms=200',
    '{"columns": [{"name": "number"}, {"name": "quantity"}, {"name": "ordered_on"}, {"name": "slow", "type": "slow"}]}',
  ),
  'precondition-failed': alter('', '{"comment": "x"}', { 'if-match': '"another"' }),
  'limit-exceeded': {
    request: 'POST /api/v1/table/new/upload/json, of 101 rows, with MAX_ROWS=100',
    send: (service) =>
      service.post('/table/new/upload/json', { data: Array.from({ length: 101 }, () => ({ number: '1' })) }),
  },
  'unsupported-media-type': {
    request: 'POST /api/v1/table/new/upload/json, with Content-Type: text/csv',
    send: (service) =>
      service.request('POST', '/table/new/upload/json', {
        headers: { 'content-type': 'text/csv' },
        body: 'number\n000417\n',
      }),
  },
  'invalid-parameter': {
    request: 'GET /api/v1/table/orders?schma=sales',
    send: (service) => service.get('/table/orders?schma=sales'),
  },
  'invalid-definition': json(
    '/table/new',
    '{"table": {"columns": [{"name": "id", "type": "bigsreial"}, {"name": "amount", "type": "numeric(12,2)", "default": "none"}]}}',
  ),
  'distribution-unavailable': json(
    '/table/new',
    '{"table": {"columns": [{"name": "customer_id", "type": "bigint"}], "distribution": {"kind": "column", "column": "customer_id"}}}',
  ),
  'invalid-data': json(
    '/table/orders/upload/json?if_exists=append',
    '{"data": [{"number": "000424", "quantity": "two"}, {"number": "000431", "ordered_on": "2026-02-30"}, {"number": "000417", "quantity": 3}]}',
  ),
  'nothing-to-load': json('/table/new/upload/json', '{"data": []}'),
  'password-required': workbook(encryptedWorkbook, 'of an encrypted workbook'),
  'wrong-password': {
    request:
      'POST /api/v1/table/new/upload/excel, of an encrypted workbook with another password in the part `password`',
    send: (service) => {
      const body = new FormData();
      body.append('password', 'another');
      body.append('file', new Blob([new Uint8Array(encryptedWorkbook)]), 'a.xlsx');
      return service.request('POST', '/table/new/upload/excel', { body });
    },
  },
  'unsupported-file': workbook(Buffer.from('%PDF-1.7\n'), 'of a PDF'),
  'too-many-uploads': {
    request:
      'POST /api/v1/table/new/upload/json, while another upload was running, with MAX_UPLOADS=1 and UPLOAD_WAIT_MS=0',
    send: sendBesideAnother,
  },
  'too-many-requests': {
    request: 'GET /api/v1/table/orders, for the second time within a minute, with MAX_REQUESTS_PER_MINUTE=1',
    send: sendTwice,
  },
  'queue-full': {
    request:
      'POST /api/v1/table/new/upload/json, with `Prefer: respond-async` and a body of 2,000 bytes, with MAX_QUEUED_BYTES_PER_SUBJECT=1024',
    send: (service) => {
      const headers = { 'content-type': 'application/json', prefer: 'respond-async' };
      return service.request('POST', '/table/new/upload/json', { headers, body: ' '.repeat(2000) });
    },
  },
  'load-not-found': {
    request: 'GET /api/v1/loads/0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d',
    send: (service) => service.get('/api/v1/loads/0199d3a1-7f2b-7c44-9a3e-5d6f7a8b9c0d'),
  },
  'no-faulty-rows': {
    request: 'GET /api/v1/loads/{id}/faulty-rows, of a load without problems',
    send: async (service) => {
      const { headers } = await service.post('/table/faultless/upload/json', { data: [{ a: 1 }] });
      return service.get(`/api/v1/loads/${headers.get('load-id')}/faulty-rows`);
    },
  },
  'webhook-not-found': {
    request: 'GET /api/v1/webhooks/3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e/deliveries',
    send: (service) => service.get('/api/v1/webhooks/3f0c5a1e-6c1f-4a7e-9d7e-0b1f2a3c4d5e/deliveries'),
  },
  'profile-not-found': {
    request: 'GET /api/v1/profiles/monthly-orders',
    send: (service) => service.get('/api/v1/profiles/monthly-orders'),
  },
  'profile-not-owned': {
    request: 'DELETE /api/v1/profiles/team?shared_with=public, of another subject',
    send: async (service) => {
      const path = '/api/v1/profiles/team?shared_with=public';
      const headers = { 'content-type': 'application/json' };
      await service.request('PUT', path, { headers, body: '{}' });
      return service.request('DELETE', path, { token: await service.token({ subject: 'another' }) });
    },
  },
  'invalid-profile': {
    request: 'PUT /api/v1/profiles/monthly-orders\n\n{"parameters": {"dry_run": true}}',
    send: (service) => {
      const headers = { 'content-type': 'application/json' };
      const body = '{"parameters": {"dry_run": true}}';
      return service.request('PUT', '/api/v1/profiles/monthly-orders', { headers, body });
    },
  },
  'invalid-webhook': json('/webhooks', '{"url": "https://192.168.0.1/hook"}'),
  'load-ended': {
    request: 'POST /api/v1/loads/{id}/cancel, of a load that is committed',
    send: async (service) => {
      const { headers } = await service.post('/table/ended/upload/json', { data: [{ a: 1 }] });
      return service.request('POST', `/api/v1/loads/${headers.get('load-id')}/cancel`);
    },
  },
  'load-cancelled': {
    request: 'POST /api/v1/table/new/upload/json, cancelled while its body was sent',
    send: sendAndCancel,
  },
  'idempotency-key-in-use': {
    request: 'POST /api/v1/table/new, while another request with the same Idempotency-Key was running',
    send: sendWithKeyInUse,
  },
  'link-refused': link('https://192.168.0.1/orders.csv', 'in a private network'),
  // Nobody listens on this port.
  'link-failed': link('http://127.0.0.1:1/orders.csv', 'of a server that is not there'),
  'idempotency-key-reused': {
    request: 'POST /api/v1/table/keyed, with the Idempotency-Key of another request',
    send: async (service) => {
      const headers = { 'idempotency-key': 'a-key' };
      await service.post('/table/keyed', definition, { headers });
      return service.post('/table/keyed?if_not_exists=true', definition, { headers });
    },
  },
  'events-removed': {
    request: 'GET /api/v1/events, with the Last-Event-ID of an event that was removed',
    send: async (service) => {
      const outbox = 'tablewright_service';
      await service.rows(`UPDATE ${outbox}.event_state SET removed_to = 1000`);
      try {
        return await service.get('/api/v1/events', { headers: { 'last-event-id': '500' } });
      } finally {
        await service.rows(`UPDATE ${outbox}.event_state SET removed_to = 0`);
      }
    },
  },
  'not-enabled': {
    request: 'GET /api/v1/loads, of a service with SERVICE_SCHEMA=none',
    send: async () => {
      const other = await startTestService({ SERVICE_SCHEMA: 'none' });
      try {
        return await other.get('/api/v1/loads');
      } finally {
        await other.stop();
      }
    },
  },
  'headers-too-large': {
    request: 'GET /api/v1/table/orders, with 20 KiB of headers',
    send: (service) => service.get('/table/orders', { headers: { 'x-long': 'x'.repeat(20_480) } }),
  },
  'internal-error': {
    request:
      'POST /api/v1/table/failing/upload/json?if_exists=append, into a table whose trigger fails with SQLSTATE XX001',
    send: (service) => failWith(service, 'XX001'),
  },
  'database-busy': {
    request:
      'POST /api/v1/table/orders/upload/json?if_exists=append, while another session had locked the table',
    send: sendToLockedTable,
  },
  'token-keys-unavailable': {
    request: 'GET /api/v1/table/orders, while the identity provider could not be reached',
    send: sendWithoutProvider,
  },
  // These two requests end the service's database and the service.
  'database-unavailable': {
    request: 'GET /readyz, after the database was dropped',
    send: sendWithoutDatabase,
  },
  'shutting-down': {
    request: 'GET /readyz, while the service stops',
    send: sendWhileStopping,
  },
};

const definition = { table: { columns: [{ name: 'number', type: 'text' }] } };

function json(path: string, body: string): Provocation {
  return {
    request: `POST /api/v1${path}\n\n${body}`,
    send: (service) =>
      service.request('POST', `/api/v1${path}`, { headers: { 'content-type': 'application/json' }, body }),
  };
}

function workbook(file: Buffer, what: string): Provocation {
  return {
    request: `POST /api/v1/table/new/upload/excel, ${what}`,
    send: (service) => service.upload('/table/new/upload/excel', file),
  };
}

/** Returns the answer to an upload during which PostgreSQL fails. */
function failWith(service: TestService, sqlstate: string): Promise<TestAnswer> {
  return service.post('/table/failing/upload/json?if_exists=append', { data: [{ sqlstate }] });
}

async function beginUpload(service: TestService): Promise<ClientRequest> {
  const request = await openUpload(service, '/table/new/upload/json');
  request.write('{"data": [');
  return request;
}

async function sendStalled(service: TestService) {
  const request = await beginUpload(service);
  const answer = await answerOf(request);
  request.destroy();
  return answer;
}

/** Starts two uploads that stop sending. One has the only place, and the other one is answered. */
async function sendBesideAnother(service: TestService) {
  const uploads = [await beginUpload(service), await beginUpload(service)];
  const answer = await Promise.race(uploads.map(answerOf));
  for (const upload of uploads) upload.destroy();
  const isFull = async () => (await service.post('/table/new/upload/json', {})).status === 429;
  await until('a place to be free', async () => !(await isFull()));
  return answer;
}

/** Sends a request twice to a service that allows one, and returns the second answer. */
async function sendTwice(): Promise<TestAnswer> {
  const service = await startTestService({ MAX_REQUESTS_PER_MINUTE: '1' });
  try {
    await service.get('/table/orders');
    return await service.get('/table/orders');
  } finally {
    await service.stop();
  }
}

async function sendWithKeyInUse(service: TestService) {
  const headers = { 'idempotency-key': 'slow' };
  const path = '/table/orders/upload/json?if_exists=append';
  const client = await service.database.pool.connect();
  try {
    await client.query('BEGIN; LOCK TABLE orders');
    const first = service.post(path, { data: [] }, { headers });
    const claimed = "SELECT FROM tablewright_service.idempotency_keys WHERE key = 'slow'";
    await until('the key', async () => (await service.rows(claimed)).length > 0);
    const answer = await service.post('/table/new', definition, { headers });
    await client.query('ROLLBACK');
    await first;
    return answer;
  } finally {
    client.release();
  }
}

async function sendAndCancel(service: TestService) {
  const upload = await beginUpload(service);
  const answered = answerOf(upload);
  const running = 'SELECT id FROM tablewright_service.loads WHERE ended_at IS NULL';
  let rows: Record<string, unknown>[] = [];
  while (rows.length === 0) rows = await service.rows(running);
  await service.request('POST', `/api/v1/loads/${rows[0]!.id}/cancel`);
  const answer = await answered;
  upload.destroy();
  return answer;
}

async function answerOf(request: ClientRequest) {
  const [response] = await once(request, 'response');
  const body = JSON.parse(await text(response));
  return { status: response.statusCode, headers: new Headers(response.headers), body };
}

async function sendToLockedTable(service: TestService): Promise<TestAnswer> {
  const client = await service.database.pool.connect();
  try {
    await client.query('BEGIN; LOCK TABLE orders');
    return await service.post('/table/orders/upload/json?if_exists=append', {
      data: [{ number: '000424', quantity: 1 }],
    });
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/** Sends a request to another service, whose identity provider is a port on which nothing listens. */
async function sendWithoutProvider(): Promise<TestAnswer> {
  const service = await startTestService({
    TOKEN_SECRET: '',
    TOKEN_ISSUER: `http://127.0.0.1:${await freePort()}`,
    TOKEN_AUDIENCE: 'tablewright',
  });
  const { privateKey } = await generateKeyPair('ES256');
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256' })
    .setExpirationTime('1h')
    .sign(privateKey);
  try {
    return await service.get('/table/orders', { token });
  } finally {
    await service.stop();
  }
}

async function sendWithoutDatabase(service: TestService): Promise<TestAnswer> {
  const name = new URL(service.database.url).pathname.slice(1);
  const server = new pg.Client(process.env.TEST_ADMIN_DATABASE_URL ?? process.env.TEST_DATABASE_URL);
  await server.connect();
  await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await server.end();
  return service.get('/readyz');
}

/** Sends a request while the service stops. */
async function sendWhileStopping(service: TestService) {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  // A connection that was never used would be closed at once.
  // The service has read the beginning of the second request when it answers the first one.
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\n');
  await once(socket, 'data');
  const stopped = service.stop();
  await until('the service to accept no connection', () => refusesConnections(service.url));
  socket.write('Connection: close\r\n\r\n');
  const [head, body] = (await text(socket)).split('\r\n\r\n') as [string, string];
  await stopped;
  const [statusLine, ...fields] = head.split('\r\n') as [string, ...string[]];
  const headers = new Headers(fields.map((field) => field.split(/: (.*)/, 2) as [string, string]));
  return { status: Number(statusLine.split(' ')[1]), headers, body: JSON.parse(body) };
}

async function refusesConnections(url: string): Promise<boolean> {
  try {
    (await openSocket(url)).destroy();
    return false;
  } catch {
    return true;
  }
}
