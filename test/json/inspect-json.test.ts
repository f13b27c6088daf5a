/**
 * `POST /api/v1/inspect/json`
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertProblem } from '../support/problem.ts';
import { type RequestOptions, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const path = '/api/v1/inspect/json';
const inspect = (body: unknown, query = '', options: RequestOptions = {}) =>
  service.post(path + query, body, options);
const inspectLines = (body: string, query = '') =>
  service.request('POST', path + query, { body, headers: { 'content-type': 'application/x-ndjson' } });

const items = Array.from({ length: 30 }, (_, n) => ({
  id: n,
  day: '2026-11-21',
  price: n % 2 === 0 ? n : n / 2,
  tags: n === 1 ? ['a'] : null,
  ...(n === 29 && { late: true }),
}));

test('an inspection shows the definition, the first rows as text and the number of rows, and writes nothing to the database', async () => {
  for (const body of [{ data: items }, items, { table: { columns: [] }, data: items }]) {
    const answer = await inspect(body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { format, arrays, data } = answer.body;
    const rowsAt = Array.isArray(body) ? '' : '/data';
    assert.equal(format, 'json');
    assert.deepEqual(arrays, [{ rows_at: rowsAt, rows: 30 }]);
    assert.equal(data.rows_at, rowsAt);
    assert.equal(data.row_count, 30);
    assert.deepEqual(data.header, ['id', 'day', 'price', 'tags', 'late']);
    assert.deepEqual(data.definition.columns, [
      { name: 'id', type: 'bigint' },
      { name: 'day', type: 'date' },
      { name: 'price', type: 'numeric' },
      { name: 'tags', type: 'jsonb' },
      { name: 'late', type: 'boolean' },
    ]);
    assert.equal(data.rows.length, 20);
    assert.deepEqual(data.rows[1], ['1', '2026-11-21', '0.5', '["a"]', null]);
    assert.deepEqual([data.errors, data.error_count, data.warnings], [[], 0, []]);
  }
  assert.deepEqual(
    await service.rows("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"),
    [],
  );
});

test('a key that a row has twice counts as one value', async () => {
  const lines = ['{"a":1,"a":2,"b":3}', '{"a":4,"b":null}'].join('\n');
  const { body } = await inspectLines(lines);
  assert.equal(body.data.errors[0].code, 'repeated-key', JSON.stringify(body.data.errors));
  assert.deepEqual(body.data.columns, [
    { name: 'a', values: 2, empty: 0 },
    { name: 'b', values: 1, empty: 1 },
  ]);
});

test('the definition that an inspection proposes loads the inspected rows', async () => {
  const { body } = await inspect({ data: items });
  const loaded = await service.post('/table/items/upload/json', { table: body.data.definition, data: items });
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  await service.rows('DROP TABLE items');
});

test('an inspection of a document without `data` lists its arrays of objects, and shows the rows of the largest', async () => {
  const document = {
    status: 'ok',
    errors: [],
    tags: ['a', 'b', 'c'],
    response: {
      'a/b': items,
      lines: [
        { n: 1, parts: [{ m: 1 }, { m: 2 }] },
        { n: 2, parts: [{ m: 3 }] },
      ],
    },
    grid: [[{ x: 1 }], [{ x: 2 }]],
  };
  const { status, body } = await inspect(document);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.arrays, [
    { rows_at: '/response/a~1b', rows: 30 },
    { rows_at: '/response/lines', rows: 2 },
    { rows_at: '/response/lines/0/parts', rows: 2 },
    { rows_at: '/grid/0', rows: 1 },
  ]);
  assert.equal(body.data.rows_at, '/response/a~1b');
  assert.equal(body.data.row_count, 30);
  const [warning] = body.data.warnings;
  assert.equal(warning.code, 'rows-elsewhere');
  assert.ok(warning.detail.endsWith('send rows_at=/response/a~1b.'));
  for (const { rows_at: rowsAt, rows } of body.arrays) {
    const query = `?rows_at=${encodeURIComponent(rowsAt)}`;
    const chosen = await inspect(document, query);
    assert.deepEqual([chosen.body.data.row_count, chosen.body.data.warnings], [rows, []], rowsAt);
    const loaded = await service.post(`/table/of_array/upload/json${query}&dry_run=true`, document);
    assert.equal(loaded.body.load?.rows, rows, JSON.stringify(loaded.body));
  }
});

test('an inspection of a body with one row on each line gives lines instead of pointers, and is the same otherwise', async () => {
  const { status, body } = await inspectLines('{"id":1,"ctid":2}\n\n[1]\n{"id":"x","id":2}\n');
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(
    [body.format, body.arrays, body.data.rows_at, body.data.row_count],
    ['ndjson', [], undefined, 3],
  );
  assert.deepEqual(
    body.data.errors.map(({ line, row, column, code }: Record<string, unknown>) => [line, row, column, code]),
    [
      [1, 1, 'ctid', 'invalid-name'],
      [3, 3, undefined, 'row-not-an-object'],
      [4, 4, 'id', 'repeated-key'],
    ],
  );
  assert.equal(body.data.error_count, 3);
});

test('an inspection has the warnings of an upload, and warns of a body without rows', async () => {
  const mixed = await inspect([...items.map(({ id }) => ({ id })), { id: 'N/A' }]);
  assert.deepEqual(
    mixed.body.data.warnings.map(({ code }: { code: string }) => code),
    ['mixed-column'],
  );
  const withNulls = await inspect([...items.map(({ id }) => ({ id })), { id: 'N/A' }], '?null_values=N/A');
  assert.equal(withNulls.body.data.definition.columns[0].type, 'bigint');
  for (const nothing of [{ data: [] }, [], {}, { table: null }]) {
    const { body } = await inspect(nothing);
    assert.deepEqual(body.data.header, []);
    assert.deepEqual(
      body.data.warnings.map(({ code }: { code: string }) => code),
      ['no-rows'],
      JSON.stringify(nothing),
    );
  }
});

test('an inspection refuses a body without an array of objects or without JSON, and names the arrays that the body has', async () => {
  const noArray = assertProblem(await inspect({ status: 'ok', tags: ['a'] }), 422, 'invalid-data');
  assert.match(noArray.detail, /The document has no array of objects\.$/);
  const elsewhere = await inspect({ a: { b: items } }, '?rows_at=/a/c');
  assert.match(
    assertProblem(elsewhere, 422, 'invalid-parameter').detail,
    /with the member "b"\. The document has arrays of objects at "\/a\/b"\.$/,
  );
  for (const body of ['{"a":[{}]', '{"data":[{}],}', '']) {
    const answer = await service.request('POST', path, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    assertProblem(answer, 400, 'invalid-json');
  }
  assertProblem(await inspect('scalar'), 422, 'invalid-data');
  assertProblem(await inspect([], '?rows_at=a'), 422, 'invalid-parameter');
  assertProblem(await inspect([], '?if_exists=append'), 422, 'invalid-parameter');
});

test('an inspection needs the scope table:load, accepts compressed bodies and refuses other content types', async () => {
  const token = await service.token({ scope: 'table:create table:read' });
  assertProblem(await inspect([], '', { token }), 403, 'insufficient-scope');
  assertProblem(await inspect([], '', { token: null }), 401, 'missing-token');
  const packed = await service.request('POST', path, {
    body: gzipSync(JSON.stringify(items)),
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  });
  assert.equal(packed.body.data.row_count, 30);
  const csv = await service.request('POST', path, { body: 'a,b', headers: { 'content-type': 'text/csv' } });
  assertProblem(csv, 415, 'unsupported-media-type');
});

test('an inspection of a document with many arrays lists the hundred largest, in bounded memory', async () => {
  const members = Array.from(
    { length: 20_000 },
    (_, n) =>
      `"k${n}":[${Array(n % 150)
        .fill('{}')
        .join()}]`,
  );
  const answer = await service.request('POST', path, {
    body: `{${members.join(',')}}`,
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 300));
  assert.equal(answer.body.arrays.length, 100);
  assert.ok(answer.body.arrays.every(({ rows }: { rows: number }) => rows === 149));
});
