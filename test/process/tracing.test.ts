/** Spans for an OpenTelemetry collector, which the standard environment variables name. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { startTracing } from '../../src/service/tracing/tracing.ts';
import { startChildService } from '../support/child-service.ts';
import { createTestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';

test('a request is a span in the trace of its caller, and no span has its path, its token or the value of a cell', async (context) => {
  const received: Buffer[] = [];
  const collector = createServer(async (request, response) => {
    if (request.url === '/v1/traces') received.push(await buffer(request));
    response.end();
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const database = await createTestDatabase();
  const service = await startChildService(database, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_SERVICE_NAME: 'tablewright-under-test',
  });
  context.after(async () => {
    await service.end('SIGKILL');
    await database.drop();
    collector.close();
  });
  const headers = { traceparent: `00-${traceId}-${parentId}-01` };
  const created = await service.post('/table/hunter2/upload/json', { data: [{ a: 'hunter2' }] }, { headers });
  assert.equal(created.status, 201);
  assert.equal((await service.get('/table/missing', { headers })).status, 404);
  // A caller that does not record its trace gets no span.
  const unsampled = { traceparent: `00-${'b'.repeat(32)}-${parentId}-00` };
  assert.equal((await service.get('/table/hunter2', { headers: unsampled })).status, 200);
  await service.get('/healthz');
  // When the service stops, it sends all spans.
  const ended = service.end('SIGTERM');
  await until('the spans', () => received.length > 0);
  await ended;
  const sent = Buffer.concat(received);
  for (const expected of [
    Buffer.from(traceId, 'hex'),
    Buffer.from(parentId, 'hex'),
    'POST /api/v1/table/:table_name/upload/json',
    'GET /api/v1/table/:table_name',
    'table-not-found',
    'tablewright-under-test',
    created.headers.get('x-request-id')!,
  ]) {
    assert(sent.includes(expected), expected.toString('hex'));
  }
  for (const absent of ['hunter2', 'Bearer', 'healthz', Buffer.from('b'.repeat(32), 'hex')]) {
    assert(!sent.includes(absent), absent.toString());
  }
});

test('spans that a collector refuses are a warning, and not one for each attempt', async (context) => {
  let attempts = 0;
  const collector = createServer((_, response) => {
    attempts += 1;
    response.writeHead(400).end('hunter2');
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}`;
  context.after(() => {
    delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
    collector.close();
  });
  const warnings: [object, string][] = [];
  const log = {
    info: () => {},
    warn: (details: object, message: string) => warnings.push([details, message]),
  };
  const tracing = await startTracing(process.env, log);
  const request = { method: 'GET', route: '/', status: 200, requestId: 'a', code: undefined };
  // A batch has at most 512 spans.
  for (let n = 0; n < 600; n += 1)
    tracing!.answered({ ...request, startedAt: Date.now(), durationMs: 1, parent: undefined });
  await tracing!.stop();
  assert.ok(attempts >= 2, `there were ${attempts} attempts`);
  assert.equal(warnings.length, 1);
  const [{ reason }, message] = warnings[0] as [{ reason: string }, string];
  assert.match(message, /^Spans could not be sent/);
  assert.ok(reason.length > 0 && !reason.includes('hunter2'), reason);
});

test('a sentence in the log says which packages are missing or which protocol is not supported, and the service starts', async () => {
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (_details: object, message: string) => warnings.push(message) };
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const missing = '@opentelemetry/no-such-package';
  assert.equal(await startTracing(environment, log, () => import(missing)), undefined);
  assert.match(
    warnings.pop()!,
    /^No traces are sent: OTEL_EXPORTER_OTLP_ENDPOINT is set, but .* not installed\. Run "npm install/,
  );
  const grpc = { ...environment, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  assert.equal(await startTracing(grpc, log), undefined);
  assert.match(warnings.pop()!, /http\/protobuf only/);
  for (const off of [
    {},
    { ...environment, OTEL_SDK_DISABLED: 'true' },
    { ...environment, OTEL_TRACES_EXPORTER: 'none' },
  ]) {
    assert.equal(await startTracing(off, log), undefined);
  }
  assert.deepEqual(warnings, []);
});
