/**
 * Rows for tables that were created with SQL, with rules, triggers and kinds of columns that a definition cannot have. Every
 * refused row is reported, and a failed upload changes nothing.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { appender } from '../support/uploads.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE FUNCTION refuse_negative() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.a < 0 THEN
        RAISE EXCEPTION 'a is %', NEW.a;
      END IF;
      RETURN NEW;
    END $$;
    CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RETURN CASE WHEN NEW.a % 2 = 0 THEN NEW END; END $$`);
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t CASCADE'));

const append = appender(() => service);

const stored = (columns = '*') => service.rows(`SELECT ${columns} FROM t`);

/** Asserts that the upload is refused with these problems. */
async function assertRefused(answer: TestAnswer, expected: Record<string, unknown>[]): Promise<void> {
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  const shown = errors.map((error, index) =>
    Object.fromEntries(Object.keys(expected[index] ?? error).map((key) => [key, error[key as 'row']])),
  );
  assert.deepEqual(shown, expected);
}

async function isVersion(major: number): Promise<boolean> {
  const [row] = await service.rows("SELECT current_setting('server_version_num')::int AS version");
  return (row as { version: number }).version >= major * 10_000;
}

const a = (...values: unknown[]) => values.map((value) => ({ a: value }));
const refused = 'refused-by-postgresql';

suite('a trigger that raises', () => {
  for (const timing of ['BEFORE INSERT', 'AFTER INSERT']) {
    test(`${timing} has its message and the row reported, together with the problems of the cells`, async () => {
      await service.rows(
        `CREATE TABLE t (a int); CREATE TRIGGER r ${timing} ON t FOR EACH ROW EXECUTE FUNCTION refuse_negative()`,
      );
      await assertRefused(await append(a(1, 'x', 2, -3, 4, -5, 'y')), [
        { row: 2, code: 'not-a-whole-number' },
        { pointer: '/data/3', row: 4, code: refused, detail: 'a is -3' },
        { pointer: '/data/5', row: 6, code: refused, detail: 'a is -5' },
        { row: 7, code: 'not-a-whole-number' },
      ]);
      assert.deepEqual(await stored(), []);
    });
  }

  test('a trigger that raises an error at the end of the transaction is reported with its message and the row', async () => {
    await service.rows(`CREATE TABLE t (a int);
      CREATE CONSTRAINT TRIGGER r AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_negative()`);
    const data = a(...Array.from({ length: 300 }, (_, n) => (n === 211 ? -1 : n)));
    await assertRefused(await append(data), [{ row: 212, code: refused, detail: 'a is -1' }]);
    await service.rows('ALTER TABLE t ADD PRIMARY KEY (a)');
    const expected = [{ row: 212, code: refused, detail: 'a is -1' }];
    await assertRefused(await append(data, '&on_conflict=update'), expected);
    assert.deepEqual(await stored(), []);
  });

  test('a trigger that raises an error while rows are moved with on_conflict is reported with its message and the row', async () => {
    await service.rows(`CREATE TABLE t (k int PRIMARY KEY, a int);
      INSERT INTO t VALUES (7, 7);
      CREATE TRIGGER r BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION refuse_negative()`);
    const data = Array.from({ length: 50 }, (_, k) => ({ k, a: k === 33 || k === 44 ? -k : k }));
    for (const rule of ['skip', 'update']) {
      await assertRefused(await append(data, `&on_conflict=${rule}`), [
        { row: 34, code: refused, detail: 'a is -33' },
        { row: 45, code: refused, detail: 'a is -44' },
      ]);
    }
    assert.deepEqual(await stored(), [{ k: 7, a: 7 }]);
  });

  test('a trigger that raises an error over rows with different columns is reported with its message and the row', async () => {
    await service.rows(`CREATE TABLE t (id serial, a int, b text DEFAULT random()::text, c text);
      CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_negative()`);
    const data = [{ a: 1 }, { b: 'x', a: 2 }, { id: 9 }, {}, { c: 'y', a: -4 }, { a: -5 }];
    const { errors } = assertProblem(await append(data), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row, detail }) => [row, detail]),
      [
        [5, 'a is -4'],
        [6, 'a is -5'],
      ],
    );
  });
});

suite('a trigger that raises another code than RAISE does by default', () => {
  const cases: [what: string, body: string, told: RegExp][] = [
    ['one of its own', `RAISE EXCEPTION 'not on Sundays' USING ERRCODE = 'U0001'`, /^not on Sundays$/],
    [
      'one of a missing table',
      `RAISE EXCEPTION 'no such shop' USING ERRCODE = 'undefined_table'`,
      /^no such shop$/,
    ],
    ['that of a query', 'PERFORM 1 FROM missing_table', /missing_table/],
    ['that of an ASSERT', `ASSERT NEW.a > 5, 'a is too small'`, /^a is too small$/],
  ];
  for (const [what, body, told] of cases) {
    test(`${what}: the row is refused with its message`, async () => {
      await service.rows(`CREATE TABLE t (a int PRIMARY KEY);
        CREATE OR REPLACE FUNCTION end_badly() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN IF NEW.a = 2 THEN ${body}; END IF; RETURN NEW; END $$;
        CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION end_badly()`);
      for (const query of ['', '&on_conflict=skip']) {
        const { errors } = assertProblem(await append(a(1, 2, 3), query), 422, 'invalid-data');
        assert.deepEqual(
          errors.map(({ row, code }) => [row, code]),
          [[2, refused]],
        );
        assert.match(errors[0]!.detail, told);
      }
    });
  }

  test('a trigger on TRUNCATE that raises an error is reported without a row', async () => {
    await service.rows(`CREATE TABLE t (a int);
      CREATE OR REPLACE FUNCTION keep_all() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'nothing is ever emptied here' USING ERRCODE = 'U0002'; END $$;
      CREATE TRIGGER r BEFORE TRUNCATE ON t EXECUTE FUNCTION keep_all()`);
    const answer = await service.post('/table/t/upload/json?if_exists=truncate', { data: a(1) });
    const { detail } = assertProblem(answer, 422, 'invalid-data');
    assert.equal(
      detail,
      'A trigger or another function of the database refuses this: nothing is ever emptied here',
    );
  });
});

test('on_conflict for a table with a rule (CREATE RULE) is refused with PostgreSQL’s message', async () => {
  await service.rows(`CREATE TABLE t (a int PRIMARY KEY);
    CREATE RULE r AS ON INSERT TO t DO ALSO SELECT 1`);
  const { detail } = assertProblem(await append(a(1), '&on_conflict=update'), 422, 'invalid-parameter');
  assert.match(detail, /ON CONFLICT clause cannot be used with table that has/);
});

test('rows that get the same key from a default are refused', async () => {
  await service.rows('CREATE TABLE t (a int, b int DEFAULT 7, c int, PRIMARY KEY (a, b))');
  const data = [1, 2, 3].map((c) => ({ a: 1, c }));
  const { errors } = assertProblem(await append(data, '&on_conflict=update'), 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row, code }) => [row, code]),
    [
      [2, 'not-unique'],
      [3, 'not-unique'],
    ],
  );
  assert.match(errors[0]!.detail, /has no value for "b".*every column of the key/);
  assertProblem(await append(data, '&on_conflict=skip'), 422, 'invalid-data');
});

test('a table that did not exist, and an upload without rows, give a warning', async () => {
  const told = async (query: string, data: unknown[], more = {}) => {
    const { status, body } = await service.post(`/table/t/upload/json?${query}`, { ...more, data });
    assert.ok(status < 300, JSON.stringify(body));
    return body.load.warnings as unknown[];
  };
  const created = {
    code: 'table-created',
    detail: 'There was no table "t" in the schema "public"; it was created.',
  };
  const noRows = { code: 'no-rows', detail: 'The upload has no rows.' };
  const table = { columns: [{ name: 'a', type: 'integer' }] };
  assert.deepEqual(await told('if_exists=append&dry_run=true', a(1)), [created]);
  assert.deepEqual(await told('if_exists=truncate', [], { table }), [created, noRows]);
  assert.deepEqual(await told('if_exists=append', a(1)), []);
  assert.deepEqual(await told('if_exists=append', [], { table }), [noRows]);
  assert.deepEqual(await told('if_exists=replace', a(1), { table }), []);
});

test('an upload with neither a definition nor rows is refused, and the table is unchanged', async () => {
  await service.rows('CREATE TABLE t (a int, b numeric); INSERT INTO t VALUES (1, 2)');
  for (const mode of ['append', 'truncate', 'replace']) {
    const json = `/table/t/upload/json?if_exists=${mode}`;
    const excel = `/table/t/upload/excel?if_exists=${mode}`;
    assertProblem(await service.post(json, {}), 422, 'nothing-to-load');
    assertProblem(await service.upload(excel, Buffer.from('\n\n')), 422, 'nothing-to-load');
    assertProblem(await service.upload(`${excel}&header=false`, Buffer.from('\n')), 422, 'nothing-to-load');
    if (mode === 'append') continue;
    assertProblem(await service.post(json, { data: [] }), 422, 'nothing-to-load');
    const headerAlone = await service.upload(excel, sheetOf([['a', 'b']]));
    assert.match(assertProblem(headerAlone, 422, 'nothing-to-load').detail, /below its header/);
  }
  assert.deepEqual(await stored(), [{ a: 1, b: '2' }]);
});

test('a list without rows is appended to a table that has its columns, and to no other table', async () => {
  await service.rows('CREATE TABLE t (a int, b numeric NOT NULL); INSERT INTO t VALUES (1, 2)');
  const json = '/table/t/upload/json?if_exists=append';
  const excel = '/table/t/upload/excel?if_exists=append';
  for (const answer of [
    await service.post(json, { data: [] }),
    await service.post(`${json}&extra_columns=add`, { data: [] }),
    await service.upload(excel, Buffer.from('a,b\n')),
    await service.upload(excel, Buffer.from('B\n')),
    await service.upload(`${excel}&dry_run=true&extra_columns=add`, sheetOf([['a', 'b']])),
    await service.upload(`${excel}&on_conflict=fail&faulty_rows=leave_out`, sheetOf([['a']])),
  ]) {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { rows, skipped, updated, warnings } = answer.body.load;
    assert.deepEqual({ rows, skipped, updated }, { rows: 0, skipped: 0, updated: 0 });
    assert.deepEqual(
      warnings.map(({ code }: { code: string }) => code),
      ['no-rows'],
    );
  }
  const other = Buffer.from('a,c\n');
  assertProblem(await service.upload(excel, other), 422, 'invalid-data');
  assertProblem(await service.upload(`${excel}&extra_columns=add`, other), 422, 'nothing-to-load');
  const nothingInCommon = await service.upload(`${excel}&extra_columns=ignore`, Buffer.from('Title\n'));
  assertProblem(nothingInCommon, 422, 'invalid-data');
  assertProblem(
    await service.upload('/table/absent/upload/excel?if_exists=append', Buffer.from('a,b\n')),
    422,
    'nothing-to-load',
  );
  assert.deepEqual(await stored(), [{ a: 1, b: '2' }]);
});

test('rows that a trigger leaves out are not counted, and give a warning', async () => {
  await service.rows(`CREATE TABLE t (a int PRIMARY KEY);
    CREATE TRIGGER l BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION leave_out()`);
  for (const query of ['', '&on_conflict=update']) {
    await service.rows('TRUNCATE t');
    const { status, body } = await append(a(1, 2, 3, 4), query);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.load.rows, body.load.updated, body.load.skipped], [2, 0, 0], query);
    assert.deepEqual(body.load.warnings, [
      { code: 'suppressed-rows', detail: 'A trigger or a rule of the table left out 2 rows.' },
    ]);
  }
});

suite('rules that are checked at the end of the transaction', () => {
  const create = `CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES t DEFERRABLE INITIALLY DEFERRED,
    place int UNIQUE DEFERRABLE INITIALLY DEFERRED)`;

  test('a row that breaks a rule which is checked at the end of the transaction is reported', async () => {
    await service.rows(create);
    await service.rows('INSERT INTO t VALUES (100, NULL, 100)');
    const data = [
      { id: 1, parent: 2, place: 1 },
      { id: 2, parent: 9, place: 1 },
      { id: 3, parent: 100, place: 100 },
    ];
    await assertRefused(await append(data), [
      { row: 2, column: 'place', value: '1', code: 'not-unique', detail: 'must be unique: also in row 1' },
      { row: 2, column: 'parent', value: '9', code: 'no-such-reference' },
      { row: 3, column: 'place', code: 'not-unique', detail: 'must be unique: the table already has it' },
    ]);
    assert.equal((await stored()).length, 1);
  });

  test('a row that breaks a rule which is checked at the end of the transaction is reported also if other rows are skipped', async () => {
    await service.rows(create);
    await service.rows('INSERT INTO t VALUES (1, NULL, 1)');
    const data = [
      { id: 1, parent: 77 },
      { id: 2, parent: 3 },
      { id: 3, parent: 9 },
      { id: 4, place: 1 },
    ];
    await assertRefused(await append(data, '&on_conflict=skip'), [
      { row: 3, column: 'parent', value: '9' },
      { row: 4, column: 'place', value: '1' },
    ]);
    const answer = await append(data.slice(0, 1), '&on_conflict=skip');
    assert.equal(answer.body.load?.skipped, 1, JSON.stringify(answer.body));
  });

  test('a reference that is checked at the end of the transaction may be to a later row', async () => {
    await service.rows(create);
    const answer = await append([
      { id: 1, parent: 2 },
      { id: 2, parent: 1 },
    ]);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  });

  test('a key that is checked at the end of the transaction cannot be the key of on_conflict', async () => {
    await service.rows('CREATE TABLE t (a int PRIMARY KEY DEFERRABLE)');
    const { errors } = assertProblem(await append(a(1), '&on_conflict=skip'), 422, 'invalid-parameter');
    assert.equal(errors[0]!.code, 'no-key');
  });
});

suite('rules that only PostgreSQL can check', () => {
  test('a row that an exclusion constraint refuses is reported', async () => {
    await service.rows('CREATE TABLE t (span int4range, EXCLUDE USING gist (span WITH &&))');
    const spans = ['[1,5)', '[5,9)', null, '[8,12)', '[2,3)'].map((span) => ({ span }));
    await assertRefused(await append(spans), [
      {
        pointer: '/data/3',
        row: 4,
        code: refused,
        detail: 'conflicting key value violates exclusion constraint "t_span_excl"',
      },
      { row: 5, code: refused },
    ]);
    assert.deepEqual(await stored(), []);
  });

  test('an exclusion constraint over columns with binary encoders', async () => {
    await service.rows(
      'CREATE TABLE t (a int, b int, EXCLUDE USING gist (int4range(a, b) WITH &&) WHERE (b < 1000))',
    );
    const data = [
      { a: 1, b: 3 },
      { a: 2000, b: 3000 },
      { a: 2000, b: 3000 },
      { a: 2, b: 4 },
    ];
    await assertRefused(await append(data), [{ row: 4, code: refused }]);
  });

  test('a row that a unique index over an expression refuses is reported', async () => {
    await service.rows('CREATE TABLE t (a text); CREATE UNIQUE INDEX i ON t (lower(a)) WHERE a <> $$x$$');
    await assertRefused(await append(a('x', 'x', 'A', 'b', 'a')), [
      { row: 5, code: refused, detail: 'duplicate key value violates unique constraint "i"' },
    ]);
  });

  test('a row that row-level security refuses is reported', async () => {
    await service.rows(`CREATE TABLE t (a int); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
      ALTER TABLE t FORCE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (true) WITH CHECK (a > 0)`);
    await assertRefused(await append(a(1, -2, 3)), [
      { row: 2, code: refused, detail: 'new row violates row-level security policy for table "t"' },
    ]);
    const answer = await append(a(1, 2));
    assert.equal(answer.body.load?.rows, 2, JSON.stringify(answer.body));
    assert.deepEqual(await stored(), a(1, 2));
  });

  test('a row that is too large for a page is reported', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `c${index}`);
    await service.rows(`CREATE TABLE t (${names.map((name) => `${name} uuid`).join(', ')})`);
    const wide = Object.fromEntries(names.map((name) => [name, '00000000-0000-0000-0000-000000000000']));
    await assertRefused(await append([wide]), [{ pointer: '/data/0', row: 1, code: refused }]);
    const { errors } = assertProblem(await append([{ c1: null }, wide, { c2: null }]), 422, 'invalid-data');
    assert.match(
      errors[0]!.detail,
      /^the row has too many values: they take \d+ bytes, .* at most \d+ .*load fewer columns.*: one of the rows 2 to 3$/,
    );
    assert.deepEqual(await stored('count(*)::int AS n'), [{ n: 0 }]);
  });

  test('a row whose key is too large for an index is reported', async () => {
    const long = Array.from({ length: 1000 }, (_, n) => Math.sin(n).toString(36)).join('');
    await service.rows('CREATE TABLE t (a text PRIMARY KEY)');
    await assertRefused(await append(a('x', long, 'y')), [{ row: 2, code: refused }]);
    await service.rows('DROP TABLE t');
    const table = {
      columns: [
        { name: 'a', type: 'text' },
        { name: 'b', type: 'text' },
      ],
      constraints: { primary_key: { name: '', columns: ['a'] }, unique: [{ name: '', columns: ['b'] }] },
    };
    const data = [
      { a: 'x', b: 'y' },
      { a: 'y', b: 'x' },
      { a: 'z', b: long },
    ];
    const answer = await service.post('/table/t/upload/json', { table, data });
    await assertRefused(answer, [{ pointer: '/data/2/b', row: 3, column: 'b', code: refused }]);
    const both = [
      { a: 'x', b: 'y' },
      { a: long, b: 'x' },
      { a: 'z', b: 'y' },
    ];
    await assertRefused(await service.post('/table/t/upload/json', { table, data: both }), [
      { pointer: '/data/1/a', row: 2, column: 'a', code: refused },
      { pointer: '/data/2/b', row: 3, column: 'b', detail: 'must be unique: also in row 1' },
    ]);
    assert.deepEqual(await service.rows("SELECT to_regclass('t') AS found"), [{ found: null }]);
  });
});

test('a partial unique index has every row, its column and its value reported', async () => {
  await service.rows(`CREATE TABLE t (n int, k int, is_open boolean DEFAULT true);
    CREATE UNIQUE INDEX one_open ON t (k) WHERE is_open; INSERT INTO t VALUES (0, 9, true), (0, 8, false)`);
  const row = (k: number, open: boolean) => ({ k, is_open: open });
  const data = [row(1, true), row(1, true), row(1, false), row(9, true), row(8, true), row(9, false)];
  const scope = 'must be unique among the rows where is_open';
  for (const query of ['', '&on_conflict=fail']) {
    await assertRefused(await append(data, query), [
      { row: 2, column: 'k', value: '1', code: 'not-unique', detail: `${scope}: also in row 1` },
      { row: 4, column: 'k', value: '9', code: 'not-unique', detail: `${scope}: the table already has it` },
    ]);
  }
  await assertRefused(await append([{ k: 9 }]), [{ row: 1, column: 'k', value: '9', code: 'not-unique' }]);
  const { errors } = assertProblem(await append(data, '&on_conflict=update'), 422, 'invalid-parameter');
  assert.equal(errors[0]!.code, 'no-key');
});

test('a foreign key with MATCH FULL has every row with some NULLs and every row without a match reported', async () => {
  await service.rows(`DROP TABLE IF EXISTS pairs CASCADE; CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b));
    INSERT INTO pairs VALUES (1, 1);
    CREATE TABLE t (n int PRIMARY KEY, a int, b int, FOREIGN KEY (a, b) REFERENCES pairs MATCH FULL)`);
  const data = [
    { n: 1, a: 1, b: null },
    { n: 2, b: 1 },
    { n: 3, a: 2, b: 2 },
    { n: 4, a: 1, b: 1 },
    { n: 5 },
  ];
  const half = 'needs a value in every column of the foreign key or in none, because it is MATCH FULL';
  const noMatch = 'has no match in public.pairs (a, b)';
  for (const query of ['', '&on_conflict=skip']) {
    await assertRefused(await append(data, query), [
      { row: 1, column: 'a, b', value: '1', code: 'no-such-reference', detail: half },
      { row: 2, column: 'a, b', value: '1', code: 'no-such-reference', detail: half },
      { row: 3, column: 'a, b', value: '2, 2', code: 'no-such-reference', detail: noMatch },
    ]);
  }
});

suite('values of types that PostgreSQL reads from text', () => {
  const faulty: [type: string, good: string, bad: string][] = [
    ['tsquery', 'fat & rat', 'two words'],
    ['tsvector', 'fat rat', 'a:x'],
    ['jsonpath', '$.a', '$$'],
    ['regclass', 'pg_class', 'nosuch'],
    ['regnamespace', 'public', 'nosuch'],
    ['regtype', 'int4', 'nosuch'],
    ['regproc', 'now', 'nosuch'],
    ['aclitem', 'postgres=r/postgres', 'nosuch=r/nosuch'],
    ['bit(3)', '101', '1011'],
    ['bit(3)', '101', '1'],
    ['bit varying(3)', '1', '1011'],
    ['bit(3)[]', '{101}', '{1011}'],
  ];
  for (const [type, good, bad] of faulty) {
    test(`${type}: ${bad} is refused with its place and never cut`, async () => {
      await service.rows(`CREATE TABLE t (id int PRIMARY KEY, a ${type})`);
      const value = (text: string) => (type === 'aclitem' ? text.replaceAll('postgres', 'pg_monitor') : text);
      const data = [
        { id: 1, a: value(good) },
        { id: 2, a: bad },
      ];
      for (const query of ['', '&on_conflict=skip']) {
        await assertRefused(await append(data, query), [
          { row: 2, column: 'a', code: 'invalid-input', value: bad },
        ]);
      }
      assert.deepEqual(await stored(), []);
      assert.equal((await append(data.slice(0, 1))).status, 200);
      assert.deepEqual(await stored(`a::text = '${value(good)}'::${type}::text AS same`), [{ same: true }]);
    });
  }
});

test('generated numbers follow the order of the rows, whatever cells are missing', async () => {
  await service.rows('CREATE TABLE t (id serial, k text, r int4range, m money)');
  const data = [{ k: 'a', r: '[1,2)' }, { k: 'b' }, { k: 'c', m: '1.00' }, { k: 'd', r: '[3,4)' }, {}];
  assert.equal((await append(data)).status, 200);
  assert.deepEqual(await service.rows('SELECT id, k, r::text, m::text FROM t ORDER BY id'), [
    { id: 1, k: 'a', r: '[1,2)', m: null },
    { id: 2, k: 'b', r: null, m: null },
    { id: 3, k: 'c', r: null, m: '$1.00' },
    { id: 4, k: 'd', r: '[3,4)', m: null },
    { id: 5, k: null, r: null, m: null },
  ]);
});

test('a row may refer to a row of the same upload with other columns', async () => {
  await service.rows(
    "CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES t, c int, r int4range DEFAULT '[1,2)')",
  );
  const data = [
    { id: 30, p: 31, c: 1 },
    { id: 31, c: 1, r: '[3,4)' },
    { id: 32, p: 30 },
  ];
  for (const [action, counts] of [
    ['fail', [3, 0]],
    ['update', [1, 3]],
  ] as const) {
    const answer = await append(
      action === 'fail' ? data : [...data, { id: 33, p: 33 }],
      `&on_conflict=${action}`,
    );
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual([answer.body.load.rows, answer.body.load.updated], counts);
    await service.rows('UPDATE t SET p = NULL');
  }
  await assertRefused(await append([...data, { id: 35, p: 99 }], '&on_conflict=update'), [
    { row: 4, column: 'p', value: '99', code: 'no-such-reference' },
  ]);
});

test('a row may refer to a row of the same upload also if rows are not staged', async () => {
  await service.rows(
    `CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES t, code uuid DEFAULT gen_random_uuid())`,
  );
  const data = [
    { id: 1, p: 2 },
    { id: 2, code: '0192f7a8-0000-7000-8000-000000000001' },
    { id: 3, p: 1 },
  ];
  const answer = await append(data);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body.load.rows, 3);
  assert.equal((await stored()).length, 3);
  const more = data.map(({ id, p, ...rest }) => ({ id: id + 10, ...(p && { p: p + 10 }), ...rest }));
  await assertRefused(await append([...more, { id: 20, p: 99 }, { id: 1 }]), [
    { row: 4, column: 'p', value: '99', code: 'no-such-reference' },
    { row: 5, column: 'id', value: '1', code: 'not-unique' },
  ]);
  assert.equal((await stored()).length, 3);
});

suite('CHECK constraints', () => {
  test('every row that does not pass a CHECK is reported', async () => {
    await service.rows(
      'CREATE TABLE t (a int CONSTRAINT small CHECK (a < 10), b int, CONSTRAINT rising CHECK (a < b))',
    );
    const data = [{ a: 1, b: 2 }, { a: 3, b: 2 }, { a: 11, b: 12 }, { b: 3 }, { a: 12, b: 2 }];
    await assertRefused(await append(data), [
      { row: 2, column: 'a, b', value: '3, 2', code: 'check-violation' },
      { row: 3, column: 'a', value: '11', code: 'check-violation' },
      { row: 5, column: 'a', value: '12', code: 'check-violation' },
      { row: 5, column: 'a, b', value: '12, 2', code: 'check-violation' },
    ]);
  });

  test('a row for which a CHECK raises an error is reported, together with other problems', async () => {
    await service.rows(
      'CREATE TABLE t (a int CONSTRAINT ratio CHECK (100 / a > 0), b int NOT NULL CHECK (b < 9))',
    );
    const rows = [
      { a: 1, b: 1 },
      { a: 0, b: 2 },
      { a: 3, b: 'bad' },
      { a: 4, b: 10 },
    ];
    for (const query of ['', '&on_conflict=skip']) {
      if (query !== '') await service.rows('ALTER TABLE t ADD UNIQUE (b)');
      await assertRefused(await append(rows, query), [
        { row: 2, code: refused, detail: 'division by zero' },
        { row: 3, code: 'not-a-whole-number' },
        { row: 4, code: 'check-violation' },
      ]);
    }
    assert.deepEqual(await stored(), []);
  });

  test('a row for which a CHECK raises an error of another class is reported, too', async () => {
    await service.rows(
      `CREATE TABLE t (a int PRIMARY KEY CHECK (a < 2 OR current_setting('app.missing') <> ''))`,
    );
    for (const query of ['', '&on_conflict=skip']) {
      await assertRefused(await append(a(1, 2, 3), query), [
        { row: 2, code: refused, detail: 'unrecognized configuration parameter "app.missing"' },
        { row: 3, code: refused },
      ]);
    }
  });

  test('CHECK constraints are checked for columns without a binary encoder', async () => {
    await service.rows('CREATE TABLE t (a int4range PRIMARY KEY CHECK (upper(a) < 100))');
    await service.rows("INSERT INTO t VALUES ('[1,2)')");
    const answer = await append(a('[1,2)', '[5,6)', '[5,200)', '[5,6)', '5 to 6'));
    await assertRefused(answer, [
      { row: 1, code: 'not-unique', detail: 'must be unique: the table already has it' },
      { row: 3, value: '[5,200)', code: 'check-violation' },
      { row: 4, value: '[5,6)', code: 'not-unique', detail: 'must be unique: also in row 2' },
      { row: 5, value: '5 to 6', code: 'invalid-input' },
    ]);
  });
});

suite('rules that need values from PostgreSQL are not checked with the sent rows', () => {
  test('a rule over a generated column is not checked with the sent rows', async () => {
    await service.rows(`CREATE TABLE t (a int UNIQUE, name text, slug text GENERATED ALWAYS AS (lower(name)) STORED,
      CHECK (slug IS NOT NULL), UNIQUE NULLS NOT DISTINCT (slug))`);
    const data = ['A', 'B', 'C'].map((name, index) => ({ a: index % 2, name }));
    await assertRefused(await append(data), [
      { row: 3, column: 'a', detail: 'must be unique: also in row 1' },
    ]);
    const same = [
      { a: 1, name: 'A' },
      { a: 2, name: 'a' },
    ];
    await assertRefused(await append(same), [
      {
        row: 2,
        column: 'slug',
        value: 'a',
        code: 'not-unique',
        detail: 'must be unique: PostgreSQL computes a value of "slug" that another row already has',
      },
    ]);
  });

  test('a rule over a column that gets its default is not checked with the sent rows', async () => {
    await service.rows(`CREATE TABLE t (a int PRIMARY KEY, n int CHECK (n > 0), d int DEFAULT 5 CHECK (d IS NOT NULL),
      u uuid DEFAULT gen_random_uuid() CHECK (u IS NOT NULL))`);
    const data = [
      { a: 1, n: 1 },
      { a: 2, n: -1, u: null },
    ];
    const expected = [
      { row: 2, column: 'n', code: 'check-violation' },
      { row: 2, column: 'u', code: 'check-violation' },
    ];
    for (const action of ['fail', 'skip', 'update']) {
      await assertRefused(await append(data, `&on_conflict=${action}`), expected);
    }
  });

  test('a reference to numbers that PostgreSQL generates', async () => {
    await service.rows('CREATE TABLE t (id serial PRIMARY KEY, p int REFERENCES t, n int CHECK (n > 0))');
    const data = [
      { p: null, n: 1 },
      { p: 1, n: 1 },
      { p: null, n: -1 },
    ];
    await assertRefused(await append(data), [{ row: 3, column: 'n', code: 'check-violation' }]);
  });

  test('a rule over a column that a trigger sets is not checked with the sent rows', async () => {
    await service.rows(`CREATE TABLE t (a int UNIQUE, n int CHECK (n IS NOT NULL));
      CREATE OR REPLACE FUNCTION fill_in() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.n := 1; RETURN NEW; END $$;
      CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fill_in()`);
    await assertRefused(await append(a(1, 2, 1)), [{ row: 3, column: 'a', code: 'not-unique' }]);
  });

  test('a reference to rows that row-level security hides', async () => {
    await service.rows(`CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents VALUES (1), (2);
      CREATE TABLE t (r int REFERENCES parents, n int CHECK (n > 0));
      ALTER TABLE parents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
      CREATE POLICY one ON parents USING (id = 1)`);
    const data = [
      { r: 2, n: 1 },
      { r: 1, n: -1 },
    ];
    await assertRefused(await append(data), [{ row: 2, column: 'n', code: 'check-violation' }]);
    await service.rows('DROP TABLE t, parents');
  });
});

suite('rows whose update a trigger prevents are in no count', () => {
  const tables = {
    table: 'CREATE TABLE t (a int PRIMARY KEY, n int CHECK (n < 100))',
    'partitioned table': `CREATE TABLE t (a int, n int CHECK (n < 100), PRIMARY KEY (a)) PARTITION BY LIST (a);
      CREATE TABLE t_rest PARTITION OF t DEFAULT`,
  };
  // The rows 1 to 4 exist. The update of the odd ones is prevented, 4 is unchanged, and 7 and 8 are new.
  const data = [1, 2, 3, 4, 7, 8].map((row) => ({ a: row, n: row === 4 ? 0 : row }));
  const shapes = data.map((row, index) => (index % 2 === 0 ? row : { ...row, m: 5 }));
  const faulty = [...data.slice(0, 4), { a: 6, n: 100 }, ...data.slice(4), { a: 9, n: 'x' }];

  for (const [kind, create] of Object.entries(tables)) {
    for (const [what, rows, query] of [
      ['in one statement', data, ''],
      ['in one statement for each set of columns', shapes, ''],
      ['in blocks', faulty, '&faulty_rows=leave_out'],
      ['beside missing rows', data, '&missing_rows=keep'],
    ] as const) {
      test(`of a ${kind}, ${what}`, async () => {
        await service.rows(`${create}; ALTER TABLE t ADD m int;
          INSERT INTO t SELECT a, 0 FROM generate_series(1, 4) AS a;
          CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN IF NEW.a % 2 = 1 THEN RETURN NULL; END IF; RETURN NEW; END';
          CREATE TRIGGER r BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION keep()`);
        const { body } = await append(rows, `&on_conflict=update${query}`);
        const { inserted, changed, unchanged, warnings } = body.load;
        const isWithoutM = rows !== shapes;
        // With the column m, the row 4 is changed, too.
        const expected = isWithoutM ? [2, 1, 1] : [2, 2, 0];
        assert.deepEqual([inserted, changed, unchanged], expected, JSON.stringify(body));
        assert.equal(
          warnings.find(({ code }: { code: string }) => code === 'suppressed-rows').detail,
          'A trigger or a rule of the table left out 2 rows.',
        );
        const stored = await service.rows('SELECT a, n FROM t ORDER BY a');
        const values = stored.map(({ a: key, n }) => `${key} ${n}`);
        assert.deepEqual(values, ['1 0', '2 2', '3 0', '4 0', '7 7', '8 8']);
      });
    }
  }

  test('also if rows refer to rows with other columns', async () => {
    await service.rows(`CREATE TABLE t (a int PRIMARY KEY, up int REFERENCES t, n int); INSERT INTO t VALUES (1, NULL, 0), (2, NULL, 0);
      CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN IF NEW.a % 2 = 1 THEN RETURN NULL; END IF; RETURN NEW; END';
      CREATE TRIGGER r BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION keep()`);
    const { body } = await append(
      [
        { a: 1, n: 1 },
        { a: 2, n: 1 },
        { a: 3, up: 4 },
        { a: 4, n: 1 },
      ],
      '&on_conflict=update',
    );
    assert.deepEqual([body.load.inserted, body.load.changed], [2, 1], JSON.stringify(body));
  });
});

test('rules of the table with on_conflict concern no single row', async () => {
  await service.rows(`CREATE TABLE t (a int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2);
    CREATE TABLE log (a int); CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO log VALUES (NEW.a)`);
  for (const query of [
    '',
    '&faulty_rows=leave_out',
    '&faulty_rows=leave_out&missing_rows=delete&max_missing_rows=100%25',
  ]) {
    const answer = await append([{ a: 1, n: 5 }], `&on_conflict=update${query}`);
    assertProblem(answer, 422, 'invalid-parameter');
    assert.match(answer.body.detail, /ON CONFLICT/);
  }
  assert.deepEqual(await service.rows('SELECT count(*)::int AS count FROM t'), [{ count: 2 }]);
  await service.rows('DROP TABLE log CASCADE');
});

test('rules of the table act on every row, whatever other rows the upload has', async () => {
  await service.rows(`CREATE TABLE t (a int PRIMARY KEY, n int CHECK (n > 0)); CREATE TABLE log (a int);
    CREATE RULE also AS ON INSERT TO t DO ALSO INSERT INTO log VALUES (NEW.a);
    CREATE RULE odd AS ON INSERT TO t WHERE NEW.a % 2 = 1 DO INSTEAD NOTHING`);
  for (const [rows, query, inserted] of [
    [[{ a: 1 }, { a: 2 }], '', 1],
    [[{ a: 3 }, { a: 4 }], '&faulty_rows=leave_out', 1],
    [[{ a: 5 }, { a: 6 }, { a: 8, n: -1 }], '&faulty_rows=leave_out', 1],
    [[{ a: 7 }, { a: 10, n: 5 }], '', 1],
  ] as const) {
    const { status, body } = await append([...rows], query);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.load.inserted, inserted);
    assert.equal(body.load.warnings[0].code, 'suppressed-rows');
  }
  const keys = async (table: string) =>
    (await service.rows(`SELECT DISTINCT a FROM ${table} ORDER BY a`)).map(({ a: key }) => key);
  assert.deepEqual(await keys('t'), [2, 4, 6, 10]);
  const logged = await keys('log');
  for (const key of [1, 2, 3, 4, 5, 6, 7, 10]) assert.ok(logged.includes(key), String(key));
  await service.rows('DROP TABLE log CASCADE');
});

test('a key of an inheriting table is free in the table, also if other rows have problems', async () => {
  await service.rows(`CREATE TABLE t (a int PRIMARY KEY, n int); INSERT INTO t VALUES (1);
    CREATE TABLE t_child () INHERITS (t); INSERT INTO t_child VALUES (7)`);
  const answer = await append(a(7, 8, 1));
  await assertRefused(answer, [{ row: 3, column: 'a', code: 'not-unique' }]);
  const { body } = await append(a(7, 8, 1), '&faulty_rows=leave_out');
  assert.deepEqual([body.load.inserted, body.load.rows_left_out], [2, 1], JSON.stringify(body));
  await service.rows('DROP TABLE t CASCADE');
});

suite('rows that other rows replace cause no problems', () => {
  const create = `CREATE TABLE t (k int PRIMARY KEY, email text UNIQUE, ref int REFERENCES t, n int CHECK (n > 0));
    INSERT INTO t VALUES (1, 'a', NULL, 1), (2, 'b', 1, 2)`;

  test('rows that keep their unique values while other rows are replaced cause no problems', async () => {
    await service.rows(create);
    const data = [
      { k: 1, email: 'a' },
      { k: 2, email: 'lost', n: -1, ref: 99 },
      { k: 2, email: 'b', n: 3 },
      { k: 3, email: 'b' },
      { k: 4, email: 'c', ref: 98 },
      { k: 5, email: 'c' },
      { k: 6, n: -6 },
    ];
    await assertRefused(await append(data, '&on_conflict=update'), [
      { row: 4, column: 'email', value: 'b', detail: 'must be unique: also in row 3' },
      { row: 4, column: 'email', value: 'b', detail: 'must be unique: the table already has it' },
      { row: 5, column: 'ref', value: '98', code: 'no-such-reference' },
      { row: 6, column: 'email', value: 'c', detail: 'must be unique: also in row 5' },
      { row: 7, column: 'n', value: '-6', code: 'check-violation' },
    ]);
    const answer = await append(data.slice(0, 3), '&on_conflict=update');
    assert.equal(answer.body.load?.updated, 3, JSON.stringify(answer.body));
  });

  test('rows that are skipped cause no problems', async () => {
    await service.rows(create);
    const data = [
      { k: 1, email: 'b', ref: 97 },
      { k: 3, email: 'c' },
      { k: 3, email: 'c', ref: 96, n: -1 },
      { k: 4, email: 'c' },
      { k: 5, ref: 95 },
    ];
    await assertRefused(await append(data, '&on_conflict=skip'), [
      { row: 4, column: 'email', value: 'c', detail: 'must be unique: also in row 2' },
      { row: 5, column: 'ref', value: '95', code: 'no-such-reference' },
    ]);
    const answer = await append(data.slice(0, 3), '&on_conflict=skip');
    assert.deepEqual(
      [answer.body.load?.rows, answer.body.load?.skipped],
      [1, 2],
      JSON.stringify(answer.body),
    );
  });

  test('rows with equal keys in different spelling are the same row', async () => {
    await service.rows('CREATE TABLE t (r int4range PRIMARY KEY, n int)');
    const data = [
      { r: '[1,5)', n: 1 },
      { r: '[1,4]', n: 2 },
    ];
    for (const [action, n] of [
      ['skip', 1],
      ['update', 2],
    ]) {
      await service.rows('TRUNCATE t');
      const answer = await append(data, `&on_conflict=${action}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual(await stored(), [{ r: '[1,5)', n }]);
    }
    await assertRefused(await append([...data, { r: '5-6', n: 3 }], '&on_conflict=update'), [
      { row: 3, value: '5-6', code: 'invalid-input' },
    ]);
  });
});

test('truncate does not empty tables that inherit from the table', async () => {
  await service.rows(`CREATE TABLE t (a int); CREATE TABLE child (b int) INHERITS (t);
    INSERT INTO t VALUES (1); INSERT INTO child VALUES (2, 2)`);
  const answer = await service.post('/table/t/upload/json?if_exists=truncate', { data: a(3) });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(await stored('a'), a(3, 2));
});

test('a partitioned table that refers to itself can be emptied', async () => {
  await service.rows(`CREATE TABLE t (a int PRIMARY KEY, p int REFERENCES t) PARTITION BY RANGE (a);
    CREATE TABLE part PARTITION OF t FOR VALUES FROM (0) TO (100); INSERT INTO t VALUES (1, 1)`);
  const answer = await service.post('/table/t/upload/json?if_exists=truncate', { data: [{ a: 2, p: 2 }] });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(await stored(), [{ a: 2, p: 2 }]);
});

test('a table to which no column can be added is refused with PostgreSQL’s message', async () => {
  await service.rows(
    `CREATE TABLE whole (a int) PARTITION BY LIST (a); CREATE TABLE t PARTITION OF whole DEFAULT`,
  );
  const { detail, errors } = assertProblem(
    await append([{ a: 1, b: 2 }], '&extra_columns=add'),
    422,
    'invalid-parameter',
  );
  assert.equal(
    detail,
    'PostgreSQL refused to add the columns to this table: cannot add column to a partition.',
  );
  assert.equal(errors[0]!.parameter, 'extra_columns');
  await service.rows('DROP TABLE whole');
});

suite('a partitioned table', () => {
  const create = `CREATE TABLE t (k int PRIMARY KEY, v text) PARTITION BY RANGE (k);
    CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (100);
    CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (100) TO (200)`;

  test('a partitioned table gets rows in its partitions', async () => {
    await service.rows(create);
    const answer = await append([{ k: 150 }, { k: 1, v: 'x' }]);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT * FROM t_high'), [{ k: 150, v: null }]);
    assert.deepEqual(await service.rows('SELECT * FROM t_low'), [{ k: 1, v: 'x' }]);
  });

  test('a row without a partition is reported', async () => {
    await service.rows(create);
    await assertRefused(await append([{ k: 1 }, { k: 99 }, { k: 200 }, { k: 300 }]), [
      {
        pointer: '/data/2',
        row: 3,
        column: 'k',
        value: '200',
        code: refused,
        detail: 'no partition of relation "t" found for row',
      },
      { row: 4, column: 'k', value: '300', code: refused },
    ]);
    assert.deepEqual(await stored(), []);
  });

  test('a partitioned table supports update, skip and truncate', async () => {
    await service.rows(create);
    await append([{ k: 1, v: 'old' }, { k: 150 }]);
    const updated = await append([{ k: 1, v: 'new' }, { k: 2 }, { k: 150, v: 'x' }], '&on_conflict=update');
    assert.deepEqual(
      [updated.body.load?.rows, updated.body.load?.updated],
      [1, 2],
      JSON.stringify(updated.body),
    );
    const skipped = await append([{ k: 1 }, { k: 3 }], '&on_conflict=skip');
    assert.deepEqual([skipped.body.load.rows, skipped.body.load.skipped], [1, 1]);
    assert.deepEqual((await service.rows('SELECT k, v FROM t ORDER BY k')).slice(0, 2), [
      { k: 1, v: 'new' },
      { k: 2, v: null },
    ]);
    await service.post('/table/t/upload/json?if_exists=truncate', { data: [{ k: 7 }] });
    assert.deepEqual(await stored('k'), [{ k: 7 }]);
  });

  test('a partitioned table cannot be replaced', async () => {
    await service.rows(create);
    const answer = await service.post('/table/t/upload/json?if_exists=replace', { data: [{ k: 1 }] });
    const { errors } = assertProblem(answer, 409, 'dependent-objects');
    assert.deepEqual(
      errors.map(({ value }) => value),
      ['its partitioning', 'table t_high', 'table t_low'],
    );
  });
});

suite('columns that PostgreSQL sets', () => {
  test('generated columns refuse values and need none', async () => {
    await service.rows('CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a * 2) STORED)');
    await assertRefused(await append([{ a: 1 }, { a: 1, b: 2 }]), [
      { pointer: '/data/1/b', row: 2, column: 'b', value: '2', code: 'generated-column' },
    ]);
    assert.equal((await append([{ a: 4, b: null }])).status, 200);
    assert.equal((await append([{ a: 5 }, {}], '&on_conflict=fail')).status, 200);
    assert.deepEqual(await stored(), [
      { a: 4, b: 8 },
      { a: 5, b: 10 },
      { a: null, b: null },
    ]);
  });

  test('rows that were read from a table with a generated column can be sent back', async () => {
    await service.rows(
      'CREATE TABLE t (id int PRIMARY KEY, g int GENERATED ALWAYS AS (id * 2) STORED); INSERT INTO t VALUES (1), (2)',
    );
    const { rows } = (await service.get('/table/t/rows')).body;
    for (const more of ['', '&faulty_rows=leave_out', '&dry_run=true']) {
      const answer = await append(rows, `&on_conflict=update&extra_columns=ignore${more}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.updated, 2);
      assert.deepEqual(answer.body.load.warnings, [
        {
          code: 'ignored-column',
          column: 'g',
          detail: 'PostgreSQL computes the column "g"; its values were left out.',
        },
      ]);
    }
    const csv = await service.upload(
      '/table/t/upload/excel?if_exists=append&extra_columns=ignore',
      Buffer.from('id,G\n3,7\n4,8\n'),
    );
    assert.equal(csv.status, 200, JSON.stringify(csv.body));
    assert.deepEqual(await service.rows('SELECT * FROM t ORDER BY id'), [
      { id: 1, g: 2 },
      { id: 2, g: 4 },
      { id: 3, g: 6 },
      { id: 4, g: 8 },
    ]);
  });

  test('leave_out leaves out the rows with a value for a generated column, also if the rows are read again', async () => {
    // The check, the trigger and the reference decide which way the rows come.
    const tables = [
      'CREATE TABLE t (id int PRIMARY KEY, g int GENERATED ALWAYS AS (id * 2) STORED)',
      'CREATE TABLE t (id int, g int GENERATED ALWAYS AS (id * 2) STORED)',
      'CREATE TABLE t (id int PRIMARY KEY REFERENCES t DEFERRABLE, g int GENERATED ALWAYS AS (id * 2) STORED CHECK (g < 100))',
    ];
    for (const table of tables) {
      await service.rows(table);
      const data = [{ id: 1, g: 2 }, { id: 2 }, { id: 3, g: null }, { g: 'x', id: 4 }, { id: 'x' }];
      const answer = await append(data, '&faulty_rows=leave_out');
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const { rows, left_out: leftOut } = answer.body.load;
      assert.deepEqual(
        [
          rows,
          leftOut.map(({ row, value, code }: { row: number; value: string; code: string }) => [
            row,
            value,
            code,
          ]),
        ],
        [
          2,
          [
            [1, '2', 'generated-column'],
            [4, 'x', 'generated-column'],
            [5, 'x', 'not-a-whole-number'],
          ],
        ],
      );
      assert.deepEqual(await service.rows('SELECT * FROM t ORDER BY id'), [
        { id: 2, g: 4 },
        { id: 3, g: 6 },
      ]);
      await service.rows('TRUNCATE t');
      await append([{ id: 1 }]);
      const repeated = await append([{ id: 1 }, ...data], '&faulty_rows=leave_out');
      assert.equal(repeated.body.load.rows, table.includes('PRIMARY') ? 2 : 3, JSON.stringify(repeated.body));
      await service.rows('DROP TABLE t');
    }
  });

  test('generated NOT NULL columns need no value, and a computed NULL is refused', async () => {
    const kinds = ['STORED', ...((await isVersion(18)) ? ['VIRTUAL'] : [])];
    const keys = ['', 'PRIMARY KEY', 'UNIQUE'];
    for (const kind of kinds) {
      for (const key of kind === 'STORED' ? keys : ['']) {
        for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
          const about = `${kind} ${key} ${query}`;
          const idKey = key === 'PRIMARY KEY' ? 'UNIQUE' : 'PRIMARY KEY';
          await service.rows(
            `CREATE TABLE t (id int ${idKey}, e text, k text GENERATED ALWAYS AS (lower(e)) ${kind} NOT NULL ${key})`,
          );
          const answer = await append(
            [
              { id: 1, e: 'A' },
              { e: 'B', id: 2 },
            ],
            query,
          );
          assert.equal(answer.status, 200, `${about}: ${JSON.stringify(answer.body)}`);
          const rows = [
            { id: 1, e: 'A', k: 'a' },
            { id: 2, e: 'B', k: 'b' },
          ];
          assert.deepEqual(await service.rows('SELECT * FROM t ORDER BY id'), rows, about);
          const missing = [{ id: 3, e: 'C' }, { id: 4 }];
          await assertRefused(await append(missing, query), [
            { row: 2, column: 'k', code: 'null-not-allowed' },
          ]);
          assert.deepEqual(await service.rows('SELECT * FROM t ORDER BY id'), rows, about);
          await service.rows('DROP TABLE t');
        }
      }
    }
  });

  test('a table with only generated columns accepts empty rows', async () => {
    for (const query of ['', '&extra_columns=ignore', '&extra_columns=add']) {
      await service.rows('CREATE TABLE t (a int GENERATED ALWAYS AS (1) STORED)');
      const answer = await append([{}, {}], query);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 2);
      assert.deepEqual(await stored(), [{ a: 1 }, { a: 1 }]);
      const code = query === '&extra_columns=ignore' ? 'no-column-in-common' : 'generated-column';
      await assertRefused(await append([{ a: 1 }], query), [{ column: 'a', code }]);
      const emptied = await service.post(`/table/t/upload/json?if_exists=truncate${query}`, { data: [{}] });
      assert.equal(emptied.status, 200, JSON.stringify(emptied.body));
      assert.deepEqual(await stored(), [{ a: 1 }]);
      await service.rows('DROP TABLE t');
    }
  });

  test('identity columns store sent values, also GENERATED ALWAYS', async () => {
    for (const query of ['', '&on_conflict=skip', '&on_conflict=update']) {
      await service.rows('CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)');
      const answer = await append([{ id: 70, v: 'x' }, { v: 'y' }, {}], query);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.load.rows, 3);
      assert.deepEqual(await service.rows('SELECT * FROM t ORDER BY id'), [
        { id: 1, v: 'y' },
        { id: 2, v: null },
        { id: 70, v: 'x' },
      ]);
      await service.rows('DROP TABLE t');
    }
  });
});

suite('columns of the data and of the table', () => {
  test('the error for data without a column of the table names the columns of both', async () => {
    await service.rows('CREATE TABLE t (a int, b int)');
    const { errors } = assertProblem(await append([{ x: 1, y: 2 }, { z: 3 }]), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ pointer, column, code }) => [pointer, column, code]),
      [
        ['/data/0/x', 'x', 'unknown-column'],
        ['/data/0/y', 'y', 'unknown-column'],
        ['/data/1/z', 'z', 'unknown-column'],
      ],
    );
    assert.match(errors[0]!.detail, /The columns are "a", "b"$/);
  });

  test('the error for a misspelled column suggests the right name, in JSON and workbooks', async () => {
    await service.rows('CREATE TABLE t (quantity int, "Unit price" numeric, note text)');
    const data = [{ quantiy: 1, 'unit prise': 2, colour: 3 }];
    const file = sheetOf([Object.keys(data[0]!), Object.values(data[0]!)]);
    for (const answer of [
      await append(data),
      await service.upload('/table/t/upload/excel?if_exists=append', file),
    ]) {
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      const hints = errors.map(({ detail }) => /Did you mean (.*)\?/.exec(detail)?.[1]);
      assert.deepEqual(hints, ['"quantity"', '"Unit price"', undefined]);
    }
  });

  test('an empty row gets all defaults', async () => {
    await service.rows("CREATE TABLE t (a int DEFAULT 5, b text DEFAULT 'x')");
    assert.equal((await append([{}])).body.load.rows, 1);
    assert.deepEqual(await stored(), [{ a: 5, b: 'x' }]);
  });

  test('a table without columns accepts rows', async () => {
    await service.rows('CREATE TABLE t ()');
    assert.equal((await append([{}, {}])).body.load?.rows, 2);
    assert.deepEqual(await stored('count(*)::int AS n'), [{ n: 2 }]);
    assertProblem(await append(a(1)), 422, 'invalid-data');
  });

  test('1,600 columns are loaded, and one more is refused', async () => {
    const row = (columns: number) =>
      Object.fromEntries(Array.from({ length: columns }, (_, index) => [`c${index}`, index % 2 === 0]));
    const answer = await service.post('/table/t/upload/json', { data: [row(1600), row(3)] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.table.columns.length, 1600);
    assert.deepEqual(await stored('count(*)::int AS n, count(c1599)::int AS last'), [{ n: 2, last: 1 }]);
    const over = await service.post('/table/over/upload/json', { data: [row(3), row(1601)] });
    assert.match(assertProblem(over, 413, 'limit-exceeded').detail, /^Row 2: .*1,600 columns/);
    const skipped = await append([row(1600)], '&on_conflict=skip');
    assertProblem(skipped, 422, 'invalid-parameter');
    await service.rows(
      'DELETE FROM t WHERE c1599 IS NULL; ALTER TABLE t ADD CONSTRAINT k UNIQUE (c0), ADD CHECK (c2)',
    );
    await assertRefused(await append([{ c0: false, c2: true }, row(2)]), [{ row: 2, code: refused }]);
    assertProblem(await append([row(1600)], '&on_conflict=skip'), 413, 'limit-exceeded');
    const more = await append([{ more: 1 }], '&extra_columns=add');
    assertProblem(more, 422, 'invalid-definition');
  });
});

suite('keys of the data that cannot be column names', () => {
  const long = 'k'.repeat(64);
  const data = [{ ok: 1 }, { ok: 1, [long]: 1, '': 1, ctid: 1, 'nul\0': 1 }];
  const expected = [
    { pointer: `/data/1/${long}`, row: 2, column: long, code: 'invalid-name' },
    { pointer: '/data/1/', row: 2, column: '', code: 'invalid-name' },
    { pointer: '/data/1/ctid', row: 2, column: 'ctid', code: 'invalid-name' },
    { pointer: '/data/1/nul\0', row: 2, column: 'nul\0', code: 'invalid-name' },
  ];

  test('keys of the data that cannot be column names are reported with their places when a table is inferred', async () => {
    await assertRefused(await service.post('/table/t/upload/json', { data }), expected);
    assert.deepEqual(await service.rows("SELECT to_regclass('t') AS found"), [{ found: null }]);
  });

  test('keys of the data that cannot be column names are reported when columns are added', async () => {
    await service.rows('CREATE TABLE t (ok int)');
    await assertRefused(await append(data, '&extra_columns=add'), expected);
    const table = { columns: [{ name: 'ok', type: 'int' }] };
    const answer = await service.post('/table/new/upload/json?extra_columns=add', { table, data });
    await assertRefused(answer, expected);
  });

  test('keys of the data that cannot be column names are unknown columns of an existing table', async () => {
    await service.rows('CREATE TABLE t (ok int)');
    await assertRefused(
      await append(data),
      expected.map((place) => ({ ...place, code: 'unknown-column' })),
    );
  });

  test('a key longer than 1,024 bytes ends the scan', async () => {
    const answer = await service.post('/table/t/upload/json', {
      data: [{ ok: 1 }, { [long.repeat(17)]: 1 }],
    });
    assert.match(
      assertProblem(answer, 413, 'limit-exceeded').detail,
      /^Row 2: The key is too long: the limit is 1 KiB\./,
    );
  });
});

suite('a replace', () => {
  const replace = () => service.post('/table/t/upload/json?if_exists=replace', { data: [{ n: 1 }] });

  test('a replace removes objects that belong only to the table', async () => {
    await service.rows(`CREATE TABLE t (id serial PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a + 1) STORED, c int CHECK (c > a),
        parent int REFERENCES t, UNIQUE (a, b));
      CREATE INDEX ON t ((a + c)) WHERE c > 1; CREATE STATISTICS s ON a, c FROM t`);
    const answer = await replace();
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await stored(), [{ n: '1' }]);
  });

  for (const [object, name] of [
    ["CREATE TABLE u (a int DEFAULT nextval('t_id_seq'))", 'default value for column a of table u'],
    ['CREATE RULE r AS ON DELETE TO t DO ALSO NOTHING', 'rule r on table t'],
    ['CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION leave_out()', 'trigger r on table t'],
    ['CREATE VIEW u AS SELECT id FROM t GROUP BY id', 'view u'],
  ]) {
    test(`a replace names other dependent objects before the body is read: ${name}`, async () => {
      await service.rows(`CREATE TABLE t (id serial PRIMARY KEY, a int); ${object}`);
      try {
        const { errors } = assertProblem(await replace(), 409, 'dependent-objects');
        assert.deepEqual(
          errors.map(({ value }) => value),
          [name],
        );
        const unread = await service.request('POST', '/table/t/upload/json?if_exists=replace', {
          headers: { 'content-type': 'application/json' },
          body: 'no JSON',
        });
        assertProblem(unread, 409, 'dependent-objects');
      } finally {
        await service.rows('DROP TABLE t CASCADE');
        await service.rows('DROP TABLE IF EXISTS u');
      }
    });
  }
});
