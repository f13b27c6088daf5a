/** The metrics for Prometheus, on a port of their own, and the dashboard and the alerts that use them. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { errorCatalogue } from '../../src/core/errors.ts';
import { beginUpload } from '../support/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const workbook = readFileSync(join(root, 'examples', 'orders.xlsx'));

let service: TestService;

before(async () => {
  service = await startTestService({ METRICS_PORT: '0' });
});

after(() => service.stop());

async function readMetrics(): Promise<string> {
  const answer = await fetch(service.metricsUrl!);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
  return answer.text();
}

/** Returns the value of one series: `name{label="value"}`, with the labels in any order; 0: there is none. */
function seriesValue(metrics: string, name: string, labels: Record<string, string> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = metrics.split('\n').find((line) => {
    const [, found, has = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    return found === name && wanted.every((label) => has.split(',').includes(label));
  });
  return line === undefined ? 0 : Number(line.split(' ').at(-1));
}

/** Returns by how much a series grew while the work was done. @param isEventual the series may grow a moment after the work */
async function growth(
  work: () => Promise<unknown>,
  name: string,
  labels?: Record<string, string>,
  isEventual = false,
): Promise<number> {
  const before = seriesValue(await readMetrics(), name, labels);
  await work();
  if (isEventual)
    await until('the series to grow', async () => seriesValue(await readMetrics(), name, labels) > before);
  return seriesValue(await readMetrics(), name, labels) - before;
}

const route = '/api/v1/table/:table_name/upload/json';

test('the public port has no metrics, and without METRICS_PORT there are none', async () => {
  assert.equal((await service.get('/metrics')).status, 404);
  const other = await startTestService();
  assert.equal(other.metricsUrl, undefined);
  await other.stop();
});

test('the port of the metrics has nothing else', async () => {
  for (const path of ['/', '/healthz', '/api/v1/table/a']) {
    assert.equal((await fetch(new URL(path, service.metricsUrl))).status, 404);
  }
  assert.equal((await fetch(service.metricsUrl!, { method: 'POST' })).status, 405);
});

test('rows, problems and errors of asynchronous loads are counted', async () => {
  const headers = { prefer: 'respond-async' };
  const load = async (path: string, body: object, state: string) => {
    const { status, body: accepted } = await service.post(path, body, { headers });
    assert.equal(status, 202);
    await until(
      'the end of the load',
      async () => (await service.get(`/api/v1/loads/${accepted.id}`)).body.state === state,
    );
  };
  const rows = { data: [{ a: 1 }, { a: 2 }] };
  const loading = () => load('/table/later/upload/json', rows, 'committed');
  assert.equal(await growth(loading, 'tablewright_rows_loaded_total', { format: 'json' }, true), 2);
  const bytes = () => load('/table/later/upload/json?if_exists=append', rows, 'committed');
  const length = JSON.stringify(rows).length;
  assert.equal(await growth(bytes, 'tablewright_bytes_loaded_total', { format: 'json' }, true), length);
  const wrong = () => load('/table/later/upload/json?if_exists=append', { data: [{ a: 'x' }] }, 'refused');
  assert.equal(await growth(wrong, 'tablewright_errors_total', { code: 'invalid-data' }, true), 1);
  assert.equal(await growth(wrong, 'tablewright_problems_total', { code: 'not-a-whole-number' }, true), 1);
});

test('asynchronous loads that wait and run are counted, with the bytes of their bodies', async () => {
  await service.rows('CREATE TABLE public.waited_for (a bigint)');
  const holder = await service.database.pool.connect();
  await holder.query('BEGIN; LOCK TABLE public.waited_for');
  const body = { data: [{ a: 1 }] };
  const bytes = JSON.stringify(body).length;
  const path = '/table/waited_for/upload/json?if_exists=append';
  const [name, nameOfBytes] = ['tablewright_queued_loads', 'tablewright_queued_bytes'];
  try {
    // Four of them run at the same time.
    for (let n = 0; n < 6; n++) await service.post(path, body, { headers: { prefer: 'respond-async' } });
    let metrics = '';
    await until('four loads to run', async () => {
      metrics = await readMetrics();
      return seriesValue(metrics, name, { state: 'running' }) === 4;
    });
    assert.equal(seriesValue(metrics, name, { state: 'queued' }), 2);
    assert.equal(seriesValue(metrics, nameOfBytes, { state: 'running' }), 4 * bytes);
    assert.equal(seriesValue(metrics, nameOfBytes, { state: 'queued' }), 2 * bytes);
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
  await until(
    'the loads to end',
    async () => seriesValue(await readMetrics(), name, { state: 'running' }) === 0,
  );
});

test('requests are counted by route and status, and no path or parameter of a request is a label', async () => {
  const name = 'tablewright_http_request_duration_seconds_count';
  const created = { method: 'POST', route, status: '201' };
  assert.equal(
    await growth(() => service.post('/table/label-1/upload/json', { data: [{ a: 1 }] }), name, created),
    1,
  );
  const missing = { method: 'GET', route: '/api/v1/table/:table_name', status: '404' };
  assert.equal(await growth(() => service.get('/table/label-2'), name, missing), 1);
  const nowhere = { method: 'GET', route: 'none', status: '404' };
  assert.equal(await growth(() => service.get('/label-3?label-4'), name, nowhere), 1);
  const undecodable = { method: 'GET', route: 'none', status: '400' };
  assert.equal(await growth(() => service.get('/label-5%zz'), name, undecodable), 1);
  assert.doesNotMatch(await readMetrics(), /label-/);
});

test('rows and bytes of committed uploads are counted by format, and a dry run counts nothing', async () => {
  const load = () => service.upload('/table/orders/upload/excel?if_exists=replace', workbook);
  assert.equal(await growth(load, 'tablewright_rows_loaded_total', { format: 'xlsx' }), 300);
  const bytes = await growth(load, 'tablewright_bytes_loaded_total', { format: 'xlsx' });
  assert(bytes > workbook.length && bytes < workbook.length + 1000);
  const dryRun = () => service.upload('/table/orders/upload/excel?if_exists=replace&dry_run=true', workbook);
  assert.equal(await growth(dryRun, 'tablewright_rows_loaded_total', { format: 'xlsx' }), 0);
});

test('the seconds of inference and of COPY are measured', async () => {
  const data = { data: [{ a: 1 }, { a: 2 }] };
  const copied = () =>
    service.post('/table/copied/upload/json', { table: { columns: [{ name: 'a', type: 'int' }] }, ...data });
  assert.equal(await growth(copied, 'tablewright_copy_duration_seconds_count'), 1);
  const added = () => service.post('/table/copied/upload/json?if_exists=append&extra_columns=add', data);
  assert.equal(await growth(added, 'tablewright_inference_duration_seconds_count'), 1);
});

test('errors, their problems and refused tokens are counted by code and reason', async () => {
  await service.post('/table/typed', { table: { columns: [{ name: 'a', type: 'int' }] } });
  const wrong = () =>
    service.post('/table/typed/upload/json?if_exists=append', { data: [{ a: 'x' }, { a: 'y' }] });
  assert.equal(await growth(wrong, 'tablewright_errors_total', { code: 'invalid-data' }), 1);
  assert.equal(await growth(wrong, 'tablewright_problems_total', { code: 'not-a-whole-number' }), 2);
  const without = () => service.get('/table/typed', { token: null });
  assert.equal(await growth(without, 'tablewright_tokens_refused_total', { reason: 'missing' }), 1);
  assert.equal(await growth(without, 'tablewright_errors_total', { code: 'missing-token' }), 1);
  for (const [reason, token] of [
    ['malformed', 'x'],
    ['expired', await service.token({ ttlSeconds: -86_400 })],
    ['signature', `${(await service.token()).slice(0, -10)}AAAAAAAAAA`],
    ['claim', await service.token({ role: 'none' })],
  ]) {
    const refused = () => service.get('/table/typed', { token: token! });
    assert.equal(await growth(refused, 'tablewright_tokens_refused_total', { reason: reason! }), 1, reason);
  }
});

test('uploads and connections in use are shown while they are in use', async () => {
  const running = { line: 'uploads' };
  assert.equal(seriesValue(await readMetrics(), 'tablewright_requests_running', running), 0);
  const socket = await beginUpload(
    service.url,
    '/held/upload/json',
    await service.token(),
    'application/json',
  );
  await until(
    'the upload to begin',
    async () => seriesValue(await readMetrics(), 'tablewright_requests_running', running) === 1,
  );
  socket.destroy();
  await until(
    'the upload to end',
    async () => seriesValue(await readMetrics(), 'tablewright_requests_running', running) === 0,
  );
  const disconnected = { route, status: 'disconnected' };
  assert.equal(
    seriesValue(await readMetrics(), 'tablewright_http_request_duration_seconds_count', disconnected),
    1,
  );
  const client = await service.database.pool.connect();
  await client.query('CREATE TABLE locked (a int)');
  await client.query('BEGIN; LOCK TABLE locked');
  const waiting = service.post('/table/locked/upload/json?if_exists=append', { data: [{ a: 1 }] });
  await until(
    'a connection in use',
    async () =>
      seriesValue(await readMetrics(), 'tablewright_database_connections', { state: 'in_use' }) === 1,
  );
  await client.query('COMMIT');
  client.release();
  assert.equal((await waiting).status, 200);
  const metrics = await readMetrics();
  assert.equal(seriesValue(metrics, 'tablewright_database_connections_max'), 20);
  assert.equal(seriesValue(metrics, 'tablewright_database_waiting'), 0);
  assert.match(metrics, /^nodejs_eventloop_lag_p99_seconds \d/m);
});

test('the dashboard and the alerts name only metrics, labels and codes that the service has', async () => {
  const metrics = await readMetrics();
  const types = new Map(
    [...metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!]),
  );
  const series = new Set(
    [...types].flatMap(([name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );
  const files = globSync('ops/{grafana,prometheus}/*', { cwd: root });
  assert(files.length >= 2);
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    const expressions = [...text.matchAll(/"?expr"?: ?(?:"((?:[^"\\]|\\.)*)"|(.*))/g)].map(
      ([, json, yaml]) => (json === undefined ? yaml! : JSON.parse(`"${json}"`)),
    );
    assert(expressions.length >= 8, file);
    for (const expression of expressions) {
      const names = expression.match(/\b(?:tablewright|nodejs|process)_\w+/g) ?? [];
      assert(names.length > 0 || /\bup\b/.test(expression), `${file}: ${expression}`);
      for (const name of names) assert(series.has(name), `${file}: ${name}`);
      for (const [, codes] of expression.matchAll(/\bcode=~?"([^"]+)"/g)) {
        for (const code of codes!.split('|')) assert(code in errorCatalogue, `${file}: ${code}`);
      }
    }
    if (file.endsWith('.json')) JSON.parse(text);
  }
});

test('docs/monitoring.md lists every metric of the service', async () => {
  const metrics = await readMetrics();
  const names = [...metrics.matchAll(/^# TYPE (tablewright_\w+) /gm)].map(([, name]) => name!);
  const page = readFileSync(join(root, 'docs', 'monitoring.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `(tablewright_\w+)`/gm)].map(([, name]) => name!);
  assert.deepEqual(listed.toSorted(), names.toSorted());
});
