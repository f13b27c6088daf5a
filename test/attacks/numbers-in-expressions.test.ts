/** Ordinary tables whose expressions may make long numbers: the bounds of such numbers neither refuse nor change what their rows are. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t, u CASCADE'));

const columns = (types: Record<string, string>) =>
  Object.entries(types).map(([name, type]) => ({ name, type }));
const put = (table: object, query = '') =>
  service.request('PUT', `/table/t${query}`, {
    body: JSON.stringify({ table }),
    headers: { 'content-type': 'application/json' },
  });
const load = (body: object, query = '') => service.post(`/table/t/upload/json${query}`, body);

function assertDone({ status, body }: TestAnswer): void {
  assert.ok(status <= 201, JSON.stringify(body).slice(0, 1000));
}

test('an index whose condition reads numbers from texts is added', async () => {
  await service.rows(
    'CREATE TABLE t (a text, b int); INSERT INTO t SELECT i, i FROM generate_series(1, 3000) i',
  );
  const indexes = [{ columns: [{ column: 'b' }], where: 'a::numeric > 5' }];
  assertDone(await put({ columns: columns({ a: 'text', b: 'integer' }), indexes }));
});

test('all old columns are replaced by a generated one', async () => {
  await service.rows('CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 3000)');
  const table = {
    columns: [
      { name: 'b', type: 'text', default: '7' },
      { name: 'c', type: 'numeric', generated: 'b::numeric / 2' },
    ],
  };
  assertDone(await put(table, '?allow=drop_columns'));
});

test('an index is added over columns that the same request generates', async () => {
  await service.rows('CREATE TABLE t (a text); INSERT INTO t SELECT i FROM generate_series(1, 3000) i');
  const table = {
    columns: [...columns({ a: 'text' }), { name: 'total', type: 'numeric', generated: 'a::numeric * 2' }],
    indexes: [{ columns: [{ expression: '(total::text)::numeric + 1' }] }],
  };
  assertDone(await put(table));
});

test('expressions of an index are computed only for the rows that it has', async () => {
  const kinds = [
    ["(doc->>'price')::numeric", "kind = 'product'"],
    ['a / b', 'b <> 0'],
  ] as const;
  for (const [expression, where] of kinds) {
    const table = {
      columns: columns({ kind: 'text', doc: 'jsonb', a: 'numeric', b: 'numeric' }),
      indexes: [
        { columns: [{ expression }], where },
        { columns: [{ expression: "(doc->>'count')::numeric" }] },
      ],
    };
    const data = Array.from({ length: 3000 }, (_, i) => ({
      kind: i % 2 === 0 ? 'product' : 'note',
      doc: { price: i % 2 === 0 ? `${i}.5` : 'unknown', count: i },
      a: i,
      b: i % 2,
    }));
    assertDone(await load({ table, data }));
    assertDone(await put({ ...table, indexes: [] }, '?allow=drop_indexes'));
    assertDone(await put(table));
    await service.rows('DROP TABLE t');
  }
});

test('a column gets another type while another one is generated', async () => {
  await service.rows(
    "CREATE TABLE t (a text, b int, old text); INSERT INTO t SELECT i, i, i || '.5' FROM generate_series(1, 3000) i",
  );
  const generated = (expression: string) => [{ name: 'g', type: 'numeric', generated: expression }];
  const types = { a: 'text', b: 'bigint', old: 'text' };
  assertDone(await put({ columns: [...columns(types), ...generated('a::numeric / 2')] }));
  await service.rows('ALTER TABLE t DROP g');
  const renamed = [
    ...columns({ a: 'text', b: 'bigint' }),
    { name: 'n', renamed_from: 'old', type: 'numeric(10,2)' },
    ...generated('(n::text)::numeric / 2'),
  ];
  assertDone(await put({ columns: renamed }));
  assert.deepEqual(await service.rows('SELECT sum(g)::int AS sum FROM t'), [{ sum: 2_251_500 }]);
});

test('the defaults of new columns are evaluated once for each row', async () => {
  await service.rows(`CREATE TABLE t (a text); INSERT INTO t SELECT i FROM generate_series(1, 3000) i;
    CREATE SEQUENCE IF NOT EXISTS letters`);
  const table = {
    columns: [
      ...columns({ a: 'text' }),
      { name: 'n', type: 'integer', default: "nextval('letters')", default_is_expression: true },
      { name: 'g', type: 'numeric', generated: 'a::numeric + n' },
    ],
  };
  assertDone(await put(table));
  assert.deepEqual(await service.rows('SELECT min(n), max(n) FROM t'), [{ min: 1, max: 3000 }]);
});

/** Tables whose rows are measured: of each, PostgreSQL may make 20 long numbers. */
const long = Array.from(
  { length: 20 },
  (_, i) => `g${i} numeric GENERATED ALWAYS AS (raw::numeric / ${i + 3}) STORED`,
).join();
const rowsOf = (count: number, row: (index: number) => object) =>
  Array.from({ length: count }, (_, i) => ({ id: i, raw: `${i}`, ...row(i) }));

for (const more of ['', '&on_conflict=skip', '&faulty_rows=leave_out']) {
  test(`rows that break a reference are found among measured ones (${more})`, async () => {
    await service.rows(`CREATE TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1);
      CREATE TABLE t (id int PRIMARY KEY, raw text, u int REFERENCES u, ${long})`);
    const data = rowsOf(1500, (i) => ({ u: i === 700 || i === 1400 ? 2 : 1 }));
    const { status, body } = await load({ data }, `?if_exists=append${more}`);
    if (status === 200) {
      const found = await service.rows(
        'SELECT i FROM generate_series(0, 1499) i WHERE NOT EXISTS (SELECT FROM t WHERE id = i)',
      );
      assert.deepEqual(found, [{ i: 700 }, { i: 1400 }]);
      return;
    }
    const rows = body.errors?.map(({ row }: { row: number }) => row);
    assert.deepEqual(rows, [701, 1401], JSON.stringify(body).slice(0, 600));
  });
}

test('measured rows may refer to later ones', async () => {
  await service.rows(`CREATE TABLE t (id int PRIMARY KEY, raw text, parent int REFERENCES t, ${long})`);
  const data = rowsOf(1500, (i) => ({ parent: i % 10 === 0 && i < 800 ? i + 705 : null }));
  for (const more of ['', '&on_conflict=update']) {
    assertDone(await load({ data }, `?if_exists=append${more}`));
    await service.rows('DELETE FROM t');
  }
  const circle = rowsOf(1500, (i) => ({ parent: (i + 1) % 1500 }));
  assertDone(await load({ data: circle }, '?if_exists=append'));
});

test('a table with rules, or whose generated columns the role may not read, is loaded as before', async () => {
  const rows = rowsOf(1500, () => ({}));
  await service.rows(`CREATE TABLE t (id int, raw text, ${long});
    CREATE RULE none AS ON INSERT TO t WHERE new.id < 5 DO INSTEAD NOTHING`);
  assertDone(await load({ data: rows }, '?if_exists=append'));
  assert.deepEqual(await service.rows('SELECT count(*)::int AS count FROM t'), [{ count: 1495 }]);
});

test('an update that leaves long generated values as they are does not count them', async () => {
  await service.rows(`CREATE TABLE t (id int PRIMARY KEY, state text, raw text, doc jsonb GENERATED ALWAYS AS (raw::jsonb) STORED);
    INSERT INTO t SELECT i, 'new', (SELECT json_agg(md5(i::text || n)) FROM generate_series(1, 600) n) FROM generate_series(1, 4000) i`);
  const data = Array.from({ length: 4000 }, (_, i) => ({ id: i + 1, state: 'old' }));
  const { status, body } = await load({ data }, '?if_exists=append&on_conflict=update');
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.load.changed, 4000);
});

test('all problems of measured rows are found', async () => {
  await service.rows(`CREATE TABLE t (id int, raw text, n numeric GENERATED ALWAYS AS (raw::numeric / 7) STORED);
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.id % 50 = 0 THEN RAISE 'No.'; END IF; RETURN new; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse()`);
  const data = rowsOf(950, () => ({ raw: '1e131000' }));
  const refused = await load({ data }, '?if_exists=append');
  assert.equal(
    refused.body.error_count ?? refused.body.errors?.length,
    19,
    JSON.stringify(refused.body).slice(0, 500),
  );
  const some = await load({ data }, '?if_exists=append&faulty_rows=leave_out');
  assert.equal(some.body.load?.rows, 931, JSON.stringify(some.body).slice(0, 500));
  await service.rows('DROP TABLE t; DROP FUNCTION refuse');
});

test('a dry run of measured rows does not warn of numbers that no row needs', async () => {
  await service.rows(`CREATE TABLE t (id serial PRIMARY KEY, raw text, ${long})`);
  const { body } = await load({ data: rowsOf(300, () => ({})) }, '?if_exists=append&dry_run=true');
  assert.deepEqual(body.load.warnings, []);
});
