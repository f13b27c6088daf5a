/** Lists of tables, and the first rows of a table. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import type { ErrorCode } from '../../src/core/errors.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let admin: pg.Client;
const role = `reader_${randomBytes(4).toString('hex')}`;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  const [own] = await service.rows('SELECT current_user AS name');
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${own!.name}`);
  await service.rows(`CREATE SCHEMA sales; CREATE SCHEMA closed; GRANT USAGE ON SCHEMA sales TO ${role};
    CREATE TABLE sales.orders (id int PRIMARY KEY); COMMENT ON TABLE sales.orders IS 'All "orders"';
    INSERT INTO sales.orders SELECT generate_series(1, 500); ANALYZE sales.orders;
    GRANT SELECT ON sales.orders TO ${role};
    CREATE TABLE sales."Übersicht" (a int); CREATE VIEW sales.recent AS SELECT * FROM sales.orders;
    CREATE TABLE sales.parts (a int) PARTITION BY RANGE (a);
    CREATE TABLE sales.part_1 PARTITION OF sales.parts FOR VALUES FROM (0) TO (10);
    INSERT INTO sales.parts VALUES (1); CREATE TABLE closed.secret (a int)`);
});

after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

const list = async (query: string, token?: string) => service.get(`/tables?${query}`, token ? { token } : {});
const namesOf = (answer: { body: { tables: { schema: string; name: string }[] } }) =>
  answer.body.tables.map(({ schema, name }) => `${schema}.${name}`);

suite('the list of tables', () => {
  test('the list of tables has tables and partitioned tables with size, estimate and comment, and no views', async () => {
    const { status, body } = await list('schema=sales');
    assert.equal(status, 200);
    assert.equal(body.next, null);
    const [orders, part, parts, overview] = body.tables;
    assert.equal(body.tables.length, 4);
    assert(orders.bytes > 8192);
    assert.deepEqual(orders, {
      schema: 'sales',
      name: 'orders',
      kind: 'table',
      estimated_rows: 500,
      bytes: orders.bytes,
      comment: 'All "orders"',
    });
    assert.deepEqual([part.name, part.estimated_rows], ['part_1', null]);
    assert.deepEqual([parts.name, parts.kind, parts.bytes], ['parts', 'partitioned table', part.bytes]);
    assert.deepEqual([overview.name, overview.bytes, overview.comment], ['Übersicht', 0, null]);
  });

  test('the list of tables continues after the last table of a page, and ends', async () => {
    const all = namesOf(await list(''));
    const found: string[] = [];
    for (let after = ''; ; ) {
      const answer = await list(`limit=2${after}`);
      found.push(...namesOf(answer));
      if (answer.body.next === null) break;
      after = `&after=${answer.body.next}`;
    }
    assert.deepEqual(found, all);
    assert(all.includes('closed.secret'));
    assert(!all.some((name) => name.startsWith('pg_') || name.startsWith('tablewright')));
  });

  test('the list of tables has only the tables that the schemas of the token and the privileges of its role allow', async () => {
    assert.deepEqual(
      namesOf(await list('', await service.token({ schemas: ['sal*'] }))).map((name) => name.split('.')[0]),
      ['sales', 'sales', 'sales', 'sales'],
    );
    assert.deepEqual(namesOf(await list('', await service.token({ role }))), ['sales.orders']);
    assert.deepEqual(namesOf(await list('schema=closed', await service.token({ role }))), []);
  });

  test('the list of tables does not wait for a locked table, whose size it leaves out', async () => {
    const holder = await service.database.pool.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE sales.orders IN ACCESS EXCLUSIVE MODE');
      const { body } = await list('schema=sales');
      assert.deepEqual(
        body.tables.map(({ bytes }: { bytes: number | null }) => bytes === null),
        [true, false, true, false],
      );
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
  });

  const refused: [string, number, ErrorCode][] = [
    ['schema=nowhere', 404, 'schema-not-found'],
    ['schema=pg_catalog', 403, 'schema-forbidden'],
    ['schema=', 422, 'invalid-parameter'],
    ['limit=0', 422, 'invalid-parameter'],
    ['limit=1001', 422, 'invalid-parameter'],
    ['after=orders', 422, 'invalid-parameter'],
    ['after=WyJhIl0', 422, 'invalid-parameter'],
    ['after=WyJhIiwiXHUwMDAwIl0', 422, 'invalid-parameter'],
    ['name=orders', 422, 'invalid-parameter'],
  ];
  for (const [query, status, code] of refused) {
    test(`the list of tables is refused for ${query} with ${code}`, async () => {
      assertProblem(await list(query), status, code);
    });
  }

  test('the list of tables needs the scope table:read and an allowed schema', async () => {
    assertProblem(await list('', await service.token({ scope: 'table:load' })), 403, 'insufficient-scope');
    const limited = await service.token({ schemas: ['sales'] });
    assertProblem(await list('schema=closed', limited), 403, 'schema-forbidden');
  });
});

suite('the first rows', () => {
  for (const [what, change, rows] of [
    ['renames a column', 'ALTER TABLE sales.changing RENAME COLUMN a TO b', [{ b: 'x' }]],
    ['drops a column', 'ALTER TABLE sales.changing ADD COLUMN c int, DROP COLUMN a', [{ c: null }]],
    [
      'changes the type of a column',
      'ALTER TABLE sales.changing ALTER COLUMN a TYPE int USING 1',
      [{ a: 1 }],
    ],
  ] as const) {
    test(`are read again if another session ${what} before they are read`, async () => {
      await service.rows(`DROP TABLE IF EXISTS sales.changing; CREATE TABLE sales.changing (a text);
        INSERT INTO sales.changing VALUES ('x')`);
      const holder = await service.database.pool.connect();
      try {
        await holder.query(`BEGIN; ${change}`);
        const reading = service.get('/table/changing/rows?schema=sales');
        await untilWaitsForLock(service.database);
        await holder.query('COMMIT');
        const answer = await reading;
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        assert.deepEqual(answer.body.rows, rows);
      } finally {
        holder.release();
        await service.rows('DROP TABLE sales.changing');
      }
    });
  }

  const rows = async (table: string, query = '', token?: string) => {
    const headers = { authorization: `Bearer ${token ?? (await service.token())}` };
    const answer = await fetch(`${service.url}/api/v1/table/${table}/rows?schema=sales${query}`, { headers });
    return { status: answer.status, text: await answer.text() };
  };
  const values = async (columns: string, select: string): Promise<string> => {
    await service.rows(
      `DROP TABLE IF EXISTS sales.shown; CREATE TABLE sales.shown (${columns}); INSERT INTO sales.shown ${select}`,
    );
    const { status, text } = await rows('shown');
    assert.equal(status, 200, text);
    return text;
  };

  test('come in the order of the file, as many as asked for', async () => {
    const sent = Array.from({ length: 120 }, (_, index) => ({ n: (index * 37) % 120 }));
    const sending = await service.post('/table/sent/upload/json?schema=sales', { data: sent });
    assert.equal(sending.status, 201);
    const all = JSON.parse((await rows('sent', '&limit=1000')).text);
    assert.deepEqual(all, { rows: sent, has_more: false });
    const { next, ...first } = JSON.parse((await rows('sent')).text);
    assert.deepEqual(first, { rows: sent.slice(0, 50), has_more: true });
    assert.equal(typeof next, 'string');
    assert.deepEqual(JSON.parse((await rows('sent', '&limit=120')).text), all);
  });

  /** Reads all pages. @param between runs after the first page */
  const pages = async (table: string, query: string, between?: () => Promise<unknown>) => {
    const found: Record<string, unknown>[] = [];
    for (let after = '', isFirst = true; ; isFirst = false) {
      const { status, text } = await rows(table, `&limit=3${query}${after}`);
      assert.equal(status, 200, text);
      const { rows: part, has_more: hasMore, next } = JSON.parse(text);
      found.push(...part);
      assert.equal(hasMore, next !== undefined, text);
      if (next === undefined) return found;
      after = `&after=${next}`;
      if (isFirst) await between?.();
    }
  };

  test('all rows come in pages, each once, in both directions, with equal values and NULL', async () => {
    await service.rows(`DROP TABLE IF EXISTS sales.paged; DROP TYPE IF EXISTS sales.paged_grade; DROP DOMAIN IF EXISTS sales.paged_code;
      CREATE TYPE sales.paged_grade AS ENUM ('low', 'high'); CREATE DOMAIN sales.paged_code AS text COLLATE "C" CHECK (VALUE <> 'never');
      CREATE TABLE sales.paged (id int, part text, n numeric, at timestamptz, f float8, g sales.paged_grade, c sales.paged_code, ch char(3), "tab.le" date);
      INSERT INTO sales.paged SELECT 20 - i, chr(97 + i % 3), CASE WHEN i % 4 > 0 THEN i % 4 + 0.10 END,
        '2026-01-01 00:00:00.123456+00'::timestamptz + i * interval '1 microsecond', CASE i % 3 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE 0.1 END::float8,
        CASE WHEN i % 5 > 1 THEN 'high' ELSE 'low' END::sales.paged_grade, CASE WHEN i % 2 = 0 THEN 'Ä''\\' || i END, 'a' || i % 2, '2026-01-01'::date + i % 2
      FROM generate_series(1, 11) i`);
    for (const key of ['', 'ADD PRIMARY KEY (id, part)']) {
      if (key) await service.rows(`ALTER TABLE sales.paged ${key}`);
      const ordering = key ? ', id' : ', ctid';
      const more = key ? ', part' : '';
      const expected = async (by: string) => {
        const [first, ...rest] = by.split(' ');
        const keys = `${ordering}${more}`.replaceAll(/, (\w+)/g, `, $1 ${rest.join(' ')}`);
        const order = by === '' ? '' : `ORDER BY ${first} ${rest.join(' ')}${keys}`;
        return (await service.rows(`SELECT id FROM sales.paged ${order}`)).map(({ id }) => id);
      };
      const ids = (found: Record<string, unknown>[]) => found.map(({ id }) => id);
      assert.deepEqual(ids(await pages('paged', '')), await expected(''), key);
      for (const column of ['id', 'part', 'n', 'at', 'f', 'g', 'c', 'ch', '"tab.le"'])
        for (const direction of ['asc', 'desc']) {
          const order = encodeURIComponent(`${column.replaceAll('"', '')}.${direction}`);
          const found = ids(await pages('paged', `&order=${order}`));
          assert.deepEqual(found, await expected(`${column} ${direction}`), `${key} ${column} ${direction}`);
        }
    }
  });

  test('rows that are removed, added or changed between two pages neither repeat nor hide another row', async () => {
    await service.rows(`DROP TABLE IF EXISTS sales.moved; CREATE TABLE sales.moved (id int PRIMARY KEY, n int);
      INSERT INTO sales.moved SELECT i, i FROM generate_series(1, 9) i`);
    const between = () =>
      service.rows(`DELETE FROM sales.moved WHERE id = 3; INSERT INTO sales.moved VALUES (0, 0), (10, 10);
        UPDATE sales.moved SET n = 100 WHERE id = 1`);
    const found = await pages('moved', '&order=id', between);
    assert.deepEqual(
      found.map(({ id }) => id),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
  });

  test('a page that cannot be told from the next one has no place, and a wrong order or place is refused', async () => {
    await service.rows(`DROP TABLE IF EXISTS sales.parts; CREATE TABLE sales.parts (id int, doc json) PARTITION BY LIST (id);
      CREATE TABLE sales.parts_all PARTITION OF sales.parts DEFAULT; INSERT INTO sales.parts SELECT i FROM generate_series(1, 5) i`);
    for (const query of ['&limit=3', '&limit=3&order=id']) {
      const { rows: part, has_more: hasMore, next } = JSON.parse((await rows('parts', query)).text);
      assert.deepEqual([part.length, hasMore, next], [3, true, undefined]);
    }
    await service.rows(`DROP TABLE IF EXISTS sales.docs; CREATE DOMAIN sales.any_json AS jsonb;
      CREATE TABLE sales.docs (id int PRIMARY KEY, doc jsonb, own sales.any_json);
      INSERT INTO sales.docs SELECT i, v, v FROM unnest('{5,"\\"5\\"",null,NULL,true,"\\"a\\""}'::jsonb[]) WITH ORDINALITY AS e (v, i)`);
    for (const query of ['&limit=1', '&limit=2', '&limit=3', '&limit=4', '&limit=5'])
      for (const order of ['doc', 'doc.desc', 'own', 'own.desc']) {
        const { has_more: hasMore, next } = JSON.parse((await rows('docs', `${query}&order=${order}`)).text);
        assert.deepEqual([hasMore, next], [true, undefined], `${query} ${order}`);
      }
    await service.rows('ALTER TABLE sales.parts ADD PRIMARY KEY (id)');
    assert.deepEqual(
      (await pages('parts', '&order=id.desc')).map(({ id }) => id),
      [5, 4, 3, 2, 1],
    );
    const { next } = JSON.parse((await rows('parts', '&limit=3&order=id')).text);
    const forged = (...place: unknown[]) => Buffer.from(JSON.stringify(place)).toString('base64url');
    for (const query of [
      '&order=missing',
      '&order=doc',
      '&order=id,doc',
      '&columns=id',
      `&after=${next}`,
      `&order=id.desc&after=${next}`,
      `&order=id&after=${next}x`,
      `&order=id&after=${forged('id', "1'; DROP TABLE sales.parts --")}`,
      `&order=id&after=${forged('id', '1', '2')}`,
      `&order=id&after=${forged('id', 1)}`,
    ]) {
      const { status, text } = await rows('parts', query);
      assert.deepEqual([status, JSON.parse(text).code], [422, 'invalid-parameter'], `${query} ${text}`);
    }
  });

  test('the first rows have every digit and value as PostgreSQL stores it', async () => {
    const text = await values(
      'big bigint, exact numeric, f float8, no float8, at timestamptz, day date, bytes bytea, list int[], doc jsonb, gap text, flag bool',
      `VALUES (9007199254740993, 0.10000000000000000000000000001, 0.1, 'NaN', '2024-02-29 12:00:00.000001+05', '0044-03-15 BC',
        '\\xDEADBEEF', '{1,NULL,3}', '{"a": 1e400}', NULL, true)`,
    );
    assert.match(text, /"big":9007199254740993,"exact":0.10000000000000000000000000001,"f":0.1,"no":"NaN"/);
    assert.match(
      text,
      /"at":"2024-02-29T07:00:00.000001\+00:00","day":"0044-03-15 BC","bytes":"\\\\xdeadbeef"/,
    );
    assert.match(text, /"list":\[1,null,3\],"doc":{"a": 10{400}},"gap":null,"flag":true}/);
  });

  test('the first rows have columns of any name and number', async () => {
    assert.match(
      await values('v int, t int, "row" int, "a ""b" int', 'VALUES (1, 2, 3, 4)'),
      /{"v":1,"t":2,"row":3,"a \\"b":4}/,
    );
    assert.match(await values('', 'DEFAULT VALUES'), /{"rows":\[{}\]/);
    const names = Array.from({ length: 1600 }, (_, index) => `c${index} int`);
    assert.equal(JSON.parse(await values(names.join(), 'DEFAULT VALUES')).rows[0].c1599, null);
  });

  test('the first rows show values of own types as text, and run no cast of theirs', async () => {
    await service.rows(`CREATE TYPE sales.mood AS ENUM ('sad "x"', 'ok'); CREATE TYPE sales.pair AS (a int, b text);
      CREATE DOMAIN sales.code AS int; CREATE TABLE sales.ran (a text);
      CREATE FUNCTION sales.spy(sales.mood) RETURNS json LANGUAGE sql AS 'INSERT INTO sales.ran VALUES (1) RETURNING ''1''::json';
      CREATE CAST (sales.mood AS json) WITH FUNCTION sales.spy(sales.mood);
      CREATE FUNCTION sales.spy_text(sales.mood) RETURNS text LANGUAGE sql AS 'INSERT INTO sales.ran VALUES (1) RETURNING a';
      CREATE CAST (sales.mood AS text) WITH FUNCTION sales.spy_text(sales.mood)`);
    const text = await values(
      'm sales.mood, ms sales.mood[], p sales.pair, nulls sales.pair, none sales.pair, c sales.code',
      `VALUES ('sad "x"', '{ok,ok}', (1, 'x y'), (NULL, NULL), NULL, 7)`,
    );
    const [row] = JSON.parse(text).rows;
    assert.deepEqual(row, { m: 'sad "x"', ms: '{ok,ok}', p: '(1,"x y")', nulls: '(,)', none: null, c: 7 });
    assert.deepEqual(await service.rows('SELECT * FROM sales.ran'), []);
  });

  test('the first rows stop before they are longer than 16 MiB, and a first row that is longer is cut', async () => {
    const mebibyte = `repeat('x', 1024 * 1024)`;
    const columns = Array.from({ length: 17 }, (_, index) => `c${index}`);
    const some = (count: number) => columns.map((_, index) => (index < count ? mebibyte : 'NULL')).join();
    const text = await values(
      `${columns.join(' text, ')} text`,
      `SELECT ${some(6)} FROM generate_series(1, 4)`,
    );
    const { rows: shown, has_more, cut } = JSON.parse(text);
    assert.deepEqual([shown.length, has_more, cut], [2, true, undefined]);
    await service.rows(`TRUNCATE sales.shown; INSERT INTO sales.shown SELECT ${some(17)}`);
    const long = await rows('shown');
    assert.equal(long.status, 200, long.text);
    assert.deepEqual(JSON.parse(long.text), {
      rows: [Object.fromEntries(columns.map((column) => [column, 'x'.repeat(1000)]))],
      cut: columns.map((column) => ({ row: 1, column })),
      has_more: false,
    });
  });

  test('no row is written after the first rows are too long, however much shorter PostgreSQL stores it', async () => {
    // The third row would be longer than any text of PostgreSQL, so writing it would refuse the request.
    const columns = Array.from({ length: 60 }, (_, index) => `c${index}`);
    const some = (count: number) => columns.map((_, index) => (index < count ? 'd' : 'NULL')).join();
    await service.rows(`DROP TABLE IF EXISTS sales.shown, sales.document;
      CREATE TABLE sales.document AS SELECT to_jsonb(repeat('x', 18 * 1024 * 1024)) AS d;
      CREATE TABLE sales.shown (${columns.join(' jsonb, ')} jsonb);
      INSERT INTO sales.shown SELECT ${some(0)};
      INSERT INTO sales.shown SELECT ${some(1)} FROM sales.document;
      INSERT INTO sales.shown SELECT ${some(60)} FROM sales.document`);
    const { status, text } = await rows('shown');
    assert.equal(status, 200, text);
    const { rows: shown, has_more } = JSON.parse(text);
    assert.deepEqual([shown.length, has_more], [1, true]);
    await service.rows('DELETE FROM sales.shown WHERE c1 IS NULL');
    const first = await rows('shown');
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(JSON.parse(first.text).rows, [Object.fromEntries(columns.map((name) => [name, null]))]);
    await service.rows('DROP TABLE sales.document');
  });

  test('the first rows have only the beginning of long texts, no other long values, and a list of these', async () => {
    await service.rows(`CREATE DOMAIN sales.note AS text; CREATE TYPE sales.tag AS (t text)`);
    const long = `repeat('é', 600 * 1024)`;
    const text = await values(
      `"t" text, "it's" sales.note, v varchar, b bytea, j jsonb, l int[], o sales.tag, s text`,
      `SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL::sales.tag, 'short'
       UNION ALL SELECT ${long}, ${long}, ${long}, convert_to(${long}, 'UTF8'),
        to_jsonb(ARRAY(SELECT sqrt(n) FROM generate_series(1, 40000) n)), ARRAY(SELECT n FROM generate_series(1, 100000) n),
        ROW((SELECT string_agg(md5(n::text), '') FROM generate_series(1, 20000) n))::sales.tag, 'short'`,
    );
    const { rows: shown, cut } = JSON.parse(text);
    const beginning = 'é'.repeat(1000);
    assert.deepEqual(shown[0], {
      t: null,
      "it's": null,
      v: null,
      b: null,
      j: null,
      l: null,
      o: null,
      s: 'short',
    });
    assert.deepEqual(shown[1], {
      t: beginning,
      "it's": beginning,
      v: beginning,
      b: `\\x${'c3a9'.repeat(500)}`,
      j: null,
      l: null,
      o: null,
      s: 'short',
    });
    assert.deepEqual(
      cut,
      ['t', "it's", 'v', 'b', 'j', 'l', 'o'].map((column) => ({ row: 2, column })),
    );
  });

  test('the first rows are refused if PostgreSQL needs a text of more than 1 GiB for them', async () => {
    // The policy causes the error that a cell of hundreds of megabytes causes, without the memory.
    await service.rows(`CREATE TABLE sales.too_long (n int); INSERT INTO sales.too_long VALUES (1100000000);
      ALTER TABLE sales.too_long ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
      CREATE POLICY p ON sales.too_long USING (length(repeat('x', n)) > 0)`);
    const { status, text } = await rows('too_long');
    await service.rows('DROP TABLE sales.too_long');
    assert.equal(status, 413, text);
    assert.match(text, /A row is too long to be listed: the limit is 16 MiB/);
  });

  test('the first rows have only the rows that the role may read', async () => {
    const asRole = await service.token({ role });
    assert.equal(JSON.parse((await rows('orders', '&limit=3', asRole)).text).rows.length, 3);
    assert.equal((await rows('sent', '', asRole)).status, 404);
    await service.rows(`CREATE TABLE sales.half (a int, b int); GRANT SELECT (a) ON sales.half TO ${role}`);
    assert.equal((await rows('half', '', asRole)).status, 403);
    await service.rows(`CREATE TABLE sales.own (who text); INSERT INTO sales.own VALUES ('${role}'), ('other');
      ALTER TABLE sales.own ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON sales.own USING (who = current_user);
      GRANT SELECT ON sales.own TO ${role}`);
    assert.deepEqual(JSON.parse((await rows('own', '', asRole)).text).rows, [{ who: role }]);
  });

  test('the first rows of a relation that is no table are not found', async () => {
    assert.equal((await rows('recent')).status, 404);
    assert.equal((await rows('nothing')).status, 404);
  });
});

test('a virtual column that PostgreSQL cannot compute for a row is named when the rows are read', async (t) => {
  const [server] = await service.rows("SELECT current_setting('server_version_num')::int AS number");
  if (Number(server!.number) < 180_000) return t.skip('PostgreSQL 18 has virtual columns');
  await service.rows('CREATE TABLE divided (n int, "per n" int GENERATED ALWAYS AS (10 / n) VIRTUAL)');
  await service.rows('INSERT INTO divided VALUES (1), (0)');
  const { status, body } = await service.get('/table/divided/rows');
  assert.equal(status, 422);
  assert.match(body.detail, /computes the column "per n" .* fails: division by zero\./);
});
