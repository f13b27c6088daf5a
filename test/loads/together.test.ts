/** Tests loads of several tables in one transaction (`POST /api/v1/loads`). */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { endOf } from '../support/load-ends.ts';
import { planForm } from '../support/plan-form.ts';
import { openSocket } from '../support/raw-http.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { bookOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => clear());

// biome-ignore lint/suspicious/noExplicitAny: a part of whatever JSON the service answers
type Found = any;

async function tables(): Promise<unknown[]> {
  const rows = await service.rows("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'");
  return rows.map(({ name }) => name);
}

async function clear(): Promise<void> {
  for (const name of await tables()) await service.rows(`DROP TABLE IF EXISTS public."${name}" CASCADE`);
}

/** Sends a plan with files. The query begins with `?`. */
function load(
  tables: object[],
  files: Record<string, string | Buffer>,
  query = '',
  headers: Record<string, string> = {},
): Promise<TestAnswer> {
  return service.request('POST', `/api/v1/loads${query}`, { body: planForm({ tables }, files), headers });
}

const customers = {
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'name', type: 'text' },
  ],
  constraints: { primary_key: { name: '', columns: ['id'] } },
};
const ordersOf = (table = 'customers') => ({
  columns: [
    { name: 'no', type: 'bigint' },
    { name: 'customer', type: 'bigint' },
  ],
  constraints: {
    primary_key: { name: '', columns: ['no'] },
    foreign_keys: [{ name: '', column: 'customer', reference_table: table, reference_column: 'id' }],
  },
});

/** A table with a key and a foreign key to another table. */
const pairOf = (table: string) => ({
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'other', type: 'bigint' },
  ],
  constraints: {
    primary_key: { name: '', columns: ['id'] },
    foreign_keys: [{ name: '', column: 'other', reference_table: table, reference_column: 'id' }],
  },
});

const plan = [
  { table: 'orders', file: 'o', definition: ordersOf() },
  { table: 'customers', file: 'c', definition: customers },
];

test('two new tables may be in the wrong order of their foreign key', async () => {
  const answer = await load(plan, { o: 'no,customer\n1,7\n2,7\n', c: 'id,name\n7,Ann\n' });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const { tables } = answer.body;
  assert.deepEqual(
    tables.map(({ part, file, change, load, table }: Found) => [part, file, change, load.rows, table.name]),
    [
      [1, 'o', 'created', 2, 'orders'],
      [2, 'c', 'created', 1, 'customers'],
    ],
  );
  assert.equal(tables[0].table.constraints.foreign_keys[0].reference_table, 'customers');
  assert.deepEqual(await service.rows('SELECT no FROM orders ORDER BY no'), [{ no: '1' }, { no: '2' }]);
});

test('a row without a match is a problem of its table, and nothing is loaded', async () => {
  const answer = await load(plan, { o: 'no,customer\n1,7\n2,8\n', c: 'id,name\n7,Ann\n' });
  assert.equal(answer.status, 422);
  assert.deepEqual(
    answer.body.errors.map(({ part, row, column, code }: Found) => [part, row, column, code]),
    [[1, 2, 'customer', 'no-such-reference']],
  );
  assert.deepEqual(await tables(), []);
});

test('one answer has the problems of all tables, also of one that refers to a table with problems', async () => {
  const answer = await load(plan, { o: 'no,customer\nx,7\n2,7\n', c: 'id,name\n7,Ann\n7,Bob\n' });
  assert.deepEqual([answer.status, answer.body.code, answer.body.error_count], [422, 'invalid-data', 2]);
  assert.deepEqual(answer.body.errors.map((one: Found) => [one.part, one.row, one.code]).sort(), [
    [1, 1, 'not-a-whole-number'],
    [2, 2, 'not-unique'],
  ]);
  assert.match(answer.body.detail, /Table 2 of the plan, "public"\."customers": /);
  assert.deepEqual(await tables(), []);
  const { body } = await service.get(`/api/v1/loads/${answer.headers.get('load-id')}/problems`);
  assert.deepEqual(body.problems.map((one: Found) => one.part).sort(), [1, 2]);
});

test('many problems of one table do not hide those of another', async () => {
  const many = Array.from({ length: 60_000 }, (_, index) => `x${index},7\n`).join('');
  const answer = await load(plan, { o: `no,customer\n${many}`, c: 'id,name\nx,Ann\ny,Bob\n' });
  const countOf = (list: Found[], part: number) => list.filter((one) => one.part === part).length;
  const { errors, error_count, error_groups } = answer.body;
  assert.equal(error_count, 60_002, JSON.stringify(answer.body));
  assert.deepEqual([countOf(errors, 1), countOf(errors, 2)], [98, 2]);
  assert.deepEqual([countOf(error_groups, 1), countOf(error_groups, 2)], [1, 1]);
  const path = `/api/v1/loads/${answer.headers.get('load-id')}/problems?limit=100000`;
  const { problems } = (await service.get(path)).body;
  assert.deepEqual([countOf(problems, 1), countOf(problems, 2)], [50_000, 2]);
});

test('tables may refer to each other in a circle', async () => {
  const circle = [
    { table: 'a', file: 'a', definition: pairOf('b') },
    { table: 'b', file: 'b', definition: pairOf('a') },
  ];
  const done = await load(circle, { a: 'id,other\n1,2\n', b: 'id,other\n2,1\n3,\n' });
  assert.equal(done.status, 201, JSON.stringify(done.body));
  for (const { table } of done.body.tables) assert.equal(table.constraints.foreign_keys.length, 1);
  await clear();
  const broken = await load(circle, { a: 'id,other\n1,2\n', b: 'id,other\n2,9\n' });
  assert.deepEqual([broken.status, broken.body.code], [422, 'invalid-data'], JSON.stringify(broken.body));
  assert.deepEqual(
    broken.body.errors.map(({ part, key, code }: Found) => [part, key, code]),
    [[2, { id: '2' }, 'no-such-reference']],
  );
  assert.deepEqual(await tables(), []);
});

test('a problem of existing tables in a circle says that rows of the plan come later', async () => {
  for (const deferrable of ['', 'DEFERRABLE INITIALLY DEFERRED']) {
    await service.rows(`CREATE TABLE a (id bigint PRIMARY KEY, other bigint);
      CREATE TABLE b (id bigint PRIMARY KEY, other bigint REFERENCES a ${deferrable});
      ALTER TABLE a ADD FOREIGN KEY (other) REFERENCES b ${deferrable}`);
    const appended = ['a', 'b'].map((table) => ({ table, file: table, if_exists: 'append' }));
    const answer = await load(appended, { a: 'id,other\n1,2\n', b: 'id,other\n2,1\n' });
    assert.deepEqual([answer.status, answer.body.code], [422, 'invalid-data']);
    const [{ detail }] = answer.body.errors;
    assert.match(
      detail,
      /^has no match in public\.[ab] \(id\); the rows of this plan for that table are loaded later/,
    );
    await service.rows('DROP TABLE a, b CASCADE');
  }
});

test('a table is loaded after the one that it refers to, also if one of both is a partition', async () => {
  const partition = (of: string) => `PARTITION OF ${of} FOR VALUES FROM (0) TO (100)`;
  await service.rows(`CREATE TABLE z_whole (id int PRIMARY KEY, other int) PARTITION BY RANGE (id);
    CREATE TABLE z_part ${partition('z_whole')} PARTITION BY RANGE (id); CREATE TABLE z_leaf ${partition('z_part')};
    CREATE TABLE a_whole (id int, other int REFERENCES z_whole) PARTITION BY RANGE (id);
    CREATE TABLE a_part ${partition('a_whole')}; CREATE TABLE a_plain (id int, other int REFERENCES z_whole);
    CREATE TABLE b_part_key (id int, other int) PARTITION BY RANGE (id); CREATE TABLE b_part ${partition('b_part_key')};
    ALTER TABLE b_part ADD FOREIGN KEY (other) REFERENCES z_whole`);
  let id = 0;
  const send = async (from: object, to: string) => {
    id += 1;
    const row = `id,other\n${id},${id}\n`;
    const answer = await load(
      [
        { file: 'row', ...from },
        { table: to, file: 'row', if_exists: 'append' },
      ],
      { row },
    );
    assert.equal(answer.status < 300, true, JSON.stringify([from, to, answer.body]));
  };
  for (const from of ['a_whole', 'a_part', 'a_plain', 'b_part', 'b_part_key'])
    for (const to of ['z_whole', 'z_part', 'z_leaf']) await send({ table: from, if_exists: 'append' }, to);
  for (const to of ['z_part', 'z_whole'])
    await send({ table: `a_new_${to}`, definition: pairOf('z_whole') }, to);
  await service.rows(
    'ALTER TABLE z_part ADD UNIQUE (id, other); CREATE TABLE a_below (id int, other int, FOREIGN KEY (id, other) REFERENCES z_part (id, other))',
  );
  await send({ table: 'a_below', if_exists: 'append' }, 'z_whole');
});

test('the sheets of a workbook become tables', async () => {
  const names = ['one', 'two', 'three'];
  const book = bookOf(Object.fromEntries(names.map((name, index) => [name, [['a'], [index]]])));
  const parts = names.map((name) => ({ table: name, file: 'book', sheet: name }));
  const answer = await load(parts, { book });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(
    answer.body.tables.map(({ load: { sheet, warnings } }: Found) => [sheet, warnings]),
    names.map((name) => [name, []]),
  );
  assert.deepEqual(await service.rows('SELECT a FROM three'), [{ a: '2' }]);
  const { body } = await service.get(`/api/v1/loads/${answer.body.load.id}`);
  assert.deepEqual(
    body.parts.map(({ file, sheet }: Found) => [file, sheet]),
    names.map((name) => ['book.csv', name]),
  );
  assert.equal(body.file, 'book.csv');
});

test('existing tables are appended to, emptied and replaced, also if they refer to each other', async () => {
  const files = { o: 'no,customer\n1,7\n', c: 'id,name\n7,Ann\n' };
  assert.equal((await load(plan, files)).status, 201);
  const more = { o: 'no,customer\n2,8\n', c: 'id,name\n8,Bob\n' };
  const append = await load(
    plan.map((one) => ({ ...one, if_exists: 'append' })),
    more,
  );
  assert.deepEqual([append.status, append.body.load.rows], [200, 2], JSON.stringify(append.body));
  const other = { o: 'no,customer\n3,9\n', c: 'id,name\n9,Eve\n' };
  const emptied = await load(
    plan.map((one) => ({ ...one, if_exists: 'truncate' })),
    other,
  );
  assert.deepEqual(
    emptied.body.tables.map(({ change }: Found) => change),
    ['emptied', 'emptied'],
    JSON.stringify(emptied.body),
  );
  assert.deepEqual(await service.rows('SELECT no, customer FROM orders'), [{ no: '3', customer: '9' }]);
  const one = await load([{ ...plan[1]!, if_exists: 'truncate' }], { c: more.c });
  assert.deepEqual([one.status, one.body.code], [409, 'dependent-objects']);
  await service.rows('ALTER TABLE orders DROP CONSTRAINT orders_customer_fkey');
  const replaced = await load(
    plan.map((one) => ({ ...one, if_exists: 'replace' })),
    more,
  );
  assert.deepEqual(
    replaced.body.tables.map(({ change }: Found) => change),
    ['replaced', 'replaced'],
    JSON.stringify(replaced.body),
  );
  assert.equal(replaced.body.tables[0].table.constraints.foreign_keys.length, 1);
  assert.deepEqual(await service.rows('SELECT no, customer FROM orders'), [{ no: '2', customer: '8' }]);
  const faulty = { o: more.o, c: 'id,name\n9,Bob\n9,Bob\n' };
  const refused = await load(
    plan.map((part) => ({ ...part, if_exists: 'append' })),
    faulty,
  );
  assert.deepEqual(
    refused.body.errors.map(({ part }: Found) => part),
    [2],
    JSON.stringify(refused.body),
  );
});

test('upserts, rows that are left out and inferred types work for several tables', async () => {
  const parts = [
    { table: 'a', file: 'a', primary_key: 'id', if_exists: 'append', on_conflict: 'update' },
    { table: 'b', file: 'b', primary_key: 'id', if_exists: 'append', on_conflict: 'update' },
  ];
  assert.equal((await load(parts, { a: 'id,x\n1,1\n', b: 'id,x\n1,2020-01-02\n' })).status, 201);
  const again = await load(parts, { a: 'id,x\n1,5\n2,5\n', b: 'id,x\n1,2020-01-03\n' });
  assert.deepEqual(
    again.body.tables.map(({ load: { inserted, changed } }: Found) => [inserted, changed]),
    [
      [1, 1],
      [0, 1],
    ],
    JSON.stringify(again.body),
  );
  const leaving = parts.map((part) => ({ ...part, faulty_rows: 'leave_out' }));
  const left = await load(leaving, { a: 'id,x\n3,x\n4,4\n', b: 'id,x\n5,1\n6,2020-01-05\n' });
  assert.deepEqual(
    left.body.tables.map(({ load }: Found) => [load.rows, load.rows_left_out]),
    [
      [1, 1],
      [1, 1],
    ],
  );
});

test('a dry run changes nothing and gives the same answer', async () => {
  const files = { o: 'no,customer\n1,7\n', c: 'id,name\n7,Ann\n' };
  const dry = await load(plan, files, '?dry_run=true');
  assert.deepEqual([dry.status, dry.body.load.dry_run], [200, true]);
  assert.deepEqual(await tables(), []);
  const done = await load(plan, files);
  const shape = ({ body }: TestAnswer) =>
    body.tables.map(({ table, ...one }: Found) => [one, table.columns.length]);
  assert.deepEqual(shape(dry), shape(done));
});

test('the load is recorded once, with its tables, and each table has its events', async () => {
  const answer = await load(plan, { o: 'no,customer\n1,7\n', c: 'id,name\n7,Ann\n' });
  const id = answer.headers.get('load-id');
  assert.equal(answer.body.load.id, id);
  const { body } = await service.get(`/api/v1/loads/${id}`);
  const parts = [
    { schema: 'public', name: 'orders', file: 'o.csv' },
    { schema: 'public', name: 'customers', file: 'c.csv' },
  ];
  assert.deepEqual([body.state, body.operation, body.parts], ['committed', 'load-tables', parts]);
  assert.equal(body.file, null);
  assert.deepEqual(body.answer.body, answer.body);
  assert.equal(body.rows_read, 2);
  const list = async (query: string) =>
    (await service.get(`/api/v1/loads?${query}`)).body.loads.map((one: Found) => one.id);
  assert((await list('table=customers&schema=public')).includes(id));
  assert(!(await list('table=customers&schema=other')).includes(id));
  const events = await service.rows(
    "SELECT event->>'type' AS type, event->'data'->>'table' AS name FROM tablewright_service.events WHERE event->'data'->>'load' = $1 ORDER BY 2, 1",
    [id],
  );
  assert.deepEqual(
    events.map(({ type, name }) => `${type} ${name}`),
    ['rows.loaded customers', 'table.created customers', 'rows.loaded orders', 'table.created orders'],
  );
  const refused = (await load(plan, { o: 'no\n', c: 'id\n' })).headers.get('load-id');
  const ofRefusal = await service.rows(
    "SELECT event->>'type' AS type FROM tablewright_service.events WHERE event->'data'->>'load' = $1",
    [refused],
  );
  assert.deepEqual(
    ofRefusal.map(({ type }) => type),
    ['load.refused', 'load.refused'],
  );
});

test('a token sees a load only if it may see all of its tables', async () => {
  await service.rows('CREATE SCHEMA IF NOT EXISTS secret');
  const parts = [
    { table: 'a', file: 'a' },
    { table: 'a', schema: 'secret', file: 'a', if_exists: 'replace' },
  ];
  const answer = await load(parts, { a: 'x\n1\n' });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const id = answer.headers.get('load-id');
  const token = await service.token({ schemas: ['public'] });
  assert.equal((await service.get(`/api/v1/loads/${id}`, { token })).status, 404);
  const { body } = await service.get('/api/v1/loads', { token });
  assert(!body.loads.some((one: Found) => one.id === id));
});

test('the scopes and schemas of all tables are checked before the files arrive', async () => {
  const body = new ReadableStream({
    start: (stream) => {
      const plan = JSON.stringify({
        tables: [
          { table: 'a', file: 'a' },
          { table: 'b', schema: 'secret', file: 'a', if_exists: 'truncate' },
        ],
      });
      stream.enqueue(
        Buffer.from(`--x\r\nContent-Disposition: form-data; name="plan"\r\n\r\n${plan}\r\n--x\r\n`),
      );
    },
  });
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const token = await service.token({ scope: 'table:create' });
  const scope = await service.request('POST', '/api/v1/loads', { body, headers, token });
  assert.deepEqual([scope.status, scope.body.code], [403, 'insufficient-scope'], JSON.stringify(scope.body));
  assert.match(scope.body.detail, /^Table 2 of the plan, "secret"\."b": /);
  const limited = await service.token({ schemas: ['public'] });
  const form = planForm(
    {
      tables: [
        { table: 'a', file: 'a' },
        { table: 'b', schema: 'secret', file: 'a' },
      ],
    },
    { a: 'x\n' },
  );
  const schema = await service.request('POST', '/api/v1/loads', { body: form, token: limited });
  assert.deepEqual([schema.status, schema.body.code], [403, 'schema-forbidden']);
});

test('a plan that is too long is refused without waiting for its end', async () => {
  const long = 'x'.repeat(1024 * 1024 + 1);
  const whole = await load([{ table: 'a', file: 'a', definition: long }], { a: 'x\n' });
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const begun = '--x\r\nContent-Disposition: form-data; name="plan"\r\n\r\n';
  const endless = async (beginning: string) => {
    const { readable: body, writable } = new TransformStream<Buffer>({}, { highWaterMark: 3 });
    const writer = writable.getWriter();
    for (const chunk of [beginning, long, long]) writer.write(Buffer.from(chunk)).catch(() => {});
    const answer = await service.request('POST', '/api/v1/loads', { body, headers });
    await writer.abort().catch(() => {});
    return answer;
  };
  for (const answer of [whole, await endless(begun), await endless('')]) {
    assert.equal(answer.status, 413, JSON.stringify(answer.body));
    assert.match(answer.body.detail, /part plan is too long: the limit is 1 MiB\./);
  }
});

test('a plan that makes no sense is refused by the name of what is wrong', async () => {
  const a = { table: 'a', file: 'a' };
  const many = Array.from({ length: 101 }, (_, n) => ({ table: `t${n}`, file: 'a' }));
  // Deeper ones need more than the stack of a function that calls itself for each level.
  let deep: unknown = 'x'.repeat(40_000);
  for (let level = 0; level < 3000; level++) deep = [deep];
  const odd = {
    foreign_keys: [{ ...ordersOf().constraints.foreign_keys[0], reference_table: { toString: 1 } }],
  };
  const cases: [unknown, RegExp, number?][] = [
    [{ tables: [] }, /must be \{"tables"/],
    [{ tables: [a], more: 1 }, /must be \{"tables"/],
    [[a], /must be \{"tables"/],
    [{ tables: [a, a] }, /tables 1 and 2 of the plan are the same one, "public"\."a"/],
    [{ tables: [{ ...a, from_url: 'https://x' }] }, /cannot have "from_url"/],
    [{ tables: [{ ...a, dry_run: true }] }, /cannot have "dry_run"/],
    [{ tables: [{ ...a, misfits: 'widen' }] }, /cannot have "misfits"/],
    [{ tables: [{ ...a, profile: 'x' }] }, /cannot have "profile"/],
    [{ tables: [{ ...a, header_rows: [1] }] }, /"header_rows" of table 1/],
    [{ tables: [{ ...a, if_exist: 'append' }] }, /Table 1 of the plan, "public"\."a": .*"if_exist"/],
    [{ tables: [{ table: 'a' }] }, /"file" of table 1/],
    [{ tables: [{ ...a, file: 'b' }] }, /There is no part "a"|file "b" of the plan is missing/],
    [{ tables: [{ ...a, file: 'plan' }] }, /cannot be named "plan"/],
    [{ tables: many }, /limit is 100 tables/, 413],
    [{ tables: [{ ...a, definition: deep }] }, /MAX_JSON_DEPTH/, 413],
    [
      { tables: [{ ...a, definition: { ...ordersOf(), constraints: odd } }] },
      /must be a string, not an object/,
    ],
  ];
  for (const [plan, detail, status = 422] of cases) {
    const answer = await service.request('POST', '/api/v1/loads', { body: planForm(plan, { a: 'x\n1\n' }) });
    assert.equal(answer.status, status, JSON.stringify([plan, answer.body]).slice(0, 1000));
    assert.match(answer.body.detail, detail);
    // Each error about one table has its number.
    const isOfTable = /\btables? \d+/i.test(answer.body.detail);
    if (isOfTable) assert.equal(typeof answer.body.errors[0].part, 'number', answer.body.detail);
  }
  const late = new FormData();
  late.append('a', new Blob(['x\n1\n']), 'a.csv');
  late.append('plan', JSON.stringify({ tables: [a] }));
  const answer = await service.request('POST', '/api/v1/loads', { body: late });
  assert.match(answer.body.detail, /first part of the form must be plan/);
  assert.deepEqual(await tables(), []);
});

test('an asynchronous load of several tables is answered with 202, and a key loads it once', async () => {
  const files = { o: 'no,customer\n1,7\n', c: 'id,name\n7,Ann\n' };
  const headers = { prefer: 'respond-async', 'idempotency-key': 'plan' };
  const accepted = await load(plan, files, '', headers);
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  assert.deepEqual(
    accepted.body.parts.map(({ name }: Found) => name),
    ['orders', 'customers'],
  );
  const { state, answer } = await endOf(service, accepted.body.id);
  assert.deepEqual([state, answer.status, answer.body.load.rows], ['committed', 201, 2]);
  assert.deepEqual(
    (await service.get(`/api/v1/loads/${accepted.body.id}`)).body.parts.map(({ file }: Found) => file),
    ['o.csv', 'c.csv'],
  );
  const again = await load(plan, files, '', headers);
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [202, 'true']);
  const other = await load(plan, { ...files, c: 'id,name\n7,Bob\n' }, '', headers);
  assert.deepEqual([other.status, other.body.code], [422, 'idempotency-key-reused']);
});

test('a file name with a quotation mark is the same in an asynchronous load of several tables', async () => {
  const tables = [{ table: 'screens', file: 'o', if_exists: 'replace', provenance: 'source_file:_file' }];
  const head = (rest: string) => `--B\r\nContent-Disposition: form-data; ${rest}\r\n\r\n`;
  const body = `${head('name="plan"')}${JSON.stringify({ tables })}\r\n${head('name="o"; filename="12\\" screens.csv"')}a\n1\n\r\n--B--\r\n`;
  for (const prefer of ['wait=60', 'respond-async']) {
    const headers = { 'content-type': 'multipart/form-data; boundary=B', prefer };
    const answer = await service.request('POST', '/api/v1/loads', { body, headers });
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    const id = answer.headers.get('load-id')!;
    assert.equal((await endOf(service, id)).state, 'committed');
    assert.deepEqual(await service.rows('SELECT _file FROM screens'), [{ _file: '12" screens.csv' }]);
    const { parts } = (await service.get(`/api/v1/loads/${id}`)).body;
    assert.equal(parts[0].file, '12" screens.csv');
  }
});

test('a load of several tables that is cancelled leaves no table', async () => {
  await service.rows('CREATE TABLE locked (x bigint)');
  const client = await service.database.pool.connect();
  await client.query('BEGIN; LOCK TABLE public.locked');
  const parts = [
    { table: 'a', file: 'a' },
    { table: 'locked', file: 'a', if_exists: 'append' },
  ];
  const { body } = await load(parts, { a: 'x\n1\n' }, '', { prefer: 'respond-async' });
  await until(
    'the load to wait for the lock',
    async () =>
      (await service.rows("SELECT FROM pg_locks WHERE NOT granted AND relation = 'public.locked'::regclass"))
        .length > 0,
  );
  assert.equal((await service.request('POST', `/api/v1/loads/${body.id}/cancel`)).status, 202);
  assert.equal((await endOf(service, body.id)).state, 'cancelled');
  await client.query('ROLLBACK');
  client.release();
  assert.deepEqual(await tables(), ['locked']);
});

test('large files, merged cells and a file that two tables use are read as in single uploads', async () => {
  const lines = Array.from({ length: 60_000 }, (_, index) => `${index},${'x'.repeat(20)}`);
  const large = `id,text\n${lines.join('\n')}\n`;
  const done = await load(
    [
      { table: 'one', file: 'large' },
      { table: 'two', file: 'large', primary_key: 'id' },
    ],
    { large },
  );
  assert.deepEqual([done.status, done.body.load.rows], [201, 120_000], JSON.stringify(done.body));
  const merged = bookOf(
    {
      one: [
        ['a', 'b'],
        ['x', null],
        [1, 2],
      ],
    },
    {},
    ['A2:B2'],
  );
  const definition = {
    columns: [
      { name: 'a', type: 'int' },
      { name: 'b', type: 'int' },
    ],
  };
  const refused = await load(
    [
      { table: 'three', file: 'f', definition },
      { table: 'four', file: 'f' },
    ],
    { f: merged },
  );
  assert.deepEqual([refused.status, refused.body.error_count], [422, 1], JSON.stringify(refused.body));
  const { body } = await service.get(`/api/v1/loads/${refused.headers.get('load-id')}/problems`);
  assert.equal(body.problems_stored, 1);
  const asCsv = await service.get(`/api/v1/loads/${refused.headers.get('load-id')}/problems`, {
    headers: { accept: 'text/csv' },
  });
  assert.match(asCsv.body, /^part,sheet,cell,.*\r\n1,one,one!A2,1,a,x,/);
});

test('the tables of a plan together have a limit of columns, because all of them are described in one answer', async () => {
  const columns = Array.from({ length: 1600 }, (_, index) => `c${index}`);
  const wide = `${columns.join()}\nx${','.repeat(1599)}\n`;
  const planned = Array.from({ length: 13 }, (_, index) => ({ table: `t${index}`, file: 'wide' }));
  const { status, body } = await load(planned, { wide });
  assert.deepEqual([status, body.code], [413, 'limit-exceeded']);
  assert.match(body.detail, /^Table \d+ of the plan, .*: the limit is 20,000 columns/);
  assert.deepEqual(await tables(), []);
  const { status: statusBelow, body: below } = await load(planned.slice(1), { wide });
  assert.equal(statusBelow, 201, JSON.stringify(below).slice(0, 500));
});

test('the problems of all tables come as CSV to a client that prefers it', async () => {
  const headers = { accept: 'text/csv' };
  const csv = 'part,sheet,cell,row,column,value,code,reason\r\n';
  const files = { o: 'no,customer\nx,7\n2,7\n', c: 'id,name\ny,Ann\n7,Bob\n' };
  const refused = await load(plan, files, '', headers);
  assert.deepEqual(
    [refused.status, refused.headers.get('content-type')],
    [422, 'text/csv; charset=utf-8; header=present'],
  );
  const lines = refused.body.replace(csv, '').trim().split('\r\n').sort();
  assert.deepEqual(
    lines.map((line: string) => line.split(',').slice(0, 6).join()),
    ['1,,A2,1,no,x', '2,,A2,1,id,y'],
  );
  const leaving = plan.map((one) => ({ ...one, faulty_rows: 'leave_out' }));
  const left = await load(leaving, files, '', headers);
  assert.deepEqual([left.status, left.body.split('\r\n').length], [201, 4], left.body);
  await clear();
  const good = await load(plan, { o: 'no,customer\n1,7\n', c: 'id,name\n7,Ann\n' }, '', headers);
  assert.deepEqual([good.status, good.body.load.rows], [201, 2]);
});

test('a client that leaves in the middle of its form has cancelled the load, also while a file is written', async () => {
  const token = await service.token();
  const states = async () =>
    (await service.get('/api/v1/loads?table=left_form&schema=public')).body.loads.map(
      (one: Found) => one.state,
    );
  const part = (name: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const form = `${part('plan')}{"tables":[{"table":"left_form","file":"a"}]}\r\n${part('a', '; filename="a.csv"')}x\n`;
  const head = `POST /api/v1/loads HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data; boundary=b\r\nAuthorization: Bearer ${token}\r\nContent-Length: 99999999\r\n\r\n`;
  const rounds = 12;
  for (let round = 0; round < rounds; round++) {
    const socket = await openSocket(service.url);
    socket.on('error', () => {});
    socket.write(head + form);
    for (let n = 0; n < 20 * round; n++) socket.write('1\n'.repeat(40_000));
    await until('the load to begin', async () => (await states()).length > round);
    socket.destroy();
    await until('the end of the load', async () =>
      (await states()).every((state: string) => state !== 'running' && state !== 'receiving'),
    );
  }
  assert.deepEqual(await states(), Array(rounds).fill('cancelled'));
});

test('a table of the plan has its own corrections, with every digit, and the answer and the record list them', async () => {
  const sheets = bookOf({
    Left: [
      ['a', 'b'],
      [1, 'x'],
    ],
    Right: [
      ['a', 'c'],
      [1, 'y'],
      [2, 'z'],
    ],
  });
  const planned = (patch: unknown) => [
    { table: 'left', file: 'book', sheet: 'Left', patch: [{ cell: 'Left!B2', value: '2026-01-31' }] },
    { table: 'right', file: 'book', sheet: 'Right', patch },
    { table: 'plain', file: 'plain' },
  ];
  const files = { book: sheets, plain: 'a\n1\n' };
  const patch = [{ row: 1, column: 'c', value: null }];
  const body = planForm({ tables: planned([...patch, { row: 2, column: 'C', value: 'DIGITS' }]) }, files);
  body.set('plan', (body.get('plan') as string).replace('"DIGITS"', '12345678901234567890.25'));
  const headers = { 'idempotency-key': 'corrections-of-a-plan' };
  const done = await service.request('POST', '/api/v1/loads', { body, headers });
  assert.equal(done.status, 201, JSON.stringify(done.body));
  const rowsOf = (table: string) => service.rows(`SELECT ${table}::text AS row FROM ${table} ORDER BY ctid`);
  assert.deepEqual(await rowsOf('"left"'), [{ row: '(1,2026-01-31)' }]);
  assert.deepEqual(await rowsOf('"right"'), [{ row: '(1,)' }, { row: '(2,12345678901234567890.25)' }]);
  assert.deepEqual(await rowsOf('plain'), [{ row: '(1)' }]);
  const listed = [
    [{ cell: 'Left!B2', row: 1, column: 'b', from: 'x', to: '2026-01-31' }],
    [
      { cell: 'Right!B2', row: 1, column: 'c', from: 'y', to: null },
      { cell: 'Right!B3', row: 2, column: 'c', from: 'z', to: '12345678901234567890.25' },
    ],
    undefined,
  ];
  const correctedOf = ({ tables }: Found) => tables.map(({ load }: Found) => load.corrected);
  assert.deepEqual(correctedOf(done.body), listed);
  assert.equal(done.body.tables[0].table.columns[1].type, 'date');
  const record = await service.get(`/api/v1/loads/${done.headers.get('load-id')}`);
  assert.deepEqual(correctedOf(record.body.answer.body), listed);
  const other = await load(planned(patch), files, '', headers);
  assert.deepEqual([other.status, other.body.code], [422, 'idempotency-key-reused']);
});

test('a correction of a plan that cannot be made names its table, and nothing is loaded', async () => {
  const files = { a: 'n\n1\n', b: 'n\n1\n' };
  const cases: [patch: unknown, code: string, pointer: string | undefined][] = [
    [[{ row: 2, column: 'n', value: 1 }], 'no-such-cell', '/0'],
    [[{ row: 1, column: 'n' }], 'wrong-type', '/0/value'],
    [{ row: 1 }, 'invalid-parameter', undefined],
  ];
  for (const [patch, code, pointer] of cases) {
    const { status, body } = await load(
      [
        { table: 'a', file: 'a' },
        { table: 'b', file: 'b', patch },
      ],
      files,
    );
    assert.equal(status, 422, JSON.stringify(body));
    const [{ parameter, part, ...error }] = body.errors;
    assert.deepEqual(
      [body.code, parameter, part, error.code, error.pointer],
      ['invalid-parameter', 'patch', 2, code, pointer],
    );
    assert.match(body.detail, /^Table 2 of the plan, "public"\."b": /);
    assert.deepEqual(await tables(), []);
  }
  const many = Array.from({ length: 10_001 }, () => ({ row: 1, column: 'n', value: 1 }));
  assert.equal((await load([{ table: 'a', file: 'a', patch: many }], files)).status, 413);
});

test('an asynchronous load of a plan makes its corrections later', async () => {
  const patch = [{ cell: 'A2', value: '7' }];
  const accepted = await load([{ table: 'a', file: 'a', patch }], { a: 'n\nx\n' }, '', {
    prefer: 'respond-async',
  });
  assert.equal(accepted.status, 202);
  await endOf(service, accepted.body.id);
  assert.deepEqual(await service.rows('SELECT n::int FROM a'), [{ n: 7 }]);
});

test('missing rows of a partitioned table are not deleted together with rows for a partition', async () => {
  const options = { if_exists: 'append', on_conflict: 'update' };
  const missing = { ...options, missing_rows: 'delete', max_missing_rows: '100%' };
  for (const [parent, partition] of [
    ['zoo', 'aviary'],
    ['animals', 'birds'],
  ] as const) {
    await clear();
    await service.rows(`CREATE TABLE ${parent} (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
      CREATE TABLE ${parent}_low PARTITION OF ${parent} FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
      CREATE TABLE ${partition} PARTITION OF ${parent}_low DEFAULT; INSERT INTO ${parent} VALUES (1, 'a')`);
    const files = { x: 'id,v\n10,new\n11,new', y: 'id,v\n1,a' };
    const plan = (ofParent: object, ofPartition: object) =>
      load(
        [
          { table: parent, file: 'x', ...ofParent },
          { table: partition, file: 'y', ...ofPartition },
        ],
        files,
      );
    for (const [one, other, named] of [
      [options, missing, 2],
      [missing, options, 1],
      [missing, missing, 2],
    ] as const) {
      const { status, body } = await plan(one, other);
      assert.equal(status, 422, JSON.stringify(body));
      const [{ part, parameter }] = body.errors;
      assert.deepEqual([part, parameter], [named, 'missing_rows'], JSON.stringify(body.errors));
    }
    assert.deepEqual(await service.rows(`SELECT id FROM ${parent}`), [{ id: 1 }]);
    assert.equal((await plan(options, options)).status, 200);
  }
});
