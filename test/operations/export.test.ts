/** Exports: who may export what, what is refused, and how an export ends early. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import type { ErrorCode } from '../../src/core/errors.ts';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: TestService;
let admin: pg.Client;
const role = `exporter_${randomBytes(4).toString('hex')}`;

before(async () => {
  service = await startTestService();
  admin = new pg.Client(service.database.adminUrl ?? service.database.url);
  await admin.connect();
  const [own] = await service.rows('SELECT current_user AS name');
  await admin.query(`CREATE ROLE ${role}; GRANT ${role} TO ${own!.name}`);
  await service.rows(`
    CREATE TABLE people (id int PRIMARY KEY, name text, "Größe, cm" numeric, secret text, doc json);
    INSERT INTO people VALUES (1, 'Ada', 170.50, 'x', '{"a":1}'), (2, '', NULL, 'y', NULL), (3, NULL, 160, 'z', NULL);
    GRANT SELECT (id, name) ON people TO ${role};
    CREATE TABLE many (id int, filler text); INSERT INTO many SELECT n, repeat('x', 200) FROM generate_series(1, 200000) AS n;
    ALTER TABLE many ENABLE ROW LEVEL SECURITY;
    CREATE POLICY few ON many TO ${role} USING (id % 2 = 0 AND 1 / (150000 - id) IS NOT NULL);
    GRANT SELECT ON many TO ${role};
    CREATE TABLE nothing (a int); CREATE VIEW seen AS SELECT * FROM people; CREATE TABLE "a/b ""ü" (a int);
    CREATE TABLE parts (a int) PARTITION BY LIST (a); CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1); INSERT INTO parts VALUES (1)`);
});

after(async () => {
  await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await admin.end();
  await service.stop();
});

/** Requests rows. The body of a file is text, and that of other answers JSON. */
async function rowsOf(
  table: string,
  query: string,
  { token, headers }: { token?: string; headers?: Record<string, string> } = {},
): Promise<TestAnswer> {
  const answer = await fetch(`${service.url}/api/v1/table/${encodeURIComponent(table)}/rows?${query}`, {
    headers: { authorization: `Bearer ${token ?? (await service.token())}`, ...headers },
  });
  const text = await answer.text();
  const isFile = answer.headers.has('content-disposition');
  return { status: answer.status, headers: answer.headers, body: isFile ? text : JSON.parse(text) };
}

suite('what an export contains', () => {
  const csv = 'id,name,"Größe, cm",secret,doc\n1,Ada,170.50,x,"{""a"":1}"\n2,"",,y,\n3,,160,z,\n';
  const first = '{"id":1,"name":"Ada","Größe, cm":170.50,"secret":"x","doc":{"a":1}}';
  const files: [what: string, query: string, headers: Record<string, string>, type: RegExp, text: string][] =
    [
      ['CSV with all rows', 'format=csv', {}, /^text\/csv; charset=utf-8; header=present$/, csv],
      ['CSV for Accept: text/csv', '', { accept: 'text/csv' }, /^text\/csv/, csv],
      ['NDJSON', 'format=ndjson&limit=1', {}, /^application\/x-ndjson/, `${first}\n`],
      [
        'NDJSON for its media type',
        'limit=1',
        { accept: 'application/x-ndjson' },
        /^application\/x-ndjson/,
        `${first}\n`,
      ],
      [
        'chosen columns in their order',
        'format=csv&columns=name,id&order=id.desc',
        {},
        /csv/,
        'name,id\n,3\n"",2\nAda,1\n',
      ],
      [
        'a column with a comma',
        'format=csv&columns=Gr%C3%B6%C3%9Fe%5C,%20cm&order=id&limit=1',
        {},
        /csv/,
        '"Größe, cm"\n170.50\n',
      ],
      ['an order by two columns', 'format=csv&columns=id&order=name.asc,id', {}, /csv/, 'id\n2\n1\n3\n'],
    ];
  for (const [what, query, headers, type, text] of files) {
    test(`${what}`, async () => {
      const answer = await rowsOf('people', query, { headers });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.match(answer.headers.get('content-type')!, type);
      assert.equal(answer.body, text);
    });
  }

  test('JSON is a document that uploads accept, also without rows', async () => {
    const { body, headers } = await rowsOf('people', 'format=json&columns=id,name');
    assert.match(headers.get('content-type')!, /^application\/json/);
    assert.deepEqual(JSON.parse(body), {
      data: [
        { id: 1, name: 'Ada' },
        { id: 2, name: '' },
        { id: 3, name: null },
      ],
    });
    assert.deepEqual(JSON.parse((await rowsOf('nothing', 'format=json')).body), { data: [] });
    assert.equal((await rowsOf('nothing', 'format=ndjson')).body, '');
    assert.equal((await rowsOf('nothing', 'format=csv')).body, 'a\n');
  });

  test('a partitioned table has the rows of its partitions', async () => {
    assert.equal((await rowsOf('parts', 'format=csv')).body, 'a\n1\n');
  });

  test('the name of the file is that of the table, also in UTF-8, without folders', async () => {
    const nameFor = async (table: string) =>
      (await rowsOf(table, 'format=csv')).headers.get('content-disposition');
    assert.equal(await nameFor('people'), 'attachment; filename="people.csv"');
    assert.equal(
      await nameFor('a/b "ü'),
      `attachment; filename="a_b __.csv"; filename*=UTF-8''a_b%20%22%C3%BC.csv`,
    );
  });

  test('HEAD answers the headers, and refuses what GET refuses', async () => {
    const headOf = async (query: string) =>
      fetch(`${service.url}/api/v1/table/people/rows?${query}`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${await service.token()}` },
      });
    const head = await headOf('format=csv');
    assert.deepEqual(
      [head.status, head.headers.get('content-disposition')],
      [200, 'attachment; filename="people.csv"'],
    );
    assert.equal((await headOf('format=csv&columns=x')).status, 422);
  });

  test('without a format the first rows are answered as before', async () => {
    for (const headers of [
      {},
      { accept: 'application/json' },
      { accept: '*/*' },
      { accept: 'application/json, text/csv' },
    ]) {
      const { body } = await rowsOf('people', 'limit=1', { headers });
      assert.deepEqual([body.rows.length, body.has_more], [1, true]);
    }
  });

  test('rows that a policy hides are not exported', async () => {
    const { body } = await rowsOf('many', 'format=csv&columns=id&limit=3', {
      token: await service.token({ role }),
    });
    assert.equal(body, 'id\n2\n4\n6\n');
  });
});

suite('a refused export', () => {
  const refused: [table: string, query: string, status: number, code: ErrorCode, detail: RegExp][] = [
    ['people', 'format=xml', 422, 'invalid-parameter', /csv, ndjson, json, xlsx/],
    ['people', 'format=csv&columns=nam', 422, 'invalid-parameter', /no column "nam"\. Did you mean "name"\?/],
    ['people', 'format=csv&columns=id,id', 422, 'invalid-parameter', /"id" twice/],
    ['people', 'format=csv&columns=', 422, 'invalid-parameter', /no column ""/],
    ['people', 'format=csv&order=nam.desc', 422, 'invalid-parameter', /no column "nam"/],
    ['people', 'format=csv&order=doc', 422, 'invalid-parameter', /type has no order/],
    ['people', 'format=csv&limit=0', 422, 'invalid-parameter', /limit/],
    ['people', 'columns=id', 422, 'invalid-parameter', /send format, too/],
    ['people', 'format=csv&after=x', 422, 'invalid-parameter', /no pages/],
    ['people', 'limit=1001', 422, 'invalid-parameter', /1 to 1000/],
    ['seen', 'format=csv', 404, 'table-not-found', /is a view/],
    ['absent', 'format=csv', 404, 'table-not-found', /no table/],
  ];
  for (const [table, query, status, code, detail] of refused) {
    test(`${table} with ${query}`, async () => {
      const answer = await rowsOf(table, query);
      assert.match(assertProblem(answer, status, code).detail, detail);
    });
  }

  test('a token without the scope table:export, or for another schema', async () => {
    const reader = await service.token({ scope: 'table:read' });
    assertProblem(await rowsOf('people', 'format=csv', { token: reader }), 403, 'insufficient-scope');
    const elsewhere = await service.token({ schemas: ['sales'] });
    assertProblem(await rowsOf('people', 'format=csv', { token: elsewhere }), 403, 'schema-forbidden');
    const exporter = await service.token({ scope: 'table:export' });
    assert.equal((await rowsOf('people', 'format=csv', { token: exporter })).status, 200);
    assertProblem(await rowsOf('people', '', { token: exporter }), 403, 'insufficient-scope');
  });

  test('columns that the role may not read are named, and the others can be exported', async () => {
    const token = await service.token({ role });
    const all = assertProblem(await rowsOf('people', 'format=csv', { token }), 403, 'permission-denied');
    assert.match(all.detail, /columns "Größe, cm", "secret", "doc"\. Name the other columns/);
    const ordered = await rowsOf('people', 'format=csv&columns=id&order=secret', { token });
    assert.match(assertProblem(ordered, 403, 'permission-denied').detail, /column "secret"/);
    assert.equal(
      (await rowsOf('people', 'format=csv&columns=id,name&limit=1', { token })).body,
      'id,name\n1,Ada\n',
    );
  });

  test('a row whose text would be too long is refused before PostgreSQL writes it', async () => {
    await service.rows(`CREATE TABLE long_text (a text); INSERT INTO long_text VALUES (repeat('x', 70000000));
      CREATE TABLE long_bytes (a bytea); INSERT INTO long_bytes VALUES (decode(repeat('00', 40000000), 'hex'));
      CREATE TABLE long_numbers (a numeric[]); INSERT INTO long_numbers VALUES (array_fill('1e131071'::numeric, ARRAY[100000]));
      CREATE TABLE long_json (a jsonb); INSERT INTO long_json VALUES (to_jsonb(array_fill('1e131071'::numeric, ARRAY[1000])))`);
    for (const table of ['long_text', 'long_bytes', 'long_numbers', 'long_json'])
      for (const format of ['csv', 'ndjson', 'xlsx'])
        assertProblem(await rowsOf(table, `format=${format}`), 413, 'limit-exceeded');
  });

  test('a row whose text would be too long as JSON, because of its escapes, is refused before PostgreSQL writes it', async () => {
    await service.rows(`CREATE TABLE escapes (id int, a text, b text);
      INSERT INTO escapes VALUES (1, repeat(chr(1), 6000000), repeat(chr(2), 6000000)), (2, repeat('"', 7000000) || chr(1), repeat('x', 6000000))`);
    const refused = await rowsOf('escapes', 'format=ndjson&order=id');
    assert.match(assertProblem(refused, 413, 'limit-exceeded').detail, /^A row is too long to be exported/);
    assert.equal((await rowsOf('escapes', 'format=csv&order=id&limit=1')).status, 200);
    await service.rows('DELETE FROM escapes WHERE id = 1');
    const quotes = await rowsOf('escapes', 'format=ndjson');
    assert.equal(quotes.status, 200, JSON.stringify(quotes.body).slice(0, 300));
    // Without a control character, the escapes of the others count, too.
    await service.rows(`UPDATE escapes SET a = repeat('"', 34000000), b = 'x'`);
    const long = await rowsOf('escapes', 'format=ndjson');
    assert.match(assertProblem(long, 413, 'limit-exceeded').detail, /^A row is too long to be exported/);
    await service.rows(
      `UPDATE escapes SET a = repeat(chr(8), 20000000), b = repeat(E'\\u00e4\\\\', 9000000)`,
    );
    assertProblem(await rowsOf('escapes', 'format=ndjson'), 413, 'limit-exceeded');
    // Each part of a text counts, and a letter is no escape.
    await service.rows(`UPDATE escapes SET a = repeat('b', 20000000), b = repeat('f', 20000000) || '"'`);
    assert.equal((await rowsOf('escapes', 'format=ndjson')).status, 200);
    await service.rows('DROP TABLE escapes');
  });

  test('a workbook with too many rows, or with a text that is too long for a cell', async () => {
    await service.rows(`CREATE TABLE tall AS SELECT n FROM generate_series(1, 1048576) AS n;
      CREATE TABLE wide AS SELECT 1 AS n, repeat('é', 32768) AS a, jsonb_build_array(repeat('x', 32768)) AS b, repeat('é', 32767) AS c`);
    const detailOf = async (answer: Promise<TestAnswer>) =>
      assertProblem(await answer, 413, 'limit-exceeded').detail;
    assert.match(await detailOf(rowsOf('tall', 'format=xlsx')), /too many rows.* 1,048,575 rows/);
    assert.match(await detailOf(rowsOf('wide', 'format=xlsx')), /column "a".* 32,767 characters/);
    assert.match(await detailOf(rowsOf('wide', 'format=xlsx&columns=b')), /32,767 characters/);
    assert.equal((await rowsOf('wide', 'format=xlsx&columns=n,c')).status, 200);
    assert.equal((await rowsOf('tall', 'format=xlsx&limit=10')).status, 200);
  });
});

/** Requests an export over a connection that nobody reads. */
async function unread(token: string): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    `GET /api/v1/table/many/rows?format=csv HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  await once(socket, 'readable');
  return socket;
}

const runningCopies = async (): Promise<number> => {
  const { rows } = await admin.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%COPY (SELECT%' AND state = 'active' AND pid <> pg_backend_pid()`,
  );
  return rows[0].count;
};

suite('an export that ends early', () => {
  test('an error after the first bytes resets the connection, and the place is free again', async () => {
    const token = await service.token({ role });
    for (let time = 0; time < 6; time++) {
      const answer = await fetch(`${service.url}/api/v1/table/many/rows?format=csv`, {
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(answer.status, 200);
      await assert.rejects(answer.text());
    }
    // With the order the error comes before the first row.
    const sorted = await rowsOf('many', 'format=csv&order=id', { token });
    assertProblem(sorted, 422, 'invalid-data');
  });

  test('a client that disconnects ends the statement of PostgreSQL', async () => {
    const socket = await unread(await service.token());
    await until('the COPY', async () => (await runningCopies()) === 1);
    socket.destroy();
    await until('the end of the COPY', async () => (await runningCopies()) === 0);
  });

  test('clients that do not read their exports keep no upload waiting', async (t) => {
    const sockets: Socket[] = [];
    t.after(() => sockets.forEach((socket) => void socket.destroy()));
    for (const subject of ['a', 'a', 'a', 'b']) sockets.push(await unread(await service.token({ subject })));
    await until('four exports', async () => (await runningCopies()) === 4);
    for (let time = 0; time < 5; time++) {
      const answer = await service.post(`/table/nothing/upload/json?if_exists=append`, { data: [{ a: 1 }] });
      assert.equal(answer.status, 200);
    }
    for (const socket of sockets) socket.destroy();
    await until('the end of the exports', async () => (await runningCopies()) === 0);
  });

  test('an export that waited for a TRUNCATE has the rows that were inserted after it', async () => {
    await service.rows('CREATE TABLE renewed (a int); INSERT INTO renewed VALUES (1)');
    const holder = await service.database.pool.connect();
    try {
      await holder.query('BEGIN; TRUNCATE renewed; INSERT INTO renewed VALUES (2)');
      const answer = rowsOf('renewed', 'format=csv');
      await untilWaitsForLock(service.database);
      await holder.query('COMMIT');
      assert.equal((await answer).body, 'a\n2\n');
    } finally {
      holder.release();
    }
  });

  test('an export for which PostgreSQL sends no rows ends after STATEMENT_TIMEOUT_MS', async () => {
    const impatient = await startTestService({ STATEMENT_TIMEOUT_MS: '2000' });
    try {
      await impatient.rows(`CREATE TABLE slow (a int); INSERT INTO slow VALUES (1);
        ALTER TABLE slow ENABLE ROW LEVEL SECURITY; ALTER TABLE slow FORCE ROW LEVEL SECURITY;
        CREATE POLICY asleep ON slow USING (pg_sleep(600) IS NOT NULL); GRANT SELECT ON slow TO ${role}`);
      const token = await impatient.token({ role });
      const answer = await impatient.get('/table/slow/rows?format=csv', { token });
      assert.match(
        assertProblem(answer, 503, 'database-busy').detail,
        /no rows for too long.*STATEMENT_TIMEOUT_MS/,
      );
    } finally {
      await impatient.rows('DROP TABLE slow');
      await impatient.stop();
    }
  });

  test('an export that takes longer than EXPORT_TIMEOUT_MS ends, also while rows come', async () => {
    const impatient = await startTestService({ EXPORT_TIMEOUT_MS: '2000' });
    try {
      await impatient.rows(`CREATE TABLE slow (a int, filler text);
        INSERT INTO slow SELECT n, repeat('x', 200000) FROM generate_series(1, 1000) AS n;
        ALTER TABLE slow ENABLE ROW LEVEL SECURITY; GRANT SELECT ON slow TO ${role};
        CREATE POLICY late ON slow USING (pg_sleep(0.1) IS NOT NULL)`);
      const token = await impatient.token({ role });
      const sorted = await impatient.get('/table/slow/rows?format=csv&order=a', { token });
      assert.match(assertProblem(sorted, 413, 'limit-exceeded').detail, /too long.*EXPORT_TIMEOUT_MS/);
      const answer = await fetch(`${impatient.url}/api/v1/table/slow/rows?format=csv`, {
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(answer.status, 200);
      await assert.rejects(answer.text());
    } finally {
      await impatient.rows('DROP TABLE slow');
      await impatient.stop();
    }
  });
});
