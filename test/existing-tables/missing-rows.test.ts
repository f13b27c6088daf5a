/** Rows of the table that an upload does not have (`missing_rows`), over HTTP. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endOf } from '../support/load-ends.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('missing');

async function create(columns: string, rows?: string): Promise<string> {
  const table = nextTable();
  await service.rows(`CREATE TABLE ${table} (${columns})`);
  if (rows !== undefined) await service.rows(`INSERT INTO ${table} ${rows}`);
  return table;
}

const ten = `SELECT n, 'row ' || n FROM generate_series(1, 10) n`;
const plain = 'id int PRIMARY KEY, note text';
const allowed = '&max_missing_rows=100%25';

function send(table: string, data: unknown[], query: string, headers = {}): Promise<TestAnswer> {
  const path = `/table/${table}/upload/json?if_exists=append&on_conflict=update${query}`;
  return service.post(path, { data }, { headers });
}

async function counts(answer: Promise<TestAnswer>): Promise<Record<string, number | undefined>> {
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  const { rows, updated, skipped, missing, deleted, marked, unmarked, rows_left_out } = body.load;
  return Object.fromEntries(
    Object.entries({ rows, updated, skipped, missing, deleted, marked, unmarked, rows_left_out }).filter(
      ([, value]) => value !== undefined && value !== 0,
    ),
  );
}

async function idsOf(table: string, condition = 'true'): Promise<unknown[]> {
  const rows = await service.rows(`SELECT id FROM ${table} WHERE ${condition} ORDER BY id`);
  return rows.map(({ id }) => id);
}

const ids = (...numbers: number[]) => numbers.map((id) => ({ id }));

test('missing rows are deleted, and rows that are new or the same stay', async () => {
  const table = await create(plain, ten);
  const data = ids(1, 2, 3, 4, 5, 6, 7, 8, 9, 11);
  assert.deepEqual(await counts(send(table, data, '&missing_rows=delete')), {
    rows: 1,
    updated: 9,
    missing: 1,
    deleted: 1,
  });
  assert.deepEqual(await idsOf(table), [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
});

test('without the parameter nothing is counted; missing_rows=keep counts, also in a dry run', async () => {
  const table = await create(plain, ten);
  assert.deepEqual(await counts(send(table, ids(1), '')), { updated: 1 });
  assert.deepEqual(await counts(send(table, ids(1), '&missing_rows=keep')), { updated: 1, missing: 9 });
  assert.deepEqual(await counts(send(table, ids(1), '&missing_rows=keep&dry_run=true')), {
    updated: 1,
    missing: 9,
  });
  assert.equal((await idsOf(table)).length, 10);
});

test('missing_rows=keep changes nothing for uploads whose rows cannot be compared', async () => {
  const table = await create('id int', 'VALUES (1)');
  const answer = await service.post(`/table/${table}/upload/json?if_exists=append&missing_rows=keep`, {
    data: ids(2),
  });
  assert.equal(answer.status, 200);
  assert.equal('missing' in answer.body.load, false);
});

test('more missing rows than max_missing_rows are refused, also in a dry run', async () => {
  const table = await create(plain, ten);
  const data = ids(1, 2, 3, 4, 5, 6, 7, 8);
  for (const query of ['', '&dry_run=true', '&max_missing_rows=1', '&max_missing_rows=19.9%25']) {
    const { detail } = assertProblem(
      await send(table, data, `&missing_rows=delete${query}`),
      409,
      'loses-data',
    );
    assert.match(detail, /^The upload lacks 2 of the 10 rows .* send max_missing_rows=2\./);
  }
  assert.equal((await idsOf(table)).length, 10);
  for (const max of ['2', '20%25']) {
    const query = `&missing_rows=delete&dry_run=true&max_missing_rows=${max}`;
    assert.equal((await counts(send(table, data, query))).deleted, 2);
  }
});

test('the list of changes shows missing rows with the texts of changed ones', async () => {
  const table = await create(
    'id int PRIMARY KEY, flag boolean, note text',
    `VALUES (1, true, 'a'), (2, true, repeat('b', 300))`,
  );
  const answer = await send(table, [{ id: 1, flag: false, note: 'a' }], `&missing_rows=delete${allowed}`);
  const { body } = await service.get(`/api/v1/loads/${answer.body.load.id}/changes`);
  const note = { column: 'note', old: `${'b'.repeat(99)}…` };
  assert.deepEqual(body.changes, [
    { kind: 'deleted', key: { id: '2' }, cells: [{ column: 'flag', old: 'true' }, note] },
    { kind: 'changed', row: 1, key: { id: '1' }, cells: [{ column: 'flag', old: 'true', new: 'false' }] },
  ]);
});

test('the list of changes has 10,000 missing rows, also of a table with several columns', async () => {
  const columns = 'id int PRIMARY KEY, a int, b int, c int, d int, e int';
  const table = await create(columns, 'SELECT n, 1, 2, 3, 4, 5 FROM generate_series(1, 10001) n');
  const answer = await send(table, [{ id: 1, a: 1 }], `&missing_rows=delete${allowed}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { body } = await service.get(`/api/v1/loads/${answer.body.load.id}/changes?limit=1`);
  assert.deepEqual([body.counts.deleted, body.changes_stored], [10_000, 10_000]);
});

test('an upload without rows, without good rows or without keys is refused', async () => {
  const table = await create('id int PRIMARY KEY, n int', 'VALUES (1, 1)');
  const query = `&missing_rows=delete${allowed}`;
  assertProblem(await send(table, [], query), 422, 'nothing-to-load');
  const faulty = await send(table, [{ id: 1, n: 'x' }], `${query}&faulty_rows=leave_out`);
  assert.match(assertProblem(faulty, 422, 'invalid-data').detail, /^Every row has a problem/);
  const keyed = await create('id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, n int', 'VALUES (1, 1)');
  assertProblem(await send(keyed, [{ n: 1 }], query), 422, 'invalid-parameter');
  const nulls = await create('id int UNIQUE, n int', 'VALUES (1, 1)');
  assertProblem(await send(nulls, [{ id: null, n: 1 }], query), 422, 'invalid-parameter');
  assert.deepEqual(await idsOf(table), [1]);
});

test('a row that is left out is not missing, and its key must be readable', async () => {
  const table = await create(
    'id int PRIMARY KEY, n int CHECK (n > 0), note text',
    'SELECT n, n FROM generate_series(1, 5) n',
  );
  const query = `&missing_rows=delete&faulty_rows=leave_out${allowed}`;
  const data = [
    { id: 1, n: 10 },
    { id: 2, n: 'x' },
    { id: 3, n: -1 },
    { id: 6, n: 'y' },
  ];
  assert.deepEqual(await counts(send(table, data, query)), {
    updated: 1,
    missing: 2,
    deleted: 2,
    rows_left_out: 3,
  });
  assert.deepEqual(await service.rows(`SELECT id, n FROM ${table} ORDER BY id`), [
    { id: 1, n: 10 },
    { id: 2, n: 2 },
    { id: 3, n: 3 },
  ]);
  const unreadable = await send(table, [...data, { id: 'z', n: 1 }], query);
  assert.match(assertProblem(unreadable, 422, 'invalid-data').detail, /^The key of a row cannot be read/);
  assert.deepEqual(await idsOf(table), [1, 2, 3]);
});

test('an invalid key that only PostgreSQL can read is refused, too', async () => {
  const table = await create('id pg_lsn PRIMARY KEY, n int', `VALUES ('0/1', 1), ('0/2', 2)`);
  const query = `&missing_rows=delete&faulty_rows=leave_out${allowed}`;
  assert.deepEqual(await counts(send(table, [{ id: '0/1', n: 5 }], query)), {
    updated: 1,
    missing: 1,
    deleted: 1,
  });
  const unreadable = await send(
    table,
    [
      { id: '0/1', n: 5 },
      { id: 'x', n: 1 },
    ],
    query,
  );
  assertProblem(unreadable, 422, 'invalid-data');
});

test('unique values move from missing rows to new ones', async () => {
  const table = await create('id int PRIMARY KEY, code text UNIQUE', `VALUES (1, 'a'), (2, 'b')`);
  const data = [
    { id: 2, code: 'b' },
    { id: 3, code: 'a' },
  ];
  assert.equal((await counts(send(table, data, `&missing_rows=delete${allowed}`))).deleted, 1);
  assert.deepEqual(await idsOf(table), [2, 3]);
});

test('on_conflict=skip deletes missing rows, too', async () => {
  const table = await create(plain, ten);
  const path = `/table/${table}/upload/json?if_exists=append&on_conflict=skip&missing_rows=delete&max_missing_rows=9`;
  assert.deepEqual(await counts(service.post(path, { data: ids(1, 20) })), {
    rows: 1,
    skipped: 1,
    missing: 9,
    deleted: 9,
  });
});

for (const [type, marked, unmarked] of [
  ['boolean', 'true', 'false'],
  ['date', `current_date::text`, 'null'],
  ['timestamptz(0)', `'now'`, 'null'],
  ['timestamp', `'now'`, 'null'],
] as const) {
  test(`missing rows are marked in a column of the type ${type}, counted once, and unmarked if they return`, async () => {
    const table = await create(`id int PRIMARY KEY, gone ${type}`, 'VALUES (1), (2)');
    const query = `&missing_rows=mark:gone${allowed}`;
    assert.deepEqual(await counts(send(table, ids(1, 3), query)), {
      rows: 1,
      updated: 1,
      missing: 1,
      marked: 1,
    });
    const [row] = await service.rows(`SELECT gone::text AS gone FROM ${table} WHERE id = 2`);
    if (marked === 'true') assert.equal(row!.gone, 'true');
    const [{ isNow } = {}] =
      marked === 'true'
        ? [{ isNow: true }]
        : await service.rows(
            `SELECT gone::timestamp > (now() AT TIME ZONE 'UTC')::timestamp - interval '49 hours' AS "isNow" FROM ${table} WHERE id = 2`,
          );
    assert.equal(isNow, true);
    assert.deepEqual(await counts(send(table, ids(1, 3), query)), { updated: 2 });
    assert.deepEqual(await counts(send(table, ids(1, 2, 3), query)), { updated: 3, unmarked: 1 });
    const again = await service.rows(`SELECT gone::text AS gone FROM ${table} WHERE id = 2`);
    assert.deepEqual(again, [{ gone: unmarked === 'null' ? null : 'false' }]);
  });
}

test('the column for the mark must suit', async () => {
  const table = await create(
    `id int PRIMARY KEY, a text, b boolean, c timestamp NOT NULL DEFAULT now(), d boolean GENERATED ALWAYS AS (id > 1) STORED, "x:y" boolean`,
    'VALUES (1), (2)',
  );
  for (const column of ['a', 'c', 'd', 'id', 'e']) {
    const answer = await send(table, ids(1), `&missing_rows=mark:${column}${allowed}`);
    assertProblem(answer, 422, 'invalid-parameter');
  }
  const inData = await send(table, [{ id: 1, b: true }], `&missing_rows=mark:b${allowed}`);
  assertProblem(inData, 422, 'invalid-parameter');
  for (const text of ['mark', 'mark:', 'mark:a:b', 'remove', '']) {
    assertProblem(await send(table, ids(1), `&missing_rows=${text}`), 422, 'invalid-parameter');
  }
  const escaped = `&missing_rows=${encodeURIComponent('mark:x\\:y')}${allowed}`;
  assert.equal((await counts(send(table, ids(1), escaped))).marked, 1);
  const key = await create('id boolean PRIMARY KEY', 'VALUES (true)');
  assertProblem(await send(key, [{ id: true }], '&missing_rows=mark:id'), 422, 'invalid-parameter');
});

test('missing_within limits the comparison to combinations of values in the upload, NULL among them', async () => {
  const table = await create(
    'id int PRIMARY KEY, region text, month int',
    `VALUES (1, 'n', 1), (2, 'n', 1), (3, 'n', 2), (4, 's', 1), (5, NULL, 1), (6, NULL, 1), (7, NULL, NULL)`,
  );
  const data = [
    { id: 1, region: 'n', month: 1 },
    { id: 5, region: null, month: 1 },
  ];
  const query = `&missing_rows=delete&missing_within=region,month${allowed}`;
  assert.equal((await counts(send(table, data, query))).deleted, 2);
  assert.deepEqual(await idsOf(table), [1, 3, 4, 5, 7]);
  assertProblem(
    await send(table, [{ id: 1, region: 'n' }], `${query}&dry_run=true`),
    422,
    'invalid-parameter',
  );
  const json = await create('id int PRIMARY KEY, doc json', `VALUES (1, '{}')`);
  const answer = await send(json, [{ id: 1, doc: {} }], `&missing_rows=delete&missing_within=doc${allowed}`);
  assertProblem(answer, 422, 'invalid-parameter');
});

test('max_missing_rows is a share of the rows that missing_within compares', async () => {
  const table = await create(
    'id int PRIMARY KEY, region text',
    `SELECT n, CASE WHEN n <= 4 THEN 'n' ELSE 's' END FROM generate_series(1, 100) n`,
  );
  const data = [1, 2, 3].map((id) => ({ id, region: 'n' }));
  const query = '&missing_rows=delete&missing_within=region';
  const { detail } = assertProblem(await send(table, data, query), 409, 'loses-data');
  assert.match(
    detail,
    /^The upload lacks 1 of the 4 rows of the table that `missing_within` compares, .* allows 0\./,
  );
  assert.equal((await counts(send(table, data, `${query}&max_missing_rows=25%25`))).deleted, 1);
});

test('a file of repaired rows deletes and marks nothing', async () => {
  const table = await create(`${plain}, gone boolean`, `SELECT n, 'row ' || n FROM generate_series(1, 10) n`);
  const data = [{ id: 1, note: 'repaired', _problem: 'note: too long' }];
  for (const action of ['delete', 'mark:gone']) {
    const answer = await send(table, data, `&missing_rows=${action}${allowed}`);
    assert.match(assertProblem(answer, 422, 'invalid-parameter').detail, /_problem.*missing_rows=keep/);
  }
  assert.deepEqual(await counts(send(table, data, '&missing_rows=keep')), { updated: 1, missing: 9 });
  const owner = await create(`${plain}, _problem text`, `SELECT n, 'row ' || n FROM generate_series(1, 3) n`);
  assert.equal((await counts(send(owner, data, `&missing_rows=delete${allowed}`))).deleted, 2);
});

test('a row whose key has NULL is kept, unless the key has NULLS NOT DISTINCT', async () => {
  const distinct = await create('a int, b int, UNIQUE (a, b)', 'VALUES (1, 1), (2, NULL), (NULL, NULL)');
  const query = `&missing_rows=delete${allowed}`;
  assert.equal((await counts(send(distinct, [{ a: 5, b: 5 }], query))).deleted, 1);
  const equal = await create(
    'a int, b int, UNIQUE NULLS NOT DISTINCT (a, b)',
    'VALUES (1, 1), (2, NULL), (3, NULL), (NULL, NULL)',
  );
  const sent = [
    { a: 2, b: null },
    { a: null, b: null },
  ];
  assert.deepEqual(await counts(send(equal, sent, query)), { updated: 2, missing: 2, deleted: 2 });
});

test('the equality of the key decides: citext-like collations and domains', async () => {
  await service.rows(
    `CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
     CREATE DOMAIN code AS text CHECK (VALUE <> '')`,
  );
  const table = await create('id text COLLATE caseless PRIMARY KEY, n int', `VALUES ('A', 1), ('b', 2)`);
  const query = `&missing_rows=delete${allowed}`;
  assert.equal((await counts(send(table, [{ id: 'a', n: 5 }], query))).deleted, 1);
  assert.deepEqual(await service.rows(`SELECT * FROM ${table}`), [{ id: 'A', n: 5 }]);
  const domain = await create('id code PRIMARY KEY, n int', `VALUES ('A', 1), ('b', 2)`);
  assert.equal((await counts(send(domain, [{ id: 'A' }, { id: 'A' }], query))).deleted, 1);
});

test('keys that PostgreSQL computes, or that the data does not have, cannot be compared', async () => {
  const table = await create(
    'a text, id text GENERATED ALWAYS AS (lower(a)) STORED PRIMARY KEY',
    `VALUES ('A')`,
  );
  assertProblem(await send(table, [{ a: 'A' }], `&missing_rows=delete${allowed}`), 422, 'invalid-parameter');
});

test('the parameters need a key, an appending upload, and each other', async () => {
  const table = await create(plain, ten);
  for (const query of [
    'if_exists=append&missing_rows=delete',
    'if_exists=truncate&on_conflict=update&missing_rows=delete',
    'if_exists=replace&on_conflict=update&missing_rows=mark:note',
    'on_conflict=update&missing_rows=delete',
    'if_exists=append&on_conflict=update&max_missing_rows=5',
    'if_exists=append&on_conflict=update&missing_within=note',
    'if_exists=append&on_conflict=update&missing_rows=delete&max_missing_rows=101%25',
    'if_exists=append&on_conflict=update&missing_rows=delete&max_missing_rows=-1',
  ]) {
    const answer = await service.post(`/table/${table}/upload/json?${query}`, { data: ids(1) });
    assertProblem(answer, 422, 'invalid-parameter');
  }
});

test('a table that does not exist yet is created, and no row is missing', async () => {
  const path = `/table/${nextTable()}/upload/json?if_exists=append&on_conflict=update&primary_key=id&missing_rows=delete`;
  const { status, body } = await service.post(path, { data: ids(1) });
  assert.equal(status, 201);
  assert.deepEqual([body.load.missing, body.load.deleted], [0, 0]);
});

test('rows of other tables that a DELETE would change are named with their counts', async () => {
  const table = await create(plain, ten);
  await service.rows(`
    CREATE TABLE ${table}_lines (of int REFERENCES ${table} ON DELETE CASCADE);
    CREATE TABLE ${table}_notes (of int CONSTRAINT note_of REFERENCES ${table} ON DELETE SET NULL);
    INSERT INTO ${table}_lines VALUES (10), (10), (9), (1);
    INSERT INTO ${table}_notes VALUES (10), (1)`);
  const query = `&missing_rows=delete${allowed}`;
  const refused = assertProblem(await send(table, ids(1, 2), query), 409, 'dependent-objects');
  assert.deepEqual(
    refused.errors.map(({ detail }) => detail),
    [
      `3 rows of the table "public"."${table}_lines" (foreign key "${table}_lines_of_fkey", ON DELETE CASCADE) would be deleted, too`,
      `one row of the table "public"."${table}_notes" (foreign key "note_of", ON DELETE SET NULL) would be changed`,
    ],
  );
  assert.equal((await idsOf(table)).length, 10);
  assert.equal((await counts(send(table, ids(1, 9, 10), query))).deleted, 7);
});

test('rows to which other rows refer are named one by one', async () => {
  const table = await create(plain, ten);
  await service.rows(`
    CREATE TABLE ${table}_lines (of int REFERENCES ${table} ON DELETE RESTRICT);
    INSERT INTO ${table}_lines VALUES (10), (10), (9), (1)`);
  const query = `&missing_rows=delete${allowed}`;
  const refused = assertProblem(await send(table, ids(1, 2), query), 409, 'dependent-objects');
  assert.deepEqual(
    refused.errors.map(({ key }) => key),
    [{ id: '9' }, { id: '10' }],
  );
});

test('rows of the same table that refer to missing rows prevent the deletion, unless they are missing, too', async () => {
  const table = await create(
    'id int PRIMARY KEY, parent int',
    'VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL)',
  );
  const query = `&missing_rows=delete${allowed}`;
  for (const action of ['CASCADE', 'NO ACTION', 'RESTRICT']) {
    await service.rows(`ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS own,
      ADD CONSTRAINT own FOREIGN KEY (parent) REFERENCES ${table} ON DELETE ${action}`);
    assertProblem(await send(table, ids(1, 4), query), 409, 'dependent-objects');
    assert.equal((await counts(send(table, ids(1, 5), `${query}&dry_run=true`))).deleted, 3);
  }
});

test('triggers that keep rows are counted as they are, and triggers that refuse are problems', async () => {
  const table = await create(plain, ten);
  await service.rows(`
    CREATE FUNCTION keep_odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF OLD.id = 3 THEN RAISE EXCEPTION 'row 3 stays'; END IF;
      RETURN CASE WHEN OLD.id % 2 = 0 THEN OLD END; END $$;
    CREATE TRIGGER keep_odd BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION keep_odd()`);
  const query = `&missing_rows=delete${allowed}`;
  assert.deepEqual(await counts(send(table, ids(1, 2, 3), query)), { updated: 3, missing: 7, deleted: 4 });
  assert.deepEqual(await idsOf(table), [1, 2, 3, 5, 7, 9]);
  const { errors } = assertProblem(await send(table, ids(1, 2), query), 422, 'invalid-data');
  assert.equal(errors[0]!.code, 'refused-by-postgresql');
});

test('a rule for DELETE is refused', async () => {
  const table = await create(plain, ten);
  await service.rows(`CREATE RULE no_delete AS ON DELETE TO ${table} DO INSTEAD NOTHING`);
  assertProblem(await send(table, ids(1), `&missing_rows=delete${allowed}`), 422, 'invalid-parameter');
});

test('rows of partitions are missing, and rows of tables that inherit are not', async () => {
  const table = nextTable();
  await service.rows(`
    CREATE TABLE ${table} (id int PRIMARY KEY, note text) PARTITION BY RANGE (id);
    CREATE TABLE ${table}_low PARTITION OF ${table} FOR VALUES FROM (0) TO (5);
    CREATE TABLE ${table}_high PARTITION OF ${table} FOR VALUES FROM (5) TO (100);
    INSERT INTO ${table} ${ten};
    CREATE TABLE ${table}_lines (of int REFERENCES ${table} ON DELETE CASCADE);
    INSERT INTO ${table}_lines VALUES (7)`);
  const query = `&missing_rows=delete${allowed}`;
  assert.deepEqual(await counts(send(table, ids(1, 7, 20), query)), {
    rows: 1,
    updated: 2,
    missing: 8,
    deleted: 8,
  });
  const { errors } = assertProblem(await send(table, ids(1), query), 409, 'dependent-objects');
  assert.equal(errors.length, 1);
  const parent = await create(plain, ten);
  await service.rows(
    `CREATE TABLE ${parent}_child () INHERITS (${parent}); INSERT INTO ${parent}_child VALUES (50)`,
  );
  assert.equal((await counts(send(parent, ids(1), query))).deleted, 9);
  assert.deepEqual(await idsOf(parent), [1, 50]);
});

test('missing rows of a partition may refer to each other, and rows of other partitions refer to them', async () => {
  const table = nextTable();
  await service.rows(`
    CREATE TABLE ${table} (id int PRIMARY KEY, other int REFERENCES ${table}) PARTITION BY RANGE (id);
    CREATE TABLE ${table}_low PARTITION OF ${table} FOR VALUES FROM (0) TO (5);
    CREATE TABLE ${table}_high PARTITION OF ${table} FOR VALUES FROM (5) TO (100);
    INSERT INTO ${table} VALUES (1, NULL), (2, 1), (3, 2), (7, 3)`);
  const query = `&missing_rows=delete${allowed}`;
  const { errors } = assertProblem(await send(`${table}_low`, ids(1), query), 409, 'dependent-objects');
  assert.equal(errors.length, 1);
  await service.rows(`DELETE FROM ${table}_high`);
  assert.equal((await counts(send(`${table}_low`, ids(1), query))).deleted, 2);
});

test('missing rows go with misfits=widen and extra_columns=add', async () => {
  const table = await create('id int PRIMARY KEY, n smallint', 'SELECT n, n FROM generate_series(1, 10) n');
  const query = `&missing_rows=delete${allowed}`;
  assert.equal((await counts(send(table, [{ id: 1, n: 70_000 }], `${query}&misfits=widen`))).deleted, 9);
  await service.rows(`INSERT INTO ${table} VALUES (2, 2)`);
  const answer = send(table, [{ id: 1, more: 'x' }], `${query}&extra_columns=add`);
  assert.equal((await counts(answer)).deleted, 1);
});

test('missing rows go with faulty rows, misfits=widen and provenance together', async () => {
  const table = await create(
    'id int PRIMARY KEY, n smallint, load uuid, gone boolean',
    'SELECT n, n FROM generate_series(1, 5) n',
  );
  const query = `&faulty_rows=leave_out&misfits=widen&provenance=load_id:load${allowed}`;
  const data = [
    { id: 1, n: 70_000 },
    { id: 2, n: 'x' },
  ];
  const expected = { updated: 1, missing: 3, rows_left_out: 1 };
  assert.deepEqual(await counts(send(table, data, `${query}&missing_rows=mark:gone`)), {
    ...expected,
    marked: 3,
  });
  assert.deepEqual(await counts(send(table, data, `${query}&missing_rows=delete`)), {
    ...expected,
    deleted: 3,
  });
  const mark = await send(table, data, `&provenance=load_id:load&missing_rows=mark:load${allowed}`);
  assertProblem(mark, 422, 'invalid-parameter');
});

test('a refused reference of a row that is left out does not bring missing rows back', async () => {
  const table = await create(
    `id int PRIMARY KEY, code text UNIQUE, EXCLUDE USING btree (code WITH =)`,
    `VALUES (1, 'a'), (2, 'b'), (3, 'c')`,
  );
  const data = [
    { id: 1, code: 'b' },
    { id: 3, code: 'c' },
    { id: 5, code: 'c' },
  ];
  const query = `&missing_rows=delete&faulty_rows=leave_out${allowed}`;
  assert.deepEqual(await counts(send(table, data, query)), {
    updated: 2,
    missing: 1,
    deleted: 1,
    rows_left_out: 1,
  });
  assert.deepEqual(await service.rows(`SELECT * FROM ${table} ORDER BY id`), [
    { id: 1, code: 'b' },
    { id: 3, code: 'c' },
  ]);
});

test('a deleted row that returns because a trigger changes keys is refused', async () => {
  const table = await create('id text PRIMARY KEY, n int', `VALUES ('a', 1), ('b', 2), ('c', 3)`);
  await service.rows(`
    CREATE FUNCTION lower_id() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := lower(NEW.id); RETURN NEW; END $$;
    CREATE FUNCTION keep_c() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN OLD.id <> 'c' THEN OLD END; END $$;
    CREATE TRIGGER keep_c BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION keep_c();
    CREATE TRIGGER lower_id BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION lower_id()`);
  const query = `&missing_rows=delete${allowed}`;
  const { detail } = assertProblem(await send(table, [{ id: 'A' }], query), 422, 'invalid-parameter');
  assert.match(detail, /a trigger of the table changes the key/);
  assert.deepEqual(await counts(send(table, [{ id: 'a' }], query)), { updated: 1, missing: 2, deleted: 1 });
  assert.deepEqual(await idsOf(table), ['a', 'c']);
});

test('a deleted row that a trigger inserts again is refused', async () => {
  const table = await create(plain, ten);
  await service.rows(`
    CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ${table} VALUES (OLD.id); RETURN NULL; END $$;
    CREATE TRIGGER again AFTER DELETE ON ${table} FOR EACH ROW WHEN (OLD.id = 7) EXECUTE FUNCTION again()`);
  const query = `&missing_rows=delete${allowed}`;
  const { detail } = assertProblem(await send(table, ids(1, 2), query), 422, 'invalid-parameter');
  assert.match(detail, /inserts the row again/);
  assert.equal((await counts(send(table, ids(1, 7), query))).deleted, 8);
});

for (const [key, columns, rows, data] of [
  [
    'the default of a column',
    `k int, y int DEFAULT 2026, v text, note text DEFAULT '', PRIMARY KEY (k, y)`,
    `SELECT n, 2026, 'v', 'note' FROM generate_series(1, 3) n`,
    [
      { k: 2, y: 2026, v: 'v' },
      { k: 1, v: 'v' },
    ],
  ],
  [
    'NULL for a column that is absent',
    `k int, y int, v text, note text, UNIQUE NULLS NOT DISTINCT (k, y)`,
    `VALUES (1, NULL, 'v', 'note'), (2, 2, 'v', 'note')`,
    [
      { k: 2, y: 2, v: 'v' },
      { k: 1, v: 'v' },
    ],
  ],
] as const) {
  test(`a deleted row that returns because its key gets ${key} is refused, and loses no other value`, async () => {
    const table = await create(columns, rows);
    for (const action of ['update', 'skip']) {
      const path = `/table/${table}/upload/json?if_exists=append&on_conflict=${action}&missing_rows=delete&conflict_key=k,y`;
      const refused = await service.post(`${path}${allowed}`, { data });
      assert.match(assertProblem(refused, 422, 'invalid-parameter').detail, /lacks a part of its key/);
    }
    const kept = await service.rows(`SELECT count(*)::int AS count FROM ${table} WHERE note = 'note'`);
    assert.ok(Number(kept[0]!.count) > 1);
    const others = data.map((row, n) => (n === 0 ? row : { k: 7, v: 'v' }));
    const path = `/table/${table}/upload/json?if_exists=append&on_conflict=update&missing_rows=delete&conflict_key=k,y`;
    assert.equal((await service.post(`${path}${allowed}`, { data: others })).status, 200);
    const left = await service.rows(`SELECT k FROM ${table} ORDER BY k`);
    assert.deepEqual(left, [{ k: 2 }, { k: 7 }]);
  });
}

test('a refused upload names the problems that only PostgreSQL finds, too', async () => {
  const table = await create(
    'id int PRIMARY KEY, n int CHECK (n <> 13), note text NOT NULL UNIQUE',
    `VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 1, 'moves')`,
  );
  const data = [
    { id: 4, n: 13, note: 'x' },
    { id: 1, n: 'many', note: 'a' },
    { id: 5, n: 1, note: null },
    { id: 6, n: 1, note: 'moves' },
  ];
  const refused = await send(table, data, `&missing_rows=delete${allowed}`);
  assert.equal(assertProblem(refused, 422, 'invalid-data').errors!.length, 3);
  assert.deepEqual(await idsOf(table), [1, 2, 3]);
});

test('a row that returns is an event, also if nothing else has changed', async () => {
  const table = await create('id int PRIMARY KEY, gone boolean', 'VALUES (1, true), (2, NULL)');
  const path = `/table/${table}/upload/json?if_exists=append&on_conflict=skip&missing_rows=mark:gone`;
  const answer = await service.post(path, { data: ids(1, 2) });
  assert.deepEqual(await counts(Promise.resolve(answer)), { skipped: 2, unmarked: 1 });
  const events = await service.rows(
    `SELECT FROM tablewright_service.events WHERE event->>'type' = 'rows.loaded' AND event->'data'->>'load' = '${answer.body.load.id}'`,
  );
  assert.equal(events.length, 1);
});

test('the event and the record of the load have the numbers, and the scope is checked before the rows are stored', async () => {
  const table = await create(plain, ten);
  const query = `&missing_rows=delete${allowed}`;
  const weak = await service.token({ scope: 'table:load table:create' });
  assertProblem(
    await service.post(
      `/table/${table}/upload/json?if_exists=append&on_conflict=update${query}`,
      { data: ids(1) },
      { token: weak, headers: { prefer: 'respond-async' } },
    ),
    403,
    'insufficient-scope',
  );
  const headers = { prefer: 'respond-async', 'idempotency-key': `"${table}"` };
  const accepted = await send(table, ids(1), query, headers);
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  const { state, answer } = await endOf(service, accepted.body.id);
  const { missing, deleted } = answer.body.load as { missing?: number; deleted?: number };
  assert.deepEqual([state, missing, deleted], ['committed', 9, 9]);
  await service.rows(`INSERT INTO ${table} VALUES (2)`);
  const repeated = await send(table, ids(1), query, headers);
  assert.equal(repeated.body.id, accepted.body.id);
  assert.deepEqual(await idsOf(table), [1, 2]);
  const other = await send(table, ids(1), `${query}&dry_run=true`, { 'idempotency-key': `"${table}"` });
  assertProblem(other, 422, 'idempotency-key-reused');
});
