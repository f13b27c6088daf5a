/**
 * Triggers that run BEFORE INSERT for each row may set columns. A value that they correct is no problem of the upload. Other
 * values are reported as usual.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';
import { appender } from '../support/uploads.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE FUNCTION fill_in() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.id < 90 THEN NEW.updated_at = now(); END IF;
        RETURN NEW;
      END $$;
    CREATE FUNCTION clean() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.email = lower(trim(NEW.email)); RETURN NEW; END $$`);
});
after(() => service.stop());
afterEach(() => service.rows('DROP TABLE IF EXISTS t CASCADE'));

const append = appender(() => service);

const columns = 'id int PRIMARY KEY, updated_at timestamptz NOT NULL';
const trigger = (timing: string) => `CREATE TRIGGER u ${timing} ON t FOR EACH ROW EXECUTE FUNCTION fill_in()`;
const conflicts = ['', '&on_conflict=skip', '&on_conflict=update'];

function assertProblems(answer: TestAnswer, expected: unknown[][]): void {
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ row, column, code }) => [row, column, code]),
    expected,
    JSON.stringify(errors),
  );
}

suite('a NOT NULL column that a trigger sets', () => {
  const tables: [what: string, sql: string][] = [
    ['by a trigger of the table', `CREATE TABLE t (${columns}); ${trigger('BEFORE INSERT OR UPDATE')}`],
    [
      'by a trigger that is enabled always',
      `CREATE TABLE t (${columns}); ${trigger('BEFORE INSERT')}; ALTER TABLE t ENABLE ALWAYS TRIGGER u`,
    ],
    [
      'by a trigger of a partitioned table',
      `CREATE TABLE t (${columns}) PARTITION BY RANGE (id); CREATE TABLE t_1 PARTITION OF t DEFAULT; ${trigger('BEFORE INSERT')}`,
    ],
    [
      'by a trigger of a partition',
      `CREATE TABLE t (${columns}) PARTITION BY RANGE (id); CREATE TABLE t_1 PARTITION OF t DEFAULT;
       ${trigger('BEFORE INSERT').replace('ON t ', 'ON t_1 ')}`,
    ],
    [
      'beside a type that is staged as text',
      `CREATE TABLE t (${columns}, p point); ${trigger('BEFORE INSERT')}`,
    ],
  ];
  for (const [what, sql] of someOf(2, tables)) {
    test(`a NOT NULL column that a trigger sets may be left out or null with ${what}, and a row without a value is named`, async () => {
      for (const query of conflicts) {
        await service.rows(`DROP TABLE IF EXISTS t CASCADE; ${sql}; INSERT INTO t VALUES (1, '2000-01-01')`);
        const answer = await append([{ id: 2 }, { id: 3, updated_at: null }, { id: 4 }], query);
        assert.equal(answer.status, 200, `${query} ${JSON.stringify(answer.body)}`);
        assertProblems(await append([{ id: 5 }, { id: 91 }, { id: 92 }], query), [
          [2, 'updated_at', 'null-not-allowed'],
          [3, 'updated_at', 'null-not-allowed'],
        ]);
        assert.equal((await service.rows('SELECT FROM t')).length, 4);
      }
    });
  }

  test('a NOT NULL column that a trigger sets is named in every row without a value, also among rows with other problems and other keys', async () => {
    await service.rows(`CREATE TABLE t (${columns}, n int CHECK (n > 0), s serial); ${trigger('BEFORE INSERT')};
      INSERT INTO t VALUES (7, '2000-01-01', 1)`);
    const data = [
      { id: 95 },
      { id: 1 },
      { id: 94, s: 5 },
      { id: 2, n: -1 },
      { id: 93, updated_at: null },
      { id: 3, updated_at: null, s: 6 },
      { id: 92, n: 1, s: 7 },
      { id: 91 },
    ];
    for (const query of conflicts) {
      const { errors } = assertProblem(await append(data, query), 422, 'invalid-data');
      const rows = errors.filter(({ code }) => code === 'null-not-allowed').map(({ row }) => row);
      assert.deepEqual(rows, [1, 3, 5, 7, 8], `${query} ${JSON.stringify(errors)}`);
      assert.ok(
        errors.some(({ row, code }) => row === 4 && code === 'check-violation'),
        JSON.stringify(errors),
      );
      assert.equal(errors.length, 6, JSON.stringify(errors));
    }
  });

  test('a NOT NULL column that a trigger sets is named in the first hundred of thousands of rows without a value', async () => {
    await service.rows(`CREATE TABLE t (${columns}); ${trigger('BEFORE INSERT')}`);
    const data = Array.from({ length: 3000 }, (_, index) => ({ id: 90 + index }));
    const { errors } = assertProblem(await append(data), 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ row }) => row),
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
  });

  test('a NOT NULL column that a trigger sets is not removed by an update by key', async () => {
    await service.rows(`CREATE TABLE t (${columns}, n int); ${trigger('BEFORE INSERT OR UPDATE')};
      INSERT INTO t VALUES (1, '2000-01-01', 1)`);
    const { body } = await append([{ id: 1, n: 2 }], '&on_conflict=update');
    assert.equal(body.load?.updated, 1, JSON.stringify(body));
    assert.deepEqual(await service.rows('SELECT n FROM t'), [{ n: 2 }]);
  });

  test('a NOT NULL column that a trigger sets is named with its cell in a workbook', async () => {
    await service.rows(`CREATE TABLE t (${columns}); ${trigger('BEFORE INSERT')}`);
    const sheet = sheetOf([
      ['id', 'updated_at'],
      [1, null],
      [91, null],
    ]);
    const { errors } = assertProblem(
      await service.upload('/table/t/upload/excel?if_exists=append', sheet),
      422,
      'invalid-data',
    );
    assert.deepEqual([errors[0]!.cell, errors[0]!.code], ['Sheet1!B3', 'null-not-allowed']);
  });

  test('a NOT NULL column that a trigger sets does not hide other problems and gives no wrong ones', async () => {
    await service.rows(`CREATE TABLE t (${columns}, n int CHECK (n > 0)); ${trigger('BEFORE INSERT')}`);
    const data = [{ id: 1 }, { id: 2, n: -1 }, { id: 3, n: 'x' }, { id: 91, n: 1 }];
    for (const query of conflicts) {
      const { errors } = assertProblem(await append(data, query), 422, 'invalid-data');
      const found = errors.map(({ row, column, code }) => `${row} ${column} ${code}`);
      assert.ok(found.includes('3 n not-a-whole-number'), String(found));
      assert.ok(found.includes('2 n check-violation'), String(found));
      assert.ok(!found.some((problem) => problem.startsWith('1 ')), String(found));
    }
  });
});

suite('a NOT NULL column that no trigger can set is named in every row', () => {
  for (const [what, sql] of [
    ['the trigger is disabled', `${trigger('BEFORE INSERT')}; ALTER TABLE t DISABLE TRIGGER u`],
    ['the trigger is for replicas', `${trigger('BEFORE INSERT')}; ALTER TABLE t ENABLE REPLICA TRIGGER u`],
    ['the trigger runs afterwards', trigger('AFTER INSERT')],
    ['the trigger is for updates', trigger('BEFORE UPDATE')],
  ] as const) {
    test(what, async () => {
      await service.rows(`CREATE TABLE t (${columns}); ${sql}`);
      assertProblems(await append([{ id: 1 }, { id: 2, updated_at: null }]), [
        [1, 'updated_at', 'null-not-allowed'],
        [2, 'updated_at', 'null-not-allowed'],
      ]);
    });
  }
});

suite('a rule that rows meet because of a trigger', () => {
  test('CHECK gives problems only for rows that PostgreSQL refuses', async () => {
    await service.rows(`CREATE TABLE t (id int PRIMARY KEY, email text CHECK (email = lower(trim(email)) AND email <> ''));
      CREATE TRIGGER c BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION clean()`);
    const data = [
      { id: 1, email: ' A@b.c' },
      { id: 2, email: '  ' },
      { id: 3, email: 'D@E.F' },
      { id: 4, email: '' },
    ];
    for (const query of conflicts) {
      assertProblems(await append(data, query), [
        [2, 'email', 'check-violation'],
        [4, 'email', 'check-violation'],
      ]);
    }
  });

  test('foreign key or unique constraint gives problems only for rows that PostgreSQL refuses', async () => {
    await service.rows(`CREATE TABLE people (email text PRIMARY KEY); INSERT INTO people VALUES ('a'), ('b');
      CREATE TABLE t (id int PRIMARY KEY, email text UNIQUE REFERENCES people);
      CREATE TRIGGER c BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION clean()`);
    const data = [
      { id: 1, email: ' A' },
      { id: 2, email: 'B ' },
      { id: 3, email: 'C' },
    ];
    assertProblems(await append(data), [[3, 'email', 'no-such-reference']]);
    assertProblems(await append([...data.slice(0, 2), { id: 1, email: null }]), [[3, 'id', 'not-unique']]);
    assert.equal((await append(data.slice(0, 2))).status, 200);
    await service.rows('DROP TABLE t, people');
  });
});

test('a row that a trigger refuses is named among rows that refer to later ones', async () => {
  await service.rows(`
    CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree, note text, planted timestamptz DEFAULT clock_timestamp());
    CREATE FUNCTION refuse_weeds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no weeds'; END $$;
    CREATE TRIGGER weeds AFTER INSERT ON tree FOR EACH ROW WHEN (NEW.note = 'weed') EXECUTE FUNCTION refuse_weeds();`);
  const planted = '2026-04-01T00:00:00Z';
  const data = [
    { id: 1, parent: 2 },
    { id: 2, planted },
    { id: 3, planted, note: 'weed' },
  ];
  const refused = await service.post('/table/tree/upload/json?if_exists=append', { data });
  assert.equal(refused.status, 422);
  const [problem] = refused.body.errors;
  assert.match(problem.detail, /no weeds/);
  assert.equal(problem.row, 3);
  assert.equal(
    (await service.post('/table/tree/upload/json?if_exists=append', { data: data.slice(0, 2) })).status,
    200,
  );
});

for (const timing of ['BEFORE', 'AFTER']) {
  test(`with on_conflict a row that a trigger refuses ${timing} INSERT is named among rows that refer to later ones`, async () => {
    await service.rows(`
      CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES t, note text);
      CREATE OR REPLACE FUNCTION refuse_weeds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no weeds'; END $$;
      CREATE TRIGGER weeds ${timing} INSERT ON t FOR EACH ROW WHEN (NEW.note = 'weed') EXECUTE FUNCTION refuse_weeds();`);
    const oneSet = [
      { id: 1, parent: 6, note: null },
      { id: 2, parent: null, note: null },
      { id: 3, parent: null, note: 'weed' },
      { id: 4, parent: 5, note: null },
      { id: 5, parent: null, note: 'rose' },
      { id: 6, parent: null, note: null },
    ];
    const withoutNulls = (row: object) =>
      Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
    for (const data of [oneSet, oneSet.map(withoutNulls)]) {
      const answer = await append(data, '&on_conflict=update');
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.equal(errors.length, 1);
      const [problem] = errors;
      assert.match(problem!.detail, /no weeds/);
      // PostgreSQL runs AFTER triggers at the end, when row 6 is there. Without row 6 it refuses row 1, too.
      assert.equal(problem!.row, 3);
      assert.deepEqual(await service.rows('SELECT * FROM t'), []);
    }
  });
}

suite('what a trigger does besides its rows', () => {
  /** Makes a table whose trigger runs these statements. */
  const withTrigger = (statements: string) =>
    service.rows(`CREATE TABLE t (id int PRIMARY KEY, a text);
      CREATE OR REPLACE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statements} RETURN NEW; END $$;
      CREATE TRIGGER u BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION act()`);
  const data = [
    { id: 1, a: 'x' },
    { id: 2, a: 'y' },
  ];
  const queries = [...conflicts, '&faulty_rows=leave_out', '&dry_run=true'];

  for (const sqlstate of ['XX000', '428C9', '25P03'])
    test(`an error that it raises with the SQLSTATE ${sqlstate} refuses the rows with its own message`, async () => {
      await withTrigger(
        `IF NEW.id = 2 THEN RAISE SQLSTATE '${sqlstate}' USING MESSAGE = 'not today'; END IF;`,
      );
      for (const query of conflicts) {
        const { detail, errors } = assertProblem(await append(data, query), 422, 'invalid-data');
        assert.match(`${detail} ${errors?.[0]?.detail}`, /not today/, query);
        assert.doesNotMatch(JSON.stringify(errors), /GENERATED ALWAYS/, query);
      }
    });

  for (const setting of [
    'idle_in_transaction_session_timeout',
    'transaction_timeout',
    'idle_session_timeout',
  ])
    test(`the setting ${setting} never makes an internal error`, async (t) => {
      const { length } = await service.rows(`SELECT FROM pg_settings WHERE name = '${setting}'`);
      if (length === 0) return t.skip('this version of PostgreSQL does not have the setting');
      await withTrigger(`PERFORM set_config('${setting}', '1', false);`);
      // Whether a connection is idle for a millisecond, and where, depends on the machine.
      for (const query of [...queries, ...queries]) {
        const { status, body } = await append(data, query);
        assert(status < 500 || status === 503, `${query} ${JSON.stringify(body)}`);
        if (status === 503)
          assert.match(
            body.detail,
            /ended the connection because of|cannot be reached|lost the|connection to the database broke/,
          );
        await service.rows('DELETE FROM t');
      }
    });
});
